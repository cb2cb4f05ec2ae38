package compiler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/clauderule"
	"modec.dev/modec/compiler/diag"
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
	server string // mcp only: a name of the sugarInventory, or a glob
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
				r.diags.Errorf(diag.BadClaudeRule, n.pos, "got %q: %v", short(n.text), err).Path(at)
				continue
			}
			if l.decision == ir.Allow && strings.Contains(rule.Tool, "*") && !allowGlob(rule.Tool) {
				r.diags.Errorf(diag.BadClaudeRule, n.pos, "got the wildcard tool name %q, which Claude Code does not support in allow rules", rule.Tool).
					Path(at)
				continue
			}
			if neutral, ok := clauderule.Translate(rule, l.decision, sugarInventory{r, n.pos, at}); ok {
				for _, x := range neutral {
					s.sugar = append(s.sugar, sugarRule{x.Group, x.Server, ir.Rule{Decision: l.decision, Pattern: x.Pattern, Pos: n.pos}})
				}
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

// sugarInventory answers what a Claude rule refers to, and reports what is not there.
type sugarInventory struct {
	*resolver
	pos diag.Pos
	at  string
}

func (i sugarInventory) Servers() []ir.Server { return i.project.Servers }

func (i sugarInventory) Mode(slug string) bool { return i.subjects[modeKind][slug] != nil }

func (i sugarInventory) UnknownServer(name string, known []string) bool {
	i.unknown(diag.UnknownServer, "server", &node{text: name, pos: i.pos}, i.at, known)
	return true
}

func (i sugarInventory) Tool(server, tool string) { i.toolRef(server, tool, i.pos, i.at) }

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
		if glob.Literal || !policy.Wildcard(glob.Key, e.Key) {
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
