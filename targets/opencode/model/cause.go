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
	questions := [][2]string{{key, text}}
	if (a.Group == ir.Read || a.Group == ir.Edit) && outside(text) {
		questions = append(questions, [2]string{format.Outside, text + "/*"})
	}
	for i := range d.setups[ref] {
		for _, q := range questions {
			if at, how, ok := d.session(ref, i).cause(q[0], q[1], somebodys); ok {
				return at, how, true
			}
		}
	}
	return diag.Pos{}, "", false
}

// cause returns that of what the rules of a session say about a text of a key.
func (s *Session) cause(key, text string, somebodys func(file string) bool) (at diag.Pos, how string, ok bool) {
	about := func(r *format.Rule) bool { // in any case, as the source holds back
		return format.Match(r.Pattern, text) || format.Match(policy.Fold(r.Pattern), policy.Fold(text))
	}
	rules := s.about(key)
	by := format.Last(rules, key, text)
	if by == nil || somebodys(by.At.File) {
		return at, "", false
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
	return at, "", false
}
