package lastmatch

import (
	"errors"
	"slices"
	"unicode/utf8"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// side is what a role or a mode says of one group.
type side struct {
	rest  ir.Decision
	asks  bool // the agent asks about what is left to it
	allow []part
	ask   []held
	deny  []string
}

// held is what a rule asks about: hold matches no less, and where it is exact no more. ask is what stands in the
// list for certain; nil where nothing does.
type held struct {
	hold part
	ask  *part
}

// entry is a pattern of a key, with what it decides.
type entry struct {
	pattern  string
	decision ir.Decision
}

// grammar is how the rules of a group are written.
type grammar struct {
	group ir.Group
	// rule adds a rule to a side. It fails where no pattern says what the rule holds back, or, with the
	// reason, leaves out what the rule permits.
	rule func(*writer, *policy.Subject, *side, ir.Rule) error
	// text is set where "*" cannot be opened beside a rest that is denied.
	text bool
}

// sides returns what each side states of a group; false where it is denied as a whole.
func (w *writer) sides(g *grammar) (out []side, ok bool) {
	for _, s := range w.stated(g.group) {
		of := side{rest: w.unnamed(s, g.group), asks: g.group == ir.Command && len(w.agent.Unasked) > 0}
		capped, asked := false, false
		for _, r := range s.Rules(g.group) {
			var err error
			switch all := r.Pattern.Everything(); {
			case r.DeniesAll():
				return nil, false
			case all && r.Decision == ir.Allow:
				of.rest = ir.Allow
			case all && g.text && of.rest == ir.Deny:
				err = errEvery
			case all:
				asked = true
			default:
				err = g.rule(w, s, &of, r)
			}
			switch {
			case err == nil:
			case r.Decision == ir.Deny:
				w.loss(g.group, w.agent.Codes.Deny, r.Pos, "no pattern says %s (%v): the group %s is denied as a whole",
					r.Pattern, err, g.group).
					Hint("write what is permitted as a list, and deny the rest")
				return nil, false
			default:
				hint, left := "write it in plain words", "it is left out"
				if errors.Is(err, errSet) {
					hint, left = policy.SetHint, "its usual lines alone are permitted"
				}
				w.loss(g.group, w.agent.Codes.Approval, r.Pos, "no pattern says %s (%v): %s", r.Pattern, err, left).
					Hint(hint)
				capped = capped || r.Decision == ir.Ask
			}
		}
		if capped { // what a rule holds back that no pattern finds may be anything
			of.rest, of.allow = min(of.rest, ir.Ask), nil
		}
		if asked {
			of.rest, of.allow, of.ask = ir.Ask, nil, nil
		}
		out = append(out, of)
	}
	return out, true
}

// errEvery is about a list that names everything.
var errEvery = errors.New("what is not a plain line is denied, and no pattern tells it apart")

// list is what a key says while it is written.
type list struct {
	entries []entry
	last    map[string]int // a pattern stands once: the last one decides
	base    ir.Decision    // what no entry names
}

// add adds patterns that decide something.
func (l *list) add(d ir.Decision, patterns ...string) {
	for _, p := range patterns {
		if p == format.Every {
			l.entries, l.base = nil, d
			clear(l.last)
			continue
		}
		if i, ok := l.last[p]; ok {
			l.entries[i].pattern = "" // no rule has this one
		}
		l.last[p] = len(l.entries)
		l.entries = append(l.entries, entry{p, d})
	}
}

// entries returns what a list of a key says, in their order, and what it says of the rest;
// base is what no list names.
func (w *writer) entries(sides []side, base ir.Decision) ([]entry, ir.Decision) {
	l := list{last: map[string]int{}, base: base}
	rest := min(base, ir.Ask) // what an allow does not mean falls no further than what the agent does by itself
	allowed := w.common(sides, ir.Allow)
	asked := []part(nil)
	if base == ir.Deny {
		asked = slices.DeleteFunc(w.common(sides, ir.Ask), func(p part) bool { return w.within(p, allowed) })
	}
	for _, list := range []struct {
		parts    []part
		decision ir.Decision
	}{{asked, ir.Ask}, {allowed, ir.Allow}} {
		parts := slices.Clone(list.parts)
		slices.SortStableFunc(parts, func(a, b part) int { return depth(a) - depth(b) })
		for _, p := range parts {
			if l.base == ir.Allow {
				continue
			}
			l.add(list.decision, p.patterns...)
			l.add(min(rest, list.decision), p.but...)
		}
	}
	w.asks(&l, sides, allowed, asked)
	for i := range sides {
		for _, of := range sides[i].deny {
			if l.base > ir.Deny || opens(l.entries, of) {
				l.add(ir.Deny, of)
			}
		}
	}
	return slices.DeleteFunc(l.entries, func(e entry) bool { return e.pattern == "" }), l.base
}

// asks adds what sides ask about to what is allowed for all of them, and asked about for all.
func (w *writer) asks(l *list, sides []side, allowed, asked []part) {
	open := append(slices.Clone(allowed), asked...)
	for i := range sides {
		for _, h := range sides[i].ask {
			switch {
			case l.base == ir.Ask && !w.meets(h.hold, allowed):
			case l.base > ir.Deny, h.hold.exact && w.askable(sides, i, h.hold):
				l.add(ir.Ask, h.hold.patterns...)
			case w.meets(h.hold, open):
				l.add(ir.Deny, h.hold.patterns...)
			}
			if h.ask != nil && l.base == ir.Deny && !h.hold.exact && w.askable(sides, i, *h.ask) {
				l.add(ir.Ask, h.ask.patterns...)
				l.add(ir.Deny, h.ask.but...)
			}
		}
	}
}

// opens reports whether some entry permits a text that a pattern may match.
func opens(list []entry, pattern string) bool {
	return slices.ContainsFunc(list, func(e entry) bool {
		return e.decision > ir.Deny && e.pattern != "" &&
			(!ascii(e.pattern) || !ascii(pattern) || format.Overlap(e.pattern, pattern))
	})
}

// depth orders parts: what takes back more than the part itself stands before others, and what takes nothing back
// behind them.
func depth(p part) int {
	if len(p.but) == 0 {
		return 1 << 20
	}
	if !p.exact {
		return -1
	}
	n := 0
	for _, pattern := range p.patterns {
		for _, c := range pattern {
			if c == '/' {
				n++
			}
		}
	}
	return n / len(p.patterns)
}

// common returns the parts of all sides' lists for which no side decides less than d.
func (w *writer) common(sides []side, d ir.Decision) (out []part) {
	for i := range sides {
		for _, p := range sides[i].listed(d) {
			if w.askableAs(sides, i, p, d) && !slices.ContainsFunc(out, func(o part) bool {
				return slices.Equal(o.patterns, p.patterns)
			}) {
				out = append(out, p)
			}
		}
	}
	return out
}

// listed returns the parts that a side's list allows, where it decides less than d of what no list names, or leaves it
// to an agent that asks.
func (s *side) listed(d ir.Decision) []part {
	if s.rest >= d && (s.rest < ir.Agent || !s.asks) {
		return nil
	}
	return s.allow
}

func (w *writer) askable(sides []side, i int, p part) bool { return w.askableAs(sides, i, p, ir.Ask) }

// askableAs reports whether every other side decides about all of a part no less than d, but for what it asks about
// or denies.
func (w *writer) askableAs(sides []side, i int, p part, d ir.Decision) bool {
	for j := range sides {
		if j == i || sides[j].rest >= d {
			continue
		}
		asks := func(h held) bool { return h.hold.exact && w.covers(h.hold, p) }
		if !w.within(p, sides[j].allow) && (d != ir.Ask || !slices.ContainsFunc(sides[j].ask, asks)) {
			return false
		}
	}
	return true
}

// ascii reports whether languages tell all letters of a part apart.
func (p part) ascii() bool {
	other := func(pattern string) bool { return !ascii(pattern) }
	return !slices.ContainsFunc(p.patterns, other) && !slices.ContainsFunc(p.but, other)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// meets reports whether some text may be in a part and in any of others.
func (w *writer) meets(p part, others []part) bool {
	return slices.ContainsFunc(others, func(o part) bool {
		return !p.ascii() || !o.ascii() || w.known.meets(part{patterns: p.patterns}, o)
	})
}

// within reports whether one of some parts has all of a part.
func (w *writer) within(p part, others []part) bool {
	return slices.ContainsFunc(others, func(o part) bool { return w.covers(o, p) })
}

// covers reports whether a part has all of another one.
func (w *writer) covers(all, p part) bool {
	return slices.Equal(all.patterns, p.patterns) && slices.Equal(all.but, p.but) ||
		p.ascii() && all.ascii() && w.known.within(p, all)
}

// stated returns the sides that say something of a group.
func (w *writer) stated(g ir.Group) (out []*policy.Subject) {
	for _, s := range w.subject.Sides() {
		if len(s.Rules(g)) > 0 || s.Default(g).Decision != ir.Agent {
			out = append(out, s)
		}
	}
	return out
}

// unnamed returns what a side decides of what no list names. Of a role in a mode, permissionMode decides only what
// neither says.
func (w *writer) unnamed(s *policy.Subject, g ir.Group) ir.Decision {
	if len(w.subject.Sides()) > 1 {
		return s.Default(g).Decision
	}
	return decided(s.Default(g))
}

// rest returns what no list names.
func (w *writer) rest(g ir.Group, sides []side) ir.Decision {
	rest := ir.Agent
	for i := range sides {
		rest = min(rest, sides[i].rest)
	}
	switch {
	case rest < ir.Agent:
		return rest
	case len(w.subject.Sides()) == 1:
		return decided(w.subject.Default(g))
	default:
		return decided(w.subject.Unmatched(g))
	}
}
