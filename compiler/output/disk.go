package output

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// disk is a folder that is read and written. Nothing outside of it is, nor anything
// through a symbolic link.
type disk struct {
	root *os.Root
	// from is read in place of the folder where it is set: a git index.
	from     fs.FS
	mode     fs.FileMode // of new files; 0: 0644
	outer    []string    // folders that were created for the root, the innermost first
	inner    []string    // folders that were created below the root
	begun    bool        // a file is in place or gone
	unlock   func()      // nil: the folder is not locked
	progress Progress
	step     func(step) // called before each change that outlives a crash; nil: nothing
}

// Progress is what a caller wants to know while a run writes.
type Progress struct {
	// Changed is called with each file that is in place or gone from then on; nil: nothing.
	Changed func(path string)
	// Waits is called once where another run writes into the folder for more than a moment;
	// nil: nothing.
	Waits func()
}

// step is a kind of change, for tests that stop before one.
type step string

const (
	staging  step = "staging"  // of a file beside its place, or of its folder
	placing  step = "placing"  // of a staged file
	removing step = "removing" // of a file or of a folder that this left empty
)

// openDisk opens a folder. It fails with [fs.ErrNotExist] where there is none.
func openDisk(dir string) (disk, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return disk{}, fmt.Errorf("cannot open the output folder: %w", err)
	}
	return disk{root: root}, nil
}

// makeDisk opens a folder, and creates it first.
func makeDisk(dir string) (disk, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return disk{}, fmt.Errorf("cannot create the output folder: %w", err)
	}
	return openDisk(dir)
}

// takeDisk opens a folder to write into it, and creates it first. It keeps other runs from
// writing into it until it is closed, and waits for one that does. A folder that was
// created and is empty in the end goes again.
func takeDisk(ctx context.Context, dir string, p Progress) (disk, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return disk{}, fmt.Errorf("cannot open the output folder: %w", err)
	}
	for w := (waiter{ctx: ctx, progress: p}); ; {
		outer := absent(dir)
		d, err := makeDisk(dir)
		if errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			continue // a run that failed has just taken the folder away
		}
		if err != nil {
			return disk{}, err
		}
		handle, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			d.close()
			continue
		}
		if err != nil {
			d.close()
			return disk{}, fmt.Errorf("cannot open the output folder: %w", err)
		}
		release, err := w.take(handle)
		if err != nil {
			handle.Close()
			d.close()
			return disk{}, err
		}
		d.outer, d.progress = outer, p
		d.unlock = func() { release(); handle.Close() }
		if d.at(dir, handle) {
			return d, nil
		}
		d.outer = nil // the run before took the folder away, and another may have made it anew
		d.close()
	}
}

// absent returns the folders of a path that are not there, the innermost first.
func absent(dir string) (list []string) {
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			return list
		}
		list, dir = append(list, dir), filepath.Dir(dir)
	}
}

// at reports whether the open folder and the locked one are what a path names.
func (d *disk) at(dir string, locked *os.File) bool {
	there, err := os.Stat(dir)
	if err != nil {
		return false
	}
	opened, err := d.root.Stat(".")
	if err != nil || !os.SameFile(there, opened) {
		return false
	}
	info, err := locked.Stat()
	return err == nil && os.SameFile(there, info)
}

func (d *disk) close() {
	if d.root != nil {
		d.root.Close()
	}
	for _, dir := range d.outer {
		if os.Remove(dir) != nil {
			break // not empty
		}
	}
	if d.unlock != nil {
		d.unlock()
	}
}

// read returns a regular file's bytes. It does not follow a link at the end of the
// path, and os.Root refuses one on the way that leaves the folder.
func (d *disk) read(p string) ([]byte, error) {
	stat, read := d.reader()
	if stat == nil {
		return nil, fs.ErrNotExist
	}
	info, err := stat(p)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, errFolder
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: got %s, want a regular file", errNotRegular, diag.FileKind(info.Mode()))
	}
	return read(p)
}

// files returns the files of the folder; nil where it is not there.
func (d *disk) files() fs.FS {
	if d.from == nil && d.root != nil {
		return d.root.FS()
	}
	return d.from
}

func (d *disk) reader() (func(string) (fs.FileInfo, error), func(string) ([]byte, error)) {
	switch {
	case d.from != nil:
		return func(p string) (fs.FileInfo, error) { return fs.Stat(d.from, p) },
			func(p string) ([]byte, error) { return fs.ReadFile(d.from, p) }
	case d.root != nil:
		return d.root.Lstat, d.root.ReadFile
	}
	return nil, nil
}

var (
	errNotRegular = errors.New("not a regular file")
	errFolder     = fmt.Errorf("%w: got a folder, want a regular file", errNotRegular)
)

// transaction is a set of changes that are made together.
type transaction struct {
	write  []contract.File
	remove []string
}

// commit stages every file beside its place, flushes once, renames and removes. An
// error before the first rename leaves everything as it was.
func (d *disk) commit(t transaction) (err error) {
	defer func() {
		if err != nil {
			d.undo(t.write)
		}
	}()
	for _, f := range t.write {
		if err := d.stage(f); err != nil {
			return err
		}
	}
	if len(t.write) > 0 {
		if err := flush(d.root); err != nil {
			return err
		}
	}
	for _, f := range t.write {
		if err := d.rename(temp(f.Path), f.Path); err != nil {
			return err
		}
	}
	for _, p := range t.remove {
		if err := d.remove(p); err != nil {
			return err
		}
	}
	return nil
}

// replace puts one file in place without a flush of its own: what it holds is not
// needed before the next commit.
func (d *disk) replace(f contract.File) (err error) {
	if err = d.stage(f); err == nil {
		err = d.rename(temp(f.Path), f.Path)
	}
	if err != nil {
		d.undo([]contract.File{f})
	}
	return err
}

// undo removes what was staged for files and is not in place, and the folders that were
// created for it.
func (d *disk) undo(files []contract.File) {
	for _, f := range files {
		d.root.Remove(temp(f.Path))
	}
	slices.SortFunc(d.inner, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range d.inner {
		d.root.Remove(dir) // where it is empty
	}
}

func (d *disk) rename(from, to string) error {
	d.changes(placing)
	if err := d.root.Rename(from, to); err != nil {
		return fmt.Errorf("cannot put %s in place: %w", to, diag.WithoutPath(err))
	}
	d.tell(to)
	return nil
}

// tell reports a file that is in place or gone.
func (d *disk) tell(p string) {
	if path.Base(p) == path.Base(PendingLock) {
		return
	}
	d.begun = true
	if d.progress.Changed != nil {
		d.progress.Changed(p)
	}
}

func (d *disk) changes(s step) {
	if d.step != nil {
		d.step(s)
	}
}

const tempSuffix = ".modec-tmp"

func temp(p string) string { return p + tempSuffix }

// stage writes a file beside its place, with the permissions of the one that it will
// replace.
func (d *disk) stage(f contract.File) error {
	if dir := path.Dir(f.Path); dir != "." {
		d.changes(staging)
		if err := d.create(dir); err != nil {
			return fmt.Errorf("cannot create the folder of %s: %w", f.Path, diag.WithoutPath(err))
		}
	}
	if err := d.unstage(f.Path); err != nil { // never write through a link that waits there
		return err
	}
	mode, keep := cmp.Or(d.mode, 0o644), false
	if info, err := d.root.Lstat(f.Path); err == nil && info.Mode().IsRegular() {
		mode, keep = info.Mode().Perm(), true
	}
	d.changes(staging)
	out, err := d.root.OpenFile(temp(f.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", f.Path, diag.WithoutPath(err))
	}
	if _, err = out.Write(f.Data); err == nil && keep {
		err = out.Chmod(mode) // whatever the umask takes
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.Path, diag.WithoutPath(err))
	}
	return nil
}

// create makes a folder and those above it, and remembers which were not there.
func (d *disk) create(dir string) error {
	for p := dir; p != "."; p = path.Dir(p) {
		if _, err := d.root.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		d.inner = append(d.inner, p)
	}
	return d.root.MkdirAll(dir, 0o755)
}

// unstage removes what an interrupted run left half-written beside a path.
func (d *disk) unstage(p string) error {
	if err := d.root.Remove(temp(p)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", temp(p), diag.WithoutPath(err))
	}
	return nil
}

// remove deletes a file if it is there, and the folders that this leaves empty.
func (d *disk) remove(p string) error {
	d.changes(removing)
	if err := d.root.Remove(p); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("cannot remove %s: %w", p, diag.WithoutPath(err))
	}
	d.tell(p)
	d.prune(p)
	return nil
}

// prune deletes the folders above a path that are empty.
func (d *disk) prune(p string) {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		info, err := d.root.Lstat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || !info.IsDir() {
			break // a link to somebody's folder
		}
		d.changes(removing)
		if d.root.Remove(dir) != nil {
			break // not empty
		}
	}
}

// reason returns the reason of an error of a file below the folder.
func (d *disk) reason(name string, err error) error {
	if d.root == nil {
		return diag.WithoutPath(err)
	}
	return diag.Reason(d.root.FS(), name, err)
}
