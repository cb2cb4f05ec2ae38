package migrate

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// side is what one source says of a subject, with everything written that it leaves
// unsaid.
type side struct {
	can ir.Can
	// off lists the servers that are off by default: only an entry with their
	// name turns them on.
	off map[string]bool
	// ceiling is the highest decision about reading outside of the project that is not
	// written.
	ceiling *ir.Default
}

// explicit writes what a subject leaves unsaid: a table for each group and a default for
// each table, as package policy decides it. role is nil for a mode.
func explicit(can ir.Can, at diag.Pos, role *ir.Role, off map[string]bool) side {
	u := unsaid{role: role, fallback: cmp.Or(can.Default, leaves(at, role))}
	out := can
	out.Default = nil
	for _, g := range tables {
		*g.of(&out) = u.table(g.group, *g.of(&can))
	}
	out.MCP = u.mcp(can.MCP, off)
	out.Unknown = cmp.Or(can.Unknown, u.unknown(can.Default, at))
	ceiling := ir.Deny
	if role != nil {
		ceiling = ir.Ask
	}
	return side{out, off, &ir.Default{Decision: ceiling, Pos: diag.Pos{File: at.File}}}
}

// leaves returns the default of everything that a subject leaves unsaid.
func leaves(at diag.Pos, role *ir.Role) *ir.Default {
	if role == nil {
		return &ir.Default{Decision: ir.Deny, Pos: diag.Pos{File: at.File}}
	}
	return &ir.Default{Decision: ir.Agent, Pos: diag.Pos{File: at.File}}
}

// unsaid is what a subject decides where it says nothing.
type unsaid struct {
	role     *ir.Role // nil for a mode
	fallback *ir.Default
}

// unknown returns the default of the tools that have no group. A default of all groups
// never allows them, and a mode has them only where it leaves everything to its agent.
func (u unsaid) unknown(written *ir.Default, at diag.Pos) *ir.Default {
	switch {
	case written == nil, u.role == nil && written.Decision != ir.Agent:
		return leaves(at, u.role)
	case written.Decision == ir.Allow:
		return &ir.Default{Decision: ir.Ask, Pos: written.Pos}
	}
	return written
}

// table returns a group's table with a default.
func (u unsaid) table(g ir.Group, t *ir.Table) *ir.Table {
	switch {
	case g == ir.Modes && u.role != nil && u.role.Modes != nil:
		return listed(t, u.role, &ir.Default{Decision: ir.Deny, Pos: u.fallback.Pos})
	case t == nil:
		return &ir.Table{Default: u.fallback}
	case t.Default == nil:
		return &ir.Table{Default: u.fallback, Rules: t.Rules, Open: t.Open}
	}
	return t
}

// mcp returns the table of the servers with a default for it and for each entry.
func (u unsaid) mcp(t *ir.MCPTable, off map[string]bool) *ir.MCPTable {
	if t == nil {
		return &ir.MCPTable{Default: u.fallback}
	}
	out := *t
	out.Default = cmp.Or(out.Default, u.fallback)
	out.Entries = slices.Clone(out.Entries)
	least := out.Default // what an entry of one server without a default may fall to
	for _, e := range out.Entries {
		if !e.Literal {
			least = lower(least, e.Default)
		}
	}
	for i := range out.Entries {
		e := &out.Entries[i]
		switch {
		case e.Literal && off[e.Key] && !permits(e): // a written default might turn the server on
			e.Default = &ir.Default{Decision: ir.Deny, Pos: diag.Pos{File: e.Pos.File}}
		case e.Default == nil:
			e.Default = least
		}
	}
	return &out
}

// permits reports whether an entry permits anything.
func permits(e *ir.MCPEntry) bool {
	return e.Default != nil && e.Default.Decision > ir.Deny ||
		slices.ContainsFunc(e.Rules, func(r ir.Rule) bool { return r.Decision > ir.Deny })
}

// listed returns the modes that a role may enter as a table. An ask applies to those that
// are listed, a deny to any.
func listed(t *ir.Table, role *ir.Role, fallback *ir.Default) *ir.Table {
	out := &ir.Table{Default: fallback}
	var asks []ir.Rule
	if t != nil {
		for _, r := range t.Rules {
			switch r.Decision {
			case ir.Deny:
				out.Rules = append(out.Rules, r)
			case ir.Ask:
				asks = append(asks, r)
			}
		}
	}
	for _, slug := range *role.Modes {
		r := ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: slug}, Pos: role.ModesPos}
		if slices.ContainsFunc(asks, func(a ir.Rule) bool { return a.Pattern.Text == "*" || a.Pattern.Text == slug }) {
			r.Decision = ir.Ask
		}
		out.Rules = append(out.Rules, r)
	}
	return out
}

// tables are the groups that have a table of rules.
var tables = []struct {
	group ir.Group
	of    func(*ir.Can) **ir.Table
}{
	{ir.Read, func(c *ir.Can) **ir.Table { return &c.Read }},
	{ir.Edit, func(c *ir.Can) **ir.Table { return &c.Edit }},
	{ir.Command, func(c *ir.Can) **ir.Table { return &c.Command }},
	{ir.Web, func(c *ir.Can) **ir.Table { return &c.Web }},
	{ir.Modes, func(c *ir.Can) **ir.Table { return &c.Modes }},
}

// meet returns what both sides permit: no decision is above that of either. It may be
// below both, where each allows something that the other does not list.
func meet(a, b side) ir.Can {
	var out ir.Can
	for _, g := range tables {
		x, y := *g.of(&a.can), *g.of(&b.can)
		how := byDecision
		if g.group == ir.Web || g.group == ir.Modes {
			how = exact
		}
		t := &ir.Table{
			Default: lower(x.Default, y.Default),
			Rules:   meetRules(ruleSet{x.Rules, x.Default}, ruleSet{y.Rules, y.Default}, how),
		}
		for _, o := range x.Open {
			if slices.ContainsFunc(y.Open, func(p ir.OpenPath) bool { return p.Path == o.Path }) {
				t.Open = append(t.Open, o)
			}
		}
		*g.of(&out) = t
	}
	m := &ir.MCPTable{
		Default: lower(a.can.MCP.Default, b.can.MCP.Default),
		Rules:   unite(a.can.MCP.Rules, b.can.MCP.Rules),
	}
	var keys []string
	for _, e := range slices.Concat(a.can.MCP.Entries, b.can.MCP.Entries) {
		keys = append(keys, e.Key)
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		x, y := a.entry(key), b.entry(key)
		m.Entries = append(m.Entries, ir.MCPEntry{
			Key: key, Literal: x.Literal, Pos: cmp.Or(x.Pos, y.Pos),
			Default:   lower(x.Default, y.Default),
			Rules:     meetRules(ruleSet{x.Rules, a.least(&x)}, ruleSet{y.Rules, b.least(&y)}, exact),
			Resources: lower(x.Resources, y.Resources),
			Prompts:   lower(x.Prompts, y.Prompts),
		})
	}
	out.MCP = m
	out.Unknown = lower(a.can.Unknown, b.can.Unknown)
	out.OutsideRead = lower(a.can.OutsideRead, b.can.OutsideRead)
	out.OutsideEdit = lower(a.can.OutsideEdit, b.can.OutsideEdit)
	if (a.can.OutsideRead == nil) != (b.can.OutsideRead == nil) {
		out.OutsideRead = lower(out.OutsideRead, a.ceiling)
	}
	if (a.can.OutsideEdit == nil) != (b.can.OutsideEdit == nil) {
		out.OutsideEdit = lower(out.OutsideEdit, &ir.Default{Decision: ir.Deny, Pos: a.ceiling.Pos})
	}
	own(&out)
	return out
}

// implicit removes what a subject would decide without a word. It is the inverse of
// explicit, as far as nothing is lost.
func implicit(can *ir.Can, role *ir.Role) {
	unsaid := leaves(diag.Pos{}, role).Decision
	if can.Unknown != nil && can.Unknown.Decision == unsaid {
		can.Unknown = nil
	}
	for _, g := range tables {
		t := g.of(can)
		if (*t).Default.Decision != unsaid {
			continue
		}
		(*t).Default = nil
		says := func(r ir.Rule) bool { return unsaid != ir.Deny || r.Decision > ir.Deny }
		if !slices.ContainsFunc((*t).Rules, says) {
			*t = nil
		}
	}
	if m := can.MCP; m != nil && m.Default.Decision == unsaid && role != nil {
		m.Default = nil
	}
}

// own makes everything a subject's own, because what two sources say together is not a
// policy of either.
func own(can *ir.Can) {
	rules := func(rules []ir.Rule) {
		for i := range rules {
			rules[i].From = ""
		}
	}
	fallback := func(d *ir.Default) *ir.Default {
		if d == nil {
			return nil
		}
		return &ir.Default{Decision: d.Decision, Pos: d.Pos}
	}
	for _, g := range tables {
		t := *g.of(can)
		rules(t.Rules)
		t.Default = fallback(t.Default)
	}
	rules(can.MCP.Rules)
	can.MCP.Default = fallback(can.MCP.Default)
	for i := range can.MCP.Entries {
		e := &can.MCP.Entries[i]
		rules(e.Rules)
		e.From, e.Default = "", fallback(e.Default)
		e.Resources, e.Prompts = fallback(e.Resources), fallback(e.Prompts)
	}
}

// entry returns what a side says of a key of can.mcp. It derives the entry from the other
// ones where the side does not name the key.
func (s side) entry(key string) ir.MCPEntry {
	out := ir.MCPEntry{Key: key, Literal: !strings.ContainsAny(key, "*?")}
	found := false
	for _, e := range s.can.MCP.Entries {
		if e.Key == key {
			if !found {
				out.Pos = e.Pos
			}
			found = true
			out.Rules = append(out.Rules, e.Rules...)
			out.Default = lower(out.Default, e.Default)
			out.Resources = lower(out.Resources, e.Resources)
			out.Prompts = lower(out.Prompts, e.Prompts)
		}
	}
	if found {
		return out
	}
	if out.Literal && s.off[key] {
		at := s.can.MCP.Default.Pos
		out.Rules = []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at}}
		out.Default = &ir.Default{Decision: ir.Deny, Pos: at}
		return out
	}
	out.Default = s.can.MCP.Default
	for _, e := range s.can.MCP.Entries {
		if !e.Literal {
			out.Default = lower(out.Default, e.Default)
		}
	}
	return out
}

// least returns the lowest default that a server of an entry may have: a server that a
// glob matches may have an entry of its own as well.
func (s side) least(e *ir.MCPEntry) *ir.Default {
	d := e.Default
	for _, o := range s.can.MCP.Entries {
		if !e.Literal {
			d = lower(d, o.Default)
		}
	}
	return d
}

// matching says whether a pattern matches the same whatever its rule decides.
type matching bool

const (
	exact matching = true
	// byDecision is for paths and commands: a pattern under ask matches more there than
	// the same one under allow.
	byDecision matching = false
)

// ruleSet is a list of rules and what decides where none of them matches.
type ruleSet struct {
	rules    []ir.Rule
	fallback *ir.Default
}

func (s ruleSet) has(d ir.Decision, p ir.Pattern) bool {
	return slices.ContainsFunc(s.rules, func(o ir.Rule) bool { return o.Decision == d && o.Pattern == p })
}

// meetRules returns the rules of both sides so that no decision is above that of either.
func meetRules(x, y ruleSet, how matching) []ir.Rule {
	var out []ir.Rule
	add := func(own, other ruleSet) {
		for _, r := range own.rules {
			if d, keep := other.limit(r, how); keep {
				r.Decision = d
				out = unite(out, []ir.Rule{r})
			}
		}
	}
	add(x, y)
	add(y, x)
	return out
}

// limit returns what is left of a rule of the other side, and whether it is kept.
//
// A deny stays. An ask stays unless this side denies by default: it would raise that, and
// becomes a deny. An allow stays where this side allows the same pattern or everything,
// becomes an ask where this side asks about it, and goes otherwise.
//
// One decision can stand for another only where the pattern matches the same under both.
// That is not so for the tools "*", which reach resources under ask, nor for risks.
func (s ruleSet) limit(r ir.Rule, how matching) (ir.Decision, bool) {
	same := how == exact && r.Pattern.Kind == ir.Plain && r.Pattern.Text != "*" || r.Pattern.Kind == ir.Regex
	asks, allows := s.has(ir.Ask, r.Pattern), s.has(ir.Allow, r.Pattern)
	switch r.Decision {
	case ir.Ask:
		if s.fallback.Decision == ir.Deny && !asks && !(same && allows) {
			return ir.Deny, true
		}
	case ir.Allow:
		switch {
		case s.fallback.Decision >= ir.Allow, allows:
		case same && (s.fallback.Decision == ir.Ask || asks):
			return ir.Ask, true
		default:
			return ir.Deny, false
		}
	}
	return r.Decision, true
}

// unite returns a list with the rules added that it does not have.
func unite(rules, more []ir.Rule) []ir.Rule {
	out := slices.Clone(rules)
	for _, r := range more {
		if !(ruleSet{rules: out}).has(r.Decision, r.Pattern) {
			out = append(out, r)
		}
	}
	return out
}

// lower returns the lower of two defaults. A default that is not there is above any other.
func lower(a, b *ir.Default) *ir.Default {
	if a == nil || b != nil && b.Decision < a.Decision {
		return b
	}
	return a
}

// meetRestrictions returns restrictions that permit what both permit.
func meetRestrictions(a, b *ir.MCPRestrictions) *ir.MCPRestrictions {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	item := func(x ir.Item) string { return x.Name }
	tool := func(x ir.ToolRef) string { return x.Server + ":" + x.Tool }
	return &ir.MCPRestrictions{
		Pos:               a.Pos,
		AllowedServers:    common(a.AllowedServers, b.AllowedServers, item),
		DisallowedServers: all(a.DisallowedServers, b.DisallowedServers, item),
		AllowedTools:      common(a.AllowedTools, b.AllowedTools, tool),
		DisallowedTools:   all(a.DisallowedTools, b.DisallowedTools, tool),
	}
}

// common returns the items that both lists have. No list permits everything.
func common[T any](a, b *[]T, key func(T) string) *[]T {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	out := []T{}
	for _, x := range *a {
		if slices.ContainsFunc(*b, func(y T) bool { return key(x) == key(y) }) {
			out = append(out, x)
		}
	}
	return &out
}

// all returns the items that either list has.
func all[T any](a, b *[]T, key func(T) string) *[]T {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	out := slices.Clone(*a)
	for _, y := range *b {
		if !slices.ContainsFunc(out, func(x T) bool { return key(x) == key(y) }) {
			out = append(out, y)
		}
	}
	return &out
}
