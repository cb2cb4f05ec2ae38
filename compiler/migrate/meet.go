package migrate

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// side is what one source says of a subject, with everything written that it
// leaves unsaid.
type side struct {
	can ir.Can
	// off lists the servers that are off by default: only an entry with their
	// name opens them.
	off map[string]bool
}

// explicit writes down what a subject leaves unsaid: a table for each group and
// a default for each table. role is nil for a mode. It follows design §3.2, 3.3
// and 3.9 as compiler/policy does.
func explicit(can ir.Can, at diag.Pos, role *ir.Role, off map[string]bool) side {
	omitted, outsideRead := ir.Deny, ir.Deny
	mode := ""
	if role != nil {
		mode = cmp.Or(role.PermissionMode, "default")
		omitted, outsideRead = min(ir.Ask, policy.PermissionModeDefault(mode, ir.Unknown)), ir.Ask
	}
	def := func(d ir.Decision) *ir.Default { return &ir.Default{Decision: d, Pos: diag.Pos{File: at.File}} }
	unsaid := func(g ir.Group) *ir.Default {
		switch {
		case can.Default != nil:
			return can.Default
		case role == nil:
			return def(ir.Deny)
		case g == ir.Modes:
			return def(ir.Allow)
		}
		return def(policy.PermissionModeDefault(mode, g))
	}
	out := can
	out.Default = nil
	for _, g := range tables {
		t := *g.of(&can)
		switch {
		case g.group == ir.Modes && role != nil && role.Modes != nil:
			t = listed(t, role, def(ir.Deny))
		case t == nil:
			t = &ir.Table{Default: unsaid(g.group)}
		case t.Default == nil:
			t = &ir.Table{Default: def(omitted), Rules: t.Rules, Open: t.Open}
		}
		*g.of(&out) = t
	}
	m := ir.MCPTable{}
	if can.MCP != nil {
		m = *can.MCP
		m.Default = cmp.Or(m.Default, def(omitted))
	} else {
		m.Default = unsaid(ir.MCP)
	}
	m.Entries = slices.Clone(m.Entries)
	least := min(omitted, m.Default.Decision) // what a literal entry without a default may fall to
	for _, e := range m.Entries {
		if !e.Literal && e.Default != nil {
			least = min(least, e.Default.Decision)
		}
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		opens := e.Default != nil && e.Default.Decision > ir.Deny || slices.ContainsFunc(e.Rules, func(r ir.Rule) bool { return r.Decision > ir.Deny })
		switch {
		case e.Literal && off[e.Key] && !opens:
			e.Default = def(ir.Deny) // a written ask would open the server
		case e.Default == nil:
			e.Default = def(least)
		}
	}
	out.MCP = &m
	out.Unknown = cmp.Or(can.Unknown, def(omitted))
	out.OutsideRead = cmp.Or(can.OutsideRead, def(outsideRead))
	out.OutsideEdit = cmp.Or(can.OutsideEdit, def(ir.Deny))
	return side{out, off}
}

// listed writes the modes that a role may enter as a table: what is asked about
// holds for those that are listed, and a deny for any.
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
		d := ir.Allow
		if slices.ContainsFunc(asks, func(r ir.Rule) bool { return r.Pattern.Text == "*" || r.Pattern.Text == slug }) {
			d = ir.Ask
		}
		out.Rules = append(out.Rules, ir.Rule{Decision: d, Pattern: ir.Pattern{Text: slug}, Pos: role.ModesPos})
	}
	return out
}

// tables lists the groups that have a table of rules.
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

// meet returns what both sides permit: no decision is above that of either. It
// may be below both, where neither list of what is allowed holds the other's
// entry.
func meet(a, b side) ir.Can {
	var out ir.Can
	for _, g := range tables {
		x, y := *g.of(&a.can), *g.of(&b.can)
		t := &ir.Table{Default: lower(x.Default, y.Default), Rules: meetRules(x.Rules, x.Default, y.Rules, y.Default, g.group == ir.Web || g.group == ir.Modes)}
		for _, o := range x.Open {
			if slices.ContainsFunc(y.Open, func(p ir.OpenPath) bool { return p.Path == o.Path }) {
				t.Open = append(t.Open, o)
			}
		}
		*g.of(&out) = t
	}
	m := &ir.MCPTable{Default: lower(a.can.MCP.Default, b.can.MCP.Default), Rules: unite(a.can.MCP.Rules, b.can.MCP.Rules)}
	var keys []string
	for _, e := range slices.Concat(a.can.MCP.Entries, b.can.MCP.Entries) {
		keys = append(keys, e.Key)
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		x, y := a.entry(key), b.entry(key)
		m.Entries = append(m.Entries, ir.MCPEntry{Key: key, Literal: x.Literal, Pos: cmp.Or(x.Pos, y.Pos), Default: lower(x.Default, y.Default),
			Rules: meetRules(x.Rules, a.least(&x), y.Rules, b.least(&y), true), Resources: lower(x.Resources, y.Resources), Prompts: lower(x.Prompts, y.Prompts)})
	}
	out.MCP = m
	out.Unknown = lower(a.can.Unknown, b.can.Unknown)
	out.OutsideRead = lower(a.can.OutsideRead, b.can.OutsideRead)
	out.OutsideEdit = lower(a.can.OutsideEdit, b.can.OutsideEdit)
	own(&out)
	return out
}

// implicit takes out what a subject decides as it is left unsaid: the inverse of
// explicit, as far as nothing is lost.
func implicit(can *ir.Can, role *ir.Role) {
	omitted, outsideRead := ir.Deny, ir.Deny
	if role != nil {
		omitted, outsideRead = min(ir.Ask, policy.PermissionModeDefault(cmp.Or(role.PermissionMode, "default"), ir.Unknown)), ir.Ask
	}
	drop := func(d **ir.Default, unsaid ir.Decision) {
		if *d != nil && (*d).Decision == unsaid {
			*d = nil
		}
	}
	drop(&can.Unknown, omitted)
	drop(&can.OutsideRead, outsideRead)
	drop(&can.OutsideEdit, ir.Deny)
	if role != nil {
		return // a group that a role does not mention does what its mode says
	}
	for _, g := range tables {
		t := g.of(can)
		if (*t).Default.Decision > ir.Deny {
			continue
		}
		if !slices.ContainsFunc((*t).Rules, func(r ir.Rule) bool { return r.Decision > ir.Deny }) {
			*t = nil
			continue
		}
		(*t).Default = nil
	}
}

// own makes everything a subject's own: what two sources say together is no
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
		e.From, e.Default, e.Resources, e.Prompts = "", fallback(e.Default), fallback(e.Resources), fallback(e.Prompts)
	}
}

// entry returns what a side says of a key of can.mcp, made up from the rest
// where it does not name the key.
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
			out.Default, out.Resources, out.Prompts = lower(out.Default, e.Default), lower(out.Resources, e.Resources), lower(out.Prompts, e.Prompts)
		}
	}
	if found {
		return out
	}
	if out.Literal && s.off[key] {
		out.Rules = []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: s.can.MCP.Default.Pos}}
		out.Default = &ir.Default{Decision: ir.Deny, Pos: s.can.MCP.Default.Pos}
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

// least returns the lowest default that a server of an entry may have: one that
// a glob holds may have an entry of its own.
func (s side) least(e *ir.MCPEntry) *ir.Default {
	d := e.Default
	for _, o := range s.can.MCP.Entries {
		if !e.Literal {
			d = lower(d, o.Default)
		}
	}
	return d
}

// meetRules returns the rules of both sides so that no decision is above that of
// either.
//
// A deny stays. An ask stays where the other side says no less anyway; else it
// would raise what that side denies by default, and becomes a deny. An allow stays
// where the other side allows the same pattern or everything, and becomes an ask
// where that side asks by default; else it goes. exact is set for a group whose
// patterns match the same whatever they decide: elsewhere an ask matches more than
// an allow (design §3.4, 3.6), so that one never stands for the other, as for the
// tools "*", which an ask extends to resources, and for risks.
func meetRules(x []ir.Rule, xd *ir.Default, y []ir.Rule, yd *ir.Default, exact bool) []ir.Rule {
	var out []ir.Rule
	add := func(own, other []ir.Rule, fallback ir.Decision) {
		for _, r := range own {
			same := exact && r.Pattern.Kind == ir.Plain && r.Pattern.Text != "*" || r.Pattern.Kind == ir.Regex
			said := func(d ir.Decision) bool {
				return slices.ContainsFunc(other, func(o ir.Rule) bool { return o.Decision == d && o.Pattern == r.Pattern })
			}
			switch r.Decision {
			case ir.Ask:
				if fallback == ir.Deny && !said(ir.Ask) && !(same && said(ir.Allow)) {
					r.Decision = ir.Deny
				}
			case ir.Allow:
				switch {
				case fallback == ir.Allow, said(ir.Allow):
				case same && (fallback == ir.Ask || said(ir.Ask)):
					r.Decision = ir.Ask
				default:
					continue
				}
			}
			out = unite(out, []ir.Rule{r})
		}
	}
	add(x, y, yd.Decision)
	add(y, x, xd.Decision)
	return out
}

// unite adds rules that are not there yet.
func unite(rules, more []ir.Rule) []ir.Rule {
	out := slices.Clone(rules)
	for _, r := range more {
		if !slices.ContainsFunc(out, func(o ir.Rule) bool { return o.Decision == r.Decision && o.Pattern == r.Pattern }) {
			out = append(out, r)
		}
	}
	return out
}

func lower(a, b *ir.Default) *ir.Default {
	if a == nil || b != nil && b.Decision < a.Decision {
		return b
	}
	return a
}

// meetRestrictions returns restrictions that hold back what either does.
func meetRestrictions(a, b *ir.MCPRestrictions) *ir.MCPRestrictions {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	item := func(x ir.Item) string { return x.Name }
	tool := func(x ir.ToolRef) string { return x.Server + ":" + x.Tool }
	return &ir.MCPRestrictions{Pos: a.Pos,
		AllowedServers: common(a.AllowedServers, b.AllowedServers, item), DisallowedServers: all(a.DisallowedServers, b.DisallowedServers, item),
		AllowedTools: common(a.AllowedTools, b.AllowedTools, tool), DisallowedTools: all(a.DisallowedTools, b.DisallowedTools, tool)}
}

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
