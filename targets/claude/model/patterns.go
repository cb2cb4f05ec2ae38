package model

import (
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format/rule"
)

// Patterns returns the patterns of the allow rules in a subject's session, in the source's
// grammar as near as it goes: WebFetch(domain:*.x) is `*.x`. What lies outside the project begins
// with "//" or "~/".
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	s := d.of(ref)
	if s == nil {
		return nil
	}
	allow := &s.rules[ir.Allow]
	out := map[ir.Group][]ir.Pattern{}
	add := func(g ir.Group, text string) {
		r, err := rule.Parse(text)
		if err != nil || !r.HasSpec {
			return
		}
		glob := strings.TrimPrefix(strings.TrimPrefix(r.Spec, "domain:"), "./")
		if glob != "" && (!strings.HasPrefix(glob, "~") || strings.HasPrefix(glob, "~/")) {
			out[g] = append(out[g], ir.Pattern{Text: glob})
		}
	}
	for i := range allow.bash {
		add(ir.Command, allow.bash[i].text)
	}
	for i := range allow.read {
		add(ir.Read, allow.read[i].text)
	}
	for i := range allow.edit {
		add(ir.Edit, allow.edit[i].text)
	}
	for i := range allow.hosts {
		add(ir.Web, allow.hosts[i].text)
	}
	return out
}
