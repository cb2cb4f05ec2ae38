package compiler

import (
	"io/fs"

	"modec.dev/modec/compiler/target"
	"modec.dev/modec/compiler/verify"
)

// Verify holds files against the source of a compiled project: those that it
// was compiled to, or others where fsys is a folder on disk. A target without
// a model of its agent is left out.
func (r *Result) Verify(fsys fs.FS, seed uint64, progress func(done, total int)) (*verify.Report, error) {
	req := verify.Request{Policy: r.Policy, Seed: seed, Progress: progress}
	for _, o := range r.Outputs {
		if j, ok := o.Target.(target.Judged); ok {
			req.Targets = append(req.Targets, verify.Target{Target: j, Input: r.Input(o.Target), Files: fsys})
		}
	}
	return verify.Run(req)
}
