package model

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/gemini/format"
)

// Patterns returns the patterns of what a subject's sessions permit: expressions of paths, and the words with which a
// line begins. The source has no expressions of lines and of addresses.
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	if !d.Contains(ref) {
		return nil
	}
	out := map[ir.Group][]ir.Pattern{}
	all, as := d.sessions(ref)
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command} {
		for _, s := range all {
			for _, r := range s.as(as.name) {
				if p, ok := permits(r, g); ok && !slices.Contains(out[g], p) {
					out[g] = append(out[g], p)
				}
			}
		}
	}
	for _, s := range all {
		for _, h := range s.hooks.judged() {
			h.AddPermitted(out, ref)
		}
	}
	return out
}

// permits returns the pattern by which a rule permits something of a group.
func permits(r *format.Rule, g ir.Group) (ir.Pattern, bool) {
	of := tools[g]
	named := func(tool string) bool {
		return slices.Contains(r.Tools, tool) || slices.Contains(r.Tools, format.Every)
	}
	if r.Decision == ir.Deny || !slices.ContainsFunc(of.names, named) {
		return ir.Pattern{}, false
	}
	if r.Begins != "" {
		return ir.Pattern{Text: r.Begins + " *"}, g == ir.Command
	}
	rest, ok := strings.CutPrefix(r.Expr, format.Key(of.argument))
	if !ok || g == ir.Command {
		return ir.Pattern{}, false
	}
	text, err := onValue(rest)
	return ir.Pattern{Kind: ir.Regex, Text: "^(?:" + text + ")"}, err == nil
}
