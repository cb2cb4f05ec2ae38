package model

import (
	"path"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// Cause returns where a file of somebody's own takes back a rule about an action, or moves one before the rule that
// decides, which stands in another file.
func (d *Decider) Cause(
	ref ir.SubjectRef, a policy.Action, somebodys func(file string) bool,
) (at diag.Pos, how string, ok bool) {
	key, text := keys[a.Group], a.Arg
	switch a.Group {
	case ir.Read, ir.Edit:
		text = path.Clean(text)
	case ir.Web:
		text = addresses[0].before + text + addresses[0].after
		if a.Arg == "" {
			key, text = format.WebSearch, "x"
		}
	case ir.MCP:
		key, text = format.ToolKey(a.Server, a.Arg), format.Every
	case ir.Unknown:
		key, text = a.Arg, format.Every
	}
	about := func(r *format.Rule) bool { // in any case, as the source holds back
		return format.Match(r.Pattern, text) || format.Match(policy.Fold(r.Pattern), policy.Fold(text))
	}
	for i := range d.setups[ref] {
		s := &d.setups[ref][i]
		rules := s.about(key)
		by := format.Last(rules, key, text)
		if by == nil || somebodys(by.At.File) {
			continue
		}
		for j := range s.Taken {
			if r := &s.Taken[j]; somebodys(r.At.File) && format.Match(r.Key, key) && about(r) {
				return r.At, "this null takes back " + r.Text(), true
			}
		}
		for j := range rules {
			r := &rules[j]
			if r.Decision < by.Decision && somebodys(r.Place.File) && about(r) {
				return r.Place, "this key moves " + r.Text() + " before it", true
			}
		}
	}
	return diag.Pos{}, "", false
}
