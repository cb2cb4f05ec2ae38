package cursor

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// Patterns returns what a subject's tokens and terminal entries hold, in the
// source's grammar as near as it goes: Shell(git push) is `git push *`.
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
		if d.surface == "cli" && s.cli != nil {
			add(s.cli.allow)
			add(s.cli.deny)
		}
		if d.surface == "ide" && s.permissions != nil {
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
	switch t.keyword {
	case "Shell":
		if first, rest, ok := strings.Cut(t.full, ":"); ok {
			return ir.Command, trimmed(first) + " " + trimmed(rest), true
		}
		return ir.Command, t.full + " *", t.full != ""
	case "Read":
		return ir.Read, t.full, !strings.HasPrefix(t.full, "~")
	case "Write":
		return ir.Edit, t.full, !strings.HasPrefix(t.full, "~")
	case "WebFetch":
		return ir.Web, t.host.text, !strings.Contains(t.host.text, "/")
	}
	return "", "", false
}
