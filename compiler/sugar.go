package compiler

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/clauderule"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// sugarLists are the fields of a role that hold rules in Claude Code's own
// grammar.
var sugarLists = []struct {
	name     string
	decision ir.Decision
}{{"disallowedTools", ir.Deny}, {"askTools", ir.Ask}, {"allowedTools", ir.Allow}}

// sugar translates a role's rules in Claude Code's grammar. A rule becomes a
// neutral one only where that means no more for an allow and no less for a deny
// or an ask; any other stays a rule for Claude Code alone.
func (r *resolver) sugar(s *subject) {
	for _, l := range sugarLists {
		for i, n := range elems(s.node.get(l.name)) {
			at := fmt.Sprintf("%s.%s[%d]", s.path, l.name, i)
			rule, err := clauderule.Parse(n.text)
			if err != nil {
				r.diags.Errorf(n.pos, "bad-claude-rule", at, "got %q: %v", short(n.text), err)
				continue
			}
			if l.decision == ir.Allow && strings.Contains(rule.Tool, "*") && !allowGlob(rule.Tool) {
				r.diags.Errorf(n.pos, "bad-claude-rule", at, "got the wildcard tool name %q, which Claude Code does not support in allow rules", rule.Tool)
				continue
			}
			if !r.translate(s, rule, l.decision, n, at) {
				s.rules = append(s.rules, ir.ClaudeRule{Decision: l.decision, Text: n.text, Pos: n.pos})
			}
		}
	}
}

// allowGlob reports whether a glob stands only after a literal server.
func allowGlob(tool string) bool {
	server, _, ok := clauderule.Rule{Tool: tool}.MCP()
	return ok && !strings.Contains(server, "*")
}

func (r *resolver) translate(s *subject, rule clauderule.Rule, d ir.Decision, n *node, at string) bool {
	add := func(g ir.Group, p ir.Pattern) bool {
		t := r.table(s, g)
		t.Rules = append(t.Rules, ir.Rule{Decision: d, Pattern: p, Pos: n.pos})
		return true
	}
	whole := func(star string) ir.Pattern {
		if d == ir.Deny {
			return ir.Pattern{Kind: ir.All}
		}
		return ir.Pattern{Text: star}
	}
	switch rule.Tool {
	case "Bash":
		if !rule.HasSpec {
			return add(ir.Command, whole("*"))
		}
		return policy.CheckCommand(rule.Spec) == nil && !strings.HasPrefix(rule.Spec, "@") && add(ir.Command, ir.Pattern{Text: rule.Spec})
	case "Read", "Edit", "Write", "MultiEdit", "NotebookEdit", "Glob", "Grep":
		g := ir.Edit
		if rule.Tool == "Read" || rule.Tool == "Glob" || rule.Tool == "Grep" {
			g = ir.Read
		}
		if !rule.HasSpec { // a bare Write leaves Edit alone: only Read and Edit name their group
			return (rule.Tool == "Read" || rule.Tool == "Edit") && add(g, whole("**"))
		}
		glob, ok := fileGlob(rule.Spec, d)
		return ok && add(g, ir.Pattern{Text: glob})
	case "WebFetch":
		if !rule.HasSpec { // an allow would cover WebSearch too
			return d == ir.Deny && add(ir.Web, ir.Pattern{Kind: ir.All})
		}
		host, ok := strings.CutPrefix(rule.Spec, "domain:")
		return ok && policy.CheckHost(host) == nil && add(ir.Web, ir.Pattern{Text: host})
	case "Agent", "Task":
		if !rule.HasSpec || r.subjects[modeKind][rule.Spec] == nil {
			return false
		}
		return add(ir.Modes, ir.Pattern{Text: rule.Spec})
	}
	if server, tool, ok := rule.MCP(); ok {
		return r.translateMCP(s, server, tool, d, n, at)
	}
	return false
}

// fileGlob turns a gitignore pattern of a Read or Edit rule into a glob. A
// pattern outside the project, a negation and what doublestar reads otherwise
// stay Claude Code's.
func fileGlob(spec string, d ir.Decision) (string, bool) {
	if strings.HasPrefix(spec, "//") || strings.HasPrefix(spec, "~") || strings.HasPrefix(spec, "!") || strings.ContainsAny(spec, `{}\`) {
		return "", false
	}
	glob := strings.TrimPrefix(spec, "./")
	anchored := strings.HasPrefix(spec, "./")
	if dir, ok := strings.CutSuffix(glob, "/**"); ok && !strings.Contains(dir, "/") && d != ir.Allow {
		glob = "**/" + glob // observed: such a deny or ask holds at any depth
	} else if anchored && !strings.Contains(glob, "/") {
		glob = "/" + glob
	}
	return glob, policy.CheckGlob(glob) == nil
}

func (r *resolver) translateMCP(s *subject, server, tool string, d ir.Decision, n *node, at string) bool {
	key := server
	if !strings.Contains(server, "*") {
		i := slices.IndexFunc(r.project.Servers, func(x ir.Server) bool { return claudeName(x.Name) == server })
		if i < 0 {
			var names []string
			for _, x := range r.project.Servers {
				names = append(names, claudeName(x.Name))
			}
			r.unknown("unknown-server", "server", &node{text: server, pos: n.pos}, at, names)
			return true
		}
		key = r.project.Servers[i].Name
	}
	if tool == "" {
		tool = "*"
	}
	if policy.CheckToolGlob(tool) != nil {
		return false
	}
	r.toolRef(key, tool, n.pos, at)
	p := ir.Pattern{Text: tool}
	if tool == "*" && d == ir.Deny {
		p = ir.Pattern{Kind: ir.All}
	}
	t := r.mcpTable(s)
	i := slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == key && e.From == "" })
	if i < 0 {
		i = len(t.Entries)
		t.Entries = append(t.Entries, ir.MCPEntry{Key: key, Literal: !strings.Contains(key, "*"), Default: r.unsaid(s, ir.MCP), Pos: n.pos})
	}
	t.Entries[i].Rules = append(t.Entries[i].Rules, ir.Rule{Decision: d, Pattern: p, Pos: n.pos})
	return true
}

// claudeName is a server's name as Claude Code writes it in a tool's name:
// other than letters, digits, "_" and "-" become "_".
func claudeName(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
}

// table returns the table of a group. One that the role did not mention keeps
// the decision that it had without the rule: a Claude rule speaks of what it
// matches and of nothing else.
func (r *resolver) table(s *subject, g ir.Group) *ir.Table {
	tables := map[ir.Group]**ir.Table{ir.Read: &s.can.Read, ir.Edit: &s.can.Edit, ir.Command: &s.can.Command, ir.Web: &s.can.Web, ir.Modes: &s.can.Modes}
	t := tables[g]
	if *t == nil {
		*t = &ir.Table{Default: r.unsaid(s, g)}
	}
	return *t
}

func (r *resolver) mcpTable(s *subject) *ir.MCPTable {
	if s.can.MCP == nil {
		s.can.MCP = &ir.MCPTable{Default: r.unsaid(s, ir.MCP)}
	}
	return s.can.MCP
}

// unsaid is what a role decides in a group that it does not mention.
func (r *resolver) unsaid(s *subject, g ir.Group) *ir.Default {
	if g == ir.MCP && s.can.MCP != nil {
		return s.can.MCP.Default
	}
	if s.can.Default != nil {
		return s.can.Default
	}
	mode, pos := "default", s.pos
	if n := r.inherited(s, "permissionMode"); n != nil {
		mode, pos = n.text, n.pos
	}
	if g == ir.Modes {
		return &ir.Default{Decision: ir.Allow, Pos: pos}
	}
	return &ir.Default{Decision: policy.PermissionModeDefault(mode, g), Pos: pos}
}
