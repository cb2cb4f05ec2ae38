package output

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
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
	Schema  string               // the hash of the schema that checked it
	Model   int                  // the version of the model: of what a source means
	Outputs []contract.Artifacts // one a target
	// Partial is set for a build of some targets: what the others read stays.
	Partial bool
}

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
