package contract

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
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

// ReadFile reads a file, and notes what it returns.
func (r *Reads) ReadFile(name string) ([]byte, error) {
	data, err := fs.ReadFile(r.fsys, name)
	r.note(name, data, err)
	return data, err
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
func (r *Reads) Note(name string) { _, _ = r.ReadFile(name) }

// note keeps a digest of what is at a path, by what reading it as a file returned first.
func (r *Reads) note(name string, data []byte, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.states[name]; ok {
		return
	}
	if err != nil { // a folder is none to some file systems
		var list []fs.DirEntry
		list, err = fs.ReadDir(r.fsys, name)
		for _, e := range list {
			data = fmt.Appendln(data, fs.FormatDirEntry(e))
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = []byte("absent")
	case err != nil:
		data = []byte(err.Error())
	}
	r.states[name] = fmt.Sprintf("%x", sha256.Sum256(data))
}

// States returns a digest of what is at each path that was read. It is to be asked for when nothing is read any more.
func (r *Reads) States() map[string]string { return r.states }
