package resolve

import (
	"cmp"
	"slices"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// inherit unites a parent's permissions into a child's: rules are added, so
// that a child can never undo a parent's deny; a default is the child's own
// where written, else the lowest that its parents wrote.
func inherit(child, parent *ir.Can, from string) {
	child.Default = lowest(child.Default, parent.Default, from)
	child.Unknown = lowest(child.Unknown, parent.Unknown, from)
	child.OutsideRead = lowest(child.OutsideRead, parent.OutsideRead, from)
	child.OutsideEdit = lowest(child.OutsideEdit, parent.OutsideEdit, from)
	child.Read = inheritTable(child.Read, parent.Read, from)
	child.Edit = inheritTable(child.Edit, parent.Edit, from)
	child.Command = inheritTable(child.Command, parent.Command, from)
	child.Web = inheritTable(child.Web, parent.Web, from)
	child.Modes = inheritTable(child.Modes, parent.Modes, from)
	child.MCP = inheritMCP(child.MCP, parent.MCP, from)
}

// lowest returns the child's own default, else the lower of what was inherited
// so far and the parent's.
func lowest(child, parent *ir.Default, from string) *ir.Default {
	switch {
	case parent == nil || child != nil && child.From == "":
		return child
	case child != nil && child.Decision <= parent.Decision:
		return child
	}
	d := *parent
	d.From = cmp.Or(d.From, from)
	return &d
}

func inheritRules(child, parent []ir.Rule, from string) []ir.Rule {
	for _, p := range parent {
		p.From = cmp.Or(p.From, from)
		if !slices.ContainsFunc(child, func(c ir.Rule) bool {
			return (c.Pos == p.Pos || c.From == p.From) && c.Pattern == p.Pattern && c.Decision == p.Decision
		}) {
			child = append(child, p) // a rule that comes on two ways counts once
		}
	}
	return child
}

func inheritTable(child, parent *ir.Table, from string) *ir.Table {
	if parent == nil {
		return child
	}
	if child == nil {
		child = &ir.Table{}
	}
	child.Default = lowest(child.Default, parent.Default, from)
	child.Rules = inheritRules(child.Rules, parent.Rules, from)
	for _, o := range parent.Open {
		if !slices.Contains(child.Open, o) {
			child.Open = append(child.Open, o)
		}
	}
	return child
}

func inheritMCP(child, parent *ir.MCPTable, from string) *ir.MCPTable {
	if parent == nil {
		return child
	}
	if child == nil {
		child = &ir.MCPTable{}
	}
	child.Default = lowest(child.Default, parent.Default, from)
	child.Rules = inheritRules(child.Rules, parent.Rules, from)
	for _, e := range parent.Entries {
		e.From = cmp.Or(e.From, from)
		e.Rules = inheritRules(nil, e.Rules, from)
		e.Default = fromParent(e.Default, from)
		e.Resources, e.Prompts = fromParent(e.Resources, from), fromParent(e.Prompts, from)
		if !slices.ContainsFunc(child.Entries, func(c ir.MCPEntry) bool { return c.Key == e.Key && (c.Pos == e.Pos || c.From == e.From) }) {
			child.Entries = append(child.Entries, e)
		}
	}
	return child
}

// placed returns what a built-in parent says as if it were written where a
// subject extends it: its own places are in no file of the project.
func placed(c *ir.Can, at diag.Pos) *ir.Can {
	def := func(d *ir.Default) *ir.Default {
		if d == nil {
			return nil
		}
		return &ir.Default{Decision: d.Decision, Pos: at, From: d.From}
	}
	rules := func(list []ir.Rule) []ir.Rule {
		out := slices.Clone(list)
		for i := range out {
			out[i].Pos = at
		}
		return out
	}
	table := func(t *ir.Table) *ir.Table {
		if t == nil {
			return nil
		}
		return &ir.Table{Default: def(t.Default), Rules: rules(t.Rules), Open: t.Open}
	}
	out := &ir.Can{Default: def(c.Default), Unknown: def(c.Unknown), OutsideRead: def(c.OutsideRead), OutsideEdit: def(c.OutsideEdit),
		Read: table(c.Read), Edit: table(c.Edit), Command: table(c.Command), Web: table(c.Web), Modes: table(c.Modes)}
	if c.MCP != nil {
		out.MCP = &ir.MCPTable{Default: def(c.MCP.Default), Rules: rules(c.MCP.Rules)}
		for _, e := range c.MCP.Entries {
			e.Pos, e.Default, e.Rules, e.Resources, e.Prompts = at, def(e.Default), rules(e.Rules), def(e.Resources), def(e.Prompts)
			out.MCP.Entries = append(out.MCP.Entries, e)
		}
	}
	return out
}

func fromParent(d *ir.Default, from string) *ir.Default { return lowest(nil, d, from) }

// settle puts what was united into order: own entries before inherited ones,
// each sorted by key.
func settle(c *ir.Can) {
	if c.MCP != nil {
		sortEntries(c.MCP.Entries)
	}
}

func sortEntries(entries []ir.MCPEntry) {
	slices.SortStableFunc(entries, func(a, b ir.MCPEntry) int {
		own := func(e ir.MCPEntry) int {
			if e.From == "" {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(own(a), own(b)), cmp.Compare(a.Key, b.Key))
	})
}
