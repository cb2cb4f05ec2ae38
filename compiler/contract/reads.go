package contract

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"
)

// Reads is a file system that notes what is read of it.
type Reads struct {
	fsys   fs.FS
	mu     sync.Mutex
	states map[string]string // by path: a digest of what is there
}

// NewReads returns a file system that notes what is read of another one.
func NewReads(fsys fs.FS) *Reads { return &Reads{fsys: fsys, states: map[string]string{}} }

// Open opens a file or a folder.
func (r *Reads) Open(name string) (fs.File, error) {
	r.Note(name)
	return r.fsys.Open(name)
}

// Stat returns what is known of a file without opening it.
func (r *Reads) Stat(name string) (fs.FileInfo, error) {
	r.Note(name)
	return fs.Stat(r.fsys, name)
}

// Lstat is Stat for the link itself.
func (r *Reads) Lstat(name string) (fs.FileInfo, error) {
	r.Note(name)
	return fs.Lstat(r.fsys, name)
}

// ReadLink returns where a link leads.
func (r *Reads) ReadLink(name string) (string, error) {
	r.Note(name)
	return fs.ReadLink(r.fsys, name)
}

// Note notes a path as if it were read.
func (r *Reads) Note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.states[name]; ok {
		return
	}
	r.states[name] = stateOf(r.fsys, name)
}

// stateOf returns a digest of what is at a path. It opens nothing but files and folders: a named pipe would wait.
func stateOf(fsys fs.FS, name string) string {
	info, err := fs.Stat(fsys, name)
	var data []byte
	switch {
	case err != nil:
	case info.IsDir():
		var list []fs.DirEntry
		list, err = fs.ReadDir(fsys, name)
		for _, e := range list {
			data = fmt.Appendln(data, fs.FormatDirEntry(e))
		}
	case info.Mode().IsRegular():
		data, err = fs.ReadFile(fsys, name)
	default:
		data = []byte(info.Mode().String())
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = []byte("absent")
	case err != nil:
		data = []byte(err.Error())
	}
	return fmt.Sprintf("%x", sha256.Sum256(data))
}

// States returns a digest of what is at each path that was read.
func (r *Reads) States() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.states)
}
