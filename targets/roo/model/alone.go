package model

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// Alone returns a decider for the agent by itself: a mode of the project has every group, no
// file is ignored, and no server says what is approved. Roo asks about what the user does not
// auto-approve. Without artifacts the dialects differ in nothing that these govern.
func Alone(p *ir.Project) contract.Decider {
	d, _ := Open(memfs.FS{}, format.Zoo) // no file, nothing to warn about
	a := alone{d.(*decider)}
	for _, modes := range [][]ir.Mode{p.Modes, p.Builtins} {
		for i := range modes {
			m := &mode{groups: map[string]group{}}
			for _, name := range []string{"read", "edit", "command", "mcp", "web"} {
				m.groups[name] = group{text: "Roo asks about what the user does not auto-approve"}
			}
			a.modes[modes[i].Slug] = m
		}
	}
	return a
}

type alone struct{ *decider }

// Decide answers as the decider of files does; a server is one of the user's own.
func (a alone) Decide(ref ir.SubjectRef, action policy.Action) contract.Verdict {
	if action.Group == ir.MCP && action.Kind != policy.Prompt && ref.Role == "" && a.modes[ref.Mode] != nil {
		return a.server(format.Server{}, action)
	}
	return a.decider.Decide(ref, action)
}
