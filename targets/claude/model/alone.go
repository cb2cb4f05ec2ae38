package model

import (
	"cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// alone decides for sessions with no file of modec's, by permission mode.
type alone struct {
	decider
	project *ir.Project
	modes   map[string]*session
}

// Alone returns a decider for Claude Code by itself, in the permission mode of the role, or that of
// a subagent where the role's does not hold over it. A subagent has all tools of its session.
func Alone(p *ir.Project) []contract.Decider {
	a := &alone{project: p, modes: map[string]*session{}}
	modes := []string{format.Default}
	for i := range p.Roles {
		modes = append(modes, p.Roles[i].PermissionMode)
	}
	for i := range p.Modes {
		modes = append(modes, format.AgentMode(&p.Modes[i]))
	}
	for _, mode := range modes {
		s := newSession(diag.Pos{})
		s.mode = cmp.Or(mode, format.Default)
		s.settle()
		a.modes[mode] = s
	}
	return []contract.Decider{a}
}

// Decide returns what Claude Code does by itself in a session of a subject.
func (a *alone) Decide(ref ir.SubjectRef, action policy.Action) contract.Verdict {
	return a.of(ref).verdict(action)
}

func (a *alone) of(ref ir.SubjectRef) *session { return a.modes[a.mode(ref)] }

// mode returns the permission mode of a session. A mode by itself works in one of the baseline, and has the mode of
// that where no subagent has another.
func (a *alone) mode(ref ir.SubjectRef) string {
	mode := format.Default
	if r := a.project.Role(cmp.Or(ref.Role, a.project.Baseline)); r != nil {
		switch r.PermissionMode {
		case format.Bypass, format.AcceptEdits, format.Auto:
			return r.PermissionMode
		}
		if ref.Role != "" {
			mode = r.PermissionMode
		}
	}
	if m := a.project.Mode(ref.Mode); m != nil {
		mode = cmp.Or(format.AgentMode(m), mode)
	}
	return mode
}
