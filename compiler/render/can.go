package render

import (
	"slices"

	"modec.dev/modec/compiler/ir"
)

// tables are the groups that have a table, with its key in can.
var tables = []struct {
	group ir.Group
	key   string
	of    func(*ir.Can) **ir.Table
}{
	{ir.Read, "read", func(c *ir.Can) **ir.Table { return &c.Read }},
	{ir.Edit, "edit", func(c *ir.Can) **ir.Table { return &c.Edit }},
	{ir.Command, "command", func(c *ir.Can) **ir.Table { return &c.Command }},
	{ir.Web, "web", func(c *ir.Can) **ir.Table { return &c.Web }},
	{ir.Modes, "modes", func(c *ir.Can) **ir.Table { return &c.Modes }},
}

// sources calls f with the origin of each rule, default and entry.
func sources(can *ir.Can, f func(from string)) {
	rules := func(rules []ir.Rule) {
		for _, r := range rules {
			f(r.From)
		}
	}
	fallback := func(d *ir.Default) {
		if d != nil {
			f(d.From)
		}
	}
	for _, t := range tables {
		if x := *t.of(can); x != nil {
			rules(x.Rules)
			rules(x.Timed)
			fallback(x.Default)
		}
	}
	if m := can.MCP; m != nil {
		rules(m.Rules)
		fallback(m.Default)
		for _, e := range m.Entries {
			f(e.From)
		}
	}
}

// part returns what comes from one origin, and how many things that are.
func part(can *ir.Can, from string) (*ir.Can, int) {
	out, n := &ir.Can{}, 0
	pick := func(rules []ir.Rule) []ir.Rule {
		var own []ir.Rule
		for _, r := range rules {
			if r.From == from {
				r.From = ""
				own = append(own, r)
				n++
			}
		}
		return own
	}
	fallback := func(d *ir.Default) *ir.Default {
		if d == nil || d.From != from {
			return nil
		}
		n++
		return &ir.Default{Decision: d.Decision, Pos: d.Pos}
	}
	for _, t := range tables {
		if x := *t.of(can); x != nil {
			own := &ir.Table{Rules: pick(x.Rules), Timed: pick(x.Timed), Default: fallback(x.Default)}
			if own.Rules != nil || own.Timed != nil || own.Default != nil {
				*t.of(out) = own
			}
		}
	}
	if m := can.MCP; m != nil {
		own := ir.MCPTable{Rules: pick(m.Rules), Default: fallback(m.Default)}
		for _, e := range m.Entries {
			if e.From == from {
				e.From = ""
				e.Rules, e.Timed = slices.Clone(e.Rules), slices.Clone(e.Timed)
				for _, rules := range [][]ir.Rule{e.Rules, e.Timed} {
					for i := range rules {
						rules[i].From = ""
					}
				}
				own.Entries = append(own.Entries, e)
				n++
			}
		}
		if own.Rules != nil || own.Default != nil || own.Entries != nil {
			out.MCP = &own
		}
	}
	return out, n
}

// can writes what a subject may do by itself, without what the policies say that it extends.
// It returns nil where nothing is left.
func (w *writer) can(can *ir.Can, extends []string) *tree {
	t := &tree{}
	inherited := func(from string) bool {
		return slices.ContainsFunc(extends, func(name string) bool { return from == policyPrefix+name })
	}
	if can.Default != nil {
		t.set("default", w.decision(can.Default))
	}
	for _, g := range tables {
		if x := *g.of(can); x != nil {
			if own := w.ownTable(x, g.group, inherited); own != nil {
				t.set(g.key, own)
			}
		}
	}
	if can.MCP != nil {
		if m := w.mcp(can.MCP, inherited); m != nil {
			t.set("mcp", m)
		}
	}
	if can.Unknown != nil {
		t.set("unknown", w.decision(can.Unknown))
	}
	w.outside(t, can)
	if len(t.fields) == 0 {
		return nil
	}
	return t
}

// ownTable writes what is not inherited of a table, nil where that is nothing.
func (w *writer) ownTable(t *ir.Table, g ir.Group, inherited func(from string) bool) *tree {
	own := &ir.Table{Description: t.Description}
	if t.Default != nil && !inherited(t.Default.From) {
		own.Default = t.Default
	}
	for _, r := range t.Rules {
		if !inherited(r.From) {
			own.Rules = append(own.Rules, r)
		}
	}
	for _, r := range t.Timed {
		if !inherited(r.From) {
			own.Timed = append(own.Timed, r)
		}
	}
	all := len(own.Rules) == len(t.Rules) && len(own.Timed) == len(t.Timed) && own.Default == t.Default
	if all || len(own.Rules) > 0 || len(own.Timed) > 0 || own.Description != "" {
		return w.table(own, g)
	}
	switch {
	case own.Default == nil:
		return nil
	case own.Default.Decision == ir.Deny: // the word alone would deny what a policy permits
		x := &tree{}
		x.set("default", w.decision(own.Default))
		return x
	}
	return w.decision(own.Default)
}

// outside writes what a subject may do outside of the project.
func (w *writer) outside(t *tree, can *ir.Can) {
	r, e := can.OutsideRead, can.OutsideEdit
	if r == nil && e == nil {
		return
	}
	if r != nil && e != nil && r.Decision == e.Decision {
		t.set("outside", w.decision(r))
		return
	}
	x := &tree{}
	if r != nil {
		x.set("read", w.decision(r))
	}
	if e != nil {
		x.set("edit", w.decision(e))
	}
	t.set("outside", x)
}

func (w *writer) decision(d *ir.Default) *tree {
	return w.noted(text(d.Decision.String()), d.Pos)
}

// denied returns the rule that denies everything, if there is one.
func denied(rules []ir.Rule) *ir.Rule {
	for i := range rules {
		if rules[i].Pattern.Kind == ir.All && rules[i].Decision == ir.Deny {
			return &rules[i]
		}
	}
	return nil
}

// table writes the table of a group.
func (w *writer) table(t *ir.Table, g ir.Group) *tree {
	if r := denied(t.Rules); r != nil {
		return w.noted(text("deny"), r.Pos)
	}
	if len(t.Rules) == 0 && len(t.Timed) == 0 && t.Description == "" {
		if t.Default == nil {
			return &tree{} // the group is mentioned, and nothing else
		}
		return w.decision(t.Default)
	}
	all := "*"
	if g == ir.Read || g == ir.Edit {
		all = "**"
	}
	x := &tree{}
	w.rules(x, t.Rules, t.Timed, all)
	if t.Default != nil {
		x.set("default", w.decision(t.Default))
	}
	x.setText("description", t.Description)
	return x
}

// rules writes the lists of a table; all is the pattern for everything.
func (w *writer) rules(x *tree, rules, timed []ir.Rule, all string) {
	for _, d := range []ir.Decision{ir.Allow, ir.Ask, ir.Deny} {
		items := list()
		for _, r := range rules {
			if r.Decision == d && !r.Times.Timed() { // what stands for an allow outside of its times is not written
				items.list = append(items.list, w.noted(pattern(r.Pattern, all), r.Pos))
			}
		}
		for _, r := range timed {
			if r.Decision == d {
				items.list = append(items.list, w.noted(inTimes(pattern(r.Pattern, all), r.Times), r.Pos))
			}
		}
		if len(items.list) > 0 {
			x.set(d.String(), items)
		}
	}
}

// inTimes writes a pattern with its times.
func inTimes(p *tree, t ir.Times) *tree {
	x := p
	if len(p.fields) == 0 { // else it is an expression, or has arguments
		x = &tree{}
		x.set("rule", p)
	}
	for _, f := range t.Fields() {
		x.set(f.Name, text(f.Value))
	}
	return x
}

// pattern writes a pattern; all is the one for everything.
func pattern(p ir.Pattern, all string) *tree {
	switch p.Kind {
	case ir.Regex:
		x := &tree{}
		x.set("regex", raw(p.Text))
		return x
	case ir.Builtin, ir.Risk:
		p.Text = "@" + p.Text
	case ir.All:
		return text(all)
	}
	if p.Args == "" {
		return text(p.Text)
	}
	x, args := &tree{}, &tree{}
	for _, f := range p.Args.Fields() {
		args.set(f.Name, text(f.Value))
	}
	x.set("tool", text(p.Text))
	x.set("args", args)
	return x
}

// mcp writes what is not inherited of can.mcp, nil where that is nothing.
func (w *writer) mcp(m *ir.MCPTable, inherited func(string) bool) *tree {
	var rules []ir.Rule
	for _, r := range m.Rules {
		if !inherited(r.From) {
			rules = append(rules, r)
		}
	}
	if r := denied(rules); r != nil {
		return w.noted(text("deny"), r.Pos)
	}
	var fallback *ir.Default
	if m.Default != nil && !inherited(m.Default.From) {
		fallback = m.Default
	}
	x := &tree{}
	for _, e := range merged(m.Entries, inherited) {
		x.set(e.Key, w.entry(&e))
	}
	switch {
	case len(x.fields) == 0 && fallback == nil:
		return nil
	case len(x.fields) == 0 && fallback.Decision != ir.Deny:
		return w.decision(fallback)
	case fallback != nil:
		x.set("default", w.decision(fallback))
	}
	return x
}

// merged returns the entries that are not inherited, one for each key.
func merged(entries []ir.MCPEntry, inherited func(string) bool) []ir.MCPEntry {
	var out []ir.MCPEntry
	for _, e := range entries {
		if inherited(e.From) {
			continue
		}
		i := slices.IndexFunc(out, func(x ir.MCPEntry) bool { return x.Key == e.Key })
		if i < 0 {
			e.Rules = slices.Clone(e.Rules)
			out = append(out, e)
			continue
		}
		x := &out[i]
		x.Rules, x.Timed = append(x.Rules, e.Rules...), append(slices.Clip(x.Timed), e.Timed...)
		x.Default = lower(x.Default, e.Default)
		x.Resources = lower(x.Resources, e.Resources)
		x.Prompts = lower(x.Prompts, e.Prompts)
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

// entry writes what a subject may do with a server.
func (w *writer) entry(e *ir.MCPEntry) *tree {
	if r := denied(e.Rules); r != nil {
		return w.noted(text("deny"), e.Pos)
	}
	if len(e.Rules) == 0 && len(e.Timed) == 0 && e.Resources == nil && e.Prompts == nil {
		if e.Default == nil {
			return w.noted(&tree{}, e.Pos)
		}
		return w.noted(text(e.Default.Decision.String()), e.Pos)
	}
	x := w.noted(&tree{}, e.Pos)
	w.rules(x, e.Rules, e.Timed, "*")
	if e.Default != nil {
		x.set("default", w.decision(e.Default))
	}
	if e.Resources != nil {
		x.set("resources", w.decision(e.Resources))
	}
	if e.Prompts != nil {
		x.set("prompts", w.decision(e.Prompts))
	}
	return x
}
