package compiler

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"modec.dev/modec/compiler/artifact"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/merge"
	schema "modec.dev/modec/cue"
)

// Action is what a build does to one path.
type Action string

const (
	Create    Action = "create"
	Update    Action = "update"
	Unchanged Action = "unchanged"
	Remove    Action = "remove"
)

// State is how a file on disk differs from what the source makes.
type State string

const (
	Missing  State = "missing"  // it is not there
	Stale    State = "stale"    // as modec wrote it, from another source
	Edited   State = "edited"   // somebody changed it since modec wrote it
	Foreign  State = "foreign"  // modec did not write it
	Orphaned State = "orphaned" // as modec wrote it, and the source no longer makes it
)

// Change is one artifact and what happens to it.
type Change struct {
	Target string `json:"target"` // "modec" for what every build writes
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"` // "sha256:…"; "" for a removal
	Action Action `json:"action"`
	// Shared is set for a file that people write too: Bytes and SHA256 are those of
	// the whole.
	Shared bool `json:"shared,omitempty"`
	// State tells why it would change; "" for a file that would not.
	State State `json:"state,omitempty"`

	data    []byte
	have    []byte        // what is on disk
	entries merge.Entries // of a shared file: what is modec's in it
}

// WriteOptions say where artifacts go and how much may be overwritten.
type WriteOptions struct {
	Dir     string // the output root; created when missing
	Version string // of modec, for the lock
	Force   bool   // overwrite files that modec did not write, or that changed since
	DryRun  bool   // plan only
	// Check plans only, and takes a file that the build would stop at for one that
	// it would overwrite: the State tells it apart.
	Check bool
	// Targets are those whose artifacts Clean takes out.
	Targets []contract.Target
	// FS are the files to check in place of those below Dir: a git index.
	FS fs.FS
}

// Texts returns what is on disk and what would be.
func (c *Change) Texts() (have, want []byte) { return c.have, c.data }

// PendingLock holds the lock of a build that is being written. An interrupted
// build leaves it behind, and the next one recognises the files of both.
const PendingLock = ".modec/lock.next"

// Write puts a compiled project on disk: all of it or nothing. It refuses,
// with nothing written, to replace or remove a file that modec did not write
// or that changed since. Files that would not change are not touched. Nothing
// is written outside the output root, nor through a symbolic link.
func (r *Result) Write(opt WriteOptions) ([]Change, diag.List) {
	opt.DryRun = opt.DryRun || opt.Check
	w := writer{opt: opt}
	if err := w.open(); err != nil {
		w.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
		return nil, w.diags
	}
	if w.root != nil {
		defer w.root.Close()
	}
	w.readLocks()
	changes := w.plan(r)
	if opt.Check {
		changes = append(changes, w.checkLock(r, changes)...)
	}
	if w.diags.HasErrors() || opt.DryRun {
		w.diags.Sort()
		return changes, w.diags
	}
	if err := w.apply(r, changes); err != nil {
		w.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
	}
	return changes, w.diags
}

// Clean takes out what modec wrote, as the lock of the output root remembers it: its
// own files, its entries in files that people write too, and the lock. Like Write it
// does all of it or nothing, and leaves alone what somebody edited.
func Clean(opt WriteOptions) ([]Change, diag.List) {
	dry := opt.DryRun
	opt.DryRun = true // so that no folder is made
	w := writer{opt: opt}
	if err := w.open(); err != nil {
		w.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
		return nil, w.diags
	}
	if w.root == nil {
		return nil, nil
	}
	defer w.root.Close()
	w.readLocks()
	changes := w.removals(opt.Targets, func(string, string) bool { return true })
	if w.diags.HasErrors() || dry {
		w.diags.Sort()
		return changes, w.diags
	}
	if err := w.takeOut(changes); err != nil {
		w.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
	}
	return changes, w.diags
}

// takeOut puts shared files in place without modec's entries, removes the others, and
// the lock last.
func (w *writer) takeOut(changes []Change) error {
	var shared []contract.File
	for _, c := range changes {
		if c.Action == Update {
			shared = append(shared, contract.File{Path: c.Path, Data: c.data})
		}
	}
	if err := w.put(shared); err != nil {
		return err
	}
	for _, c := range changes {
		if c.Action == Remove {
			if err := w.remove(c.Path); err != nil {
				return err
			}
		}
	}
	return errors.Join(w.remove(PendingLock), w.remove(LockFile))
}

// Put writes files that are people's own from then on: all of them or none. It
// refuses to replace a file unless it is forced to, and never writes outside the
// folder or through a symbolic link.
func Put(dir string, files []contract.File, force bool) diag.List {
	w := writer{opt: WriteOptions{Dir: dir}}
	if err := w.open(); err != nil {
		w.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
		return w.diags
	}
	defer w.root.Close()
	var changed []contract.File
	for _, f := range files {
		b, err := w.read(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && force && !bytes.Equal(b, f.Data):
			changed = append(changed, f)
		case err == nil && bytes.Equal(b, f.Data):
		case err == nil:
			w.diags.Errorf(diag.NotOurs, diag.Pos{File: f.Path}, "got a file that is there already, want to leave it alone").
				Hint("move it away, or `--force` overwrites it")
		default:
			w.diags.Errorf(diag.CannotWrite, diag.Pos{File: f.Path}, "%v", pathErr(err))
		}
	}
	if w.diags.HasErrors() {
		w.diags.Sort()
		return w.diags
	}
	if err := w.put(changed); err != nil {
		w.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
	}
	return w.diags
}

// put stages files beside their places and renames them.
func (w *writer) put(files []contract.File) (err error) {
	defer func() {
		if err != nil {
			for _, f := range files {
				w.root.Remove(temp(f.Path))
			}
		}
	}()
	for _, f := range files {
		if err := w.stage(f.Path, f.Data); err != nil {
			return err
		}
	}
	if err := flush(w.root); err != nil {
		return err
	}
	for _, f := range files {
		w.changes()
		if err := w.root.Rename(temp(f.Path), f.Path); err != nil {
			return fmt.Errorf("cannot put %s in place: %w", f.Path, pathErr(err))
		}
	}
	return nil
}

func (w *writer) changes() {
	if w.step != nil {
		w.step()
	}
}

type writer struct {
	opt     WriteOptions
	root    *os.Root // nil in a dry run into a folder that does not exist
	lock    *Lock    // nil when there is none
	lockRaw []byte
	pending *Lock       // of an interrupted build
	mode    fs.FileMode // of new files; 0: 0644
	step    func()      // called before each change of the disk; nil: nothing
	diags   diag.List
}

func (w *writer) open() error {
	if w.opt.FS != nil {
		return nil
	}
	if !w.opt.DryRun {
		if err := os.MkdirAll(w.opt.Dir, 0o755); err != nil {
			return fmt.Errorf("cannot create the output folder: %w", err)
		}
	}
	root, err := os.OpenRoot(w.opt.Dir)
	if errors.Is(err, fs.ErrNotExist) && w.opt.DryRun {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot open the output folder: %w", err)
	}
	w.root = root
	return nil
}

func (w *writer) readLocks() {
	b, err := w.read(LockFile)
	if err == nil {
		w.lockRaw = b
		if w.lock, err = parseLock(b); err != nil && !w.opt.Force {
			d := diag.Diagnostic{Code: diag.BadLock, Pos: diag.Pos{File: LockFile}, Message: err.Error(), Hint: "restore it from version control; `--force` builds without it and overwrites what is there"}
			w.diags = append(w.diags, d)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		w.diags.Errorf(diag.BadLock, diag.Pos{File: LockFile}, "cannot be read: %v", pathErr(err))
	}
	if b, err := w.read(PendingLock); err == nil {
		w.pending, _ = parseLock(b) // torn: as if it were not there
	}
}

// read returns a regular file's bytes; it does not follow a link at the end of
// the path, and os.Root refuses one on the way that leaves the root.
func (w *writer) read(p string) ([]byte, error) {
	stat, read := func(p string) (fs.FileInfo, error) { return fs.Stat(w.opt.FS, p) }, func(p string) ([]byte, error) { return fs.ReadFile(w.opt.FS, p) }
	switch {
	case w.opt.FS != nil:
	case w.root == nil:
		return nil, fs.ErrNotExist
	default:
		stat, read = w.root.Lstat, w.root.ReadFile
	}
	info, err := stat(p)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: got %s, want a regular file", errNotRegular, fileKind(info))
	}
	return read(p)
}

var errNotRegular = errors.New("not a regular file")

func fileKind(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "a folder"
	case info.Mode()&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}

// plan compares what was emitted with what is there.
func (w *writer) plan(r *Result) []Change {
	var changes []Change
	compiled := map[string]bool{"modec": true}
	emitted := map[string]bool{}
	add := func(name string, f contract.File) {
		emitted[f.Path] = true
		if f.Shared != nil {
			if c, ok := w.merge(name, f.Path, f.Data, f.Shared); ok {
				changes = append(changes, c)
			}
			return
		}
		c := Change{Target: name, Path: f.Path, Bytes: len(f.Data), SHA256: Sum(f.Data), data: f.Data}
		w.judge(&c)
		changes = append(changes, c)
	}
	for _, o := range r.Outputs {
		compiled[o.Target.Name()] = true
		for _, f := range o.Files {
			add(o.Target.Name(), f)
		}
	}
	for _, f := range r.Shared {
		add("modec", f)
	}
	var all []contract.Target
	for _, o := range r.Outputs {
		all = append(all, o.Target)
	}
	return append(changes, w.removals(all, func(name, p string) bool { return !emitted[p] && compiled[name] })...)
}

// removals are what becomes of the artifacts that the locks know, of those that no
// build emits any more. A path that its target does not own is none of modec's,
// whatever a lock says.
func (w *writer) removals(all []contract.Target, gone func(target, path string) bool) (changes []Change) {
	mine := func(name, p string) bool {
		return name == "modec" && p == PolicyFile || slices.ContainsFunc(all, func(t contract.Target) bool { return t.Name() == name && owns(t, p) })
	}
	known := map[string]string{}
	for _, l := range []*Lock{w.lock, w.pending} {
		if l != nil {
			maps.Copy(known, l.Artifacts)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(known)) {
		name, hash := splitArtifact(known[p])
		if !gone(name, p) || !mine(name, p) {
			continue
		}
		if hash == sharedFile {
			if c, ok := w.merge(name, p, nil, nil); ok {
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

// merge decides what happens to a file that people write too; want is nil where it
// is no longer emitted. ok is false where nothing happens to it, or where it is in the
// way.
func (w *writer) merge(name, p string, want []byte, patterns []string) (c Change, ok bool) {
	have, err := w.read(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if want == nil {
			return c, false
		}
	case errors.Is(err, errNotRegular) && want == nil:
		return c, false
	case err != nil:
		w.diags.Errorf(diag.CannotWrite, diag.Pos{File: p}, "%v", pathErr(err))
		return c, false
	}
	var owned []merge.Entries
	for _, l := range []*Lock{w.lock, w.pending} {
		if l != nil && l.Entries[p] != nil {
			owned = append(owned, l.Entries[p])
		}
	}
	res, err := merge.Merge(have, want, patterns, owned, w.opt.Force)
	state := Stale
	if err == nil && w.opt.Check && len(res.Conflicts) > 0 {
		if state = Foreign; slices.ContainsFunc(res.Conflicts, func(x merge.Conflict) bool { return x.Edited }) {
			state = Edited
		}
		res, err = merge.Merge(have, want, patterns, owned, true)
	}
	if err != nil {
		w.unmerged(name, p, err)
		return c, false
	}
	if w.conflicts(name, p, res.Conflicts, "rename one of the two, or `--force` overwrites it") {
		return c, false
	}
	c = Change{Target: name, Path: p, Bytes: len(res.Data), SHA256: Sum(res.Data), Shared: true, data: res.Data, have: have, entries: res.Entries, Action: Update, State: state}
	switch {
	case res.Data == nil:
		c.Action, c.SHA256, c.State = Remove, "", Orphaned
	case have == nil:
		c.Action, c.State = Create, Missing
	case bytes.Equal(have, res.Data):
		c.Action, c.State = Unchanged, ""
	case want == nil:
		c.State = Orphaned
	}
	return c, want != nil || c.Action != Unchanged
}

// unmerged reports a shared file that cannot be read.
func (w *writer) unmerged(name, p string, err error) {
	w.diags.Errorf(diag.CannotMerge, artifact.PlaceOf(p, err), "got a file that is no JSON, want to add modec's entries to it: %v", err).
		Hint("mend it, or move it away").
		Target(name)
}

// conflicts reports the entries of a shared file that are a person's; true where
// there are any. hint says what becomes of one that was there before.
func (w *writer) conflicts(name, p string, list []merge.Conflict, hint string) bool {
	for _, x := range list {
		d := diag.Diagnostic{Code: diag.NotOurs, Pos: diag.Pos{File: p, Line: x.Line, Col: 1}, Target: name, Hint: hint}
		switch {
		case x.Got != "":
			d.Message, d.Hint = fmt.Sprintf("got %s at %q, want what modec's entries fit into", x.Got, x.Place), "mend it, or move the file away"
		case x.Edited:
			d.Code, d.Message, d.Hint = diag.Edited, fmt.Sprintf("got an entry %q that was edited since modec wrote it, want to leave it alone", x.Place), "move the change into the source, or `--force` overwrites it"
		default:
			d.Message = fmt.Sprintf("got an entry %q that modec did not write, want to leave it alone", x.Place)
		}
		w.diags = append(w.diags, d)
	}
	return len(list) > 0
}

// judge decides what happens to the path of an emitted file, and reports one
// that is not modec's to replace.
func (w *writer) judge(c *Change) {
	var err error
	c.have, err = w.read(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Action, c.State = Create, Missing
	case err != nil:
		if !errors.Is(err, errNotRegular) || !w.opt.Force {
			w.diags.Errorf(diag.CannotWrite, diag.Pos{File: c.Path}, "%v", pathErr(err))
		}
		c.Action, c.State = Update, Foreign
	case bytes.Equal(c.have, c.data):
		c.Action = Unchanged
	default:
		c.Action, c.State = Update, Stale
		w.mine(c)
	}
}

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
	if c.State = Foreign; recorded {
		c.State = Edited
	}
	if w.opt.Force || w.opt.Check {
		return true
	}
	d := diag.Diagnostic{Code: diag.NotOurs, Pos: diag.Pos{File: c.Path}, Target: c.Target, Message: "got a file that modec did not write, want to leave it alone",
		Hint: "move it away, or `--force` overwrites it"}
	if recorded {
		d.Code, d.Message, d.Hint = diag.Edited, "got a file that was edited since modec wrote it, want to leave it alone", "move the change into the source, or `--force` overwrites it"
	}
	w.diags = append(w.diags, d)
	return false
}

func (w *writer) removable(c *Change) bool {
	var err error
	c.have, err = w.read(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false
	case errors.Is(err, errNotRegular):
		return false // no longer what modec wrote: somebody else's now
	case err != nil:
		w.diags.Errorf(diag.CannotWrite, diag.Pos{File: c.Path}, "%v", pathErr(err))
		return false
	}
	c.State = Orphaned
	return w.mine(c)
}

// apply stages every changed file beside its place, flushes once, renames, and
// writes the lock last.
func (w *writer) apply(r *Result, changes []Change) (err error) {
	lock, err := w.nextLock(r, changes).marshal()
	if err != nil {
		return err
	}
	var staged []Change
	for _, c := range changes {
		if c.Action == Create || c.Action == Update {
			staged = append(staged, c)
		}
	}
	removed := slices.ContainsFunc(changes, func(c Change) bool { return c.Action == Remove })
	if len(staged) == 0 && !removed && bytes.Equal(lock, w.lockRaw) {
		return w.remove(PendingLock)
	}
	defer func() {
		if err != nil {
			for _, c := range staged {
				w.root.Remove(temp(c.Path))
			}
		}
	}()
	if err := w.stage(PendingLock, lock); err != nil {
		return err
	}
	if err := w.root.Rename(temp(PendingLock), PendingLock); err != nil {
		return err
	}
	for _, c := range staged {
		if err := w.stage(c.Path, c.data); err != nil {
			return err
		}
	}
	if err := flush(w.root); err != nil {
		return err
	}
	for _, c := range staged {
		if err := w.root.Rename(temp(c.Path), c.Path); err != nil {
			return fmt.Errorf("cannot put %s in place: %w", c.Path, pathErr(err))
		}
	}
	for _, c := range changes {
		if c.Action == Remove {
			if err := w.remove(c.Path); err != nil {
				return err
			}
		}
	}
	return w.root.Rename(PendingLock, LockFile)
}

// checkLock tells of a lock that remembers something else than this build would,
// where nothing else differs. Which modec wrote it is no difference.
func (w *writer) checkLock(r *Result, changes []Change) []Change {
	if slices.ContainsFunc(changes, func(c Change) bool { return c.Action != Unchanged }) {
		return nil
	}
	next := w.nextLock(r, changes)
	c := Change{Target: "modec", Path: LockFile, Action: Update, State: Stale, have: w.lockRaw}
	if w.lock == nil {
		c.Action, c.State = Create, Missing
	} else if next.Modec = w.lock.Modec; reflect.DeepEqual(next, w.lock) {
		return nil
	}
	c.data, _ = next.marshal()
	c.Bytes, c.SHA256 = len(c.data), Sum(c.data)
	return []Change{c}
}

// nextLock is the lock after this build: what it wrote, and what earlier
// builds wrote for targets that this one does not compile.
func (w *writer) nextLock(r *Result, changes []Change) *Lock {
	l := &Lock{Version: lockVersion, Modec: w.opt.Version, Schema: schema.Hash(), Source: r.Project.SourceHash, Artifacts: map[string]string{}}
	compiled := map[string]bool{"modec": true}
	for _, o := range r.Outputs {
		compiled[o.Target.Name()] = true
		for _, d := range o.Losses {
			if d.Loss == diag.Widening {
				l.Accepted = append(l.Accepted, fmt.Sprintf("%s: %s: %s", d.Target, d.Subject, d.Message))
			}
		}
	}
	if w.lock != nil {
		for _, line := range w.lock.Accepted {
			if name, _, _ := strings.Cut(line, ":"); !compiled[name] {
				l.Accepted = append(l.Accepted, line)
			}
		}
	}
	slices.Sort(l.Accepted)
	l.Accepted = slices.Compact(l.Accepted)
	remember := func(p string, entries merge.Entries) {
		if l.Entries == nil {
			l.Entries = map[string]merge.Entries{}
		}
		l.Entries[p] = entries
	}
	if w.lock != nil {
		for p, v := range w.lock.Artifacts {
			if name, _ := splitArtifact(v); !compiled[name] {
				l.Artifacts[p] = v
				if e := w.lock.Entries[p]; e != nil {
					remember(p, e)
				}
			}
		}
	}
	for _, c := range changes {
		switch {
		case c.Action == Remove:
		case !c.Shared:
			l.Artifacts[c.Path] = artifactLine(c.Target, c.SHA256)
		case len(c.entries) > 0:
			l.Artifacts[c.Path] = artifactLine(c.Target, sharedFile)
			remember(c.Path, c.entries)
		}
	}
	return l
}

func temp(p string) string { return p + ".modec-tmp" }

// stage writes a file beside its place, with the permissions of the one that it will
// replace.
func (w *writer) stage(p string, data []byte) error {
	if dir := path.Dir(p); dir != "." {
		if err := w.root.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot create the folder of %s: %w", p, pathErr(err))
		}
	}
	if err := w.remove(temp(p)); err != nil { // never write through a link that waits there
		return err
	}
	mode, keep := cmp.Or(w.mode, 0o644), false
	if info, err := w.root.Lstat(p); err == nil && info.Mode().IsRegular() {
		mode, keep = info.Mode().Perm(), true
	}
	f, err := w.root.OpenFile(temp(p), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", p, pathErr(err))
	}
	if _, err = f.Write(data); err == nil && keep {
		err = f.Chmod(mode) // whatever the umask takes
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", p, pathErr(err))
	}
	return nil
}

// remove deletes a file if it is there, and the folders that this leaves
// empty.
func (w *writer) remove(p string) error {
	if err := w.root.Remove(p); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("cannot remove %s: %w", p, pathErr(err))
	}
	if strings.HasSuffix(p, ".modec-tmp") {
		return nil
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if info, err := w.root.Lstat(dir); err != nil || !info.IsDir() || w.root.Remove(dir) != nil {
			break // a link to somebody's folder, or not empty
		}
	}
	return nil
}
