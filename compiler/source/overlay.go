package source

import (
	"io/fs"
	"maps"
	"path"

	"modec.dev/modec/compiler/memfs"
)

// layered is a file system whose source folder is another's.
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

// Overlay lays files over those of a project's source folder: what the project would
// be with them.
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
