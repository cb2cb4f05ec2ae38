// Package dialect translates Claude Code's rules into the neutral vocabulary. The
// source's rule lists and the importer share it.
package dialect

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/rule"
)

// Translate turns a rule into neutral ones; ok is false for one that the neutral
// vocabulary cannot say. It becomes neutral only where that means no more for an
// allow and no less for a deny or an ask. What each tool's specifier means was
// observed on Claude Code 2.1.329.
func Translate(r rule.Rule, d ir.Decision, inv contract.Inventory) (out []contract.NeutralRule, ok bool) {
	t := translation{inventory: inv, decision: d}
	ok = t.translate(r)
	return t.out, ok
}

type translation struct {
	inventory contract.Inventory
	decision  ir.Decision
	out       []contract.NeutralRule
}

func (t *translation) add(g ir.Group, server string, p ir.Pattern) bool {
	t.out = append(t.out, contract.NeutralRule{Group: g, Server: server, Pattern: p})
	return true
}

// whole adds a rule for everything in a group; star is the pattern that says so
// in a list.
func (t *translation) whole(g ir.Group, star string) bool {
	if t.decision == ir.Deny {
		return t.add(g, "", ir.Pattern{Kind: ir.All})
	}
	return t.add(g, "", ir.Pattern{Text: star})
}

func (t *translation) translate(r rule.Rule) bool {
	switch r.Tool {
	case "Bash":
		if !r.HasSpec {
			return t.whole(ir.Command, "*")
		}
		if t.decision == ir.Allow && strings.TrimSpace(r.Spec) != r.Spec {
			return false // a blank at an end is a part of the rule
		}
		return policy.CheckCommand(r.Spec) == nil && !strings.ContainsAny(r.Spec, "|;&\n") && !strings.HasPrefix(r.Spec, "@") && t.add(ir.Command, "", ir.Pattern{Text: r.Spec})
	case "Read", "Glob", "Grep":
		return t.file(ir.Read, r, r.Tool == "Read")
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return t.file(ir.Edit, r, r.Tool == "Edit")
	case "WebFetch":
		if !r.HasSpec { // an allow would cover WebSearch too
			return t.decision == ir.Deny && t.whole(ir.Web, "*")
		}
		host, ok := strings.CutPrefix(r.Spec, "domain:")
		return ok && policy.CheckHost(host) == nil && t.add(ir.Web, "", ir.Pattern{Text: host})
	case "Agent", "Task":
		return r.HasSpec && t.inventory.Mode(r.Spec) && t.add(ir.Modes, "", ir.Pattern{Text: r.Spec})
	}
	if name, ok := strings.CutPrefix(r.Tool, "mcp__"); ok {
		return t.mcp(name)
	}
	return false
}

// file translates a rule over paths. A bare Write leaves Edit alone: only Read
// and Edit name their whole group.
func (t *translation) file(g ir.Group, r rule.Rule, names bool) bool {
	if !r.HasSpec {
		return names && t.whole(g, "**")
	}
	glob, ok := fileGlob(r.Spec, t.decision)
	return ok && t.add(g, "", ir.Pattern{Text: glob})
}

// fileGlob turns a gitignore pattern of a Read or Edit rule into a glob. A
// pattern outside the project, a negation, a comment and what doublestar reads
// otherwise stay Claude Code's.
func fileGlob(spec string, d ir.Decision) (string, bool) {
	if strings.HasPrefix(spec, "//") || strings.IndexByte("~!#", spec[0]) >= 0 || strings.ContainsAny(spec, `{}\`) || strings.TrimSpace(spec) != spec {
		return "", false
	}
	glob, anchored := strings.CutPrefix(spec, "./")
	if dir, ok := strings.CutSuffix(glob, "/**"); ok && dir == "" {
		glob = "**"
	} else if ok && !strings.Contains(dir, "/") && d != ir.Allow {
		glob = "**/" + glob // observed: such a deny or ask holds at any depth
	} else if anchored && !strings.Contains(glob, "/") {
		glob = "/" + glob
	}
	return glob, policy.CheckGlob(glob) == nil
}

// reading is a way to understand what follows mcp__: a server or a glob over
// servers, and a glob over its tools.
type reading struct{ server, tool string }

// mcp translates SERVER, SERVER__TOOL or a glob over both. Claude Code writes
// names with "_" for what it does not take, so that two servers may share one:
// an allow then names neither.
func (t *translation) mcp(name string) bool {
	var readings []reading
	var known []string
	for _, s := range t.inventory.Servers() {
		server := s.Name
		as := rule.Name(server)
		known = append(known, as)
		if name == as {
			readings = append(readings, reading{server, "*"})
		} else if tool, ok := strings.CutPrefix(name, as+"__"); ok {
			readings = append(readings, reading{server, tool})
		}
	}
	if len(readings) == 0 {
		server, _, _ := strings.Cut(name, "__")
		if !strings.Contains(server, "*") {
			return t.inventory.UnknownServer(server, known)
		}
		readings = t.globReadings(name)
	}
	if t.decision == ir.Allow && len(readings) > 1 || strings.Contains(name, "?") {
		return false
	}
	for _, x := range readings {
		if policy.CheckToolGlob(x.tool) != nil {
			return false
		}
	}
	for _, x := range readings {
		t.tools(x)
	}
	return true
}

// globReadings splits a glob over SERVER__TOOL wherever the two underscores may
// be: written, or inside what a "*" stands for. Together the readings match
// what the glob matches.
func (t *translation) globReadings(name string) []reading {
	split := []reading{{name, "*"}}
	for i := range name {
		if name[i] == '*' {
			split = append(split, reading{name[:i+1], name[i:]})
		}
		if server, tool := name[:i], name[i:]; i > 0 && len(tool) > 2 && strings.HasPrefix(tool, "__") {
			split = append(split, reading{server, tool[2:]})
		}
	}
	var out []reading
	for _, x := range split {
		out = append(out, x)
		for _, sv := range t.inventory.Servers() { // servers that Claude Code writes otherwise
			if s := sv.Name; policy.Wildcard(x.server, rule.Name(s)) && !policy.Wildcard(x.server, s) {
				out = append(out, reading{s, x.tool})
			}
		}
	}
	slices.SortFunc(out, func(a, b reading) int { return cmp.Or(cmp.Compare(a.server, b.server), cmp.Compare(a.tool, b.tool)) })
	return slices.Compact(out)
}

// tools adds a rule for the tools of a server. A tool whose name Claude Code
// writes otherwise is named as the inventory has it.
func (t *translation) tools(x reading) {
	if x.tool == "*" && t.decision == ir.Deny {
		t.add(ir.MCP, x.server, ir.Pattern{Kind: ir.All})
		return
	}
	renamed := false
	for _, s := range t.inventory.Servers() {
		if !policy.Wildcard(x.server, s.Name) {
			continue
		}
		for j := range s.Tools {
			if name := s.Tools[j].Name; policy.Wildcard(x.tool, rule.Name(name)) && !policy.Wildcard(x.tool, name) {
				renamed = t.add(ir.MCP, s.Name, ir.Pattern{Text: name})
			}
		}
	}
	if !renamed && !strings.Contains(x.server, "*") {
		t.inventory.Tool(x.server, x.tool)
	}
	if !renamed || strings.Contains(x.tool, "*") {
		t.add(ir.MCP, x.server, ir.Pattern{Text: x.tool})
	}
}
