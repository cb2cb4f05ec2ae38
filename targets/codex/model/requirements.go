package model

import (
	"io/fs"
	"maps"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets/codex/format"
)

// required is where an administrator requires something of every session.
const required = "requirements"

var assumesRequired = append([]string{
	"an administrator has placed " + format.RequirementsFile + " as " + format.AdminFile,
}, assumes...)

// readRequired returns the decider of the same sessions where the requirements hold, nil where there are none.
func (r *reader) readRequired() *decider {
	data, err := fs.ReadFile(r.fsys, format.RequirementsFile)
	if err != nil {
		return nil
	}
	q, err := format.ReadRequirements(format.RequirementsFile, data)
	if err != nil {
		r.diags.Warnf(codeBad, diag.Pos{File: format.RequirementsFile},
			"Codex does not start with these requirements: %v", err).
			Hint("`modec build` rewrites what it wrote").
			Target("codex")
		return nil
	}
	d := *r.decider
	d.surface, d.sessions = required, maps.Clone(d.sessions)
	for ref, s := range d.sessions {
		under := *s
		under.Config, under.required = s.Config.Under(q), q
		if len(s.hooks) == 0 {
			under.hooks = r.hooksOf(under.Config)
		} else if !under.Feature("hooks", true) {
			under.hooks = nil
		}
		d.sessions[ref] = &under
	}
	return &d
}
