package contract

import (
	"errors"
	"io/fs"
	"sync"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// InTimes returns files in which hooks decide with every time of the policy open ([policy.Engine.Opened]). As they
// are, hooks decide with every time closed.
func InTimes(fsys fs.FS) fs.FS { return inTimes{fsys} }

type inTimes struct{ fs.FS }

func (f inTimes) ReadFile(name string) ([]byte, error)       { return fs.ReadFile(f.FS, name) }
func (f inTimes) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(f.FS, name) }
func (f inTimes) Stat(name string) (fs.FileInfo, error)      { return fs.Stat(f.FS, name) }

// HookPolicy is the policy by which the hooks in some files decide for a target.
type HookPolicy struct {
	// Engine returns what decides, read once. The error is [fs.ErrNotExist] where nothing says what the source is.
	Engine func() (*policy.Engine, error)
}

// NewHookPolicy returns that of some files.
func NewHookPolicy(fsys fs.FS, target string) *HookPolicy {
	return &HookPolicy{sync.OnceValues(func() (*policy.Engine, error) { return readPolicy(fsys, target) })}
}

func readPolicy(fsys fs.FS, target string) (*policy.Engine, error) {
	data, err := fs.ReadFile(fsys, PolicyFile)
	if err != nil {
		return nil, err
	}
	e, err := policy.Read(data)
	if err != nil {
		return nil, err
	}
	if r, ok := fsys.(*Reads); ok {
		fsys = r.fsys
	}
	if _, open := fsys.(inTimes); open {
		e = e.Opened()
	}
	return e.For(target), nil
}

// Of returns the policy, and the subject for which a hook's line decides by it. The error says why the hook refuses
// every call.
func (p *HookPolicy) Of(line *HookLine) (*policy.Engine, ir.SubjectRef, error) {
	e, err := p.Engine()
	if err != nil {
		return nil, ir.SubjectRef{}, errors.New("there is no source that compiles: this hook refuses every call")
	}
	ref, err := line.Ref(e)
	return e, ref, err
}
