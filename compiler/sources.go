package compiler

import (
	"io/fs"
	"path"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
)

// SourceTexts returns the texts of a project's data files, by name.
func SourceTexts(req Request, cfg *Config) (map[string]string, error) {
	l, err := newLoader(Source{Root: req.Root, FS: req.FS, Dir: cfg.Source}, nil)
	if err != nil {
		return nil, err
	}
	defer l.close()
	out := map[string]string{}
	for _, name := range l.files() {
		b, err := l.bytes(name)
		if err != nil {
			return nil, err
		}
		out[name] = string(b)
	}
	return out, nil
}

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
func Overlay(fsys fs.FS, source string, files []contract.File) (fs.FS, error) {
	top := memfs.FS{}
	err := fs.WalkDir(fsys, path.Clean(source), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		top[name] = data
		return err
	})
	for _, f := range files {
		top[f.Path] = f.Data
	}
	return layered{top, fsys}, err
}
