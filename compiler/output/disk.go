package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// disk is a folder that is read and written. Nothing outside of it is, nor anything
// through a symbolic link.
type disk struct {
	root *os.Root
	// from is read in place of the folder where it is set: a git index.
	from fs.FS
	mode fs.FileMode // of new files; 0: 0644
	// keepFolders leaves the folders there that a removal empties.
	keepFolders bool
	progress    Progress
	step        func(step) // called before each change that outlives a crash; nil: nothing
}

// Progress is what a caller wants to know while a run writes.
type Progress struct {
	// Changed is called with each file that is in place or gone from then on; nil: nothing.
	Changed func(path string)
}

// step is a kind of change, for tests that stop before one.
type step string

const (
	staging  step = "staging"  // of a file beside its place, or of its folder
	placing  step = "placing"  // of a staged file
	removing step = "removing" // of a file or of a folder that this left empty
)

// run is whether a command changes the disk.
type run bool

const (
	real run = false
	dry  run = true
)

// openDisk opens a folder, and creates it first unless the run is dry. The root of a dry
// disk is nil where there is no folder.
func openDisk(dir string, as run) (disk, error) {
	if as == real {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return disk{}, fmt.Errorf("cannot create the output folder: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) && as == dry {
		return disk{}, nil
	}
	if err != nil {
		return disk{}, fmt.Errorf("cannot open the output folder: %w", err)
	}
	return disk{root: root}, nil
}

func (d *disk) close() {
	if d.root != nil {
		d.root.Close()
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
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: got %s, want a regular file", errNotRegular, diag.FileKind(info.Mode()))
	}
	return read(p)
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

var errNotRegular = errors.New("not a regular file")

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
			for _, f := range t.write {
				d.root.Remove(temp(f.Path))
			}
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
func (d *disk) replace(f contract.File) error {
	if err := d.stage(f); err != nil {
		return err
	}
	return d.rename(temp(f.Path), f.Path)
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
	if d.progress.Changed != nil && p != PendingLock {
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
		if err := d.root.MkdirAll(dir, 0o755); err != nil {
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
	for dir := path.Dir(p); dir != "." && !d.keepFolders; dir = path.Dir(dir) {
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

// swept reports whether a name is one of a half-written file.
func swept(name string) bool { return strings.HasSuffix(name, tempSuffix) }
