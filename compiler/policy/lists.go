package policy

import (
	"fmt"

	"modec.dev/modec/compiler/ir"
)

// slugTable decides modes.
type slugTable struct {
	rules    [3][]slugRule // by decision
	fallback *Result
}

type slugRule struct {
	slug   string // "*" matches every mode
	result Result
}

func (s *side) compileModes() error {
	s.modes.fallback = s.fallback(ir.Modes)
	for _, r := range s.rules(ir.Modes) {
		slug := r.Pattern.Text
		switch r.Pattern.Kind {
		case ir.All:
			slug = "*"
		case ir.Plain:
		default:
			return fmt.Errorf("got a pattern of kind %q, want a mode's slug", r.Pattern.Kind)
		}
		s.modes.rules[r.Decision] = append(s.modes.rules[r.Decision], slugRule{slug, ruleResult(r)})
	}
	return nil
}

func (t *slugTable) decide(slug string) *Result {
	for d := range t.rules {
		for i := range t.rules[d] {
			if r := &t.rules[d][i]; r.slug == "*" || r.slug == slug {
				return &r.result
			}
		}
	}
	return t.fallback
}

// modesOfRole returns the rules of a role that lists its modes: a listed mode
// is allowed, or asked where can.modes asks for it; every other is denied by
// the default. What can.modes allows beyond the list stays denied.
func (s *side) modesOfRole() []ir.Rule {
	var own []ir.Rule
	if s.can.Modes != nil {
		own = s.can.Modes.Rules
	}
	var rules []ir.Rule
	for _, r := range own {
		if r.Decision == ir.Deny {
			rules = append(rules, r)
		}
	}
	for _, slug := range *s.role.Modes {
		listed := ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: slug}, Pos: s.role.ModesPos}
		for _, r := range own {
			if r.Decision == ir.Ask && (r.Pattern.Kind == ir.All || r.Pattern.Text == "*" || r.Pattern.Text == slug) {
				listed.Decision, listed.Pos, listed.From = ir.Ask, r.Pos, r.From
				break
			}
		}
		rules = append(rules, listed)
	}
	return rules
}
