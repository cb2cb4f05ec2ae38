// Package memfs is a read-only file system in memory: what a build would write,
// before it is written, and what an agent would find.
package memfs

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// FS contains files by their path, slash-separated and without a leading slash. The
// folders are those that the paths imply. It is safe for concurrent reading.
type FS map[string][]byte

// Open opens a file or a folder.
func (f FS) Open(name string) (fs.File, error) {
	info, err := f.Stat(name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if info.IsDir() {
		list, err := f.ReadDir(name)
		return &folder{info: info, left: list}, err
	}
	return &file{info, bytes.NewReader(f[name])}, nil
}

// ReadFile returns a copy of a file's bytes.
func (f FS) ReadFile(name string) ([]byte, error) {
	data, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(data), nil
}

// Stat describes a file, or a folder that some path implies.
func (f FS) Stat(name string) (fs.FileInfo, error) {
	if fs.ValidPath(name) {
		if data, ok := f[name]; ok {
			return entry{path.Base(name), int64(len(data)), 0o644}, nil
		}
		if name == "." {
			return entry{name, 0, fs.ModeDir | 0o755}, nil
		}
		for p := range f {
			if strings.HasPrefix(p, name+"/") {
				return entry{path.Base(name), 0, fs.ModeDir | 0o755}, nil
			}
		}
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists a folder, sorted by name.
func (f FS) ReadDir(name string) ([]fs.DirEntry, error) {
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	found := map[string]fs.DirEntry{}
	for p := range f {
		rest, ok := strings.CutPrefix(p, prefix)
		if !ok {
			continue
		}
		if first, _, below := strings.Cut(rest, "/"); below {
			found[first] = fs.FileInfoToDirEntry(entry{first, 0, fs.ModeDir | 0o755})
		} else {
			found[first] = listed{f, p}
		}
	}
	if len(found) == 0 && name != "." {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	list := make([]fs.DirEntry, 0, len(found))
	for _, e := range found {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, nil
}

// entry describes a file or a folder.
type entry struct {
	name string
	size int64
	mode fs.FileMode
}

func (e entry) Name() string       { return e.name }
func (e entry) Size() int64        { return e.size }
func (e entry) Mode() fs.FileMode  { return e.mode }
func (e entry) ModTime() time.Time { return time.Time{} }
func (e entry) IsDir() bool        { return e.mode.IsDir() }
func (e entry) Sys() any           { return nil }

// listed is a file of a folder. It is described when it is asked: its bytes may come
// later than its name.
type listed struct {
	in   FS
	path string
}

func (l listed) Name() string               { return path.Base(l.path) }
func (l listed) IsDir() bool                { return false }
func (l listed) Type() fs.FileMode          { return 0 }
func (l listed) Info() (fs.FileInfo, error) { return l.in.Stat(l.path) }
func (l listed) String() string             { return fs.FormatDirEntry(l) }

type file struct {
	info fs.FileInfo
	*bytes.Reader
}

func (f *file) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *file) Close() error               { return nil }

type folder struct {
	info fs.FileInfo
	left []fs.DirEntry
}

func (d *folder) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *folder) Close() error               { return nil }

func (d *folder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.Name(), Err: fs.ErrInvalid}
}

func (d *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.left)
	} else if len(d.left) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.left))
	list := d.left[:n]
	d.left = d.left[n:]
	return list, nil
}
