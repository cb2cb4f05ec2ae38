package compiler

import (
	"cmp"
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

// sugarRule is a Claude rule that the neutral vocabulary can say. It is kept
// beside a role's `can` until every role has inherited: it speaks of what it
// matches and of nothing else, so that a group which only such rules mention
// goes on deciding as that role, and not its parent, leaves it unsaid.
type sugarRule struct {
	group  ir.Group
	server string // mcp only: a name of the inventory, or a glob
	rule   ir.Rule
}

// sugar reads a role's own Claude rules. A rule becomes a neutral one only
// where that means no more for an allow and no less for a deny or an ask; any
// other stays a rule for Claude Code alone.
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
			t := translation{resolver: r, rule: ir.Rule{Decision: l.decision, Pos: n.pos}, at: at}
			if t.translate(rule) {
				s.sugar = append(s.sugar, t.out...)
			} else {
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

// translation turns one Claude rule into neutral ones.
type translation struct {
	*resolver
	rule ir.Rule // without its pattern
	at   string
	out  []sugarRule
}

func (t *translation) add(g ir.Group, server string, p ir.Pattern) bool {
	rule := t.rule
	rule.Pattern = p
	t.out = append(t.out, sugarRule{g, server, rule})
	return true
}

// whole adds a rule for everything in a group; star is the pattern that says so
// in a list.
func (t *translation) whole(g ir.Group, star string) bool {
	if t.rule.Decision == ir.Deny {
		return t.add(g, "", ir.Pattern{Kind: ir.All})
	}
	return t.add(g, "", ir.Pattern{Text: star})
}

// translate reports whether the neutral vocabulary can say a rule. What each
// tool's specifier means was observed on Claude Code 2.1.329.
func (t *translation) translate(rule clauderule.Rule) bool {
	switch rule.Tool {
	case "Bash":
		if !rule.HasSpec {
			return t.whole(ir.Command, "*")
		}
		return policy.CheckCommand(rule.Spec) == nil && !strings.HasPrefix(rule.Spec, "@") && t.add(ir.Command, "", ir.Pattern{Text: rule.Spec})
	case "Read", "Glob", "Grep":
		return t.file(ir.Read, rule, rule.Tool == "Read")
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return t.file(ir.Edit, rule, rule.Tool == "Edit")
	case "WebFetch":
		if !rule.HasSpec { // an allow would cover WebSearch too
			return t.rule.Decision == ir.Deny && t.whole(ir.Web, "*")
		}
		host, ok := strings.CutPrefix(rule.Spec, "domain:")
		return ok && policy.CheckHost(host) == nil && t.add(ir.Web, "", ir.Pattern{Text: host})
	case "Agent", "Task":
		return rule.HasSpec && t.subjects[modeKind][rule.Spec] != nil && t.add(ir.Modes, "", ir.Pattern{Text: rule.Spec})
	}
	if name, ok := strings.CutPrefix(rule.Tool, "mcp__"); ok {
		return t.mcp(name)
	}
	return false
}

// file translates a rule over paths. A bare Write leaves Edit alone: only Read
// and Edit name their whole group.
func (t *translation) file(g ir.Group, rule clauderule.Rule, names bool) bool {
	if !rule.HasSpec {
		return names && t.whole(g, "**")
	}
	glob, ok := fileGlob(rule.Spec, t.rule.Decision)
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
	if dir, ok := strings.CutSuffix(glob, "/**"); ok && !strings.Contains(dir, "/") && d != ir.Allow {
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
	for i := range t.project.Servers {
		server := t.project.Servers[i].Name
		as := claudeName(server)
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
			t.unknown("unknown-server", "server", &node{text: server, pos: t.rule.Pos}, t.at, known)
			return true
		}
		readings = t.globReadings(name)
	}
	if t.rule.Decision == ir.Allow && len(readings) > 1 || strings.Contains(name, "?") {
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
		for i := range t.project.Servers { // servers that Claude Code writes otherwise
			if s := t.project.Servers[i].Name; wildcard(x.server, claudeName(s)) && !wildcard(x.server, s) {
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
	if x.tool == "*" && t.rule.Decision == ir.Deny {
		t.add(ir.MCP, x.server, ir.Pattern{Kind: ir.All})
		return
	}
	renamed := false
	for i := range t.project.Servers {
		s := &t.project.Servers[i]
		if !wildcard(x.server, s.Name) {
			continue
		}
		for j := range s.Tools {
			if name := s.Tools[j].Name; wildcard(x.tool, claudeName(name)) && !wildcard(x.tool, name) {
				renamed = t.add(ir.MCP, s.Name, ir.Pattern{Text: name})
			}
		}
	}
	if !renamed && !strings.Contains(x.server, "*") {
		t.toolRef(x.server, x.tool, t.rule.Pos, t.at)
	}
	if !renamed || strings.Contains(x.tool, "*") {
		t.add(ir.MCP, x.server, ir.Pattern{Text: x.tool})
	}
}

// claudeName is a server's or a tool's name as Claude Code writes it in
// mcp__SERVER__TOOL: what is no letter, digit, "_" or "-" becomes "_".
func claudeName(name string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
}

// inheritSugar takes over a parent's Claude rules; one that comes on two ways
// counts once.
func inheritSugar(s, parent *subject) {
	for _, x := range parent.sugar {
		x.rule.From = cmp.Or(x.rule.From, parent.String())
		if !slices.ContainsFunc(s.sugar, func(y sugarRule) bool {
			return y.group == x.group && y.server == x.server && y.rule.Pos == x.rule.Pos && y.rule.Pattern == x.rule.Pattern
		}) {
			s.sugar = append(s.sugar, x)
		}
	}
	for _, c := range parent.rules {
		c.From = cmp.Or(c.From, parent.String())
		if !slices.ContainsFunc(s.rules, func(x ir.ClaudeRule) bool { return x.Pos == c.Pos && x.Text == c.Text }) {
			s.rules = append(s.rules, c)
		}
	}
}

// sweeten adds a role's Claude rules, its own and inherited ones, to what it may
// do. What was unsaid before is then decided by a written default.
func (r *resolver) sweeten(s *subject) {
	tables := map[ir.Group]**ir.Table{ir.Read: &s.can.Read, ir.Edit: &s.can.Edit, ir.Command: &s.can.Command, ir.Web: &s.can.Web, ir.Modes: &s.can.Modes}
	for _, x := range s.sugar {
		if x.group == ir.MCP {
			r.sweetenMCP(s, x)
			continue
		}
		t := tables[x.group]
		if *t == nil {
			*t = &ir.Table{Default: r.unsaid(s, x.group)}
		}
		(*t).Rules = ownFirst((*t).Rules, x.rule)
	}
	settle(&s.can)
}

func (r *resolver) sweetenMCP(s *subject, x sugarRule) {
	if s.can.MCP == nil {
		s.can.MCP = &ir.MCPTable{Default: r.unsaid(s, ir.MCP)}
	}
	t := s.can.MCP
	same := func(e ir.MCPEntry) bool { return e.Key == x.server && e.From == x.rule.From }
	i := slices.IndexFunc(t.Entries, same)
	if i < 0 {
		i = len(t.Entries)
		e := ir.MCPEntry{Key: x.server, Literal: !strings.ContainsAny(x.server, "*?"), Pos: x.rule.Pos, From: x.rule.From}
		if !slices.ContainsFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == x.server }) {
			e.Default = r.serverUnsaid(s, e)
		}
		t.Entries = append(t.Entries, e)
	}
	t.Entries[i].Rules = ownFirst(t.Entries[i].Rules, x.rule)
}

// serverUnsaid is what a role decides about the servers of a new entry without
// it: an entry without a default would mean ask. A server that is off by
// default stays off for the tools that the entry does not name.
func (r *resolver) serverUnsaid(s *subject, e ir.MCPEntry) *ir.Default {
	if sv := r.project.Server(e.Key); e.Literal && sv != nil && !sv.DefaultEnabled {
		return &ir.Default{Decision: ir.Deny, Pos: sv.Pos}
	}
	d := s.can.MCP.Default
	if d == nil {
		d = &ir.Default{Decision: ir.Ask, Pos: e.Pos, From: e.From} // a role's table without a default
	}
	if !e.Literal {
		return d // the lowest among the globs holds, so that no other is raised
	}
	var lowest *ir.Default
	for _, glob := range s.can.MCP.Entries {
		if glob.Literal || !wildcard(glob.Key, e.Key) {
			continue
		}
		g := cmp.Or(glob.Default, &ir.Default{Decision: ir.Ask, Pos: glob.Pos, From: glob.From})
		if lowest == nil || g.Decision < lowest.Decision {
			lowest = g
		}
	}
	return cmp.Or(lowest, d)
}

// ownFirst adds a rule: an own one before the inherited ones.
func ownFirst(rules []ir.Rule, x ir.Rule) []ir.Rule {
	i := len(rules)
	if x.From == "" {
		if j := slices.IndexFunc(rules, func(r ir.Rule) bool { return r.From != "" }); j >= 0 {
			i = j
		}
	}
	return slices.Insert(rules, i, x)
}

// unsaid is what a role decides in a group that it does not mention.
func (r *resolver) unsaid(s *subject, g ir.Group) *ir.Default {
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
