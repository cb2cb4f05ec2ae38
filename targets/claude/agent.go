package claude

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// harmless are the built-in tools that touch nothing: every subagent has them.
var harmless = []string{"AskUserQuestion", "TodoWrite", "ToolSearch"}

// extras are the settings of a subagent that cannot change what it may do.
var extras = map[string]func(any) bool{
	"color":    oneOf("red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"),
	"effort":   oneOf("low", "medium", "high", "xhigh", "max"),
	"maxTurns": func(v any) bool { n, ok := v.(float64); return ok && n >= 1 && n == float64(int(n)) },
}

func oneOf(choices ...string) func(any) bool {
	return func(v any) bool { s, ok := v.(string); return ok && slices.Contains(choices, s) }
}

// agent writes a mode's subagent: front matter and prompt.
func (e *emitter) agent(m *ir.Mode) ([]byte, error) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString("---\n")
	line := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, quote(value)) }
	line("name", m.Slug)
	about := m.WhenToUse
	if about == "" {
		about = m.Description
	}
	if about == "" {
		about = m.Name
	}
	line("description", about)
	b.WriteString("tools:")
	names := e.agentTools(m, s)
	if len(names) == 0 {
		b.WriteString(" []")
	}
	b.WriteByte('\n')
	for _, n := range names {
		fmt.Fprintf(&b, "  - %s\n", quote(n))
	}
	if m.Model != "" {
		line("model", m.Model)
	}
	if err := e.writeExtras(&b, m); err != nil {
		return nil, err
	}
	if e.hooks {
		fmt.Fprintf(&b, "hooks:\n  PreToolUse:\n    - matcher: \"*\"\n      hooks:\n        - type: command\n          command: %s\n          timeout: 10\n", quote(hookCommand(projectModel, "mode:"+m.Slug, false)))
	}
	b.WriteString("---\n\n")
	b.WriteString(prompt(m))
	return []byte(b.String()), nil
}

func (e *emitter) writeExtras(b *strings.Builder, m *ir.Mode) error {
	x, ok := m.Extra["claude"]
	if !ok {
		return nil
	}
	keys := sortedKeys(x.Fields)
	for _, k := range keys {
		valid := extras[k]
		if valid == nil {
			e.diags.Errorf(codeUnknownExtra, x.Pos, "got unknown setting %q in extra.claude, want one of \"color\", \"effort\", \"maxTurns\"", k)
			continue
		}
		if !valid(x.Fields[k]) {
			e.diags.Errorf(codeUnknownExtra, x.Pos, "got %v for extra.claude.%s, want a value that Claude Code documents", x.Fields[k], k)
			continue
		}
		if s, ok := x.Fields[k].(string); ok {
			fmt.Fprintf(b, "%s: %s\n", k, quote(s))
		} else {
			fmt.Fprintf(b, "%s: %v\n", k, x.Fields[k])
		}
	}
	return nil
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// prompt is the subagent's system prompt.
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

// agentTools lists what a mode may use at all. Approval is the session's.
func (e *emitter) agentTools(m *ir.Mode, s *policy.Subject) []string {
	c := &compiler{e: e, s: s, name: "mode " + m.Slug, pos: m.Pos, out: &rules{}}
	names := slices.Clone(harmless)
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
		if c.closed(g) || !e.hooks && c.partly(g) {
			continue
		}
		names = append(names, tools[g]...)
	}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		var some []string
		for _, t := range sv.Tools {
			if s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}).Decision > ir.Deny {
				some = append(some, "mcp__"+Name(sv.Name)+"__"+Name(t.Name))
			}
		}
		if len(some) == 0 && contract.Usable(s, sv) {
			some = []string{"mcp__" + Name(sv.Name)}
		}
		names = append(names, some...)
	}
	if e.readsResources(s) {
		names = append(names, "ListMcpResourcesTool", "ReadMcpResourceTool")
	}
	if !c.closed(ir.Modes) {
		names = append(names, "Agent")
	}
	return names
}

// readsResources reports whether a mode gets the tools that read the servers'
// resources: they are there for all servers, and only the hook tells these apart.
func (e *emitter) readsResources(s *policy.Subject) bool {
	least, most := ir.Allow, ir.Deny
	for i := range e.in.Project.Servers {
		d := s.Decide(policy.Action{Group: ir.MCP, Server: e.in.Project.Servers[i].Name, Kind: policy.Resource, Arg: "*"}).Decision
		least, most = min(least, d), max(most, d)
	}
	return most > ir.Deny && (e.hooks || least > ir.Deny)
}

// partly reports, with its loss, whether a mode denies something of a group: a
// subagent's tools have no specifiers, so that without the hook the group goes.
func (c *compiler) partly(g ir.Group) bool {
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
		c.e.loss(c.name, at, g, groupCodes[g], "a subagent's tools cannot be limited without the hook: the mode loses the group "+string(g), "turn hooks on")
	}
	return denied
}

// quote writes text as a double-quoted YAML scalar on one line.
func quote(s string) string {
	return contract.QuoteYAML(s, func(r rune) bool { return !strconv.IsPrint(r) })
}
