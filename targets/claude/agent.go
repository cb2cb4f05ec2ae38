package claude

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// harmless are the built-in tools that touch nothing. Every subagent has them.
var harmless = []string{"AskUserQuestion", "TodoWrite", "ToolSearch"}

// agentFile writes a mode's subagent: front matter and prompt.
func (e *emitter) agentFile(m *ir.Mode) ([]byte, error) {
	fields, err := e.agent(m)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("---\n")
	writeYAML(&b, "", append(contract.Object{"name", format.AgentName(m)}, fields...))
	b.WriteString("---\n")
	if text := prompt(m); text != "" {
		b.WriteString("\n" + text)
	}
	return []byte(b.String()), nil
}

// agents returns the subagents that a role may enter, as --agents takes them.
func (e *emitter) agents(r *ir.Role) (contract.Object, error) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		return nil, err
	}
	all := contract.Object{}
	for i := range e.in.Project.Modes {
		m := &e.in.Project.Modes[i]
		if s.Decide(policy.Action{Group: ir.Modes, Arg: m.Slug}).Decision == ir.Deny {
			continue
		}
		fields, err := e.agent(m)
		if err != nil {
			return nil, err
		}
		all = append(all, format.AgentName(m), append(fields, "prompt", prompt(m)))
	}
	return all, nil
}

// agent returns the settings of a mode's subagent but its name and its prompt.
func (e *emitter) agent(m *ir.Mode) (contract.Object, error) {
	c, err := e.compilerOf(m)
	if err != nil {
		return nil, err
	}
	_, errs := format.ReadAgentExtras(m)
	for _, err := range errs {
		e.diags.Errorf(codeUnknownSetting, m.Extra["claude"].At(err.Key), "%s", err.Text)
	}
	s := c.s
	contract.LosesTimes(&e.diags, "claude", c.name, c.can, c.closed) // the mode has none of the group's tools
	o := contract.Object{"description", cmp.Or(m.WhenToUse, m.Description, m.Name)}
	disallowed := c.own.Disallowed
	switch {
	case c.own.Tools != nil:
		o = append(o, "tools", c.ownTools())
	case s.UnknownTool().Decision == ir.Agent && !c.e.hooks && c.unlistedServers():
		e.loss(c.name, c.pos, ir.MCP, codeModes,
			"without the hook no list names the servers that the inventory does not: the mode has the tools that are "+
				"known, and no other").
			Hint(e.remedy)
		o = append(o, "tools", c.offeredTools())
	case s.UnknownTool().Decision == ir.Agent:
		disallowed = c.alsoWithheld(disallowed, c.withheldTools())
	default:
		o = append(o, "tools", c.offeredTools())
	}
	if len(disallowed) > 0 {
		o = append(o, "disallowedTools", disallowed)
	}
	if m.Model != "" {
		o = append(o, "model", m.Model)
	}
	o = append(o, c.ownFields(m)...)
	if c.e.in.Listens() {
		o = append(o, "hooks", preToolUse(c.e.command(c.e.ofMode(m))))
	}
	return o, nil
}

// compilerOf returns what translates a mode's decisions.
func (e *emitter) compilerOf(m *ir.Mode) (*compiler, error) {
	ref := ir.SubjectRef{Mode: m.Slug}
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		return nil, err
	}
	c := &compiler{e: e, s: s, can: &m.Can, ref: ref, name: ref.String(), pos: m.Pos, mode: format.Default}
	c.own, _ = format.ReadAgentExtras(m)
	if e.unheld(m) == nil {
		c.mode = cmp.Or(format.AgentMode(m), format.Default)
	}
	return c, nil
}

// writeYAML writes an object as the front matter has it.
func writeYAML(b *strings.Builder, indent string, o contract.Object) {
	for i := 0; i < len(o); i += 2 {
		fmt.Fprintf(b, "%s%s:", indent, yamlKey(o[i].(string)))
		writeValue(b, indent, o[i+1])
	}
}

// writeValue writes what follows a key, or the dash of an item.
func writeValue(b *strings.Builder, indent string, value any) {
	switch v := value.(type) {
	case nil:
		b.WriteString(" null\n")
	case string:
		fmt.Fprintf(b, " %s\n", format.Quote(v))
	case float64:
		fmt.Fprintf(b, " %s\n", strconv.FormatFloat(v, 'f', -1, 64))
	case map[string]any:
		writeValue(b, indent, sorted(v))
	case contract.Object:
		if len(v) == 0 {
			b.WriteString(" {}")
		}
		b.WriteByte('\n')
		writeYAML(b, indent+"  ", v)
	case []string:
		var items []any
		for _, item := range v {
			items = append(items, item)
		}
		writeValue(b, indent, items)
	case []any:
		if len(v) == 0 {
			b.WriteString(" []")
		}
		b.WriteByte('\n')
		for _, item := range v {
			writeItem(b, indent+"  ", item)
		}
	default:
		fmt.Fprintf(b, " %v\n", v)
	}
}

// writeItem writes an item of a list. The first key of an object follows the dash.
func writeItem(b *strings.Builder, indent string, item any) {
	if m, ok := item.(map[string]any); ok {
		item = sorted(m)
	}
	if o, ok := item.(contract.Object); ok && len(o) > 0 {
		var object strings.Builder
		writeYAML(&object, indent+"  ", o)
		fmt.Fprintf(b, "%s- %s", indent, strings.TrimPrefix(object.String(), indent+"  "))
		return
	}
	b.WriteString(indent + "-")
	writeValue(b, indent, item)
}

// yamlKey writes a key, in quotes unless it is a plain word.
func yamlKey(key string) string {
	if plainKey.MatchString(key) {
		return key
	}
	return format.Quote(key)
}

var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// prompt returns the subagent's system prompt.
func prompt(m *ir.Mode) string {
	if x, _ := format.ReadAgentExtras(m); x.Prompt != nil {
		return *x.Prompt
	}
	parts := []string{m.RoleDefinition, m.CustomInstructions}
	for _, r := range m.Rules {
		parts = append(parts, r.Text)
	}
	var out []string
	for _, p := range parts {
		if p = strings.Trim(p, "\n"); p != "" {
			out = append(out, p)
		}
	}
	return strings.Join(out, "\n\n") + "\n"
}

// offeredTools lists what a mode may use at all. Approval is the session's matter.
func (c *compiler) offeredTools() []string {
	names := slices.Clone(harmless)
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
		if c.closed(g) || !c.e.hooks && c.losesPartly(g) {
			continue
		}
		names = append(names, format.Tools[g]...)
	}
	for i := range c.e.in.Project.Servers {
		names = append(names, c.serverTools(&c.e.in.Project.Servers[i])...)
	}
	if c.readsResources() {
		names = append(names, format.ResourceTools...)
	}
	if !c.closed(ir.Modes) {
		names = append(names, format.Tools[ir.Modes]...)
	}
	return names
}

// withheldTools lists what a mode may not use that has all other tools of its session.
func (c *compiler) withheldTools() (names []string) {
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes} {
		if c.closed(g) || !c.e.hooks && c.losesPartly(g) {
			names = append(names, format.Tools[g]...)
			if g == ir.Modes {
				names = append(names, format.Starters...)
			}
		}
	}
	c.mcp()
	names = append(names, c.out.deny...)
	for i := range c.e.in.Project.Servers {
		sv := &c.e.in.Project.Servers[i]
		server := "mcp__" + rule.Name(sv.Name)
		switch {
		case slices.Contains(c.out.deny, "mcp__*"), slices.Contains(c.out.deny, wholeServer(sv)):
		case c.losesAsk(sv, contract.UnknownTool):
			names = append(names, wholeServer(sv))
		default:
			for _, t := range sv.Tools {
				if c.losesAsk(sv, t.Name) {
					names = append(names, server+"__"+rule.Name(t.Name))
				}
			}
		}
	}
	return names
}

// serverTools lists the tools of a server that a mode may use: the server as a whole where
// none is denied or the inventory knows none.
func (c *compiler) serverTools(sv *ir.Server) []string {
	server := "mcp__" + rule.Name(sv.Name)
	denied, asked := c.tool(sv, contract.UnknownTool) == ir.Deny, c.losesAsk(sv, contract.UnknownTool)
	holds := func(r ir.Rule) bool { return r.Decision == ir.Deny }
	if rules := c.s.UnlistedToolRules(sv.Name); !c.e.hooks && slices.ContainsFunc(rules, holds) {
		c.e.loss(c.name, c.pos, ir.MCP, codeModes, "without the hook a list of tools cannot leave out those that a "+
			"pattern denies: the mode loses the tools of %q that the inventory does not list", sv.Name).
			Hint(c.e.remedy)
		asked = true
	}
	var some []string
	tools := sv.Tools
	if denied {
		tools = c.s.NamedTools(sv)
	}
	for _, t := range tools {
		switch {
		case c.tool(sv, t.Name) == ir.Deny:
			denied = true
		case c.losesAsk(sv, t.Name):
			asked = true
		default:
			some = append(some, server+"__"+rule.Name(t.Name))
		}
	}
	switch usable := contract.Usable(c.s, sv) && !asked; {
	case usable && denied && len(some) == 0 && !c.e.hooks:
		c.e.loss(c.name, c.pos, ir.MCP, codeModes, "without the hook a list of tools cannot leave out those that the "+
			"mode denies: it loses the tools of %q that the inventory does not list", sv.Name).
			Hint(c.e.remedy)
	case usable && (!denied || len(some) == 0):
		return []string{wholeServer(sv)}
	}
	return some
}

// losesAsk reports, with its loss, whether a mode loses a tool that it asks about: a session
// approves the tool, and there is no hook.
func (c *compiler) losesAsk(sv *ir.Server, tool string) bool {
	if c.e.hooks || !c.e.opensTool(c, sv, tool) {
		return false
	}
	const lack = "without the hook a mode cannot ask about what its session approves"
	if c.keeps(ir.MCP, c.pos, lack) {
		return false
	}
	c.e.loss(c.name, c.pos, ir.MCP, codeModes, lack+": it loses tools of the server %q", sv.Name).
		Hint(c.e.orHook(unheld))
	return true
}

// readsResources reports whether a mode gets the tools that read the servers' resources.
// They read those of all servers, and only the hook distinguishes these.
func (c *compiler) readsResources() bool {
	least, most := resourceDecisions(c.e.in.Project, c.s)
	return len(c.e.in.Project.Servers) > 0 && most > ir.Deny && (c.e.hooks || least > ir.Deny)
}

// losesPartly reports, with its loss, whether a mode denies something of a group or asks about
// what its session approves. A subagent's tools are there or not, so that without the hook the
// whole group goes.
func (c *compiler) losesPartly(g ir.Group) bool {
	if !c.e.beyondTools(c, g) {
		return false
	}
	at := c.pos
	if def := c.s.Default(g); def.Decision == ir.Deny {
		at = def.Pos
	} else {
		for _, r := range c.s.Rules(g) {
			if r.Decision == ir.Deny {
				at = r.Pos
			}
		}
	}
	code := codeModes
	if gap, ok := unlisted[g]; ok {
		code = gap.code
	}
	const lack = "a subagent's tools cannot be limited without the hook"
	if c.keeps(g, at, lack) {
		return false
	}
	c.e.loss(c.name, at, g, code, lack+": the mode loses the group %s", g).
		Hint(c.e.orHook(unheld))
	return true
}
