package claude

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format/rule"
)

func ruleOf(d ir.Decision, text string) ir.Rule {
	return ir.Rule{Decision: d, Pattern: ir.Pattern{Text: text}, Pos: diag.Pos{File: "f", Line: 1, Col: 1}}
}

// project has a role "dev" and a mode "code" with the same permissions.
func project() *ir.Project {
	can := ir.Can{
		Read: &ir.Table{Default: &ir.Default{Decision: ir.Allow}, Rules: []ir.Rule{ruleOf(ir.Deny, ".env")}},
		Edit: &ir.Table{Rules: []ir.Rule{ruleOf(ir.Allow, "docs/**"), ruleOf(ir.Ask, "src/**")},
			Default: &ir.Default{Decision: ir.Deny}},
		Command: &ir.Table{Default: &ir.Default{Decision: ir.Ask},
			Rules: []ir.Rule{ruleOf(ir.Allow, "git status"), ruleOf(ir.Deny, "git push *")}},
		Web:   &ir.Table{Rules: []ir.Rule{ruleOf(ir.Allow, "*.example.com")}, Default: &ir.Default{Decision: ir.Ask}},
		Modes: &ir.Table{Rules: []ir.Rule{ruleOf(ir.Allow, "code")}, Default: &ir.Default{Decision: ir.Deny}},
		MCP: &ir.MCPTable{Entries: []ir.MCPEntry{{Key: "my docs", Literal: true,
			Default: &ir.Default{Decision: ir.Deny}, Rules: []ir.Rule{ruleOf(ir.Allow, "get_*"),
				ruleOf(ir.Ask, "put")}}},
			Default: &ir.Default{Decision: ir.Deny}},
	}
	return &ir.Project{Version: ir.Version, ClosedInventory: true,
		Servers: []ir.Server{{Name: "my docs", Type: "stdio", Command: "docs", DefaultEnabled: true,
			Tools: []ir.Tool{{Name: "del"}, {Name: "get_x"}, {Name: "put"}}}},
		Modes: []ir.Mode{{Slug: "code", Name: "Code", RoleDefinition: "You code.", Can: can}},
		Roles: []ir.Role{{Name: "dev", Can: can}},
		Guards: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Text: ".claude/**"},
			Pos: diag.Pos{File: "modec:guards", Line: 1}}},
	}
}

// inputOf is what a build gives the target, with some options.
func inputOf(t *testing.T, p *ir.Project, options map[string]any) contract.Input {
	t.Helper()
	e := policy.New(p)
	reach, err := contract.NewReach(e)
	if err != nil {
		t.Fatal(err)
	}
	return contract.Input{
		Project: p, Policy: e, Reach: reach, Options: contract.NewOptions(New().Options(), options, nil)}
}

func emitted(t *testing.T, p *ir.Project, options map[string]any) (map[string]string, diag.List) {
	t.Helper()
	files, diags := New().Emit(inputOf(t, p, options))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	out := map[string]string{}
	for _, f := range files {
		out[f.Path] = string(f.Data)
	}
	return out, diags
}

type settingsFile struct {
	Permissions struct {
		Allow, Ask, Deny []string
		DefaultMode      string
	}
}

// Every rule is one that Claude Code takes, none of them is inert, and no allow
// is wider than the source.
func TestRules(t *testing.T) {
	files, _ := emitted(t, project(), nil)
	var s settingsFile
	if err := json.Unmarshal([]byte(files[".claude/modec/dev.settings.json"]), &s); err != nil {
		t.Fatal(err)
	}
	inert := []string{"Write", "NotebookEdit", "Glob", "Grep", "MultiEdit"}
	for _, r := range slices.Concat(s.Permissions.Allow, s.Permissions.Ask, s.Permissions.Deny) {
		parsed, err := rule.Parse(r)
		if err != nil {
			t.Errorf("%s: %v", r, err)
		}
		if parsed.HasSpec && slices.Contains(inert, parsed.Tool) {
			t.Errorf("%s is inert", r)
		}
	}
	for list, want := range map[*[]string][]string{
		&s.Permissions.Allow: {"Edit(docs/**)", "Bash(git status)", "WebFetch(domain:*.example.com)",
			"mcp__my_docs__get_x", "Agent(code)"},
		&s.Permissions.Ask: {"Edit(src)", "Edit(.claude)", "Edit(*[ſ\u212a]*)", "mcp__my_docs__put", "Bash(ls *)"},
		&s.Permissions.Deny: {"Read(.env)", "Edit(.claude/*)", "Bash(git push *)", "mcp__my_docs__del",
			"ReadMcpResourceTool"},
	} {
		for _, r := range want {
			if !slices.Contains(*list, r) {
				t.Errorf("%s is missing in %v", r, *list)
			}
		}
	}
	if s.Permissions.DefaultMode != "default" {
		t.Errorf("got defaultMode %q, want it always written", s.Permissions.DefaultMode)
	}
}

// An expression that denies is the hook's: without it no rule approves what it refuses.
func TestExpressionsAreNotAllowed(t *testing.T) {
	p := project()
	regex := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.Regex, Text: `\.md$`}}
	p.Roles[0].Can.Edit = &ir.Table{Default: &ir.Default{Decision: ir.Allow}, Rules: []ir.Rule{regex}}
	files, _ := emitted(t, p, nil)
	if s := files[".claude/modec/dev.settings.json"]; strings.Contains(s, "Edit(./**)") {
		t.Errorf("every edit is allowed:\n%s", s)
	}
}

// Without hooks a group that rules cannot hold goes, with a loss.
func TestWithoutHooks(t *testing.T) {
	files, diags := emitted(t, project(), map[string]any{"hooks": false})
	settings, agent := files[".claude/modec/dev.settings.json"], files[".claude/agents/code.md"]
	if strings.Contains(settings, "modec hook") || strings.Contains(agent, "hooks:") {
		t.Error("a hook is still there")
	}
	var s settingsFile
	if err := json.Unmarshal([]byte(settings), &s); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"Edit", "Write", "NotebookEdit"} {
		if !slices.Contains(s.Permissions.Deny, tool) {
			t.Errorf("%s is not denied, and no rule refuses the paths that are not listed", tool)
		}
	}
	if strings.Contains(agent, `"Write"`) {
		t.Error("the subagent keeps Write")
	}
	lost := func(d diag.Diagnostic) bool { return d.Code == "claude-edit" && d.Loss == diag.Narrowing }
	if !slices.ContainsFunc(diags, lost) {
		t.Errorf("no loss says so: %v", diags)
	}
}

// No rule or prompt is torn apart: each is one argument.
func TestArgs(t *testing.T) {
	p := project()
	p.Roles[0].AppendSystemPrompt = "--dangerous\n\"x\" $(y)"
	p.Roles[0].Tools = &[]string{"Bash", "Read"}
	in := inputOf(t, p, nil)
	args, diags := New().(contract.Launcher).Args(in, ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{Dir: "sub"})
	if len(diags) > 0 {
		t.Error(diags)
	}
	want := []string{"--settings=sub/.claude/modec/dev.settings.json", "--permission-mode=default",
		"--tools=Bash,Read", "--append-system-prompt=--dangerous\n\"x\" $(y)"}
	if !slices.Equal(args, want) {
		t.Errorf("got %q, want %q", args, want)
	}
	args, diags = New().(contract.Launcher).Args(in, ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{FlagsOnly: true})
	denied, allowed := "--disallowedTools=Bash(git push *)", "--allowedTools=Edit(docs/**)"
	if !slices.Contains(args, denied) || slices.Contains(args, allowed) {
		t.Errorf("got %q: the deny must be there, and an allow beside a question of its tool must not", args)
	}
	if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Code == "claude-flags" }) {
		t.Errorf("got %v, want claude-flags", diags)
	}
}

// A hostile name is data in the hook's command.
func TestHookCommand(t *testing.T) {
	want := `modec hook claude --model "${CLAUDE_PROJECT_DIR}/.modec/policy.json" ` +
		`--subject 'role:it'\''s $(x)' || exit 2`
	if got := hookCommand(projectPolicy, "role:it's $(x)"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// dontAsk is a narrowing only where something would be asked. A working directory has no
// place in .mcp.json.
func TestNotes(t *testing.T) {
	codes := func(r ir.Role) []string {
		s := ir.Server{Name: "s", Type: "stdio", Command: "x", Cwd: "sub", DefaultEnabled: true}
		p := &ir.Project{Version: ir.Version, ClosedInventory: true, Roles: []ir.Role{r}, Servers: []ir.Server{s}}
		_, diags := emitted(t, p, nil)
		var out []string
		for _, d := range diags {
			out = append(out, string(d.Code))
		}
		return out
	}
	ask := &ir.Default{Decision: ir.Ask}
	for _, c := range []struct {
		role ir.Role
		want []string
	}{
		{ir.Role{Name: "r", PermissionMode: "dontAsk"}, []string{"claude-server-field"}},
		{ir.Role{Name: "r", PermissionMode: "dontAsk", Can: ir.Can{Web: &ir.Table{Default: ask}}},
			[]string{"claude-server-field", "claude-ask-mode"}},
		{ir.Role{Name: "r", Can: ir.Can{Web: &ir.Table{Default: ask}}}, []string{"claude-server-field"}},
	} {
		if got := codes(c.role); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.role.PermissionMode, got, c.want)
		}
	}
}
