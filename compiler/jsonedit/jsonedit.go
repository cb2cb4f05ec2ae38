// Package jsonedit edits JSON files, and TOML files, that people write too. Everything that it does not
// change keeps its bytes: order, comments, white space, a trailing comma.
//
// [Merge] puts the entries that a build emits into a file and takes those out that it
// no longer emits. [OpenList] adds items to one list and removes them.
//
// # Entries
//
// An entry is a member of an object, an item of a list or a value at a fixed place.
// A pattern of places names the entries that a target writes. It is a JSON pointer
// (RFC 6901) in which "*" stands for any member and a last "-" for each item:
//
//	/mcpServers/*        every server, with all that it contains
//	/permissions/allow/- every item of the list
//	/version             one value
//
// An entry that is an object may have members of a person's beside those that the target knows
// ([Pattern.Keys]): they stay where modec changes the rest, and leave the file with the entry.
//
// modec owns an entry that it wrote, as its lock remembers. An entry that was there
// before belongs to the person who wrote it, also where modec emits the same: when the
// rule leaves the source, the entry stays. A file in which everything is modec's is laid out
// as it is emitted whenever an entry changes.
package jsonedit

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/tailscale/hujson"
)

// Entries are the entries that modec wrote into a file, by their place. The value
// records what was written, so that an edit is noticed: a hash for a value, with the names of
// the members in it that are a person's, "" for an item of a list (whose place contains its
// text), Container for an object or a list that was created for the entries in it.
type Entries map[string]string

// Container marks an object or a list that leaves the file with its last entry.
const Container = "container"

// Places returns the places of entries, sorted.
func (e Entries) Places() []string { return slices.Sorted(maps.Keys(e)) }

// Edited reports whether a file has some of the entries as modec wrote them, and others not.
// What stands beside them does not count. A file with none of them is one from which modec
// took them out.
func (e Entries) Edited(file []byte) bool {
	there, gone, ok := e.in(file)
	return !ok || there > 0 && gone > 0
}

// Any reports whether a file has one of the entries as modec wrote it.
func (e Entries) Any(file []byte) bool {
	there, _, ok := e.in(file)
	return ok && there > 0
}

// in counts the entries that a file has, and those that it lacks. It reports false for a file that nobody can read.
func (e Entries) in(file []byte) (there, gone int, ok bool) {
	if isTOML(file) {
		if is, err := fromTOML(file); err == nil {
			file = is
		}
	}
	root, err := parse(bytes.TrimPrefix(file, byteOrderMark))
	if err != nil {
		return 0, 0, false
	}
	for place, sum := range e {
		switch {
		case sum == Container:
		case hasEntry(&root, split(place), sum):
			there++
		default:
			gone++
		}
	}
	return there, gone, true
}

// hasEntry reports whether a file has an entry as its sum records it.
func hasEntry(root *hujson.Value, tokens []string, sum string) bool {
	if sum != "" {
		v := find(root, tokens)
		return v != nil && recorded(sum).of(*v)
	}
	last := len(tokens) - 1
	list := find(root, tokens[:last])
	if list == nil {
		return false
	}
	array, ok := list.Value.(*hujson.Array)
	return ok && slices.ContainsFunc(array.Elements, func(v hujson.Value) bool { return itemText(v) == tokens[last] })
}

// Conflict is an entry of a file that a merge may not change.
type Conflict struct {
	Place  string
	Line   int
	Edited bool // modec wrote the entry and somebody changed it; else it was there before
	// Got is set where modec's entries do not fit into the file: it names what stands
	// in the place of an object or a list.
	Got string
}

// Result is a merged file.
type Result struct {
	Data      []byte // nil: nothing is left of the file
	Entries   Entries
	Conflicts []Conflict
	Taken     []string // the places of modec's entries that were taken out
	Added     []Added  // the entries that were not there
	Theirs    []string // the places of entries that were there as they are emitted, a person's
}

// Pattern says which entries of a file a target writes.
type Pattern struct {
	Places []string // the patterns of their places
	// Keys are the members that the target knows in an entry that is an object. The others
	// are a person's. nil: all are the target's.
	Keys []string
	// Whole are places at which all members of an object are the target's, whatever Keys are.
	Whole []string
	// Once are places whose values are written into a file of modec's own, and not into one that a person has.
	Once []string
	// Resting are those of the Keys that mean nothing while the member "disabled" of the entry is true:
	// they are a person's then.
	Resting []string
	// Sets are those of the Keys that are lists in which the order means nothing: a file keeps its own.
	Sets []string
	// Defaults are members of an entry that mean the same where they are missing, by the JSON that they
	// then are: a file that has or lacks one keeps the entry as it is.
	Defaults map[string][]string
	// Renamed are those of the Keys that may have another name, of the Keys too, and mean the same by it: a file keeps
	// its own.
	Renamed map[string]string
	// Spelled returns the item of a list, or the text in an entry, that one of a person's stands for, "" for none:
	// where that is emitted, the person's stays in its place. nil: each stands for itself.
	Spelled func(place, item string) string
	// Before are places of entries that the file had: an item that it lacks comes back in the words of then.
	Before []string
	// Alike reports whether an entry of a person's at a place, without members that are theirs alone, means what the
	// emitted one does. nil: where it has the same members, in any order.
	Alike func(place string, have, emitted []byte) bool
}

// Merge puts the entries of want into have. Either may be nil: have for a file that
// does not exist, want for one that is no longer emitted. owned are the entries that
// modec wrote before, by one build or an interrupted one. Another entry in the way is a
// conflict; with force, want replaces it, but never an object or a list by a value of
// another kind.
func Merge(have, want []byte, p Pattern, owned []Entries, force bool) (Result, error) {
	if want != nil && isTOML(want) || want == nil && isTOML(have) {
		return mergeTOML(have, want, p, owned, force)
	}
	entries, err := flatten(want, p.Places)
	if err != nil {
		return Result{}, fmt.Errorf("the artifact is not JSON: %w", err)
	}
	have, bom := bytes.CutPrefix(have, byteOrderMark)
	if len(bytes.TrimSpace(have)) == 0 {
		res := created(want, entries)
		for i := range entries {
			res.Added = append(res.Added, entries[i].added(p.Places)...)
		}
		return res, nil
	}
	root, err := parse(have)
	if err != nil {
		return Result{}, err
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return Result{Conflicts: []Conflict{{Line: lineOf(have, root.StartOffset), Got: kindOf(root)}}}, nil
	}
	emitted := entries
	entries = slices.DeleteFunc(p.asWritten(&root, entries), func(e entry) bool {
		return slices.Contains(p.Once, e.place) && find(&root, e.tokens) == nil
	})
	ed := editor{have: have, root: &root, layout: layoutOf(root, have), Pattern: p, owned: owned, force: force,
		out: Entries{}}
	ed.removeAllBut(entries)
	for i, e := range entries {
		var next *entry
		if i+1 < len(entries) {
			next = &entries[i+1]
		}
		ed.put(e, next)
	}
	if conflicts := ed.unresolved(); len(conflicts) > 0 {
		return Result{Conflicts: conflicts}, nil
	}
	if ed.owns("") == Container {
		if want == nil && empty(&root) {
			return Result{Entries: Entries{}, Taken: ed.taken}, nil
		}
		ed.out[""] = Container
	}
	data := root.Pack()
	if want != nil && !bytes.Equal(data, have) && ed.ownsAll() {
		data = bytes.ReplaceAll(want, []byte("\n"), []byte(ed.layout.newline))
		ed.out = created(want, emitted).Entries
	}
	if _, err := hujson.Parse(data); err != nil {
		return Result{}, fmt.Errorf("the entries cannot be changed without breaking the file: %w", err)
	}
	if bom {
		data = append(slices.Clone(byteOrderMark), data...)
	}
	return Result{Data: data, Entries: ed.out, Taken: ed.taken, Added: ed.added, Theirs: ed.theirs}, nil
}

// parse reads a file. A comment at its end needs no line break.
func parse(data []byte) (hujson.Value, error) {
	v, err := hujson.Parse(data)
	if err != nil {
		if again, wrong := hujson.Parse(append(slices.Clone(data), '\n')); wrong == nil {
			return again, nil
		}
	}
	return v, err
}

var byteOrderMark = []byte("\uFEFF")

// created is the result for a file that does not exist yet.
func created(want []byte, entries []entry) Result {
	if want == nil {
		return Result{}
	}
	out := Entries{"": Container}
	for _, e := range entries {
		out[e.place] = e.sum()
	}
	return Result{Data: want, Entries: out}
}
