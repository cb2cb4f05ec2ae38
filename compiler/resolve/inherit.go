package resolve

import (
	"cmp"
	"slices"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// inherit adds a parent's permissions to a child's. It adds rules, so that a child can never
// undo a parent's deny. A default is the child's own, or else the lowest of its parents.
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

// lowest returns the child's own default, or else the lower of the one inherited so far and
// the parent's.
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
			return (c.Pos == p.Pos || c.From == p.From) && c.Pattern == p.Pattern && c.Decision == p.Decision &&
				c.Times == p.Times
		}) {
			child = append(child, p) // once, also where two parents have it
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
	child.Timed = inheritRules(child.Timed, parent.Timed, from)
	child.Description = cmp.Or(child.Description, parent.Description)
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
		e.Rules, e.Timed = inheritRules(nil, e.Rules, from), inheritRules(nil, e.Timed, from)
		e.Default = fromParent(e.Default, from)
		e.Resources, e.Prompts = fromParent(e.Resources, from), fromParent(e.Prompts, from)
		same := func(c ir.MCPEntry) bool { return c.Key == e.Key && (c.Pos == e.Pos || c.From == e.From) }
		if !slices.ContainsFunc(child.Entries, same) {
			child.Entries = append(child.Entries, e)
		}
	}
	return child
}

// union returns what a subject may do for a target: what it may do anywhere with what it adds there, whose defaults
// count. It shares nothing with either.
func union(can, own *ir.Can) *ir.Can {
	table := func(a, b *ir.Table) *ir.Table {
		if a == nil && b == nil {
			return nil
		}
		a, b = cmp.Or(a, &ir.Table{}), cmp.Or(b, &ir.Table{})
		return &ir.Table{Default: cmp.Or(b.Default, a.Default), Rules: slices.Concat(a.Rules, b.Rules),
			Timed: slices.Concat(a.Timed, b.Timed), Description: cmp.Or(b.Description, a.Description)}
	}
	out := &ir.Can{
		Default: cmp.Or(own.Default, can.Default), Unknown: cmp.Or(own.Unknown, can.Unknown),
		OutsideRead: cmp.Or(own.OutsideRead, can.OutsideRead), OutsideEdit: cmp.Or(own.OutsideEdit, can.OutsideEdit),
		Read: table(can.Read, own.Read), Edit: table(can.Edit, own.Edit), Command: table(can.Command, own.Command),
		Web: table(can.Web, own.Web), Modes: table(can.Modes, own.Modes),
	}
	if can.MCP == nil && own.MCP == nil {
		return out
	}
	a, b := cmp.Or(can.MCP, &ir.MCPTable{}), cmp.Or(own.MCP, &ir.MCPTable{})
	out.MCP = &ir.MCPTable{Default: cmp.Or(b.Default, a.Default), Rules: slices.Concat(a.Rules, b.Rules)}
	for _, e := range slices.Concat(a.Entries, b.Entries) {
		i := slices.IndexFunc(out.MCP.Entries, func(x ir.MCPEntry) bool { return x.Key == e.Key })
		if i < 0 {
			i, out.MCP.Entries = len(out.MCP.Entries), append(out.MCP.Entries, ir.MCPEntry{
				Key: e.Key, Literal: e.Literal, Pos: e.Pos})
		}
		x := &out.MCP.Entries[i]
		x.Default, x.Resources = cmp.Or(e.Default, x.Default), cmp.Or(e.Resources, x.Resources)
		x.Prompts = cmp.Or(e.Prompts, x.Prompts)
		x.Rules, x.Timed = slices.Concat(x.Rules, e.Rules), slices.Concat(x.Timed, e.Timed)
	}
	return out
}

// placed returns the permissions of a built-in parent with the place where a subject extends
// it, because its own places are not in a file of the project.
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
		return &ir.Table{Default: def(t.Default), Rules: rules(t.Rules), Timed: rules(t.Timed),
			Description: t.Description}
	}
	out := &ir.Can{
		Default: def(c.Default), Unknown: def(c.Unknown),
		OutsideRead: def(c.OutsideRead), OutsideEdit: def(c.OutsideEdit),
		Read: table(c.Read), Edit: table(c.Edit),
		Command: table(c.Command), Web: table(c.Web), Modes: table(c.Modes),
	}
	if c.MCP != nil {
		out.MCP = &ir.MCPTable{Default: def(c.MCP.Default), Rules: rules(c.MCP.Rules)}
		for _, e := range c.MCP.Entries {
			e.Pos, e.Rules, e.Timed = at, rules(e.Rules), rules(e.Timed)
			e.Default, e.Resources, e.Prompts = def(e.Default), def(e.Resources), def(e.Prompts)
			out.MCP.Entries = append(out.MCP.Entries, e)
		}
	}
	return out
}

// fromParent returns a default as an inherited one.
func fromParent(d *ir.Default, from string) *ir.Default { return lowest(nil, d, from) }

// settle sorts the entries of servers: the own ones before the inherited ones, each by key.
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
