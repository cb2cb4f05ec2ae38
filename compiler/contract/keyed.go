package contract

import (
	"errors"
	"sync"

	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Keyed is a Decider that identifies what its decisions depend on. Verify remembers what came
// out for a subject under its key, and does not compare it again while the key is the same. A
// subject on the surface of any other Decider is compared each time.
type Keyed interface {
	Decider
	// Key returns the key of everything that Decide, DecidePerson and Patterns read for a
	// subject. It reports false where that is not known. Of a role in a mode it need not list
	// the places that it lists of the role or of the mode. It is not safe for concurrent use.
	Key(ir.SubjectRef) (digest.Key, bool)
}

// Parts are what the policy of a project depends on, by subject. They are read when they are
// first asked for, and not safe for concurrent use.
type Parts struct {
	project *ir.Project
	wide    func() (digest.Key, error)
	of      map[ir.SubjectRef]digest.Key
}

// NewParts returns the parts of a project.
func NewParts(p *ir.Project) *Parts {
	wide := *p
	wide.SourceHash, wide.Modes, wide.Roles, wide.Unextended = "", nil, nil, nil
	return &Parts{
		project: p, of: map[ir.SubjectRef]digest.Key{},
		wide: sync.OnceValues(func() (digest.Key, error) {
			return digest.Of([]any{wide, p.ModeNames()}, gatewaysOf(p))
		}),
	}
}

// gatewaysOf is how the gateways of a project are read: what they pass on of the servers behind them.
func gatewaysOf(p *ir.Project) digest.Known {
	known := digest.Known{}
	digest.For(known, func(f *ir.Fronts) any {
		var passed []bool
		for i := range p.Behind {
			passed = append(passed, f.Resources(p.Behind[i].Name), f.Prompts(p.Behind[i].Name))
		}
		return []any{f.Gateway, f.Tools, passed}
	})
	return known
}

// Wide returns what every subject depends on: the inventory, the guards, the silence and the
// names of the modes.
func (p *Parts) Wide() (digest.Key, error) { return p.wide() }

// Own returns what a mode or a role says.
func (p *Parts) Own(ref ir.SubjectRef) (digest.Key, error) {
	if key, ok := p.of[ref]; ok {
		return key, nil
	}
	key, err := digest.Of([]any{ref, p.project.Role(ref.Role), p.project.Mode(ref.Mode)}, nil)
	if err == nil {
		p.of[ref] = key
	}
	return key, err
}

// Roles returns what all roles say, which decides for a principal.
func (p *Parts) Roles() (digest.Key, error) { return digest.Of(p.project.Roles, nil) }

// Engines are the parts of the policies that the hooks of some artifacts read.
type Engines map[*policy.Engine]*Parts

// Sum identifies what an engine decides for a subject by; nil is an engine that cannot be used.
// No verdict names a place in the policy of a hook.
func (m Engines) Sum(e *policy.Engine, ref ir.SubjectRef) (digest.Sum, error) {
	if e == nil {
		return digest.Text("no policy"), nil
	}
	if m[e] == nil {
		m[e] = NewParts(e.Project())
	}
	wide, err := m[e].Wide()
	role, errRole := m[e].Own(ir.SubjectRef{Role: ref.Role})
	mode, errMode := m[e].Own(ir.SubjectRef{Mode: ref.Mode})
	return digest.Join(wide.Sum, role.Sum, mode.Sum), errors.Join(err, errRole, errMode)
}
