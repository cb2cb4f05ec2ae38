package source

import (
	"io/fs"
	"maps"
	"path"

	"modec.dev/modec/compiler/memfs"
)

// layered is a file system over another one.
type layered struct {
	top   memfs.FS
	under fs.FS
}

func (l layered) Open(name string) (fs.File, error) {
	if f, err := l.top.Open(name); err == nil {
		return f, nil
	}
	return l.under.Open(name)
}

// Over returns a file system with some more files, or with others in their places.
func Over(fsys fs.FS, files memfs.FS) fs.FS { return layered{files, fsys} }

// Overlay returns a project with some more files, or with others in their places. It reads
// the project's source folder at once.
func Overlay(fsys fs.FS, dir string, files memfs.FS) (fs.FS, error) {
	top := memfs.FS{}
	err := fs.WalkDir(fsys, path.Clean(dir), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		top[name], err = fs.ReadFile(fsys, name)
		return err
	})
	maps.Copy(top, files)
	return layered{top, fsys}, err
}
