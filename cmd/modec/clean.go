package main

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
)

type cleanCmd struct {
	textOrJSON
	Out    string `placeholder:"DIR" help:"Clean this output root. Default: the project."`
	DryRun bool   `help:"Change nothing; list what would be removed."`
	Force  bool   `help:"Also remove files and entries that were edited since."`
}

func (cleanCmd) reports() []any { return []any{cleanReport{}, outcome{}} }

// cleanReport is the JSON of a clean.
type cleanReport struct {
	envelope
	Status      string          `json:"status" enum:"ok"`
	DryRun      bool            `json:"dryRun,omitempty" jsonschema:"nothing was changed"`
	Files       []output.Change `json:"files" jsonschema:"update: modec's entries were removed"`
	Diagnostics diag.List       `json:"diagnostics"`
}

func (c *cleanCmd) Run(e *env) error {
	projects := []*env{e}
	if c.Out == "" {
		own, err := e.own()
		if err != nil {
			return err
		}
		if own != nil {
			projects = append(projects, own)
		}
	}
	var changes []output.Change
	var diags diag.List
	for _, p := range projects {
		opt := p.outputs(p.output(c.Out))
		opt.Force, opt.DryRun, opt.Targets = c.Force, c.DryRun, p.targets
		some, list := output.Clean(e.ctx, opt)
		if list.HasErrors() {
			return e.ui.fail(list)
		}
		changes, diags = append(changes, some...), append(diags, list...)
	}
	if e.ui.json {
		return e.ui.emit(cleanReport{e.ui.envelope(), "ok", c.DryRun, changes, diags})
	}
	e.ui.diagnostics(diags)
	e.ui.kept(diags)
	removed, kept, restored := 0, 0, 0
	verb, take, put := "removed", "took", "restored"
	if c.DryRun {
		verb, take, put = "would remove", "would take", "would restore"
	}
	for _, x := range changes {
		if x.Restored {
			restored++
			e.ui.note("%s %s as it was before modec\n", put, diag.Clean(x.Path))
		} else if x.Action == output.Remove {
			removed++
			e.ui.note("%s %s\n", verb, diag.Clean(x.Path))
		} else {
			kept++
			e.ui.note("%s modec's entries out of %s\n", take, diag.Clean(x.Path))
		}
	}
	if len(changes) == 0 {
		e.ui.note("nothing to do: no build wrote files here\n")
	} else {
		e.ui.note("%s %s, and entries of %s; %s %s\n", verb, count(removed, "file"), count(kept, "file"),
			put, count(restored, "file"))
	}
	return nil
}
