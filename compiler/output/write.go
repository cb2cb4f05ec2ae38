package output

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/originals"
)

// Action is what a build does to one path.
type Action string

const (
	Create    Action = "create"
	Update    Action = "update"
	Unchanged Action = "unchanged"
	Remove    Action = "remove"
)

// State is how a file on disk differs from what the source compiles to.
type State string

const (
	Missing  State = "missing"  // it is not there
	Stale    State = "stale"    // as modec wrote it, from another source
	Edited   State = "edited"   // somebody changed it since modec wrote it
	Foreign  State = "foreign"  // modec did not write it
	Orphaned State = "orphaned" // as modec wrote it, and the source no longer compiles to it
	Touched  State = "touched"  // somebody changed entries of their own in a file that they write too
	Removed  State = "removed"  // somebody removed it since modec took it over
)

// Change is one artifact and what happens to it.
type Change struct {
	Target string `json:"target"` // "modec" for what several targets read
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"` // "sha256:…"; "" for a removal
	Action Action `json:"action"`
	// Merged is set for a file that people write too: Bytes and SHA256 are those of
	// the whole.
	Merged bool `json:"shared,omitempty"`
	// State is why it would change; "" for a file that would not.
	State State `json:"state,omitempty"`
	// Restored is set where clean puts the file back as it was before modec took it over, and Later where that
	// leaves what people wrote in it since.
	Restored bool `json:"restored,omitempty"`
	Later    bool `json:"later,omitempty" jsonschema:"it keeps what people wrote in it since"`
	// Again names what somebody took out of the file and the build writes again.
	Again []string `json:"again,omitempty" jsonschema:"what somebody took out and the build writes again"`

	// Back says where a file that was gone comes from with what people wrote in it; "": it has nothing of theirs.
	Back string `json:"back,omitempty" jsonschema:"where a file that was gone comes from, with people's own entries"`

	before  []byte // as it was before modec, of what is restored with what people wrote since
	data    []byte
	have    []byte           // what is on disk
	entries jsonedit.Entries // of a merged file: what is modec's in it
	places  []string         // of a merged file: those of modec's entries
	about   []string         // of a merged file: the keys that a check looks at; nil: all
	theirs  []string         // of a merged file: the places of entries that people wrote and the source says too
	lost    bool             // its original is not found
	misfit  []byte           // its original, where that does not fit beside what people wrote since
	stops   bool             // only force writes it
	fromGit bool             // its original is none that this user's record has
}

// PutsBack reports whether a build puts back, without force, what somebody took out of a file.
func (c *Change) PutsBack() bool { return c.State == Edited && len(c.Again) > 0 && !c.stops }

// FromGit reports whether what is restored is none of the originals that modec kept for this user.
func (c *Change) FromGit() bool { return c.Restored && c.fromGit && c.Action != Unchanged }

// Options configure a build: where artifacts go and how much may be overwritten.
type Options struct {
	Dir     string // the output root; created when missing
	Version string // of modec, for the lock
	Force   bool   // overwrite files that modec did not write, or that changed since
	DryRun  bool   // plan only
	// Check plans only, and counts a file that the build would stop at as one that it
	// would overwrite. The State distinguishes them.
	Check bool
	// Targets are those whose artifacts Clean takes out, and a build of the whole project where it does not compile
	// for them.
	Targets []contract.Target
	// Originals returns the files that a build takes over without force, and that Clean restores. A
	// file that is overwritten by force is kept in them. Nil: no file is taken over, and nothing
	// kept.
	Originals func() *originals.Record
	// Says reports whether the source says all of a file that people changed, as it is there: asked of one that a
	// patch was made of, where the source is not as the patch left it. Nil: it does not.
	Says func(path string) bool
	// Blob reads an object of git that the history of the repository has at a path, for an original that
	// Originals lacks; nil: there is no git.
	Blob func(path, name string) ([]byte, error)
	// Written returns what this user's builds wrote. A file is removed only where it is in them, or git has it:
	// a lock that came along names what it likes. Nil: the lock is believed, and nothing recorded.
	Written func() *originals.Written
	// InGit reports whether the last commit has an object of git at a path; nil: there is no git.
	InGit func(path, name string) bool
	// Left returns a file as the last build left it, by a lock; nil where nobody has it.
	Left func(lock []byte, path string) []byte
	// Unheld returns the files of agents that are no targets, for the lock of the first build. Nil: there are none.
	Unheld func() []string
	// Known returns the warnings about what people had, for the lock of the first build ([KnownLine]). Nil: there are
	// none.
	Known func() []string
	// Lodged returns, by targets, lines about what agents load of people's own and no import reads, for the lock of the
	// first build and of one with new targets. Nil: there is nothing.
	Lodged func() map[string][]string
	// FS are the files to check in place of those below Dir: a git index.
	FS       fs.FS
	Progress Progress

	step func(step) // for tests: called before each change of the disk
}

// Texts returns what is on disk and what would be.
func (c *Change) Texts() (have, want []byte) { return c.have, c.data }

// PendingLock is the lock of a build that is being written. An interrupted
// build leaves it behind, and the next one recognises the files of both.
const PendingLock = ".modec/lock.next"

// Build is what a build wants on disk.
type Build struct {
	Source string // the hash of the source
	Schema string // the hash of the schema that checked it
	Model  int    // the version of the model: of what a source means
	// Released lists, as a person reads it, what an older model closed and this one does
	// not; empty where the project says that it wants that. nil: nothing.
	Released func() []string
	Outputs  []contract.Artifacts // one a target
	Common   []contract.File      // what several targets read
	// Partial is set for a build of some targets: what the others read stays.
	Partial bool
}

// whole reports whether the build decides what several targets read.
func (b *Build) whole() bool { return len(b.Common) > 0 || !b.Partial }

// Write puts a build on disk: all of it or nothing. It refuses, with nothing written,
// to replace or remove a file that modec did not write or that changed since. Files
// that would not change are not touched. Nothing is written outside the output root,
// nor through a symbolic link. A context that ends stops it before the first change.
func Write(ctx context.Context, b Build, opt Options) ([]Change, diag.List) {
	opt.DryRun = opt.DryRun || opt.Check
	w, err := newWriter(ctx, opt)
	if err != nil {
		return nil, cannotTake(ctx, err)
	}
	defer w.close()
	w.readLocks()
	w.stopOnce(b)
	changes := w.plan(b)
	w.keepReplaced(changes)
	if opt.Check {
		changes = append(changes, w.checkLock(b, changes)...)
	}
	return w.finish(ctx, changes, func() error { return w.apply(b, changes) })
}

// Eject puts a build on disk like Write, and removes the lock: the files are people's own from then
// on.
func Eject(ctx context.Context, b Build, opt Options) ([]Change, diag.List) {
	w, err := newWriter(ctx, opt)
	if err != nil {
		return nil, cannotTake(ctx, err)
	}
	defer w.close()
	w.readLocks()
	changes := w.plan(b)
	changes, list := w.finish(ctx, changes, func() error {
		if err := w.apply(b, changes); err != nil {
			return err
		}
		if err := w.remove(LockFile); err != nil {
			return err
		}
		return w.leave(changes)
	})
	return append(changes, Change{Path: LockFile, Action: Remove, Target: "modec"}), list
}

// stopOnce reports what a build opens only because an older modec wrote the last one, for
// which the same source meant less.
func (w *writer) stopOnce(b Build) {
	if w.lock == nil || w.lock.Model >= b.Model || b.Released == nil {
		return
	}
	if released := b.Released(); len(released) > 0 {
		w.diags.Errorf(diag.NewMeaning, diag.Pos{File: LockFile},
			"an older modec wrote the last build, and asked about what is unsaid; this one leaves to the agents %s",
			strings.Join(released, "; ")).
			Hint(`write silence = "ask" into modec.toml to keep it closed, or silence = "agent" to release it`)
	}
}

// Clean takes out what modec wrote, as the lock of the output root remembers it: its
// own files, its entries in files that people write too, and the lock. Like Write it
// does all of it or nothing, and leaves alone what somebody edited.
func Clean(ctx context.Context, opt Options) ([]Change, diag.List) {
	if _, err := os.Stat(opt.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	w, err := newWriter(ctx, opt)
	if err != nil {
		return nil, cannotTake(ctx, err)
	}
	defer w.close()
	w.readLocks()
	changes := w.restored(w.removals(opt.Targets, func(string, string) bool { return true }), nil)
	w.keepReplaced(changes)
	changes, list := w.finish(ctx, changes, func() error {
		if err := w.sweep(); err != nil {
			return err
		}
		if err := w.announce(changes); err != nil {
			return err
		}
		if err := w.commit(changed(changes)); err != nil {
			return err
		}
		return errors.Join(w.remove(LockFile), w.remove(PendingLock))
	})
	if w.lockRaw != nil {
		changes = append(changes, Change{Path: LockFile, Action: Remove, Target: "modec"})
	}
	return changes, list
}

// announce leaves a lock of nothing for as long as originals are put back and entries taken out: after an
// interruption these are no edits.
func (w *writer) announce(changes []Change) error {
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.Restored || c.Merged }) {
		return nil
	}
	if err := w.keepSettled(); err != nil {
		return err
	}
	data, err := (&Lock{Version: lockVersion, Modec: w.opt.Version}).marshal()
	if err != nil {
		return err
	}
	return w.replace(contract.File{Path: PendingLock, Data: data})
}

// finish makes the changes, unless a problem was found, the run is dry or the context
// has ended.
func (w *writer) finish(ctx context.Context, changes []Change, apply func() error) ([]Change, diag.List) {
	if !w.diags.HasErrors() && !w.opt.DryRun {
		if list := interrupted(ctx); list != nil {
			w.diags = append(w.diags, list...)
		} else if err := apply(); err != nil {
			w.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
		}
	}
	w.diags.Sort()
	return changes, w.diags
}

// interrupted reports a context that has ended; nil where it has not.
func interrupted(ctx context.Context) (diags diag.List) {
	if err := context.Cause(ctx); err != nil {
		diags.Errorf(diag.Interrupted, diag.Pos{}, "stopped before anything was written: %v", err)
	}
	return diags
}

// cannotTake reports why a folder cannot be written into.
func cannotTake(ctx context.Context, err error) diag.List {
	if diags := interrupted(ctx); diags != nil {
		return diags
	}
	return cannotWrite(err)
}

func cannotWrite(err error) (diags diag.List) {
	diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
	return diags
}

func newWriter(ctx context.Context, opt Options) (*writer, error) {
	w := &writer{opt: opt}
	if opt.FS != nil {
		w.from = opt.FS
		return w, nil
	}
	var err error
	if opt.DryRun {
		if w.disk, err = openDisk(opt.Dir); errors.Is(err, fs.ErrNotExist) {
			err = nil // a dry run finds nothing there
		}
	} else {
		w.disk, err = takeDisk(ctx, opt.Dir, opt.Progress)
	}
	w.step = opt.step
	return w, err
}

type writer struct {
	disk
	opt     Options
	lock    *Lock // nil when there is none
	lockRaw []byte
	pending *Lock    // of an interrupted build, or the other side of a merge that is in conflict
	settled *Lock    // what the disk shows to be true of the two
	gone    []string // artifacts that are neither emitted any more nor there
	diags   diag.List

	originals *originals.Record  // once it was asked for
	written   *originals.Written // likewise
}

func (w *writer) readLocks() {
	b, err := w.read(LockFile)
	if err == nil {
		w.lockRaw = b
		if w.lock, w.pending, err = parseSides(b); err != nil {
			w.badLock(err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		w.diags.Errorf(diag.BadLock, diag.Pos{File: LockFile}, "cannot be read: %v", diag.WithoutPath(err))
	}
	if b, err := w.read(PendingLock); err == nil {
		if l, err := parseLock(b); err == nil { // else torn: as if it were not there
			w.pending = l
		}
	} else if errors.Is(err, errFolder) {
		w.inTheWay(PendingLock, "")
	}
	w.settle()
}

// badLock reports a lock that cannot be read. Only force builds without it.
func (w *writer) badLock(why error) {
	at := diag.Pos{File: LockFile}
	if !w.opt.Force {
		w.diags.Errorf(diag.BadLock, at, "%v", why).Hint("restore it from version control; " +
			"`--force` builds without it, overwrites what is there, and forgets what was there before modec")
		return
	}
	w.diags.Warnf(diag.BadLock, at, "it cannot be read, and what files were before modec is known no longer: "+
		"`modec clean` leaves them as they are now").
		Hint("restore it from version control instead, and build again")
}

// plan compares what was emitted with what is there.
func (w *writer) plan(b Build) []Change {
	var changes []Change
	compiled := map[string]bool{"modec": b.whole()}
	emitted := map[string]bool{}
	add := func(name string, f contract.File, style *layout.Style) {
		emitted[f.Path] = true
		if f.Places != nil {
			if c, ok := w.merge(name, f.Path, &f); ok {
				changes = append(changes, c)
			}
			return
		}
		c := Change{Target: name, Path: f.Path, data: f.Data}
		w.judge(&c, style)
		c.Bytes, c.SHA256 = len(c.data), Sum(c.data)
		changes = append(changes, c)
	}
	for _, o := range b.Outputs {
		compiled[o.Target.Name()] = true
		laid, _ := o.Target.(contract.LaidOut)
		for _, f := range o.Files {
			var style *layout.Style
			if laid != nil {
				style = laid.Layout(f.Path)
			}
			add(o.Target.Name(), f, style)
		}
	}
	for _, f := range b.Common {
		add("modec", f, nil)
	}
	all := w.dropped(b)
	dropped := namesOf(all)
	maps.Copy(compiled, dropped)
	for _, o := range b.Outputs {
		all = append(all, o.Target)
	}
	changes = append(changes,
		w.removals(all, func(name, p string) bool { return !emitted[p] && compiled[name] })...)
	if len(dropped) == 0 {
		return changes
	}
	return w.restored(changes, func(c *Change) bool { return dropped[c.Target] && !emitted[c.Path] })
}

// dropped returns the targets that the project no longer has. A build takes out what was written for them, as a clean
// would.
func (w *writer) dropped(b Build) []contract.Target {
	if b.Partial {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.opt.Targets), func(t contract.Target) bool {
		return slices.ContainsFunc(b.Outputs, func(o contract.Artifacts) bool { return o.Target.Name() == t.Name() })
	})
}

// namesOf returns the set of the names of targets.
func namesOf(targets []contract.Target) map[string]bool {
	names := map[string]bool{}
	for _, t := range targets {
		names[t.Name()] = true
	}
	return names
}

// removals returns what happens to the artifacts in the locks that no build emits any
// more. It ignores a path that its target does not own, whatever a lock says.
func (w *writer) removals(all []contract.Target, gone func(target, path string) bool) (changes []Change) {
	mine := func(name, p string) bool {
		owns := func(t contract.Target) bool { return t.Name() == name && contract.Owns(t, p) }
		return name == "modec" && p == contract.PolicyFile || slices.ContainsFunc(all, owns)
	}
	known := map[string]string{}
	for _, l := range []*Lock{w.lock, w.pending} {
		if l != nil {
			maps.Copy(known, l.Artifacts)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(known)) {
		name, hash := splitArtifact(known[p])
		if !gone(name, p) || !mine(name, p) || w.untouched(p) {
			continue
		}
		if hash == mergedFile {
			if c, ok := w.merge(name, p, nil); ok {
				changes = append(changes, c)
			}
			continue
		}
		if c := (Change{Target: name, Path: p, Action: Remove}); w.removable(&c) {
			changes = append(changes, c)
		}
	}
	return changes
}

// PatternOf returns which entries of a file that people write too a target writes.
func PatternOf(f *contract.File) jsonedit.Pattern {
	return jsonedit.Pattern{Places: f.Places, Keys: f.Keys, Whole: f.Whole, Once: f.Once, Resting: f.Resting,
		Sets: f.Sets, Defaults: f.Defaults, Renamed: f.Renamed, Spelled: f.Spelled, Alike: f.Alike}
}

// merge decides what happens to a file that people write too; f is nil where it
// is no longer emitted. ok is false where nothing happens to it, or where it is in the
// way.
func (w *writer) merge(name, p string, f *contract.File) (c Change, ok bool) {
	var want []byte
	var entries jsonedit.Pattern
	var restrains, about []string // the entries at the former places permit nothing
	if f != nil {
		want, entries, restrains, about = f.Data, PatternOf(f), f.Restrains, f.About
	}
	have, err := w.read(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if want == nil {
			w.gone = append(w.gone, p)
			return c, false
		}
	case errors.Is(err, errNotRegular) && want == nil:
		return c, false
	case err != nil:
		w.diags.Errorf(diag.CannotWrite, diag.Pos{File: p}, "%v", w.reason(p, err))
		return c, false
	}
	if w.unfit(name, p, f, have, want) {
		return c, false
	}
	owned := w.ownedOf(p, have, want, entries)
	entries.Before = w.before(p, &entries)
	res, err := jsonedit.Merge(have, want, entries, owned, false)
	w.editedTheirs(p, res.Conflicts)
	state, forced := w.sharedState(p, have, res.Conflicts), len(res.Conflicts) > 0
	if err == nil && (w.opt.Check || w.opt.Force) && forced {
		res, err = jsonedit.Merge(have, want, entries, owned, true)
	}
	if err != nil {
		unmerged(&w.diags, name, p, err)
		return c, false
	}
	if conflicts(&w.diags, name, p, res.Conflicts) {
		return c, false
	}
	again := w.again(p, have, entries, res.Added)
	revoked := slices.DeleteFunc(slices.Clone(again),
		func(a jsonedit.Added) bool { return slices.Contains(restrains, a.Pattern) })
	if len(revoked) > 0 && !w.opt.Force && !w.opt.Check {
		w.refuseAgain(name, p, have, revoked)
		return c, false
	}
	res, back := w.withTheirs(p, have, want, entries, res)
	c = Change{
		Target:  name,
		Path:    p,
		Back:    back,
		Bytes:   len(res.Data),
		SHA256:  Sum(res.Data),
		Action:  Update,
		Merged:  true,
		State:   state,
		data:    res.Data,
		have:    have,
		entries: res.Entries,
		places:  entries.Places,
		about:   about,
		theirs:  res.Theirs,
		stops:   forced || len(revoked) > 0,
		Again:   named(again),
	}
	switch {
	case res.Data == nil:
		c.Action, c.SHA256 = Remove, ""
	case have == nil:
		c.Action, c.State = Create, Missing
	case bytes.Equal(have, res.Data):
		c.Action, c.State = Unchanged, ""
	}
	if len(revoked) > 0 {
		c.State = revokedState(have)
	}
	if want == nil && !forced {
		c.State = Orphaned
	}
	return c, want != nil || c.Action != Unchanged
}

// editedTheirs marks what people wrote, and the source said too at the last build: somebody changed it since.
func (w *writer) editedTheirs(p string, list []jsonedit.Conflict) {
	if w.lock == nil {
		return
	}
	for i := range list {
		x := &list[i]
		x.Edited = x.Edited || x.Got == "" && slices.Contains(w.lock.Theirs[p], x.Place)
	}
}

// merging reports whether git's merge left a conflict in a file that builds wrote, in whole or in part, and of which a
// build makes want.
func (w *writer) merging(p string, have, want []byte) bool {
	if !w.lock.knows(p) && !w.pending.knows(p) {
		return false
	}
	return diag.ConflictLine(have) > 0 && diag.ConflictLine(want) == 0 // a text about merges has such lines too
}

// unfit reports a file that no build can add entries to, or that loads nothing of them, and returns true for one.
func (w *writer) unfit(name, p string, f *contract.File, have, want []byte) bool {
	if w.merging(p, have, want) {
		w.diags.Errorf(diag.CannotMerge, diag.Pos{File: p, Line: diag.ConflictLine(have), Col: 1}, diag.LeftConflict).
			Hint(diag.MendConflict + "; then `modec build`").Target(name)
		return true
	}
	return f != nil && unloaded(&w.diags, name, f, have)
}

// ownedOf returns the entries of a file that people write too which are modec's, by what builds wrote and by
// what was taken over.
func (w *writer) ownedOf(p string, have, want []byte, entries jsonedit.Pattern) (owned []jsonedit.Entries) {
	for _, l := range []*Lock{w.lock, w.pending} {
		if l != nil && l.Entries[p] != nil {
			owned = append(owned, l.Entries[p])
		}
	}
	if o, ok := w.adoptable(p, have, want); ok {
		of := entries
		if of.Places == nil && w.settled != nil {
			of.Places = w.settled.Adopted[p].Places
		}
		owned = []jsonedit.Entries{jsonedit.Adopt(have, of, o.Taken)}
	} else if o, ok := w.edit(p, have); ok {
		taken := jsonedit.Adopt(have, entries, o.Taken)
		if !w.patched(p, o) { // what it still says of the patch
			says := jsonedit.Adopt(want, entries, o.Taken)
			maps.DeleteFunc(taken, func(place, _ string) bool { _, ok := says[place]; return !ok })
		}
		owned = append(owned, taken)
	}
	if contract.RunsHook(have) {
		owned = append(owned, jsonedit.Own(have, entries, contract.IsBuiltHook))
	}
	return owned
}

// sharedState says why a file that people write too is not as the source makes it. What an
// interrupted build wrote of it is not known, and no edit is then seen.
func (w *writer) sharedState(p string, have []byte, conflicts []jsonedit.Conflict) State {
	switch edited := func(x jsonedit.Conflict) bool { return x.Edited }; {
	case slices.ContainsFunc(conflicts, edited):
		return Edited
	case len(conflicts) > 0:
		return Foreign
	case w.pending == nil && w.lock != nil && w.lock.Entries[p].Edited(have):
		return Edited
	}
	return Stale
}

// judge decides what happens to the path of an emitted file, and reports one
// that is not modec's to replace. The lines of one that is there stay where they say the same.
func (w *writer) judge(c *Change, style *layout.Style) {
	var err error
	want := c.data
	if c.have, err = w.read(c.Path); err == nil {
		c.data = style.Keep(c.have, c.data, jsonedit.Rewrite, w.inPlace(c))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Action, c.State = Create, Missing
		w.takenAway(c)
	case errors.Is(err, errFolder):
		w.inTheWay(c.Path, c.Target)
		c.Action, c.State = Update, Foreign
	case err != nil:
		if !errors.Is(err, errNotRegular) || !w.opt.Force {
			w.diags.Errorf(diag.CannotWrite, diag.Pos{File: c.Path}, "%v", w.reason(c.Path, err))
		}
		c.Action, c.State = Update, Foreign
	case bytes.Equal(c.have, c.data):
		c.Action = Unchanged
	default:
		c.Action, c.State = Update, Stale
		w.mine(c)
		o, _ := w.record().Original(c.Path)
		if o.Import != "" && c.State == Edited && (w.opt.Force || w.opt.Check) {
			c.data = style.Keep(o.Data, want, jsonedit.Rewrite, true) // in the style of before the edit
		}
	}
}

// inPlace reports whether a value that differs is written as people write it: in a file that was taken over, unless it
// is to be overwritten.
func (w *writer) inPlace(c *Change) bool {
	if w.opt.Force {
		return false
	}
	for _, l := range []*Lock{w.lock, w.pending} {
		if l != nil {
			if _, ok := l.Adopted[c.Path]; ok {
				return true
			}
		}
	}
	_, imported := w.imported(c.Path, c.have)
	return imported
}

// inTheWay reports a folder in the place of a file. Nothing replaces it, not even by force.
func (w *writer) inTheWay(p, target string) {
	w.diags.Errorf(diag.CannotWrite, diag.Pos{File: p}, "%v", errFolder).
		Hint("move the folder away").
		Target(target)
}

// What becomes of an edit, and of a file that somebody removed.
const (
	movesIn = "move the change into the source (`modec migrate` offers a patch), " +
		"or `modec build --force` overwrites it, and keeps a copy"
	takesOut = "`modec build --force` writes it again, with people's own entries as far as they are known, " +
		"or take what it said out of the source (`modec migrate --apply` does)"
)

// mine reports whether a file may be replaced or removed, and otherwise that modec did
// not write it or that it changed since.
func (w *writer) mine(c *Change) bool {
	sum, recorded := Sum(c.have), false
	for _, l := range []*Lock{w.lock, w.pending} {
		if l == nil {
			continue
		}
		if v, ok := l.Artifacts[c.Path]; ok {
			recorded = true
			if _, hash := splitArtifact(v); hash == sum {
				return true
			}
		}
	}
	_, ok := w.imported(c.Path, c.have)
	if ok || w.said(c.Path, c.have) {
		c.State = Stale
		return true
	}
	if c.State = Foreign; recorded {
		c.State = Edited
	}
	if recorded && w.merging(c.Path, c.have, c.data) {
		c.State = Stale // it is built again
		return true
	}
	if w.opt.Force || w.opt.Check {
		return true
	}
	switch at := (diag.Pos{File: c.Path}); {
	case recorded && contract.ForMachines(c.Path):
		w.diags.Errorf(diag.Edited, at, "this file is not what modec wrote; modec leaves it alone").
			Hint("nobody edits it by hand: `modec build --force` writes it again").Target(c.Target)
	case recorded:
		w.diags.Errorf(diag.Edited, at, "somebody edited this file since modec wrote it; modec leaves it alone").
			Hint(movesIn).Target(c.Target)
	case w.left(c.Path, sum):
		w.diags.Errorf(diag.NotOurs, at, "`modec clean --keep` left this file to the team, and modec leaves it alone").
			Hint("`modec build --force` takes it over again, and keeps a copy").Target(c.Target)
	default:
		w.diags.Errorf(diag.NotOurs, at, "modec did not write this file and leaves it alone").
			Hint("move it away, or `modec build --force` overwrites it, and keeps a copy").Target(c.Target)
	}
	return false
}

func (w *writer) removable(c *Change) bool {
	var err error
	c.have, err = w.read(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.gone = append(w.gone, c.Path)
		return false
	case errors.Is(err, errNotRegular):
		return false // no longer what modec wrote: somebody else's now
	case err != nil:
		w.diags.Errorf(diag.CannotWrite, diag.Pos{File: c.Path}, "%v", w.reason(c.Path, err))
		return false
	}
	c.State = Orphaned
	return w.mine(c) && w.canHaveWritten(c)
}

// apply puts a build in place: the lock to come, so that an interrupted build is
// recognised, the files, and the lock.
func (w *writer) apply(b Build, changes []Change) error {
	lock, err := w.nextLock(b, changes).marshal()
	if err != nil {
		return err
	}
	if err := w.sweep(); err != nil {
		return err
	}
	w.noteWritten(changes)
	t := changed(changes)
	if len(t.write) == 0 && len(t.remove) == 0 && bytes.Equal(lock, w.lockRaw) {
		return errors.Join(w.remove(PendingLock), w.forgetEdits(changes))
	}
	if err := w.keepSettled(); err != nil {
		return err
	}
	if err := w.replace(contract.File{Path: PendingLock, Data: lock}); err != nil {
		return err
	}
	w.begun = false
	if err := w.commit(t); err != nil {
		if !w.begun { // nothing of this build is there to be recognised
			err = errors.Join(err, w.remove(PendingLock))
		}
		return err
	}
	if err := w.rename(PendingLock, LockFile); err != nil {
		return err
	}
	w.prune(PendingLock) // no hook reads a policy beside it
	return w.forgetEdits(changes)
}

// changed returns what changes as a transaction.
func changed(changes []Change) (t transaction) {
	for _, c := range changes {
		switch c.Action {
		case Create, Update:
			t.write = append(t.write, contract.File{Path: c.Path, Data: c.data})
		case Remove:
			t.remove = append(t.remove, c.Path)
		}
	}
	return t
}

// checkLock reports a lock that differs from the one of this build, where nothing else
// differs, and in its place the files that people touched. It ignores which version of modec wrote it.
func (w *writer) checkLock(b Build, changes []Change) []Change {
	if w.diags.HasErrors() || slices.ContainsFunc(changes, func(c Change) bool { return c.Action != Unchanged }) {
		return nil
	}
	next := w.nextLock(b, changes)
	if w.lock != nil && w.lock.Unheld == nil { // that a newer modec keeps lists is no drift
		next.Unheld, next.Known = nil, w.lock.Known
	}
	c := Change{Target: "modec", Path: LockFile, Action: Update, State: Stale, have: w.lockRaw}
	if w.lockRaw == nil {
		c.Action, c.State = Create, Missing
	} else if _, _, conflict := sides(w.lockRaw); !conflict { // else it is built again
		next.Modec = w.lock.Modec
		if reflect.DeepEqual(w.sameLayout(next), w.lock) || w.touched(b, next, changes) {
			return nil
		}
	}
	c.data, _ = next.marshal()
	c.Bytes, c.SHA256 = len(c.data), Sum(c.data)
	return []Change{c}
}

// sameLayout returns a lock in which an adopted file that says what it said is as the lock before has it:
// an agent's own layout is no drift.
func (w *writer) sameLayout(next *Lock) *Lock {
	for p, a := range w.lock.Adopted {
		if _, ok := next.Adopted[p]; ok && w.lock.Left[p] != "" && w.lock.Left[p] == next.Left[p] {
			next.Adopted[p] = a
		}
	}
	return next
}

// touched marks the files in which people changed entries of their own since the last build.
func (w *writer) touched(b Build, next *Lock, changes []Change) (any bool) {
	dropped := namesOf(w.dropped(b))
	for i := range changes {
		c := &changes[i]
		if old := w.lock.asBuilt(c.Path); old != "" && old != next.asBuilt(c.Path) {
			c.Action, c.State, any = Update, Touched, true
			if dropped[c.Target] { // what a build takes out is no change of anybody's
				c.State = Orphaned
			}
		}
	}
	return any
}

// sumLeft returns the hash of a file that people write too as the build leaves it: as an older modec wrote it, where
// the file says the same.
func (w *writer) sumLeft(c *Change) string {
	if w.lock != nil && w.lock.leaves(c.Path, c.data) {
		return w.lock.Left[c.Path]
	}
	return sumLeft(c.data, c.about)
}

// unheld returns the files that no target held when the first build was made, and that none holds now. A later build
// adds none but those of the targets that it drops: what somebody adds beside a project is news until the source has
// it.
func (w *writer) unheld(l *Lock, dropped []string) (paths []string) {
	switch {
	case w.settled != nil && w.settled.Unheld != nil:
		paths = slices.Clone(w.settled.Unheld)
	case w.opt.Unheld != nil:
		paths = w.opt.Unheld()
	}
	paths = append(append([]string{}, paths...), dropped...) // never nil
	slices.Sort(paths)
	paths = slices.Compact(paths)
	return slices.DeleteFunc(paths, func(p string) bool { return l.Artifacts[p] != "" })
}

// known returns the warnings about what the first build took over, none where there was nothing to take over, and what
// agents load beside it. A later one adds what it takes over for targets that are new, and what their agents load, and
// nothing else; the first one after an older modec, which kept no warnings, does so for all targets.
func (w *writer) known(l *Lock) (lines []string) {
	ask := func() []string {
		if w.opt.Known == nil {
			return nil
		}
		return w.opt.Known()
	}
	if w.settled == nil || w.settled.Unheld == nil {
		if len(l.Adopted) > 0 {
			lines = ask()
		}
		lines = append(lines, w.lodged(nil)...)
		slices.Sort(lines)
		return lines
	}
	lines = slices.Clone(w.settled.Known)
	had := targetsOf(w.settled)
	for target := range targetsOf(l) {
		if !had[target] {
			lines = append(lines, w.lodged(had)...)
			break
		}
	}
	if came := w.came(l); len(came) > 0 {
		for _, line := range ask() {
			_, about, _ := strings.Cut(line, " ")
			if file, _, _ := strings.Cut(about, ": "); came[file] {
				lines = append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// came returns the files that a build takes over for targets that are new, and those of the source that an import made
// of them.
func (w *writer) came(l *Lock) map[string]bool {
	had, came := targetsOf(w.settled), map[string]bool{}
	had[""] = true
	for path := range l.Adopted {
		if target, _ := splitArtifact(l.Artifacts[path]); had[target] {
			continue
		}
		came[path] = true
		record := w.record()
		if f, ok := record.Original(path); ok {
			for name := range record.Imports[f.Import] {
				came[name] = true
			}
		}
	}
	return came
}

// targetsOf returns the targets of which a lock has artifacts.
func targetsOf(l *Lock) map[string]bool {
	of := map[string]bool{}
	for _, line := range l.Artifacts {
		target, _ := splitArtifact(line)
		of[target] = true
	}
	return of
}

// lodged returns the lines about what agents load of people's own, but for the targets of the last build.
func (w *writer) lodged(had map[string]bool) (lines []string) {
	if w.opt.Lodged == nil {
		return nil
	}
	all := w.opt.Lodged()
	for _, target := range slices.Sorted(maps.Keys(all)) {
		if !had[target] {
			lines = append(lines, all[target]...)
		}
	}
	return lines
}

// nextLock returns the lock after this build: what it wrote, and what earlier
// builds wrote for targets that this one does not compile.
func (w *writer) nextLock(b Build, changes []Change) *Lock {
	l := &Lock{
		Version:   lockVersion,
		Modec:     w.opt.Version,
		Model:     b.Model,
		Schema:    b.Schema,
		Source:    b.Source,
		Artifacts: map[string]string{},
	}
	compiled, dropped := map[string]bool{"modec": b.whole()}, namesOf(w.dropped(b))
	maps.Copy(compiled, dropped)
	for _, o := range b.Outputs {
		compiled[o.Target.Name()] = true
		for _, d := range o.Losses {
			if d.Loss == diag.Widening {
				l.Accepted = append(l.Accepted, fmt.Sprintf("%s: %s: %s", d.Target, d.Subject, d.Message))
			}
		}
	}
	if w.settled != nil {
		for _, line := range w.settled.Accepted {
			if name, _, _ := strings.Cut(line, ":"); !compiled[name] {
				l.Accepted = append(l.Accepted, line)
			}
		}
	}
	slices.Sort(l.Accepted)
	l.Accepted = slices.Compact(l.Accepted)
	if w.settled != nil {
		for p, v := range w.settled.Artifacts {
			if name, _ := splitArtifact(v); !compiled[name] {
				l.Artifacts[p] = v
				l.remember(p, w.settled.Entries[p])
				l.left(p, w.settled.Left[p])
			}
		}
		l.Adopted = maps.Clone(w.settled.Adopted)
		if b.Partial {
			l.Theirs = maps.Clone(w.settled.Theirs)
		}
	}
	var theirs []string // the files of targets that the project no longer has
	for i := range changes {
		c := &changes[i]
		if dropped[c.Target] && c.Action != Remove {
			theirs = append(theirs, c.Path)
		}
		if c.Restored {
			delete(l.Adopted, c.Path)
			continue
		}
		w.adopt(b, l, c)
		l.found(c.Path, c.theirs)
		switch {
		case c.Action == Remove:
		case !c.Merged:
			l.Artifacts[c.Path] = artifactLine(c.Target, c.SHA256)
		case len(c.entries) > 0:
			l.Artifacts[c.Path] = artifactLine(c.Target, mergedFile)
			l.remember(c.Path, c.entries)
			l.left(c.Path, w.sumLeft(c))
		}
	}
	l.Unheld, l.Known = w.unheld(l, theirs), w.known(l)
	for p, a := range l.Adopted {
		if l.Artifacts[p] == "" && a.Places == nil { // also where an interrupted build removed it
			a.Built = ""
			l.Adopted[p] = a
		}
	}
	return l
}
