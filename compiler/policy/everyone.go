package policy

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// lower returns the lower of what other sides decide and of what this one does.
func (s *side) lower(others, own *Result) *Result {
	switch {
	case !s.everyone():
		return lower(others, own)
	case own.Decision > ir.Ask: // an allow of everyone gives nobody anything
		return others
	case others.Decision == ir.Agent && others.Mapped < own.Decision: // in its permission mode the role is lower
		return others.mapped()
	case others.Decision == ir.Agent:
		of := *own
		of.left = true
		return &of
	case own.Decision < others.Decision:
		return own
	}
	return others // also what gives way to a mode
}

// stated returns the ceiling's rules of a group that decide d: none where there is no ceiling.
func (s *side) stated(g ir.Group, d ir.Decision) (rules []ir.Rule) {
	if s == nil || s.can.Table(g) == nil {
		return nil
	}
	for _, r := range s.can.Table(g).Rules {
		if r.Decision == d {
			rules = append(rules, r)
		}
	}
	return rules
}

// below returns rules with what everyone is asked about. Where the rest is denied, an ask would open more than the
// rules allow: there it lowers the allows of which it has all, stands where an allow has all of it, and else is a deny.
func (s *Subject) below(g ir.Group, rules []ir.Rule) []ir.Rule {
	c := s.ceiling
	rules = slices.Clone(rules)
	closed := slices.ContainsFunc(s.own(g), func(side *side) bool {
		return side.fallback(g).WithoutPermissionMode() == ir.Deny
	})
	switch rest := c.fallback(g); {
	case rest.Decision == ir.Deny:
		deny := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: rest.Pos, From: rest.From}
		return append(rules, deny)
	case rest.Decision == ir.Ask && closed:
		rules = asking(g, rules, ir.Rule{Pos: rest.Pos, From: rest.From}, func(ir.Rule) bool { return true })
	case rest.Decision == ir.Ask:
		for i := range rules {
			rules[i].Decision = min(rules[i].Decision, ir.Ask)
		}
	}
	if closed {
		return s.engine.narrowed(g, rules, c.stated(g, ir.Ask))
	}
	return append(rules, c.stated(g, ir.Ask)...)
}

// asking returns rules beside which the rest is denied with an ask in the place of each allow that it is about. An ask
// of a file reaches below it, and an allow does not: where that is more, nothing stands for the allow.
func asking(g ir.Group, rules []ir.Rule, ask ir.Rule, about func(ir.Rule) bool) (out []ir.Rule) {
	for _, r := range rules {
		if r.Decision == ir.Allow && about(r) {
			if (g == ir.Read || g == ir.Edit) && !r.Pattern.Everything() && !strings.HasSuffix(r.Pattern.Text, "/**") {
				continue
			}
			r.Decision, r.Pos, r.From = ir.Ask, ask.Pos, ask.From
		}
		out = append(out, r)
	}
	return out
}

// narrowed returns rules beside which the rest is denied with what everyone is asked about: see [Subject.below].
func (e *Engine) narrowed(g ir.Group, rules, asks []ir.Rule) []ir.Rule {
	for _, ask := range asks {
		whole, inside, apart := true, false, true // of the allows that it meets
		for _, r := range rules {
			if r.Decision == ir.Deny || !e.rulesMeet(g, ask, r) {
				continue
			}
			apart = false
			whole = whole && coversRule(g, ask, r)
			inside = inside || r.Decision == ir.Allow && coversAll(g, r, ask)
		}
		switch {
		case apart:
		case inside:
			rules = append(rules, ask)
		case whole:
			rules = asking(g, rules, ask, func(r ir.Rule) bool { return e.rulesMeet(g, ask, r) })
		default:
			ask.Decision = ir.Deny
			rules = append(rules, ask)
		}
	}
	return rules
}

func coversRule(g ir.Group, wide, narrow ir.Rule) bool {
	return wide.Pattern.Everything() || Covers(g, wide.Pattern, narrow.Pattern)
}

// coversAll reports whether an allow has all that an ask is about, which in a folder is all below it.
func coversAll(g ir.Group, allow, ask ir.Rule) bool {
	if !coversRule(g, allow, ask) {
		return false
	}
	if g != ir.Read && g != ir.Edit || allow.Pattern.Everything() {
		return true
	}
	below := ask
	below.Pattern.Text = strings.TrimSuffix(strings.TrimSuffix(below.Pattern.Text, "**"), "/") + "/**"
	return allow.Pattern.Kind == ir.Plain && coversRule(g, allow, below)
}

// rulesMeet reports whether two rules may match one argument.
func (e *Engine) rulesMeet(g ir.Group, ask, other ir.Rule) bool {
	plain := ask.Pattern.Kind == ir.Plain && other.Pattern.Kind == ir.Plain
	switch {
	case ask.Pattern.Everything() || other.Pattern.Everything():
		return true
	case g == ir.Read || g == ir.Edit:
		return e.Meet(ask, other)
	case !plain:
		return true
	}
	a, b := []rune(loose(g, ask)), []rune(loose(g, other))
	return meet(len(a), len(b), func(i, j int) (both, first, second bool) {
		anyA, anyB := i < len(a) && a[i] == '*', j < len(b) && b[j] == '*'
		one := func(r rune) bool { return r == '?' && g == ir.MCP }
		both = i < len(a) && j < len(b) && !anyA && !anyB && (a[i] == b[j] || one(a[i]) || one(b[j]))
		return both, anyA, anyB
	})
}

// loose returns a pattern whose "*" matches anything, and that matches all that a rule does.
func loose(g ir.Group, r ir.Rule) string {
	text := r.Pattern.Text
	if g == ir.Command {
		for _, end := range []string{":*", " *"} {
			if begin, ok := strings.CutSuffix(text, end); ok {
				text = begin + "*"
			}
		}
	}
	return Fold(text)
}

// belowTools does for the tools of a server that the inventory lacks what [Subject.below] does.
func (s *Subject) belowTools(server string, sv *ir.Server, rules []ir.Rule) []ir.Rule {
	c := s.ceiling
	if c == nil || !c.states(ir.MCP) {
		return rules
	}
	unnamed := Action{Server: server, Arg: "\x00"}
	rest := c.mcp.decide(sv, unnamed).result.Decision
	for i := range rules {
		rules[i].Decision = min(rules[i].Decision, rest)
	}
	var asks []ir.Rule
	for i := range c.mcp.entries {
		for d := ir.Deny; d <= ir.Ask; d++ {
			for _, r := range c.mcp.entries[i].rules[d] {
				switch of := toolNamed(d, r.text, r.result.Pos); {
				case r.kind != ir.Plain || r.text == "*" || !c.mcp.entries[i].rulesFor(d, server) || has(sv, r.text):
				case d == ir.Deny:
					rules = append(rules, of)
				default:
					asks = append(asks, of)
				}
			}
		}
	}
	if s.ownTool(sv, unnamed).Decision == ir.Deny {
		return s.engine.narrowed(ir.MCP, rules, asks)
	}
	return append(rules, asks...)
}
