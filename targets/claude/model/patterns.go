package model

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
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
		for i := range of.power {
			add(ir.Command, of.power[i].text)
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

// NamedCalls returns the calls that the allow rules of a subject's session name: of servers, and of built-in tools that
// no group has.
func (d *decider) NamedCalls(ref ir.SubjectRef, servers []string) (all []policy.Action) {
	s := d.of(ref)
	if s == nil {
		return nil
	}
	for i := range s.rules[ir.Allow].tools {
		known := func(server string) bool {
			return strings.HasPrefix(s.rules[ir.Allow].tools[i].text+"__", "mcp__"+toolName(server)+"__")
		}
		name := s.rules[ir.Allow].tools[i].text
		server, tool, mcp := rule.Rule{Tool: name}.MCP()
		switch {
		case mcp && slices.ContainsFunc(servers, known):
		case mcp:
			tool = cmp.Or(strings.ReplaceAll(tool, "*", "x"), contract.UnknownTool)
			all = append(all, policy.Action{Group: ir.MCP, Server: server, Arg: tool})
		case !format.KnownTool(name), slices.Contains(format.UnknownTools, name):
			all = append(all, policy.Action{Group: ir.Unknown, Arg: name})
		}
	}
	return all
}
