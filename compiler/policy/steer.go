package policy

import (
	"slices"

	"modec.dev/modec/compiler/ir"
)

// Decisions returns what a subject may decide in a group other than mcp: rest is for what no list
// names, and lists has the other decisions that lists make, in order.
func (s *Subject) Decisions(g ir.Group) (rest ir.Decision, lists []ir.Decision) {
	if g == ir.Unknown {
		return s.UnknownTool().Decision, nil
	}
	rest = s.over(g, func(side *side) *Result { return side.closing(g) }).Decision
	all := []ir.Decision{ir.Agent}
	for _, side := range s.stating(g) {
		var lower []ir.Decision
		for _, d := range side.decisions(g) {
			for _, other := range all {
				lower = append(lower, min(d, other))
			}
		}
		slices.Sort(lower)
		all = slices.Compact(lower)
	}
	return rest, slices.DeleteFunc(all, func(d ir.Decision) bool { return d == rest })
}

// decisions returns what a side may decide in a group.
func (s *side) decisions(g ir.Group) []ir.Decision {
	all := []ir.Decision{s.closing(g).Decision}
	for _, r := range s.rules(g) {
		beaten := slices.ContainsFunc(s.rules(g), func(o ir.Rule) bool {
			return o.Pattern.Everything() && o.Decision < r.Decision
		})
		if !beaten {
			all = append(all, r.Decision)
		}
	}
	return all
}

// closing returns what becomes of what a side's lists do not name: by the lowest rule that matches
// everything, else by default.
func (s *side) closing(g ir.Group) *Result {
	var lowest *ir.Rule
	for i, r := range s.rules(g) {
		if r.Pattern.Everything() && (lowest == nil || r.Decision < lowest.Decision) {
			lowest = &s.rules(g)[i]
		}
	}
	if lowest == nil {
		return s.fallback(g)
	}
	r := ruleResult(*lowest)
	return &r
}

// AdvisoryGroups returns the groups whose denies are advisory, since the shell is unrestricted: an agent
// that runs any command can also do what another group, or a pattern of commands, denies.
func (s *Subject) AdvisoryGroups() (groups []ir.Group) {
	if rest, _ := s.Decisions(ir.Command); rest < ir.Allow {
		return nil
	}
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command} {
		denies := func(r ir.Rule) bool { return r.Decision == ir.Deny }
		if s.Default(g).Decision == ir.Deny || slices.ContainsFunc(s.Rules(g), denies) {
			groups = append(groups, g)
		}
	}
	return groups
}
