package claude

import (
	"strings"

	"modec.dev/modec/compiler/clauderule"
	"modec.dev/modec/compiler/ir"
)

// Patterns returns what the allow rules of a subject's session hold, in the
// source's grammar as near as it goes: WebFetch(domain:*.x) is `*.x`.
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	s := d.all[ref]
	if s == nil {
		return nil
	}
	allow := &s.rules[ir.Allow]
	out := map[ir.Group][]ir.Pattern{}
	add := func(g ir.Group, rule string) {
		r, err := clauderule.Parse(rule)
		if err != nil || !r.HasSpec {
			return
		}
		text := strings.TrimPrefix(strings.TrimPrefix(r.Spec, "domain:"), "./")
		if text != "" && !strings.HasPrefix(text, "//") && !strings.HasPrefix(text, "~") {
			out[g] = append(out[g], ir.Pattern{Text: text})
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
