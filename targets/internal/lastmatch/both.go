package lastmatch

import (
	"slices"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// groupOf are the groups whose decisions a key has.
var groupOf = map[string]ir.Group{
	format.Bash: ir.Command, format.Edit: ir.Edit, format.Read: ir.Read, format.Skill: ir.Modes, format.Task: ir.Modes,
	format.WebFetch: ir.Web, format.WebFetchAddress: ir.Web, format.WebSearch: ir.Web,
}

// half is a role or a mode that has rules in the agent's own words: of a pair, or by itself below what everyone states,
// without that.
type half struct {
	*policy.Subject
	own []format.Rule
}

// ownHalves returns those beside which somebody else may say something of a group.
func (e *Emitter) ownHalves(ref ir.SubjectRef) (halves []half) {
	p := e.in.Project
	r, m := p.Role(ref.Role), p.Mode(ref.Mode)
	if p.Everyone == nil && (r == nil || m == nil) {
		return nil
	}
	add := func(of ir.SubjectRef, own []format.Rule) {
		if len(own) == 0 {
			return
		}
		if s, err := e.alone.Subject(of); err == nil {
			halves = append(halves, half{s, own})
		}
	}
	if r != nil {
		add(ir.SubjectRef{Role: ref.Role}, e.ownRules(r.Native, r.Extra))
	}
	if m != nil {
		add(ir.SubjectRef{Mode: ref.Mode}, e.ownRules(m.Native, m.Extra))
	}
	return halves
}

// bounded returns a list that permits no more than the rules in the agent's own words of a half that leaves the group
// to the agent: where the other half or everyone says something, these would be lost, or stand before what opens.
func (w *writer) bounded(key string, base ir.Decision, list []entry) (ir.Decision, []entry) {
	if base == ir.Agent && len(list) == 0 {
		return base, list
	}
	for _, h := range w.halves {
		if h.silent(key) {
			base, list = bound(base, list, ownAbout(key, h.own))
		}
	}
	return base, list
}

// silent reports whether a half says nothing of what a key decides.
func (h half) silent(key string) bool {
	g, ok := groupOf[key]
	return ok && h.Default(g).Decision == ir.Agent && len(h.Rules(g)) == 0
}

// ownAbout returns what rules in the agent's own words say of a key.
func ownAbout(key string, own []format.Rule) (list []entry) {
	for _, r := range own {
		switch {
		case r.Key == key, key == format.WebFetchAddress && r.Key == format.WebFetch:
			list = append(list, entry{r.Pattern, r.Decision})
		case r.Key == format.Every:
			list = append(list, entry{format.Every, r.Decision})
		}
	}
	return list
}

// bound returns a list that permits what it and another one permit, or less: no list says both of two.
func bound(base ir.Decision, list, own []entry) (ir.Decision, []entry) {
	rest := ir.Agent
	for i, e := range slices.Backward(own) {
		if e.pattern == format.Every {
			rest, own = e.decision, own[i+1:]
			break
		}
	}
	kept := []entry{}
	if rest == ir.Deny { // but for what the others open
		for _, e := range own {
			kept = append(kept, entry{e.pattern, min(e.decision, base, ir.Allow)})
		}
		opens := slices.ContainsFunc(kept, func(e entry) bool { return e.decision == ir.Allow })
		for _, e := range list {
			if e.decision == ir.Deny || e.decision == ir.Ask && opens {
				kept = append(kept, entry{e.pattern, ir.Deny})
			}
		}
		return ir.Deny, onceEach(kept)
	}
	if rest == ir.Ask {
		base = min(base, ir.Ask)
	}
	for _, e := range list {
		kept = append(kept, entry{e.pattern, min(e.decision, rest)})
	}
	at := slices.IndexFunc(kept, func(e entry) bool { return e.decision == ir.Deny })
	if at < 0 {
		at = len(kept)
	}
	for _, e := range own {
		switch e.decision {
		case ir.Ask: // and not where the list says nothing and nothing is permitted
			kept = slices.Insert(kept, at, entry{e.pattern, min(base, ir.Ask)})
			at++
		case ir.Deny:
			kept = append(kept, e)
		}
	}
	return base, onceEach(kept)
}

// onceEach leaves the last entry of each pattern.
func onceEach(list []entry) (out []entry) {
	for i, e := range list {
		if !slices.ContainsFunc(list[i+1:], func(o entry) bool { return o.pattern == e.pattern }) {
			out = append(out, e)
		}
	}
	return out
}
