package gemini

import (
	"errors"
	"slices"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// side is what a role or a mode says of one group, as expressions over the value of an argument.
type side struct {
	allow, ask []string    // what lists permit: they match the value whole
	hold, deny []string    // what lists hold back: they match from where the value begins
	rest       ir.Decision // what no list names
	late       bool        // and what rest gives way to: see [writer.split]
}

// plain reports whether a side has no list.
func (s *side) plain() bool { return len(s.allow)+len(s.ask)+len(s.hold)+len(s.deny) == 0 }

// permits returns what lists permit.
func (s *side) permits() []string { return slices.Concat(s.allow, s.ask) }

// grammar is how the values of a group are written as expressions.
type grammar struct {
	group    ir.Group
	tools    []string
	argument string
	told     string // to a model whose call is not in the list
	// list adds a rule to a side. It fails where no expression says what the rule holds back, or,
	// with the reason, leaves out what the rule permits.
	list func(*policy.Subject, *side, ir.Rule) error
}

// lists compiles the rules of a group whose rules are about an argument of its tools. It returns what is decided where
// no list names a value.
//
// What is denied and what is asked about are said each by itself, so that the rules of a role and those of a mode
// decide together as the lower of the two. A list that permits some and denies the rest is therefore a rule that denies
// whatever is not in the list.
func (w *writer) lists(g *grammar) side {
	s, ok := w.side(g)
	if !ok || s.rest == ir.Deny && !s.late && len(s.permits()) == 0 {
		w.add(rule{tools: g.tools, decision: ir.Deny, rank: denied})
		return s
	}
	w.holdsBack(g, &s)
	if s.rest == ir.Agent && w.mode != nil && w.leastUnsaid(g.group) == ir.Deny {
		w.heldInside(g, &s)
	}
	w.permitted(g, &s)
	w.unlisted(g, &s)
	return s
}

// holdsBack writes what lists deny, and what they ask about whatever permits it.
func (w *writer) holdsBack(g *grammar, s *side) {
	key := format.Key(g.argument)
	for _, part := range chunks(s.deny, mostParts(1)) {
		w.add(rule{tools: g.tools, expr: key + either(part), decision: ir.Deny, rank: denied})
	}
	if s.rest != ir.Deny || !s.late {
		for _, part := range chunks(s.hold, mostParts(1)) {
			w.add(rule{tools: g.tools, expr: key + either(part), decision: ir.Ask,
				rank: w.rankIn(g.group, ir.Ask)})
		}
		return
	}
	// What no list permits is denied by rules below, unless a mode permits it: nothing else is asked about.
	most := mostParts(2)
	for _, part := range chunks(s.hold, most) {
		for _, permits := range chunks(s.permits(), most) {
			w.add(rule{tools: g.tools, expr: key + "(?=" + either(part) + ")" + either(permits) + format.End,
				decision: ir.Ask, rank: asked})
		}
		w.add(rule{tools: g.tools, expr: key + either(part), decision: ir.Deny, rank: notAsked})
	}
}

// heldInside denies what a mode's lists hold back, for an agent: a permission mode or unsaid of its session that denies
// it comes below what is asked about.
func (w *writer) heldInside(g *grammar, s *side) {
	key := format.Key(g.argument)
	for _, part := range chunks(s.hold, mostParts(1)) {
		w.add(rule{tools: g.tools, expr: key + either(part), decision: ir.Deny, rank: denied, inside: true})
	}
}

// permitted writes what lists allow and ask about.
func (w *writer) permitted(g *grammar, s *side) {
	key := format.Key(g.argument)
	// Whatever is not listed is said.
	inverse := !s.late && (s.rest == ir.Deny || s.rest == ir.Ask && len(s.allow) > 0)
	if inverse {
		of, rest := s.permits(), ir.Deny
		if s.rest == ir.Ask {
			of, rest = s.allow, ir.Ask
		}
		exprs, left := complements(key, of)
		for _, expr := range exprs {
			w.add(rule{tools: g.tools, expr: expr, decision: rest, rank: w.rank(rest), told: g.toldOf(rest)})
		}
		if left > 0 {
			w.loss(g.group, codeExpression, w.subject.Default(g.group).Pos,
				"a list of %s is longer than Gemini CLI takes: its last %d patterns are left out", g.group, left).
				Hint("write shorter lists, or patterns that begin with the name of a folder")
		}
	}
	most := mostParts(1)
	if s.late || s.rest != ir.Ask {
		for _, part := range chunks(s.ask, most) {
			w.add(rule{tools: g.tools, expr: key + either(part) + format.End, decision: ir.Ask,
				rank: w.rankIn(g.group, ir.Ask)})
		}
	}
	switch {
	case inverse && len(s.allow) > 0:
		w.add(rule{tools: g.tools, expr: key, decision: ir.Allow, rank: w.rank(ir.Allow)})
	case s.rest != ir.Allow || s.late:
		for _, part := range chunks(s.allow, most) {
			w.add(rule{tools: g.tools, expr: key + either(part) + format.End, decision: ir.Allow,
				rank: w.rank(ir.Allow)})
		}
	}
}

// toldOf returns what a model is told of a decision.
func (g *grammar) toldOf(d ir.Decision) string {
	if d == ir.Deny {
		return g.told
	}
	return ""
}

// unlisted writes what is decided about all that no list names. Without an expression Gemini CLI runs some commands
// that it knows unasked, and asks about others.
func (w *writer) unlisted(g *grammar, s *side) {
	every := rule{tools: g.tools, decision: s.rest, rank: w.rank(s.rest)}
	switch {
	case s.rest == ir.Agent, !s.late && s.rest == ir.Ask && len(s.allow) > 0: // it is said of what is not allowed
		return
	case s.late:
		every.rank = w.lateRank(g.group)
	case s.rest == ir.Deny:
		every.rank = w.rest
	}
	if g.group == ir.Command && s.rest > ir.Deny {
		every.expr = format.Key(g.argument)
	} else if s.rest == ir.Deny && !s.plain() {
		every.told = g.told
	}
	w.add(every)
}

// side returns what the subject states of a group; false where it is denied as a whole.
func (w *writer) side(g *grammar) (of side, ok bool) {
	unnamed := w.subject.Default(g.group)
	of.rest, of.late = w.split(&unnamed, g.group)
	rules := w.subject.Rules(g.group)
	capped := false
	for _, r := range rules {
		if r.DeniesAll() || r.Decision == ir.Deny && r.Pattern.Kind == ir.All {
			return side{rest: ir.Deny}, false
		}
		// A set says more than its lines: where it leaves the rest to the permission mode, Gemini CLI asks, and where
		// the project's unsaid decides, that does not give way.
		switch set := r.Pattern.Kind == ir.Builtin; {
		case set && unnamed.Quiet():
			of.late = false
		case set && unnamed.Decision == ir.Agent && of.rest != ir.Agent:
			of.rest = min(of.rest, ir.Ask)
		}
		err := g.list(w.subject, &of, r)
		switch {
		case err == nil:
		case r.Decision == ir.Deny:
			w.loss(g.group, codeDeny, r.Pos, "no expression says %s (%v): the group %s is denied as a whole",
				r.Pattern, err, g.group).
				Hint("write what is permitted as a list, and deny the rest")
			return side{rest: ir.Deny}, false
		default:
			hint, left := "write it in plain words", "it is left out"
			if errors.Is(err, errSet) {
				hint, left = policy.SetHint, "its usual lines alone are permitted"
			}
			w.loss(g.group, codeApproval, r.Pos, "no expression says %s (%v): %s", r.Pattern, err, left).
				Hint(hint)
			capped = capped || r.Decision == ir.Ask
		}
	}
	if capped { // what a rule holds back that no expression finds may be anything
		of.rest, of.late, of.allow = min(of.rest, ir.Ask), false, nil
	}
	of.late = of.late || w.ofEveryone(g.group)
	return of, true
}

// split returns what a result of the source means to Gemini CLI, and whether it gives way to what the other half of a
// role in a mode states: what the permission mode of a role decides, or the project's unsaid, what a mode denies
// because it does not mention it, and what everyone alone says of a role.
func (w *writer) split(r *policy.Result, g ir.Group) (d ir.Decision, late bool) {
	if w.mode != nil {
		return decided(*r), !w.states(g)
	}
	return decided(*r), r.Decision == ir.Agent || r.Quiet() || g != ir.MCP && w.ofEveryone(g)
}

// ofEveryone reports whether a role is held in a group by what everyone states alone. The modes are held by it too.
func (w *writer) ofEveryone(g ir.Group) bool {
	all := w.in.Project.Everyone
	return w.mode == nil && !w.states(g) && all != nil && (all.Mentions(g) || all.Default != nil)
}

// states reports whether the subject says anything of a group.
func (w *writer) states(g ir.Group) bool {
	return w.can.Mentions(g) || w.can.Default != nil || g == ir.MCP && w.mode != nil && w.mode.Restrictions != nil
}

// rankIn returns the rank of what lists of a group decide.
func (w *writer) rankIn(g ir.Group, d ir.Decision) rank {
	if w.mode == nil && d == ir.Ask && !w.states(g) {
		return askedOfAll
	}
	return w.rank(d)
}

// lateRank returns the rank of what gives way to what the other half of a role in a mode states of a group.
func (w *writer) lateRank(g ir.Group) rank {
	switch {
	case w.mode != nil:
		return unstated
	case w.states(g):
		return unsaidYet
	}
	return unsaid
}

// place returns where to report something: at a rule, or at the subject.
func (w *writer) place(at diag.Pos) diag.Pos {
	if at.IsZero() {
		return w.pos
	}
	return at
}
