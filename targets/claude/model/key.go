package model

import (
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/digest"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// keyed is what the sessions of a decider were joined from. Each part has a key of its own, so
// that a role in a mode costs no more than joining the two.
type keyed struct {
	opener  *opener
	roles   map[string]*settings
	nothing settings // of a role for which there is no file
	modes   map[string]*agent
	keys    map[any]part // by the settings or the agent
	engines contract.Engines
	shared  *part // of every session
	project part  // of those that read the project's own files
}

// part is the key of a part of a session, and the hooks in it.
type part struct {
	key   digest.Key
	hooks []*listener
	ok    bool
}

// policies is how the parts are read: the policy of a hook has a key of its own.
func policies() digest.Known {
	known := digest.Known{}
	digest.For(known, func(*policy.Engine) any { return nil })
	return known
}

func partOf(value any, hooks []*listener) part {
	key, err := digest.Of(value, policies())
	return part{key, hooks, err == nil}
}

// Key returns the key of a subject's session. One that runs as a subagent of its settings, and
// one at a disk, have none.
func (d *decider) Key(ref ir.SubjectRef) (digest.Key, bool) {
	switch k := d.from; {
	case k == nil || k.opener.disk != nil:
		return digest.Key{}, false
	case !d.has(ref):
		return digest.Key{Sum: digest.Text("no session")}, true
	default:
		return k.session(ref)
	}
}

func (k *keyed) session(ref ir.SubjectRef) (digest.Key, bool) {
	if k.shared == nil {
		k.open()
	}
	parts := append(make([]part, 0, 4), *k.shared)
	role, name := k.roles[ref.Role], ref.Role
	if role == nil {
		role, name = &k.nothing, another
	}
	if ref.Role == "" || name == k.opener.baseline {
		parts = append(parts, k.project)
	}
	agent := ""
	if ref.Role != "" {
		parts = append(parts, k.part(role, func() part { return partOf(*role, role.hooks) }))
	}
	if a := k.modes[ref.Mode]; a != nil {
		agent = a.name
		parts = append(parts, k.part(a, func() part { return partOf(*a, a.hooks) }))
	}
	return k.join(ref, agent, parts)
}

// join returns the key of a session of several parts.
func (k *keyed) join(ref ir.SubjectRef, agent string, parts []part) (out digest.Key, ok bool) {
	sums := append(make([]digest.Sum, 0, 12), digest.Text(ref.Role), digest.Text(agent))
	for _, p := range parts {
		if !p.ok {
			return digest.Key{}, false
		}
		sums = append(sums, p.key.Sum)
		if ref.Role == "" || ref.Mode == "" {
			out.Places = append(out.Places, p.key.Places...)
		}
		for _, h := range p.hooks {
			own, err := k.engines.Sum(h.engine, h.ref)
			if err != nil {
				return digest.Key{}, false
			}
			inMode, err := k.engines.Sum(h.engine, ir.SubjectRef{Role: h.ref.Role, Mode: contract.Slug(agent)})
			if err != nil {
				return digest.Key{}, false
			}
			sums = append(sums, own, inMode)
		}
	}
	out.Sum = digest.Join(sums...)
	return out, true
}

func (k *keyed) part(of any, read func() part) part {
	p, ok := k.keys[of]
	if !ok {
		p = read()
		k.keys[of] = p
	}
	return p
}

// open reads what several sessions have in common.
func (k *keyed) open() {
	o := k.opener
	k.keys, k.engines = map[any]part{}, contract.Engines{}
	shared := partOf([]any{o.shared, o.servers, o.names, o.baseline, o.skills()}, hooksOf(o.shared))
	k.project = partOf(o.project, hooksOf(o.project))
	for _, l := range slices.Concat(slices.Collect(maps.Values(k.roles)), o.shared, o.project) {
		shared.ok = shared.ok && l.agent == "" // such a session has what a file of any name says
	}
	k.shared = &shared
}

func hooksOf(layers []*settings) (hooks []*listener) {
	for _, l := range layers {
		hooks = append(hooks, l.hooks...)
	}
	return hooks
}

// Key returns the key of what Claude Code does by itself in a session of a subject.
func (a *alone) Key(ref ir.SubjectRef) (digest.Key, bool) {
	mode := a.mode(ref)
	p, ok := a.keys[mode]
	if !ok {
		p = partOf(a.modes[mode], nil)
		a.keys[mode] = p
	}
	return p.key, p.ok
}

// Key returns the key of the session.
func (s *Session) Key() (digest.Key, bool) {
	if s.s.disk != nil {
		return digest.Key{}, false
	}
	k := keyed{engines: contract.Engines{}}
	return k.join(ir.SubjectRef{}, s.s.agent, []part{partOf(*s.s, s.s.hooks)})
}
