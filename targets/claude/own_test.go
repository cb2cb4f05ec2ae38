package claude

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
)

// What a mode says in agents.claude.settings gives nothing that its groups deny: such a name is left out,
// with a loss, and so is a memory that would bring the tools.
func TestOwnListsGiveNothingMore(t *testing.T) {
	agent := &ir.Default{Decision: ir.Agent}
	left := &ir.Table{Default: agent}
	servers := []ir.Server{{Name: "s", Type: "stdio", Command: "x", DefaultEnabled: true, Tools: []ir.Tool{{Name: "a"}, {Name: "b"}}}}
	one := &ir.MCPTable{Default: &ir.Default{Decision: ir.Deny}, Entries: []ir.MCPEntry{{Key: "s", Literal: true,
		Default: &ir.Default{Decision: ir.Deny}, Rules: []ir.Rule{ruleOf(ir.Allow, "a")}}}}
	for _, c := range []struct {
		name  string
		can   ir.Can
		extra map[string]any
		want  string // the tools, as the file has them
		lost  int
	}{
		{"as they are written", ir.Can{Read: left, Command: left}, map[string]any{"tools": []any{"Bash(git *)", "Read", "KillShell"}},
			"Bash(git *) Read KillShell", 0},
		{"a group that is denied", ir.Can{Read: left}, map[string]any{"tools": []any{"Read", "Write", "WebSearch", "Task"}}, "Read", 3},
		{"not where it is withheld", ir.Can{Read: left},
			map[string]any{"tools": []any{"Read", "Write"}, "disallowedTools": []any{"Write"}}, "Read Write Write", 0},
		{"everything", ir.Can{Read: left}, map[string]any{"tools": []any{"*", "mcp__*"}}, "", 2},
		{"everything of a mode that is left to its agent", ir.Can{Default: agent}, map[string]any{"tools": []any{"*"}}, "*", 0},
		{"a tool that nobody knows", ir.Can{Read: left}, map[string]any{"tools": []any{"Read", "CronCreate", "Tomorrow"}}, "Read", 2},
		{"of a server that is denied but for one tool", ir.Can{MCP: one},
			map[string]any{"tools": []any{"mcp__s__a", "mcp__s__b", "mcp__s", "mcp__other__x", "mcp__s__*"}}, "mcp__s__a", 4},
		{"a memory that edits", ir.Can{Read: left}, map[string]any{"tools": []any{"Read"}, "memory": "user"}, "Read", 1},
	} {
		p := &ir.Project{Version: ir.Version, Servers: servers, Modes: []ir.Mode{{Slug: "m", Name: "M", RoleDefinition: "You.",
			Can: c.can, Extra: map[string]ir.Extra{"claude": {Fields: c.extra}}}}}
		files, diags := emitted(t, p, nil)
		file := files[".claude/agents/m.md"]
		a, err := format.ReadAgent("m.md", []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		got := append(a.Root.Get("tools").Strings(), a.Root.Get("disallowedTools").Strings()...)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
		lost := 0
		for _, d := range diags {
			if d.Code == codeTool {
				lost++
			}
		}
		if lost != c.lost || strings.Contains(file, "memory") {
			t.Errorf("%s: got %d losses, want %d: %v\n%s", c.name, lost, c.lost, diags, file)
		}
	}
}

// A permission mode of a subagent is left out where a role that may enter it asks about or denies
// what the mode would approve.
func TestOwnPermissionMode(t *testing.T) {
	ask := &ir.Default{Decision: ir.Ask}
	listed := ir.Can{Read: &ir.Table{Default: &ir.Default{Decision: ir.Agent}, Rules: []ir.Rule{ruleOf(ir.Deny, ".env")}}}
	expression := ir.Can{Read: &ir.Table{Default: listed.Read.Default, Rules: []ir.Rule{
		{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.Regex, Text: `\.env$`}}}}}
	for _, c := range []struct {
		mode string
		role ir.Can
		want bool
	}{
		{"plan", ir.Can{}, true},
		{"acceptEdits", ir.Can{}, true},
		{"acceptEdits", listed, true},
		{"acceptEdits", ir.Can{Edit: &ir.Table{Default: ask}}, false},
		{"bypassPermissions", listed, true}, // a rule denies it in every mode
		{"bypassPermissions", expression, false},
		{"bypassPermissions", ir.Can{Edit: &ir.Table{Default: ask}}, true}, // the role's settings disable it
		{"dontAsk", ir.Can{Edit: &ir.Table{Default: ask}}, true},
	} {
		p := &ir.Project{Version: ir.Version, ClosedInventory: true, Baseline: "r", Roles: []ir.Role{{Name: "r", Can: c.role}},
			Modes: []ir.Mode{{Slug: "m", Name: "M", RoleDefinition: "You.", Can: ir.Can{Default: &ir.Default{Decision: ir.Agent}},
				Extra: map[string]ir.Extra{"claude": {Fields: map[string]any{"permissionMode": c.mode}}}}}}
		files, _ := emitted(t, p, nil)
		if got := strings.Contains(files[".claude/agents/m.md"], "permissionMode: \""+c.mode); got != c.want {
			t.Errorf("%s: got %v, want %v\n%s", c.mode, got, c.want, files[".claude/agents/m.md"])
		}
	}
}
