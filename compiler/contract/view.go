package contract

import (
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Whole is a target that writes the source itself for other programs: it has everything of
// the source under its own name, whichever targets that names.
type Whole interface {
	Target
	// EmitsWhole only marks the target.
	EmitsWhole()
}

// View returns the engine of what a target emits: see [policy.View].
func View(t Target, e *policy.Engine) *policy.Engine {
	if _, ok := t.(Whole); ok {
		return e
	}
	return e.For(t.Name())
}

// ServersView is View with the servers themselves, also where the agent has modec's gateway in their place.
func ServersView(t Target, e *policy.Engine) *policy.Engine {
	if _, ok := t.(Whole); ok {
		return e
	}
	return e.ForServers(t.Name())
}

// InView returns a subject as a target's files name it; false where the target does not emit
// it.
func InView(t Target, p *ir.Project, ref ir.SubjectRef) (ir.SubjectRef, bool) {
	if _, ok := t.(Whole); ok {
		return ref, true
	}
	return policy.InView(p, t.Name(), ref)
}

// Elsewhere is what of a source a target does not emit, because it has other targets. Nothing
// of the target restricts these subjects.
type Elsewhere struct {
	Target  string   `json:"target"`
	Modes   []string `json:"modes,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Servers []string `json:"servers,omitempty"`
}

// NotEmitted returns what a target does not emit; false where that is nothing.
func NotEmitted(t Target, p *ir.Project) (e Elsewhere, some bool) {
	e.Target = t.Name()
	if _, ok := t.(Whole); ok {
		return e, false
	}
	for i := range p.Modes {
		if m := &p.Modes[i]; !m.For(e.Target) {
			e.Modes = append(e.Modes, m.Slug)
		}
	}
	for i := range p.Roles {
		if r := &p.Roles[i]; !r.For(e.Target) {
			e.Roles = append(e.Roles, r.Name)
		}
	}
	for i := range p.Servers {
		if s := &p.Servers[i]; !s.For(e.Target) {
			e.Servers = append(e.Servers, s.Name)
		}
	}
	return e, len(e.Modes)+len(e.Roles)+len(e.Servers) > 0
}
