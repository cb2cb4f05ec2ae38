package main

import (
	"slices"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
)

// droppedTarget reports whether a change is of a file of a target that the project no longer has.
func droppedTarget(res *compiler.Result, c *output.Change) bool {
	return c.Target != "modec" && !slices.ContainsFunc(res.Outputs, func(o contract.Artifacts) bool {
		return o.Target.Name() == c.Target
	})
}

// acceptDropped has the user accept what a build puts back for targets that the project no longer has, where only git
// has it.
func (c *buildCmd) acceptDropped(e *env, res *compiler.Result, opt output.Options) error {
	lock := opt.LockText()
	if lock == nil || opt.DryRun || !output.WroteFor(lock, func(target string) bool {
		return droppedTarget(res, &output.Change{Target: target})
	}) {
		return nil
	}
	opt.DryRun = true
	planned, diags := res.Write(e.ctx, opt)
	if diags.HasErrors() {
		return nil // the build says it
	}
	return c.acceptRestored(e, planned)
}

// tellDropped prints what becomes of the files of targets that the project no longer has.
func (e *env) tellDropped(res *compiler.Result, changes []output.Change, dry bool) {
	put := "restored"
	if dry {
		put = "would restore"
	}
	var names []string
	var back []output.Change
	for i := range changes {
		c := &changes[i]
		if !droppedTarget(res, c) {
			continue
		}
		if !slices.Contains(names, c.Target) {
			names = append(names, c.Target)
			e.ui.Note("%s is no target any more: nothing of the source holds it from now on\n", diag.Clean(c.Target))
		}
		if c.Restored {
			e.tellRestored(c, put)
			back = append(back, *c)
		}
	}
	e.tellAgain(permitAgain(e, back), dry)
}
