// Package jsonedit writes modec's entries into a JSON file that people write too, and
// takes them out again. Everything else keeps its bytes: order, comments, white
// space, a trailing comma.
//
// An entry is a member of an object, an item of a list or a value at a fixed place.
// A pattern of places says which a target writes, as a JSON pointer (RFC 6901) in
// which "*" stands for any member and a last "-" for each item:
//
//	/mcpServers/*        every server, with all that it says
//	/permissions/allow/- every item of the list
//	/version             one value
//
// modec owns an entry that it wrote before, as its lock remembers. An entry that was
// there already is a person's, also where it says the same: taking the rule out of
// the source leaves it.
package jsonedit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Entries are the entries that modec wrote into a file, by their place. The value
// tells what was written, so that an edit is noticed: a hash for a value, "" for an
// item of a list (whose place holds what it says), Container for an object or a list
// that was made for the entries in it.
type Entries map[string]string

// Container marks what is taken away with the last entry in it.
const Container = "container"

// Conflict is an entry that is a person's.
type Conflict struct {
	Place  string
	Line   int
	Edited bool // modec wrote it and somebody changed it; else it was there before
	// Got is what stands there where that is no entry at all: a list in the place of
	// an object.
	Got string
}

// Result is a merged file.
type Result struct {
	Data      []byte // nil: nothing is left of the file
	Entries   Entries
	Conflicts []Conflict
	Taken     []string // the places of what was modec's and is taken out
}

// Merge puts the entries of want into have: those that a build emits. Either may be
// nil, for a file that is not there and one that is no longer emitted. owned are the
// entries that modec wrote before, by one build or an interrupted one. With force a
// conflict is resolved for want, unless another kind of value is in the way.
func Merge(have, want []byte, patterns []string, owned []Entries, force bool) (Result, error) {
	m := editor{owned: owned, force: force, newline: "\n", unit: "  ", out: Entries{}, items: map[*hujson.Array]map[string]bool{}}
	var bom []byte
	if rest, ok := bytes.CutPrefix(have, []byte("\uFEFF")); ok {
		bom, have = []byte("\uFEFF"), rest
	}
	entries, err := flatten(want, patterns)
	if err != nil {
		return Result{}, fmt.Errorf("got an artifact that is no JSON: %w", err)
	}
	fresh := len(bytes.TrimSpace(have)) == 0
	if fresh {
		if want == nil {
			return Result{}, nil
		}
		for _, e := range entries {
			m.out[e.place] = e.sum()
		}
		m.out[""] = Container
		return Result{Data: want, Entries: m.out}, nil
	}
	root, err := hujson.Parse(have)
	if err != nil {
		return Result{}, err
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return Result{Conflicts: []Conflict{{Line: lineOf(have, root.StartOffset), Got: kindOf(root)}}}, nil
	}
	m.have, m.root = have, &root
	m.measure()
	m.removals(entries)
	for _, e := range entries {
		m.put(e)
	}
	// What stands where a list or an object has to be is in the way, forced or not.
	if force {
		m.conflicts = slices.DeleteFunc(m.conflicts, func(c Conflict) bool { return c.Got == "" })
	}
	if len(m.conflicts) > 0 {
		return Result{Conflicts: m.conflicts}, nil
	}
	if want == nil && m.owns("") == Container && m.empty(&root) {
		return Result{Entries: Entries{}, Taken: m.taken}, nil
	}
	if m.owns("") == Container {
		m.out[""] = Container
	}
	data := root.Pack()
	if _, err := hujson.Parse(data); err != nil {
		return Result{}, fmt.Errorf("got a file in which entries cannot be changed without breaking it: %w", err)
	}
	return Result{Data: append(bom, data...), Entries: m.out, Taken: m.taken}, nil
}

// entry is one thing that a target writes.
type entry struct {
	place     string
	tokens    []string
	item      bool // of a list, at the place of its list
	container bool
	value     hujson.Value // as it is emitted
}

func (e *entry) sum() string {
	switch {
	case e.container:
		return Container
	case e.item:
		return ""
	}
	return hash(canonical(e.value))
}

func hash(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:16])
}

// flatten lists the entries of an emitted file in its order, the containers on the
// way before what they hold.
func flatten(want []byte, patterns []string) ([]entry, error) {
	if want == nil {
		return nil, nil
	}
	root, err := hujson.Parse(want)
	if err != nil {
		return nil, err
	}
	var out []entry
	seen := map[string]bool{}
	add := func(e entry) {
		if e.place = pointer(e.tokens); e.item {
			e.place += "/" + escape(text(e.value))
		}
		if !seen[e.place] {
			seen[e.place] = true
			out = append(out, e)
		}
	}
	var walk func(v *hujson.Value, at, rest []string)
	walk = func(v *hujson.Value, at, rest []string) {
		if len(rest) == 0 {
			add(entry{tokens: at, value: *v})
			return
		}
		if len(at) > 0 {
			add(entry{tokens: at, container: true, value: *v})
		}
		if rest[0] == "-" {
			if list, ok := v.Value.(*hujson.Array); ok {
				for i := range list.Elements {
					add(entry{tokens: at, item: true, value: list.Elements[i]})
				}
			}
			return
		}
		object, ok := v.Value.(*hujson.Object)
		if !ok {
			return
		}
		for i := range object.Members {
			member := &object.Members[i]
			if name := nameOf(member); rest[0] == "*" || name == rest[0] {
				walk(&member.Value, append(slices.Clip(at), name), rest[1:])
			}
		}
	}
	for _, p := range patterns {
		walk(&root, nil, strings.Split(p, "/")[1:])
	}
	return out, nil
}

func nameOf(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// text is what an item says: the text of a string, else its canonical form.
func text(v hujson.Value) string {
	if l, ok := v.Value.(hujson.Literal); ok && l.Kind() == '"' {
		return l.String()
	}
	return hash(canonical(v))
}

// canonical writes a value without white space, its keys sorted.
func canonical(v hujson.Value) string {
	v = v.Clone()
	v.BeforeExtra, v.AfterExtra = nil, nil
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber()
	var x any
	if d.Decode(&x) != nil {
		return string(v.Pack())
	}
	b, err := json.Marshal(x)
	if err != nil {
		return string(v.Pack())
	}
	return string(b)
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString("/" + escape(t))
	}
	return b.String()
}

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

func escape(token string) string { return escaper.Replace(token) }

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")

func split(place string) []string {
	if place == "" {
		return nil
	}
	tokens := strings.Split(place, "/")[1:]
	for i, t := range tokens {
		tokens[i] = unescaper.Replace(t)
	}
	return tokens
}

func kindOf(v hujson.Value) string {
	switch v.Value.(type) {
	case *hujson.Object:
		return "an object"
	case *hujson.Array:
		return "a list"
	}
	return "a single value"
}

func lineOf(data []byte, offset int) int { return 1 + bytes.Count(data[:offset], []byte("\n")) }

// Places returns the places of entries, sorted.
func (e Entries) Places() []string { return slices.Sorted(maps.Keys(e)) }
