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

// Note notes a path as if it were read.
func (r *Reads) Note(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.states[name]; ok {
		return
	}
	data, err := fs.ReadFile(r.fsys, name)
	if err != nil {
		var list []fs.DirEntry
		if list, err = fs.ReadDir(r.fsys, name); errors.Is(err, fs.ErrNotExist) {
			data = []byte("absent")
		} else if err != nil {
			data = []byte(err.Error())
		}
		for _, e := range list {
			data = fmt.Appendln(data, fs.FormatDirEntry(e))
		}
	}
	r.states[name] = fmt.Sprintf("%x", sha256.Sum256(data))
}

// States returns a digest of what is at each path that was read.
func (r *Reads) States() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.states)
}
