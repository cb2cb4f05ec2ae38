package model

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/cursor/format"
)

// Patterns returns a subject's tokens and terminal entries as patterns of the source
// that are nearest to them: Shell(git push) is `git push *`.
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	out := map[ir.Group][]ir.Pattern{}
	add := func(list []token) {
		for i := range list {
			if g, p, ok := list[i].pattern(); ok {
				out[g] = append(out[g], ir.Pattern{Kind: ir.Plain, Text: p})
			}
		}
	}
	for _, s := range d.setups[ref] {
		if d.surface == cli && s.tokens != nil {
			add(s.tokens.allow)
			add(s.tokens.deny)
		}
		if d.surface == ide && s.permissions != nil {
			add(s.permissions.shell)
		}
	}
	for g, list := range out {
		slices.SortFunc(list, func(a, b ir.Pattern) int { return cmp.Compare(a.Text, b.Text) })
		out[g] = slices.Compact(list)
	}
	return out
}

func (t *token) pattern() (ir.Group, string, bool) {
	switch t.Keyword {
	case format.Shell:
		if first, rest, ok := strings.Cut(t.Inside, ":"); ok {
			return ir.Command, format.Trim(first) + " " + format.Trim(rest), true
		}
		return ir.Command, t.Inside + " *", t.Inside != ""
	case format.Read:
		return ir.Read, t.Inside, !strings.HasPrefix(t.Inside, "~")
	case format.Write:
		return ir.Edit, t.Inside, !strings.HasPrefix(t.Inside, "~")
	case format.WebFetch:
		return ir.Web, t.host.text, !strings.Contains(t.host.text, "/")
	}
	return "", "", false
}
