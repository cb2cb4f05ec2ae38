package claude

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// harmless are the built-in tools that touch nothing. Every subagent has them.
var harmless = []string{"AskUserQuestion", "TodoWrite", "ToolSearch"}

// agent writes a mode's subagent: front matter and prompt.
func (e *emitter) agent(m *ir.Mode) ([]byte, error) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("---\n")
	line := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, format.Quote(value)) }
	line("name", m.Slug)
	line("description", cmp.Or(m.WhenToUse, m.Description, m.Name))
	b.WriteString("tools:")
	names := e.agentTools(m, s)
	if len(names) == 0 {
		b.WriteString(" []")
	}
	b.WriteByte('\n')
	for _, n := range names {
		fmt.Fprintf(&b, "  - %s\n", format.Quote(n))
	}
	if m.Model != "" {
		line("model", m.Model)
	}
	e.writeExtras(&b, m)
	if e.hooks {
		command := format.Quote(hookCommand(projectPolicy, "mode:"+m.Slug))
		fmt.Fprintf(&b, "hooks:\n  PreToolUse:\n    - matcher: \"*\"\n      hooks:\n        - type: command\n"+
			"          command: %s\n          timeout: 10\n", command)
	}
	b.WriteString("---\n\n")
	b.WriteString(prompt(m))
	return []byte(b.String()), nil
}

func (e *emitter) writeExtras(b *strings.Builder, m *ir.Mode) {
	x, ok := m.Extra["claude"]
	if !ok {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(x.Fields)) {
		value := x.Fields[k]
		switch known, valid := format.AgentExtra(k, value); {
		case !known:
			e.diags.Errorf(codeUnknownExtra, x.Pos, "modec does not know the setting %q in extra.claude; use one of %s",
				k, format.AgentExtraNames)
		case !valid:
			e.diags.Errorf(codeUnknownExtra, x.Pos,
				"got %v for extra.claude.%s, want a value that Claude Code documents", value, k)
		default:
			if s, ok := value.(string); ok {
				value = format.Quote(s)
			}
			fmt.Fprintf(b, "%s: %v\n", k, value)
		}
	}
}

// prompt returns the subagent's system prompt.
func prompt(m *ir.Mode) string {
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

// agentTools lists what a mode may use at all. Approval is the session's matter.
func (e *emitter) agentTools(m *ir.Mode, s *policy.Subject) []string {
	c := &compiler{e: e, s: s, name: "mode " + m.Slug, pos: m.Pos, out: &rules{}}
	names := slices.Clone(harmless)
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
		if c.closed(g) || !e.hooks && c.losesPartly(g) {
			continue
		}
		names = append(names, format.Tools[g]...)
	}
	for i := range e.in.Project.Servers {
		names = append(names, serverTools(s, &e.in.Project.Servers[i])...)
	}
	if e.readsResources(s) {
		names = append(names, format.ResourceTools...)
	}
	if !c.closed(ir.Modes) {
		names = append(names, format.Tools[ir.Modes]...)
	}
	return names
}

// serverTools lists the tools of a server that a mode may use: the server as a whole where
// the inventory knows none of them.
func serverTools(s *policy.Subject, sv *ir.Server) []string {
	server := "mcp__" + rule.Name(sv.Name)
	var some []string
	for _, t := range sv.Tools {
		if s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}).Decision > ir.Deny {
			some = append(some, server+"__"+rule.Name(t.Name))
		}
	}
	if len(some) == 0 && contract.Usable(s, sv) {
		return []string{server}
	}
	return some
}

// readsResources reports whether a mode gets the tools that read the servers' resources.
// They read those of all servers, and only the hook distinguishes these.
func (e *emitter) readsResources(s *policy.Subject) bool {
	least, most := resourceDecisions(e.in.Project, s)
	return most > ir.Deny && (e.hooks || least > ir.Deny)
}

// losesPartly reports, with its loss, whether a mode denies something of a group. A
// subagent's tools are there or not, so that without the hook the whole group goes.
func (c *compiler) losesPartly(g ir.Group) bool {
	at := c.pos
	denied := c.s.Default(g).Decision == ir.Deny
	if denied {
		at = c.s.Default(g).Pos
	}
	for _, r := range c.s.Rules(g) {
		if r.Decision == ir.Deny && !denied {
			denied = true
			if r.Pos.File != ir.GuardsFile {
				at = r.Pos
			}
		}
	}
	if denied {
		c.e.loss(c.name, at, g, unlisted[g].code,
			"a subagent's tools cannot be limited without the hook: the mode loses the group %s", g).
			Hint(c.e.remedy)
	}
	return denied
}
