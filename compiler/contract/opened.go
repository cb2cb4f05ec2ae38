package contract

import (
	"fmt"
	"io/fs"

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

// HookPolicy returns the engine of a compiled policy by which a hook in some files decides for a target.
func HookPolicy(fsys fs.FS, data []byte, target string) (*policy.Engine, error) {
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

// HookPolicies are the compiled policies in some files by which hooks decide for a target, each read once.
type HookPolicies struct {
	fsys   fs.FS
	target string
	read   map[string]*policy.Engine // by path
}

// NewHookPolicies returns those in some files.
func NewHookPolicies(fsys fs.FS, target string) *HookPolicies {
	return &HookPolicies{fsys, target, map[string]*policy.Engine{}}
}

// Read returns the policy in a file.
func (p *HookPolicies) Read(name string) (*policy.Engine, error) {
	if e := p.read[name]; e != nil {
		return e, nil
	}
	data, err := fs.ReadFile(p.fsys, name)
	if err != nil {
		return nil, err
	}
	e, err := HookPolicy(p.fsys, data, p.target)
	if err != nil {
		return nil, err
	}
	p.read[name] = e
	return e, nil
}

// Of returns the policy in a file, and the subject for which a hook's line decides by it. The error says why the hook
// refuses every call.
func (p *HookPolicies) Of(name string, line *HookLine) (*policy.Engine, ir.SubjectRef, error) {
	e, err := p.Read(name)
	if err != nil {
		err = fmt.Errorf("the policy %q cannot be used: this hook refuses every call", line.Model)
		return nil, ir.SubjectRef{}, err
	}
	ref, err := line.SubjectIn(e)
	return e, ref, err
}
