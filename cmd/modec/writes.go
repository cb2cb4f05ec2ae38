package main

import (
	"io/fs"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
)

// progress is what each writer of package output reports to: the env remembers what a
// command has written.
func (e *env) progress() output.Progress {
	return output.Progress{Changed: e.ui.Written.Add, Waits: e.ui.Waits}
}

// put writes files of the project that are people's own.
func (e *env) put(files []contract.File, there output.Existing) diag.List {
	return output.Put(e.ctx, files, output.PutOptions{Dir: e.dir, Existing: there, Progress: e.progress()})
}

// outputs returns the options of what is written below a folder.
func (e *env) outputs(dir string) output.Options {
	return output.Options{Dir: dir, Version: version(), Progress: e.progress(), Targets: e.targets,
		Originals: func() *originals.Record { return originals.Load(dir) },
		Says:      e.says(),
		Blob: func(path, name string) ([]byte, error) {
			if !gittree.Held(e.ctx, dir, path, name) {
				return nil, fs.ErrNotExist
			}
			return gittree.Blob(e.ctx, dir, name)
		},
		Written: func() *originals.Written { return originals.LoadWritten(dir) },
		InGit:   func(path, name string) bool { return gittree.At(e.ctx, dir, path) == name },
		Left:    func(lock []byte, path string) []byte { return e.leftAt(output.AsBuilt(lock), path) },
	}
}

// checking returns the options of a run that only compares what is below a folder.
func (e *env) checking(dir string) output.Options {
	opt := e.outputs(dir)
	opt.Check = true
	return opt
}
