package model

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
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
			if s.permissions.mode == format.RunEverything {
				out[ir.Command] = append(out[ir.Command], ir.Pattern{Kind: ir.Plain, Text: "*"})
			}
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
		if strings.Trim(t.Inside, "*") == "" {
			return ir.Command, "*", t.Inside != ""
		}
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

// server returns the server of Mcp(server:tool) as it is written.
func (t *token) server() string {
	server, _, _ := strings.Cut(t.Inside, ":")
	return format.Trim(server)
}

// NamedCalls returns the tools that a subject's entries allow, on servers but for those of given ones in whatever
// case and under whatever id.
func (d *decider) NamedCalls(ref ir.SubjectRef, servers []string) (all []policy.Action) {
	known := func(name string) bool {
		for _, server := range servers {
			id := format.Fold(server)
			if name == id || projectIDs().MatchString(name) && strings.HasSuffix(name, "-"+id) {
				return true
			}
		}
		return false
	}
	for _, s := range d.setups[ref] {
		var list []token
		switch {
		case d.surface == cli && s.tokens != nil:
			list = s.tokens.allow
		case d.surface == ide && s.permissions != nil:
			list = s.permissions.globs
		}
		for i := range list {
			t := &list[i]
			if t.Keyword != format.MCP || !t.pair {
				continue
			}
			_, tool, _ := strings.Cut(t.Inside, ":")
			for _, server := range samples(t.server()) {
				of := strings.TrimPrefix(server, "user-")
				if of == "" || known(format.Fold(of)) {
					continue
				}
				if d.surface == ide {
					server = of
				}
				for _, tool := range samples(format.Trim(tool)) {
					tool = cmp.Or(tool, contract.UnknownTool)
					all = append(all, policy.Action{Group: ir.MCP, Server: server, Arg: tool})
				}
			}
		}
	}
	return all
}

// samples returns names that a pattern of an entry that allows matches; "" where one may be any.
func samples(pattern string) []string {
	if d := readDocumented(pattern); d != nil {
		return d.samples
	}
	return []string{strings.ReplaceAll(pattern, "*", "")}
}
