package main

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
)

// edits returns what people changed in the agents' files of the working tree, as a patch of the source; nil where
// nobody can read it.
func (e *env) edits() (*migrate.Edited, error) {
	c := migrateCmd{Out: "modec"}
	req, err := c.request(e)
	if err != nil {
		return nil, err
	}
	end, err := c.open(e, &req)
	if err != nil {
		return nil, err
	}
	defer end()
	was, diags := migrate.Edits(e.ctx, req, e.request(), originals.Load(e.home(e.dir)))
	return was, diags.Err()
}

// permitMore returns what changed files permit more than the source, a line each. known is false where no source says
// all that was changed.
func (e *env) permitMore() (lines []string, known bool) {
	was, err := e.edits()
	if err != nil {
		return nil, false
	}
	lines, err = widened(was, e.targets)
	unsaid := func(x migrate.Edit) bool { return x.Why != "" }
	return lines, err == nil && !slices.ContainsFunc(was.Edits, unsaid)
}

// judgeEdited reports the files of modec's own that people changed, where what they say of one agent alone permits
// more: no rule of the source is compared with that.
func (e *env) judgeEdited(changes []output.Change) (diags diag.List) {
	i := slices.IndexFunc(changes, func(c output.Change) bool {
		return c.State == output.Edited && !c.Merged && !contract.ForMachines(c.Path)
	})
	if i < 0 {
		return nil
	}
	const changed = "somebody changed this file since the build, and "
	at, target := diag.Pos{File: changes[i].Path}, changes[i].Target
	lines, known := e.permitMore()
	for _, line := range lines {
		diags.Errorf(diag.ForeignWidening, at, changed+"the source would permit more with it: %s", line).
			Hint("`modec migrate` shows the change as a patch of the source; `modec build --force` takes it back").
			Target(target)
	}
	if len(lines) == 0 && !known {
		diags.Warnf(diag.ForeignWidening, at, changed+"no source says what it permits now").
			Hint("`modec migrate` shows what cannot be said; `modec build --force` takes the change back").
			Target(target)
	}
	return diags
}
