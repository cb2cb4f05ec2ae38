package claude

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
	"modec.dev/modec/targets/claude/hook"
)

// ownFields returns what a mode says in agents.claude.settings, but for its lists of tools.
// What would permit more than the source is left out.
func (c *compiler) ownFields(m *ir.Mode) (o contract.Object) {
	at := m.Extra["claude"].At
	switch r := c.e.unheld(m); {
	case c.own.Mode == "":
	case r != nil:
		c.e.loss(c.name, at("permissionMode"), "", codeMode, "the permission mode %s approves by itself what the role "+
			"%s asks about or denies: it is left out", c.own.Mode, r.Name).
			Hint("leave that to Claude Code in the role, or do not let the role enter the mode")
	default:
		o = append(o, "permissionMode", c.own.Mode)
	}
	for _, key := range slices.Sorted(maps.Keys(c.own.More)) {
		value := c.own.More[key]
		if key == "memory" && value != nil && !c.gives(format.MemoryTools...) {
			c.e.loss(c.name, at(key), ir.Edit, codeTool, "a memory brings the tools %s, which the mode does not have: "+
				"it is left out", strings.Join(format.MemoryTools, ", ")).
				Hint("let the mode read and edit")
			continue
		}
		o = append(o, key, value)
	}
	return o
}

// sorted returns an object with its keys in order.
func sorted(of map[string]any) contract.Object {
	o := contract.Object{}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		o = append(o, key, of[key])
	}
	return o
}

// ownTools returns a mode's own list of tools, without those that its groups deny.
func (c *compiler) ownTools() []string {
	kept := []string{}
	for _, item := range *c.own.Tools {
		if c.mayName(format.ToolName(item)) {
			kept = append(kept, item)
			continue
		}
		c.e.loss(c.name, c.pos, "", codeTool,
			"the list of tools names %q, which the mode may not use: it is left out", item).
			Hint("say in can what the mode may do")
	}
	return kept
}

// alsoWithheld adds to a mode's own list of withheld tools those names that take away more.
func (c *compiler) alsoWithheld(own, names []string) []string {
	taken := format.NewToolList(format.Withheld, own)
	for _, name := range names {
		t := rule.NewTools(name)
		more := func(tool string) bool { return t.Has(tool) && taken.Leaves(tool) }
		if slices.ContainsFunc(c.knownTools(name), more) {
			own = append(slices.Clip(own), name)
		}
	}
	return own
}

// mayName reports whether a name in a list of tools gives nothing that the mode's groups deny.
func (c *compiler) mayName(name string) bool {
	t := rule.NewTools(name)
	var given []string
	for _, tool := range c.knownTools(name) {
		if t.Has(tool) {
			given = append(given, tool)
		}
	}
	return c.gives(given...)
}

// gives reports whether a mode may have tools, but for those that its own list withholds.
func (c *compiler) gives(tools ...string) bool {
	left := format.NewToolList(format.Withheld, c.own.Disallowed)
	return !slices.ContainsFunc(tools, func(tool string) bool { return left.Leaves(tool) && !c.mayUse(tool) })
}

// knownTools lists the tools that a name may stand for: those of Claude Code and of the
// inventory, and for each kind one that nobody knows.
func (c *compiler) knownTools(name string) []string {
	tools := append(hook.Tools(), contract.UnknownTool,
		"mcp__"+contract.UnknownServer+"__"+contract.UnknownTool)
	for i := range c.e.in.Project.Servers {
		sv := &c.e.in.Project.Servers[i]
		server := "mcp__" + rule.Name(sv.Name) + "__"
		tools = append(tools, server+contract.UnknownTool)
		for _, t := range sv.Tools {
			tools = append(tools, server+rule.Name(t.Name))
		}
	}
	if strings.HasPrefix(name, "mcp__") {
		server, tool, _ := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
		if tool == "" {
			tool = contract.UnknownTool
		}
		name = "mcp__" + strings.ReplaceAll(server, "*", contract.UnknownServer) + "__" + tool
	}
	return append(tools, strings.ReplaceAll(name, "*", contract.UnknownTool))
}

// mayUse reports whether a mode may have a tool: where a group has more than the tool can be held
// to without the hook, it may not.
func (c *compiler) mayUse(tool string) bool {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		return c.mayUseServer(rest)
	}
	switch g, known := hook.Group(tool); {
	case !known:
		d := c.s.UnknownTool().Decision
		return d > ir.Ask || d == ir.Ask && c.e.hooks
	case g == "":
		return true
	case g == ir.MCP:
		every := policy.Action{Group: g, Server: contract.UnknownServer, Kind: policy.Resource, Arg: "*"}
		return c.readsResources() || len(c.e.in.Project.Servers) == 0 && c.s.Decide(every).Decision > ir.Deny
	default:
		return !c.closed(g) && (c.e.hooks || !c.losesPartly(g))
	}
}

// mayUseServer reports whether a mode may have SERVER__TOOL. A server of the inventory may have
// any reading of the name.
func (c *compiler) mayUseServer(rest string) bool {
	known := false
	for i := range c.e.in.Project.Servers {
		sv := &c.e.in.Project.Servers[i]
		tool, ok := strings.CutPrefix(rest, rule.Name(sv.Name)+"__")
		if !ok {
			continue
		}
		known = true
		names := []string{tool}
		for _, t := range sv.Tools {
			if rule.Name(t.Name) == tool {
				names = []string{t.Name}
			}
		}
		for _, name := range names {
			if c.tool(sv, name) == ir.Deny || !c.e.hooks && c.e.opensTool(c, sv, name) {
				return false
			}
		}
		if tool == contract.UnknownTool && !c.e.hooks &&
			slices.ContainsFunc(c.s.UnlistedToolRules(sv.Name), func(r ir.Rule) bool { return r.Decision == ir.Deny }) {
			return false
		}
	}
	if known {
		return true
	}
	server, tool, _ := strings.Cut(rest, "__")
	d := c.s.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool}).Decision
	return d > ir.Ask || d == ir.Ask && c.e.hooks
}

// unheld returns a role whose session a mode may run in and whose rules do not hold in the
// permission mode that the mode writes; nil where there is none. Claude Code keeps a session's
// acceptEdits, auto and bypassPermissions, and a session that disables auto and
// bypassPermissions is in default instead, or in a plan that asks.
func (e *emitter) unheld(m *ir.Mode) *ir.Role {
	mode := format.AgentMode(m)
	if mode == "" || mode == format.Default || mode == format.DontAsk {
		return nil
	}
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		if !r.Enters(m.Slug) && !e.isBaseline(r) {
			continue
		}
		c, replaced, err := e.compiler(r)
		if err != nil || slices.Contains([]string{format.AcceptEdits, format.Auto, format.Bypass}, c.mode) {
			continue
		}
		if mode == format.AcceptEdits && c.holdsEdits() ||
			mode != format.AcceptEdits && !replaced && !c.closes() && c.holdsAny() {
			return r
		}
	}
	return nil
}

// holdsEdits reports whether a role asks about or denies what acceptEdits approves, and that no
// rule of its own names: edits, and commands that make them. A redirect passes rules that ask.
func (c *compiler) holdsEdits() bool {
	for _, g := range []ir.Group{ir.Edit, ir.Command} {
		if d := c.s.Default(g).Decision; (d == ir.Ask || d == ir.Deny) && !c.closed(g) {
			return true
		}
	}
	return !c.closed(ir.Command) && (c.closed(ir.Edit) || c.asksFor(ir.Edit) || c.asksFor(ir.Read))
}

// holdsAny reports whether a role asks about or denies paths, commands or unknown tools by rules
// that would be wider in a mode which approves what no rule names. In a group that is left to Claude Code
// a rule which its own say in full is not.
func (c *compiler) holdsAny() bool {
	return c.can.OutsideRead != nil || c.can.OutsideEdit != nil || c.s.UnknownTool().Decision < ir.Allow ||
		slices.ContainsFunc([]ir.Group{ir.Read, ir.Edit, ir.Command}, func(g ir.Group) bool {
			holds := func(r ir.Rule) bool {
				left := c.s.Default(g).Decision == ir.Agent && r.Pattern.Kind == ir.Plain
				return r.Decision < ir.Allow && !left
			}
			return slices.ContainsFunc(c.s.Rules(g), holds)
		})
}
