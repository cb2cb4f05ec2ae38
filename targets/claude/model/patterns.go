package model

import (
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format/rule"
)

// Patterns returns the patterns of the allow rules in a subject's session and of all rules for lines, in
// the source's grammar as near as it goes: WebFetch(domain:*.x) is `*.x`. What lies outside the project
// begins with "//" or "~/", additional folders too. What a rule refuses of lines is compared too, since no
// cell has a line of quotes or of variables.
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	s := d.of(ref)
	if s == nil {
		return nil
	}
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
	for i := range s.folders {
		for _, g := range []ir.Group{ir.Read, ir.Edit} {
			out[g] = append(out[g], ir.Pattern{Text: "/" + s.folders[i].clean + "/**"})
		}
	}
	for _, d := range []ir.Decision{ir.Allow, ir.Ask, ir.Deny} {
		of := &s.rules[d]
		for i := range of.bash {
			add(ir.Command, of.bash[i].text)
		}
		if d != ir.Allow {
			continue
		}
		for i := range of.read {
			add(ir.Read, of.read[i].text)
		}
		for i := range of.edit {
			add(ir.Edit, of.edit[i].text)
		}
		for i := range of.hosts {
			add(ir.Web, of.hosts[i].text)
		}
	}
	return out
}
