package claude

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	hooks, ok := options["hooks"].(contract.HookState)
	if !ok {
		hooks = contract.Enforce
	}
	return contract.Input{Project: p, Policy: e, Reach: reach,
		Options: contract.NewOptions(New().Options(), options, nil).WithHooks(hooks)}
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
	if err := json.Unmarshal([]byte(files["session:claude/dev.settings.json"]), &s); err != nil {
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
			"mcp__my_docs__get_x"},
		&s.Permissions.Ask: nil,
		&s.Permissions.Deny: {"Read(.env)", "Bash(git push *)", "mcp__my_docs__del",
			"ListMcpResourcesTool", "ReadMcpResourceTool", "Agent(Explore)", "Agent(Plan)", "Agent(claude)",
			"Agent(general-purpose)", "Agent(statusline-setup)", "Skill", "SendMessage", "Workflow"},
	} {
		if d := cmp.Diff(want, *list); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	if s.Permissions.DefaultMode != "default" {
		t.Errorf("got defaultMode %q, want it written where the role asks", s.Permissions.DefaultMode)
	}
}

// An expression that denies is the hook's: without it no rule approves what it refuses.
func TestExpressionsAreNotAllowed(t *testing.T) {
	p := project()
	regex := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.Regex, Text: `\.md$`}}
	p.Roles[0].Can.Edit = &ir.Table{Default: &ir.Default{Decision: ir.Allow}, Rules: []ir.Rule{regex}}
	files, _ := emitted(t, p, nil)
	if s := files["session:claude/dev.settings.json"]; strings.Contains(s, "Edit(./**)") {
		t.Errorf("every edit is allowed:\n%s", s)
	}
}

// Without hooks a group that rules cannot hold goes, with a loss.
func TestWithoutHooks(t *testing.T) {
	files, diags := emitted(t, project(), map[string]any{"hooks": contract.Off})
	settings, agent := files["session:claude/dev.settings.json"], files[".claude/agents/code.md"]
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
	if strings.Contains(agent, `"WebFetch"`) {
		t.Error("the subagent keeps WebFetch, and its session fetches what the mode asks about")
	}
	lost := func(d diag.Diagnostic) bool { return d.Code == "claude-edit" && d.Loss == diag.Narrowing }
	if !slices.ContainsFunc(diags, lost) {
		t.Errorf("no loss says so: %v", diags)
	}
}

// putting says of a file where the models find it.
var putting = &contract.Copies{Put: func(f contract.File) string { return f.Path }}

// No rule or prompt is torn apart: each is one argument.
func TestArgs(t *testing.T) {
	p := project()
	p.Roles[0].AppendSystemPrompt = "--dangerous\n\"x\" $(y)"
	p.Roles[0].Tools = &[]string{"Bash", "Read"}
	in := inputOf(t, p, nil)
	args, diags := New().(contract.Launcher).Args(in, ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{Copies: putting})
	if len(diags) > 0 {
		t.Error(diags)
	}
	agents := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "--agents={\"code\":{") })
	if agents < 0 {
		t.Fatalf("got %q, want the subagents", args)
	}
	args = slices.Delete(args, agents, agents+1)
	want := []string{"--setting-sources=user", "--settings=session:claude/dev.settings.json",
		"--permission-mode=default", "--mcp-config=.mcp.json",
		"--tools=Bash,Read", "--append-system-prompt=--dangerous\n\"x\" $(y)"}
	if !slices.Equal(args, want) {
		t.Errorf("got %q, want %q", args, want)
	}
	args, _ = New().(contract.Launcher).Args(in, ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{FlagsOnly: true, Copies: putting})
	denied, allowed := "--disallowedTools=Bash(git push *)", "--allowedTools=Bash(git status)"
	if !slices.Contains(args, denied) || !slices.Contains(args, allowed) {
		t.Errorf("got %q: the deny and the allow must be there", args)
	}
	p.Roles[0].Can.Command.Rules = append(p.Roles[0].Can.Command.Rules, ruleOf(ir.Ask, "git *"))
	in = inputOf(t, p, nil)
	args, diags = New().(contract.Launcher).Args(in, ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{FlagsOnly: true, Copies: putting})
	if slices.Contains(args, allowed) {
		t.Errorf("got %q: an allow beside a question of its tool must not be there", args)
	}
	if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Code == "claude-flags" }) {
		t.Errorf("got %v, want claude-flags", diags)
	}
	if denied := "--disallowedTools=Bash(git *)"; !slices.Contains(args, denied) {
		t.Errorf("got %q, want %s: git status would run unasked", args, denied)
	}
}

// A role that may use an external server, which the user's own settings start, never has a list without these.
func TestArgsBesideExternalServers(t *testing.T) {
	p := project()
	p.Servers = append(p.Servers,
		ir.Server{Name: "notes", Type: ir.External, DefaultEnabled: true, Tools: []ir.Tool{{Name: "read"}}},
		ir.Server{Name: "admin", Type: "stdio", Command: "admin-mcp", Tools: []ir.Tool{{Name: "look"}}})
	entry := func(server string, d ir.Decision) ir.MCPEntry {
		return ir.MCPEntry{Key: server, Literal: true, Default: &ir.Default{Decision: d}}
	}
	flags := func(notes ir.Decision) []string {
		p.Roles[0].Can.MCP = &ir.MCPTable{Entries: []ir.MCPEntry{entry("admin", ir.Allow), entry("notes", notes)}}
		in := inputOf(t, p, nil)
		args, _ := New().(contract.Launcher).Args(in, ir.SubjectRef{Role: "dev"}, contract.ArgsOptions{Copies: putting})
		files, _ := New().Emit(in)
		for _, f := range files {
			if strings.HasPrefix(f.Path, "session:claude/dev.") && !strings.HasSuffix(f.Path, ".settings.json") &&
				!slices.Contains(args, "--mcp-config="+f.Path) {
				t.Errorf("%s is emitted, and %q does not give it", f.Path, args)
			}
		}
		return slices.DeleteFunc(args, func(a string) bool { return !strings.Contains(a, "mcp-config") })
	}
	for notes, want := range map[ir.Decision][]string{
		ir.Ask:  {"--mcp-config=session:claude/dev.servers.json"},
		ir.Deny: {"--mcp-config=session:claude/dev.mcp.json", "--strict-mcp-config"},
	} {
		if got := flags(notes); !slices.Equal(got, want) {
			t.Errorf("notes: %s: got %q, want %q", notes, got, want)
		}
	}
}

// Rules know no time: a role with an allow that has times gets a hook for it, no rule that the hook could not open, and a
// loss where nothing opens it.
func TestAllowsWithTimes(t *testing.T) {
	timed := ruleOf(ir.Allow, "make")
	timed.Times = ir.Times{From: "2020-01-01"}
	p := project()
	role := func(def ir.Decision) {
		table := &ir.Table{Timed: []ir.Rule{timed}}
		if def != ir.Agent {
			table.Default = &ir.Default{Decision: def}
		}
		p.Roles[0].Can = ir.Can{Command: table}
	}
	lost := func(diags diag.List) bool {
		return slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Code == diag.TimesShut })
	}
	for _, c := range []struct {
		def      ir.Decision
		hooks    contract.HookState
		baseline string
		lost     bool
	}{
		{ir.Ask, contract.Enforce, "", false},
		{ir.Deny, contract.Enforce, "", false},
		{ir.Ask, contract.Off, "", true},
		{ir.Deny, contract.Off, "", true},
		{ir.Agent, contract.Enforce, "", true},
		{ir.Ask, contract.Enforce, "dev", true},
	} {
		role(c.def)
		p.Baseline = c.baseline
		policy.AddClosedTimes(p)
		files, diags := emitted(t, p, map[string]any{"hooks": c.hooks})
		settings := files["session:claude/dev.settings.json"]
		if c.baseline != "" {
			settings = files[".claude/settings.json"]
		}
		var s settingsFile
		if err := json.Unmarshal([]byte(settings), &s); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(settings, "Bash(make)") && slices.Contains(s.Permissions.Allow, "Bash(make)") {
			t.Errorf("%+v: a rule allows it at any time", c)
		}
		if lost(diags) != c.lost {
			t.Errorf("%+v: got %v", c, diags)
		}
		shut := slices.Contains(s.Permissions.Ask, "Bash") || slices.Contains(s.Permissions.Ask, "Bash(make)") ||
			slices.Contains(s.Permissions.Deny, "Bash")
		if opened := strings.Contains(settings, "--may-allow") && !shut; opened == c.lost {
			t.Errorf("%+v: a hook may open it: %t\n%s", c, opened, settings)
		}
	}
}

// Nothing is narrowed in silence: an allow that a rule has to ask about, and a command that
// names a denied path.
func TestNarrowedIsSaid(t *testing.T) {
	of := func(d ir.Decision, rules ...ir.Rule) *ir.Table {
		return &ir.Table{Default: &ir.Default{Decision: d}, Rules: rules}
	}
	src := ruleOf(ir.Allow, "src/**")
	for name, c := range map[string]struct {
		role ir.Role
		want []diag.Code
	}{
		"edits in acceptEdits": {ir.Role{PermissionMode: "acceptEdits", Can: ir.Can{Edit: of(ir.Deny, src)}},
			[]diag.Code{codeAsked}},
		"environment":      {ir.Role{Env: map[string]string{"PATH": "./bin", "X": "1"}}, []diag.Code{codeEnv}},
		"reads":            {ir.Role{Can: ir.Can{Read: of(ir.Ask, src)}}, []diag.Code{codeAsked}},
		"reads in dontAsk": {ir.Role{PermissionMode: "dontAsk", Can: ir.Can{Read: of(ir.Deny, src)}}, []diag.Code{codeAsked}},
		"commands in bypassPermissions": {
			ir.Role{PermissionMode: "bypassPermissions", Can: ir.Can{Command: of(ir.Deny, ruleOf(ir.Allow, "ls *"))}},
			[]diag.Code{codeAsked}},
		"hosts in auto": {ir.Role{PermissionMode: "auto", Can: ir.Can{Web: of(ir.Deny, ruleOf(ir.Allow, "a.test"))}},
			[]diag.Code{codeAsked}},
		"nothing to lose": {ir.Role{Can: ir.Can{Read: of(ir.Ask), Edit: of(ir.Ask, src)}}, nil},
		"commands beside denied paths": {ir.Role{Can: ir.Can{Read: of(ir.Allow, ruleOf(ir.Deny, ".env")),
			Command: of(ir.Ask, ruleOf(ir.Allow, "cat *"))}}, []diag.Code{codeNamed}},
		"commands that are the agent's": {ir.Role{Can: ir.Can{Read: of(ir.Allow, ruleOf(ir.Deny, ".env")),
			Command: of(ir.Agent, ruleOf(ir.Allow, "cat *"))}}, nil},
	} {
		c.role.Name = "r"
		p := &ir.Project{Version: ir.Version, Roles: []ir.Role{c.role}}
		_, diags := emitted(t, p, nil)
		var got []diag.Code
		for _, d := range diags {
			if slices.Contains([]diag.Code{codeAsked, codeEnv, codeNamed}, d.Code) {
				got = append(got, d.Code)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// The session of a mode alone has its hook by --settings: that of a subagent's file does not
// run everywhere.
func TestModeHasSettings(t *testing.T) {
	in := inputOf(t, project(), nil)
	text := ""
	copies := &contract.Copies{Put: func(f contract.File) string { text = string(f.Data); return f.Path }}
	args, _ := New().(contract.Launcher).Args(in, ir.SubjectRef{Mode: "code"}, contract.ArgsOptions{Copies: copies})
	if len(args) != 2 || args[0] != "--settings=session:claude/mode%3Acode.settings.json" ||
		!strings.HasPrefix(text, `{"disableAllHooks":false,"hooks":`) ||
		!strings.Contains(text, `--subject mode:code`) || !strings.Contains(text, `|| exit 2`) {
		t.Errorf("got %q with %s, want settings with the hook of the mode, which refuses without modec", args, text)
	}
	_, diags := New().(contract.Launcher).Args(in, ir.SubjectRef{Mode: "code"}, contract.ArgsOptions{FlagsOnly: true, Copies: putting})
	if len(diags) != 1 || diags[0].Code != codeFlags {
		t.Errorf("got %v, want the loss of the hook", diags)
	}
}

// A hostile name is data in the hook's command.
func TestHookCommand(t *testing.T) {
	line := hookLine{ref: ir.SubjectRef{Role: "it's $(x)"}}
	for travels, want := range map[bool]string{
		false: `modec hook claude --root . --subject 'role:it'\''s $(x)' --may-allow || exit 2`,
		true:  `modec hook claude --subject 'role:it'\''s $(x)' || exit 2`,
	} {
		line.travels = travels
		got := (&emitter{in: inputOf(t, &ir.Project{Baseline: "dev"}, nil)}).command(line)
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if h, err := contract.ParseHookLine(got); err != nil || h.Subject != "role:it's $(x)" {
			t.Errorf("%s is read as %+v, %v", got, h, err)
		}
	}
}

// permissionsOf returns what the role of a project with two servers compiles to.
func permissionsOf(t *testing.T, r ir.Role, options map[string]any) (string, map[string]string) {
	t.Helper()
	r.Name = "r"
	tools := []ir.Tool{{Name: "list"}, {Name: "make"}}
	p := &ir.Project{Version: ir.Version, ClosedInventory: true, Roles: []ir.Role{r},
		Servers: []ir.Server{
			{Name: "docs", Type: "stdio", Command: "d", DefaultEnabled: true, Tools: tools},
			{Name: "git", Type: "stdio", Command: "g", DefaultEnabled: true, Tools: tools},
		},
	}
	files, _ := emitted(t, p, options)
	var s struct{ Permissions json.RawMessage }
	text := files["session:claude/"+contract.PathName(r.Name)+".settings.json"]
	if text == "" {
		return "", files
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if s.Permissions != nil {
		if err := json.Compact(&b, s.Permissions); err != nil {
			t.Fatal(err)
		}
	}
	return b.String(), files
}

// A settings file has what the role says, and nothing else.
func TestQuiet(t *testing.T) {
	of := func(d ir.Decision, rules ...ir.Rule) *ir.Table {
		return &ir.Table{Default: &ir.Default{Decision: d}, Rules: rules}
	}
	bare := &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}}}}
	server := func(name string, d *ir.Default, rules ...ir.Rule) *ir.MCPTable {
		return &ir.MCPTable{Entries: []ir.MCPEntry{{Key: name, Literal: true, Default: d, Rules: rules}}}
	}
	const modes = `,"defaultMode":"default","disableBypassPermissionsMode":"disable","disableAutoMode":"disable"}`
	for name, c := range map[string]struct {
		role ir.Role
		want string
	}{
		"nothing":          {ir.Role{}, ""},
		"all to the agent": {ir.Role{Can: ir.Can{Default: &ir.Default{Decision: ir.Agent}}}, ""},
		"a mode":           {ir.Role{PermissionMode: "plan"}, `{"defaultMode":"plan"}`},
		"reading":          {ir.Role{Can: ir.Can{Read: of(ir.Allow)}}, ""},
		"a folder to read": {ir.Role{Can: ir.Can{Read: of(ir.Agent, ruleOf(ir.Allow, "docs/**"))}}, ""},
		"a deny of a file": {ir.Role{Can: ir.Can{Read: of(ir.Agent, ruleOf(ir.Deny, ".env"))}}, `{"deny":["Read(.env)"]}`},
		"a deny of a server": {
			ir.Role{Can: ir.Can{MCP: server("git", nil, ir.Rule{Decision: ir.Deny, Pattern: everyTool})}},
			`{"deny":["mcp__git"]}`},
		"a deny of a tool": {
			ir.Role{Can: ir.Can{MCP: server("git", &ir.Default{Decision: ir.Agent}, ruleOf(ir.Deny, "make"))}},
			`{"deny":["mcp__git__make"]}`},
		"an ask of a tool": {
			ir.Role{Can: ir.Can{MCP: server("git", &ir.Default{Decision: ir.Agent}, ruleOf(ir.Ask, "make"))}},
			`{"ask":["mcp__git__make"],"defaultMode":"default"}`},
		"a deny of all servers": {ir.Role{Can: ir.Can{MCP: &ir.MCPTable{Default: &ir.Default{Decision: ir.Deny}}}},
			`{"deny":["mcp__*","ListMcpResourcesTool","ReadMcpResourceTool"]}`},
		"commands asked about": {ir.Role{Can: ir.Can{Command: of(ir.Ask)}}, `{"ask":["Bash"]` + modes},
		"commands listed": {
			ir.Role{Can: ir.Can{Command: of(ir.Ask, ruleOf(ir.Allow, "make *"), ruleOf(ir.Ask, "rm *"),
				ruleOf(ir.Ask, "make clean"))}},
			`{"allow":["Bash(make *)"],"ask":["Bash(make clean)"]` + modes},
		"an ask of a command": {ir.Role{Can: ir.Can{Command: of(ir.Agent, ruleOf(ir.Ask, "git push *"))}},
			`{"ask":["Bash(git push *)"],"defaultMode":"default"}`},
		"a deny of commands": {ir.Role{Can: ir.Can{Command: bare}}, `{"deny":["Bash","Monitor","PowerShell"]}`},
		"edits asked about": {ir.Role{Can: ir.Can{Edit: of(ir.Ask)}},
			`{` + strings.TrimPrefix(modes, ",")},
		"a folder to edit": {ir.Role{Can: ir.Can{Edit: of(ir.Agent, ruleOf(ir.Allow, "/docs/*.d/**"),
			ruleOf(ir.Allow, "docs/**"))}}, `{"allow":["Edit(docs/**)"]}`},
		"reading asked about": {ir.Role{Can: ir.Can{Read: of(ir.Ask)}}, `{"ask":["Read","Glob","Grep","LSP"]` + modes},
		"a mode that edits": {ir.Role{PermissionMode: "acceptEdits"},
			`{"defaultMode":"acceptEdits"}`},
		"a list that closes": {ir.Role{Can: ir.Can{Command: of(ir.Deny, ruleOf(ir.Allow, "make"))}},
			`{"allow":["Bash(make)"]` + modes},
		"unknown tools": {ir.Role{Can: ir.Can{Unknown: &ir.Default{Decision: ir.Deny}}},
			`{"deny":["Artifact","CronCreate","DesignSync","EnterWorktree","ExitWorktree","PushNotification",` +
				`"RemoteTrigger","ScheduleWakeup","SendUserFile","ShareOnboardingGuide"]}`},
	} {
		got, _ := permissionsOf(t, c.role, nil)
		if got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// Claude Code has "_" for other signs in names of tools: without a list of tools an allow of one of them stays, with a
// note, and that of a pattern is lost.
func TestToolNames(t *testing.T) {
	p := project()
	p.Servers[0].Tools = nil
	p.Roles[0].Can = ir.Can{MCP: &ir.MCPTable{Default: &ir.Default{Decision: ir.Ask}, Entries: []ir.MCPEntry{
		{Key: "my docs", Literal: true, Rules: []ir.Rule{ruleOf(ir.Allow, "put.x"), ruleOf(ir.Allow, "*.z"),
			ruleOf(ir.Allow, "get_*")}}}}}
	files, diags := emitted(t, p, map[string]any{"hooks": contract.Off})
	text := files["session:claude/"+contract.PathName(p.Roles[0].Name)+".settings.json"]
	for rule, want := range map[string]bool{"mcp__my_docs__put_x": true, "mcp__my_docs__get_*": true, "_z": false} {
		if got := strings.Contains(text, rule+`"`); got != want {
			t.Errorf("got %q in the settings: %v, want %v: %s", rule, got, want, text)
		}
	}
	var said []diag.Severity
	for _, d := range diags {
		if d.Code == codeToolName && d.Subject == "role dev" {
			said = append(said, d.Severity)
		}
	}
	slices.Sort(said)
	if !slices.Equal(said, []diag.Severity{diag.Warning, diag.Note}) {
		t.Errorf("got %v, want a note and a warning: %v", said, diags)
	}
}

// Without the hook too, a rule asks about what the permission mode would approve and the role
// does not.
func TestRulesHoldInEveryMode(t *testing.T) {
	of := func(d ir.Decision, rules ...ir.Rule) *ir.Table {
		return &ir.Table{Default: &ir.Default{Decision: d}, Rules: rules}
	}
	regex := func(d ir.Decision, text string) ir.Rule {
		return ir.Rule{Decision: d, Pattern: ir.Pattern{Kind: ir.Regex, Text: text}}
	}
	const (
		plan  = `"defaultMode":"plan","disableBypassPermissionsMode":"disable","disableAutoMode":"disable"}`
		other = `"defaultMode":"default","disableBypassPermissionsMode":"disable","disableAutoMode":"disable"}`
		reads = `{"ask":["Read","Glob","Grep","LSP"],`
	)
	for name, c := range map[string]struct {
		role ir.Role
		want string
	}{
		"plan reads outside": {
			ir.Role{PermissionMode: "plan", Can: ir.Can{Read: of(ir.Allow)}}, `{` + plan},
		"a list of reads that closes": {
			ir.Role{Can: ir.Can{Read: of(ir.Deny, ruleOf(ir.Allow, "docs/**"))}}, reads + other},
		"all reads denied": {
			ir.Role{Can: ir.Can{Read: of(ir.Agent, ruleOf(ir.Deny, "**"))}}, `{"deny":["Read","Glob","Grep","LSP"]}`},
		"an ending": {
			ir.Role{Can: ir.Can{Read: of(ir.Agent, regex(ir.Deny, `\.test\.ts$`))}},
			`{"ask":["Read(*.test.ts)"],"defaultMode":"default"}`},
		"an expression without an ending": {
			ir.Role{Can: ir.Can{Read: of(ir.Agent, regex(ir.Deny, `^a|b$`))}},
			reads + `"defaultMode":"default"}`},
		"edits that close under acceptEdits": {
			ir.Role{PermissionMode: "acceptEdits", Can: ir.Can{Edit: of(ir.Deny, ruleOf(ir.Allow, "docs/**"))}},
			`{"ask":["Edit","Write","NotebookEdit"],"defaultMode":"acceptEdits",` +
				`"disableBypassPermissionsMode":"disable","disableAutoMode":"disable"}`},
		"a deny of a file in bypassPermissions": {
			ir.Role{PermissionMode: "bypassPermissions", Can: ir.Can{Read: of(ir.Agent, ruleOf(ir.Deny, ".env"))}},
			`{"deny":["Read(//**/.env)"],` +
				`"defaultMode":"bypassPermissions"}`},
		"a ceiling in bypassPermissions": {
			ir.Role{PermissionMode: "bypassPermissions", Can: ir.Can{Read: of(ir.Allow)}},
			`{` + other},
		"commands that a policy names": {
			ir.Role{Can: ir.Can{Command: of(ir.Agent, ruleOf(ir.Allow, "git *"),
				ir.Rule{Decision: ir.Ask, Pattern: ir.Pattern{Kind: ir.Builtin, Text: "git_read"}})}}, ""},
	} {
		if got, _ := permissionsOf(t, c.role, nil); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// A glob covers an expression only where the expression ends in a text.
func TestCovering(t *testing.T) {
	for regex, want := range map[string]string{
		`\.test\.ts$`:     "*.test.ts",
		`^src/.*_gen.go$`: "*go",
		`x/a-b$`:          "*a-b",
		`\.ts`:            "",
		`a$|b$`:           "",
		`x*$`:             "",
		`[ab]$`:           "",
		`\x41$`:           "",
		`\cA$`:            "",
		`\12$`:            "",
		`\\.b$`:           "*b",
		`\$`:              "",
	} {
		if got := covering(regex); got != want {
			t.Errorf("%s: got %q, want %q", regex, got, want)
		}
	}
}

var everyTool = ir.Pattern{Kind: ir.All}

// The baseline's settings are the project's, whole: its hook never allows, and it has no file
// of its own. It is started as it is.
func TestBaseline(t *testing.T) {
	p := project()
	p.Baseline = "dev"
	p.Roles[0].Env = map[string]string{"A": "b"}
	p.Roles = append(p.Roles, ir.Role{Name: "quiet"})
	files, _ := emitted(t, p, nil)
	shared := files[".claude/settings.json"]
	const hook = "modec hook claude || exit 2"
	for _, want := range []string{`"Bash(git status)"`, `"Edit(docs/**)"`, `"A": "b"`, hook} {
		if !strings.Contains(shared, want) {
			t.Errorf("%s is missing:\n%s", want, shared)
		}
	}
	if strings.Contains(shared, "--may-allow") {
		t.Error("the hook of a file that travels allows")
	}
	if files["session:claude/dev.settings.json"] != "" {
		t.Error("the baseline has settings of its own")
	}
	args := func(role string) []string {
		args, _ := claude{}.Args(inputOf(t, p, nil), ir.SubjectRef{Role: role}, contract.ArgsOptions{Copies: putting})
		return args
	}
	if got := args("dev"); len(got) > 0 {
		t.Errorf("got %q for the baseline", got)
	}
	if got := args("quiet"); len(got) != 4 || got[0] != "--setting-sources=user" {
		t.Errorf("got %q for another role", got)
	}
	p.Baseline = ""
	if files, _ = emitted(t, p, nil); files[".claude/settings.json"] != "" {
		t.Errorf("a file that not all roles agree on:\n%s", files[".claude/settings.json"])
	}
}

// A mode that leaves every group to its agent has no list of tools, and one that denies a
// group takes its tools away.
func TestModeLeftToTheAgent(t *testing.T) {
	can := ir.Can{Default: &ir.Default{Decision: ir.Agent}}
	p := &ir.Project{Version: ir.Version, ClosedInventory: true,
		Modes: []ir.Mode{{Slug: "all", Name: "All", RoleDefinition: "You.", Can: can}}}
	const front = "---\nname: \"all\"\ndescription: \"All\"\n"
	for _, want := range []string{
		front + "---\n\nYou.\n",
		front + "disallowedTools:\n  - \"Edit\"\n  - \"Write\"\n  - \"NotebookEdit\"\n---\n\nYou.\n",
	} {
		files, _ := emitted(t, p, map[string]any{"hooks": contract.Off})
		if got := files[".claude/agents/all.md"]; got != want {
			t.Errorf("got\n%s, want\n%s", got, want)
		}
		p.Modes[0].Can.Edit = &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}}}}
	}
}

// Without hooks a mode that asks loses its tools where a session may come to approve: one without a
// written permission mode starts in auto by itself, and in any a person goes over to acceptEdits.
func TestModeThatAsks(t *testing.T) {
	ask := &ir.Default{Decision: ir.Ask}
	closed := ir.Can{Web: &ir.Table{Default: ask}} // disables the modes that approve
	for _, c := range []struct {
		name string
		mode ir.Can
		role *ir.Can // of the baseline; nil for a session without a role
		want bool
	}{
		{"a fetch in a quiet role", ir.Can{Web: &ir.Table{Default: ask}}, &ir.Can{}, true},
		{"a fetch in a role that asks too", ir.Can{Web: &ir.Table{Default: ask}}, &closed, false},
		{"a fetch without a role", ir.Can{Web: &ir.Table{Default: ask}}, nil, true},
		{"an edit in a role that asks about something else", ir.Can{Edit: &ir.Table{Default: ask}}, &closed, true},
		{"an edit in a role that asks about edits", ir.Can{Edit: &ir.Table{Default: ask}},
			&ir.Can{Edit: &ir.Table{Default: ask}}, false},
		{"a server in a quiet role", ir.Can{MCP: &ir.MCPTable{Default: ask}}, &ir.Can{}, true},
		{"a server in a role that disables what approves", ir.Can{MCP: &ir.MCPTable{Default: ask}}, &closed, false},
	} {
		p := &ir.Project{Version: ir.Version, ClosedInventory: true,
			Servers: []ir.Server{{Name: "s", Type: "stdio", Command: "x", DefaultEnabled: true}},
			Modes:   []ir.Mode{{Slug: "m", Name: "M", RoleDefinition: "You.", Can: c.mode}}}
		if c.role != nil {
			p.Baseline, p.Roles = "r", []ir.Role{{Name: "r", Can: *c.role}}
		}
		files, diags := emitted(t, p, map[string]any{"hooks": contract.Off})
		loses := func(d diag.Diagnostic) bool { return d.Subject == "mode m" }
		if got := slices.ContainsFunc(diags, loses); got != c.want {
			t.Errorf("%s: got %v:\n%s", c.name, diags, files[".claude/agents/m.md"])
		}
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

// A session that starts in another folder takes rules with a slash from there, and no settings of
// the project: it gets a role's own, which name the project.
func TestArgsElsewhere(t *testing.T) {
	for rule, want := range map[string]string{
		"Read(secrets/*)":     "Read(//a/b\\ \\[c\\]/secrets/*)",
		"Read(.env)":          "Read(//a/b\\ \\[c\\]/**/.env)",
		"Edit(./**)":          "Edit(//a/b\\ \\[c\\]/**/**)",
		"Edit(.//~x)":         "Edit(//a/b\\ \\[c\\]/~x)",
		"Edit(//**/.git)":     "Edit(//**/.git)",
		"Read(~/.ssh)":        "Read(~/.ssh)",
		"Bash(ls *)":          "Bash(ls *)",
		"Read":                "Read",
		"mcp__github__delete": "mcp__github__delete",
	} {
		if got := absolute(rule, ir.Deny, "/a/b [c]"); got != want {
			t.Errorf("%s: got %s, want %s", rule, got, want)
		}
	}
	r := &rules{allow: []string{"Edit(src/**)", "Bash(ls)"}, deny: []string{"Read(.env)", "Bash(rm)"}}
	below := anchored(r, contract.ArgsOptions{Root: "/p", Below: true})
	if d := cmp.Diff([]string{"Edit(//p/src/**)", "Bash(ls)"}, below.allow); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"Read(.env)", "Read(//p/**/.env)", "Bash(rm)"}, below.deny); d != "" {
		t.Error(d)
	}
	beside := anchored(r, contract.ArgsOptions{Root: "/p"}) // a work tree has the same folders
	if d := cmp.Diff([]string{"Edit(src/**)", "Edit(//p/src/**)", "Bash(ls)"}, beside.allow); d != "" {
		t.Error(d)
	}
}
