package clauderule

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Neutral is a rule of the source's vocabulary.
type Neutral struct {
	Group   ir.Group
	Server  string // mcp only: a name of the inventory, or a glob
	Pattern ir.Pattern
}

// Inventory answers what a rule may refer to.
type Inventory interface {
	Servers() []ir.Server
	Mode(slug string) bool
	// UnknownServer is told of a literal server that the inventory does not
	// have, and of the names that it has; the rule means nothing then, and its
	// result is what Translate returns.
	UnknownServer(name string, known []string) bool
	// Tool is told of a tool that a rule names.
	Tool(server, tool string)
}

// Translate turns a rule into neutral ones; ok is false for one that the neutral
// vocabulary cannot say. It becomes neutral only where that means no more for an
// allow and no less for a deny or an ask. What each tool's specifier means was
// observed on Claude Code 2.1.329.
func Translate(r Rule, d ir.Decision, inv Inventory) (out []Neutral, ok bool) {
	t := translation{inventory: inv, decision: d}
	ok = t.translate(r)
	return t.out, ok
}

type translation struct {
	inventory Inventory
	decision  ir.Decision
	out       []Neutral
}

func (t *translation) add(g ir.Group, server string, p ir.Pattern) bool {
	t.out = append(t.out, Neutral{g, server, p})
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

func (t *translation) translate(rule Rule) bool {
	switch rule.Tool {
	case "Bash":
		if !rule.HasSpec {
			return t.whole(ir.Command, "*")
		}
		if t.decision == ir.Allow && strings.TrimSpace(rule.Spec) != rule.Spec {
			return false // a blank at an end is a part of the rule
		}
		return policy.CheckCommand(rule.Spec) == nil && !strings.ContainsAny(rule.Spec, "|;&\n") && !strings.HasPrefix(rule.Spec, "@") && t.add(ir.Command, "", ir.Pattern{Text: rule.Spec})
	case "Read", "Glob", "Grep":
		return t.file(ir.Read, rule, rule.Tool == "Read")
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return t.file(ir.Edit, rule, rule.Tool == "Edit")
	case "WebFetch":
		if !rule.HasSpec { // an allow would cover WebSearch too
			return t.decision == ir.Deny && t.whole(ir.Web, "*")
		}
		host, ok := strings.CutPrefix(rule.Spec, "domain:")
		return ok && policy.CheckHost(host) == nil && t.add(ir.Web, "", ir.Pattern{Text: host})
	case "Agent", "Task":
		return rule.HasSpec && t.inventory.Mode(rule.Spec) && t.add(ir.Modes, "", ir.Pattern{Text: rule.Spec})
	}
	if name, ok := strings.CutPrefix(rule.Tool, "mcp__"); ok {
		return t.mcp(name)
	}
	return false
}

// file translates a rule over paths. A bare Write leaves Edit alone: only Read
// and Edit name their whole group.
func (t *translation) file(g ir.Group, rule Rule, names bool) bool {
	if !rule.HasSpec {
		return names && t.whole(g, "**")
	}
	glob, ok := fileGlob(rule.Spec, t.decision)
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
		as := Name(server)
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
			if s := sv.Name; policy.Wildcard(x.server, Name(s)) && !policy.Wildcard(x.server, s) {
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
			if name := s.Tools[j].Name; policy.Wildcard(x.tool, Name(name)) && !policy.Wildcard(x.tool, name) {
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

// Name is a server's or a tool's name as Claude Code writes it in
// mcp__SERVER__TOOL: what is no letter, digit, "_" or "-" becomes "_".
func Name(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
}
