package contract

import (
	"io/fs"

	"modec.dev/modec/compiler/policy"
)

// InTimes returns files in which hooks decide with every time of the policy open ([policy.Engine.Opened]). As they
// are, hooks decide with every time closed.
func InTimes(fsys fs.FS) fs.FS { return inTimes{fsys} }

type inTimes struct{ fs.FS }

func (f inTimes) ReadFile(name string) ([]byte, error)       { return fs.ReadFile(f.FS, name) }
func (f inTimes) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }
func (f inTimes) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(f.FS, name) }

// HookPolicy returns the engine of a compiled policy by which a hook in some files decides for a target.
func HookPolicy(fsys fs.FS, data []byte, target string) (*policy.Engine, error) {
	e, err := policy.Read(data)
	if err != nil {
		return nil, err
	}
	if _, open := fsys.(inTimes); open {
		e = e.Opened()
	}
	return e.For(target), nil
}
