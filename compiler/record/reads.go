package record

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync"
)

// most is the most bytes of a file that is kept in memory. A run that reads a larger one is
// not remembered.
const most = 16 << 20

// Reads is a file system that notes the state of whatever is read from it. The state of a
// file is that of the bytes that the reader got.
type Reads struct {
	fsys fs.FS

	mu     sync.Mutex
	states map[string]string
	kept   map[string]seen // by name: what is read again
	bad    bool            // something was read whose state is not known
}

// seen is what was read at a name.
type seen struct {
	data []byte // of a file that was opened
	info fs.FileInfo
	err  error // there is nothing
}

// NewReads returns a file system that notes what is read from another one.
func NewReads(fsys fs.FS) *Reads {
	return &Reads{fsys: fsys, states: map[string]string{}, kept: map[string]seen{}}
}

// States returns what was noted; ok is false where that is not everything.
func (r *Reads) States() (states map[string]string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states, !r.bad
}

// note keeps a state. A path whose state changed during the run has none.
func (r *Reads) note(name, state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch old := r.states[name]; {
	case old == "", old == folder, old == there && state != absent, old == state:
		r.states[name] = state
	case state == folder && strings.HasPrefix(old, names), state == there && old != absent:
	default:
		r.bad = true
	}
}

// spoil notes that something was read whose state is not known.
func (r *Reads) spoil() {
	r.mu.Lock()
	r.bad = true
	r.mu.Unlock()
}

// Stat describes a file or a folder without opening it.
func (r *Reads) Stat(name string) (fs.FileInfo, error) {
	if was, ok := r.again(name); ok {
		return was.info, was.err
	}
	info, err := fs.Stat(r.fsys, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.note(name, absent)
		r.keep(name, seen{err: err})
	case err != nil:
		r.spoil()
	case info.IsDir():
		r.note(name, folder)
	case info.Mode().IsRegular():
		r.note(name, there)
	default:
		r.spoil()
	}
	return info, err
}

// Open opens a file or a folder.
func (r *Reads) Open(name string) (fs.File, error) {
	switch was, ok := r.again(name); {
	case ok && was.err != nil:
		return nil, was.err
	case ok:
		return &readFile{bytes.NewReader(was.data), was.info}, nil
	}
	f, err := r.fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		r.note(name, absent)
		r.keep(name, seen{err: err})
		return nil, err
	}
	if err != nil {
		r.spoil()
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		r.spoil()
		return f, nil
	}
	switch {
	case info.IsDir():
		r.note(name, folder)
		if d, ok := f.(fs.ReadDirFile); ok {
			return &readFolder{d, r, name}, nil
		}
		r.spoil()
		return f, nil
	case !info.Mode().IsRegular() || info.Size() > most:
		r.spoil()
		return f, nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil || len(data) > most {
		r.spoil()
		return nil, &fs.PathError{Op: "read", Path: name, Err: cmp.Or(err, errGrew)}
	}
	r.note(name, sum(data))
	r.keep(name, seen{data: data, info: info})
	return &readFile{bytes.NewReader(data), info}, nil
}

// again returns what was read at a name before: who looks twice sees the same.
func (r *Reads) again(name string) (seen, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, ok := r.kept[name]
	return was, ok
}

func (r *Reads) keep(name string, what seen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[name] = what
}

var errGrew = errors.New("it grew while it was read")

// readFile is a file that was read whole.
type readFile struct {
	*bytes.Reader
	info fs.FileInfo
}

func (f *readFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *readFile) Close() error               { return nil }

// readFolder notes the names in a folder when they are asked for.
type readFolder struct {
	fs.ReadDirFile
	reads *Reads
	name  string
}

func (d *readFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := d.ReadDirFile.ReadDir(n)
	if n > 0 || err != nil {
		d.reads.spoil()
		return entries, err
	}
	list := make([]string, 0, len(entries))
	for _, e := range entries {
		list = append(list, e.Name()+kind(e.Type()))
	}
	d.reads.note(d.name, listing(list))
	return entries, nil
}
