package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
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
		Roles: []ir.Role{{Name: "dev", Can: withUnknown(can)}, {Name: "quiet"}},
	}
}

func withUnknown(can ir.Can) ir.Can {
	can.Unknown = &ir.Default{Decision: ir.Ask}
	return can
}

// A role's hook decides for the mode that its session runs as, and never more than for the
// role.
func TestHookInMode(t *testing.T) {
	p := project()
	closed := &ir.Table{Default: &ir.Default{Decision: ir.Deny}}
	p.Modes = append(p.Modes, ir.Mode{Slug: "talk", Name: "Talk", RoleDefinition: "You talk.",
		Can: ir.Can{Read: closed, Web: &ir.Table{Default: &ir.Default{Decision: ir.Allow}}}})
	for _, c := range []struct{ role, agent, tool, input, want string }{
		{"dev", "", "Read", `{"file_path":"/p/a"}`, "allow"},
		{"dev", "talk", "Read", `{"file_path":"/p/a"}`, "deny"},
		{"dev", "general-purpose", "Read", `{"file_path":"/p/a"}`, "allow"},
		{"quiet", "talk", "Read", `{"file_path":"/p/a"}`, "deny"},
		{"quiet", "talk", "WebFetch", `{"url":"https://a.test/"}`, "abstain"},
		{"dev", "talk", "WebFetch", `{"url":"https://a.test/"}`, "ask"},
		// What starts agents of any name is modes, what begins work by itself is unknown.
		{"dev", "", "SendMessage", `{"to":"x","message":"go on"}`, "deny"},
		{"dev", "", "Workflow", `{"script":"x"}`, "deny"},
		{"dev", "", "CronCreate", `{"cron":"* * * * *","prompt":"x"}`, "ask"},
		{"dev", "", "EnterWorktree", `{"name":"x"}`, "ask"},
		{"dev", "", "CronList", `{}`, "abstain"},
		{"quiet", "", "Workflow", `{"script":"x"}`, "abstain"},
	} {
		a := Answer(contract.HookRequest{
			Payload: []byte(`{"hook_event_name":"PreToolUse","cwd":"/p","tool_name":"` + c.tool + `","agent_type":"` +
				c.agent + `","tool_input":` + c.input + `}`),
			Policy: policy.New(p), Subject: ir.SubjectRef{Role: c.role}, Root: "/p", MayAllow: true,
			Resolve: func(p string) (string, error) { return filepath.Clean(p), nil },
		})
		got := "abstain"
		for _, d := range []string{"allow", "ask", "deny"} {
			if strings.Contains(string(a.Stdout), `"permissionDecision":"`+d+`"`) {
				got = d
			}
		}
		if a.Exit != 0 || got != c.want {
			t.Errorf("%+v: got %s (%s)", c, got, a.Stdout)
		}
	}
}

// What a role leaves to Claude Code is Claude Code's, also outside the project.
func TestHookAbstains(t *testing.T) {
	for _, c := range []struct{ tool, input string }{
		{"Read", `{"file_path":"/etc/passwd"}`},
		{"Write", `{"file_path":"/p/.claude/settings.json"}`},
		{"Bash", `{"command":"make $(x)"}`},
		{"PowerShell", `{"command":"ls"}`},
		{"WebFetch", `{"url":"https://example.com/x"}`},
		{"WebSearch", `{"query":"x"}`},
		{"Agent", `{"subagent_type":"code"}`},
		{"mcp__my_docs__del", `{}`},
		{"mcp__other__x", `{}`},
		{"ReadMcpResourceTool", `{"server":"my_docs","uri":"x"}`},
		{"BrandNewTool", `{}`},
	} {
		if got := said(t, answerTo(t, ir.SubjectRef{Role: "quiet"}, true, payloadOf(c.tool, c.input))); got != "abstain" {
			t.Errorf("%s %s: got %s", c.tool, c.input, got)
		}
	}
}

// A name that Claude Code writes may stand for several: the lowest decision holds, and what a
// listed server may do is never taken for what a server with a longer name may.
func TestHookNames(t *testing.T) {
	allow := &ir.Default{Decision: ir.Allow}
	for _, c := range []struct {
		entries []ir.MCPEntry
		tool    string
		want    string
	}{
		{[]ir.MCPEntry{{Key: "git", Literal: true, Default: allow}}, "mcp__git__list", "allow"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Default: allow}}, "mcp__git__hub__list", "deny"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Default: allow}}, "mcp__git__a__b", "allow"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Default: allow}}, "mcp__git_hub__list", "deny"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Default: allow, Rules: []ir.Rule{ruleOf(ir.Deny, "repo.delete*")}}},
			"mcp__git__repo_delete_all", "deny"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Default: allow, Rules: []ir.Rule{ruleOf(ir.Deny, "x.y")}}},
			"mcp__git__x_y", "deny"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Default: allow, Rules: []ir.Rule{ruleOf(ir.Ask, "x y")}}},
			"mcp__git__x_y", "ask"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Rules: []ir.Rule{ruleOf(ir.Allow, "put.z")}}}, // nothing lists it
			"mcp__git__put_z", "allow"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Rules: []ir.Rule{ruleOf(ir.Allow, "put.*")}}}, "mcp__git__put_z", "deny"},
		{[]ir.MCPEntry{{Key: "git", Literal: true, Rules: []ir.Rule{ruleOf(ir.Allow, "put.z"), ruleOf(ir.Ask, "*_z")}}},
			"mcp__git__put_z", "ask"},
	} {
		p := &ir.Project{Version: ir.Version, Servers: []ir.Server{{Name: "git", Type: "stdio", Command: "g",
			DefaultEnabled: true, Tools: []ir.Tool{{Name: "x.y"}, {Name: "x y"}, {Name: "a__b"}}}},
			Roles: []ir.Role{{Name: "dev",
				Can: ir.Can{MCP: &ir.MCPTable{Entries: c.entries, Default: &ir.Default{Decision: ir.Deny}}}}}}
		got := said(t, Answer(contract.HookRequest{Payload: []byte(payloadOf(c.tool, `{}`)), Policy: policy.New(p),
			Subject: ir.SubjectRef{Role: "dev"}, Root: "/p", MayAllow: true,
			Resolve: func(p string) (string, error) { return filepath.Clean(p), nil }}))
		if got != c.want {
			t.Errorf("%s beside %v: got %s, want %s", c.tool, c.entries, got, c.want)
		}
	}
}

func answerTo(t *testing.T, subject ir.SubjectRef, mayAllow bool, payload string) contract.HookAnswer {
	t.Helper()
	return Answer(contract.HookRequest{
		Payload: []byte(payload), Policy: policy.New(project()), Subject: subject, Root: "/p", MayAllow: mayAllow,
		Resolve: func(p string) (string, error) { return filepath.Clean(p), nil },
	})
}

// said reads an answer: allow, ask, deny, abstain or refused.
func said(t *testing.T, a contract.HookAnswer) string {
	t.Helper()
	if a.Exit != 0 {
		if a.Exit != 2 || a.Stderr == "" || len(a.Stdout) > 0 {
			t.Errorf("a refusal is exit code 2 with a reason and no answer, got %+v", a)
		}
		return "refused"
	}
	var o struct {
		HookSpecificOutput *struct{ HookEventName, PermissionDecision, PermissionDecisionReason string }
	}
	if err := json.Unmarshal(a.Stdout, &o); err != nil {
		t.Fatalf("%v: %s", err, a.Stdout)
	}
	if o.HookSpecificOutput == nil {
		return "abstain"
	}
	if o.HookSpecificOutput.HookEventName != "PreToolUse" || o.HookSpecificOutput.PermissionDecisionReason == "" {
		t.Errorf("an incomplete answer: %s", a.Stdout)
	}
	return o.HookSpecificOutput.PermissionDecision
}

func payloadOf(tool, input string) string {
	return `{"hook_event_name":"PreToolUse","permission_mode":"default","cwd":"/p",` +
		`"tool_name":"` + tool + `","tool_input":` + input + `}`
}

func TestHook(t *testing.T) {
	dev := ir.SubjectRef{Role: "dev"}
	for _, c := range []struct{ tool, input, want string }{
		{"Read", `{"file_path":"/p/a"}`, "allow"},
		{"Read", `{"file_path":"/p/.env"}`, "deny"},
		{"Read", `{"file_path":"/p/x/../.ENV"}`, "deny"},
		{"Read", `{"file_path":"/etc/passwd"}`, "ask"},
		{"Grep", `{"pattern":"x"}`, "abstain"}, // it may meet .env: the agent's rules leave that out
		{"Grep", `{"pattern":"x","glob":"../etc/*"}`, "ask"},
		{"Grep", `{"pattern":"../etc/*","glob":"src/*"}`, "abstain"}, // an expression is no glob
		{"Glob", `{"pattern":"**/*.go"}`, "abstain"},
		{"Glob", `{"pattern":"/etc/*"}`, "ask"},
		{"Glob", `{"pattern":"{src,/etc}/*"}`, "ask"},
		{"Glob", `{"pattern":"src/*/../../../etc/*"}`, "ask"},
		{"Glob", `{"pattern":"~/.ssh/*"}`, "ask"},
		{"Edit", `{"file_path":"/p/docs/a"}`, "allow"},
		{"Write", `{"file_path":"docs/a"}`, "allow"},
		{"Write", `{"file_path":"/p/src/a"}`, "ask"},
		{"NotebookEdit", `{"notebook_path":"/p/other"}`, "deny"},
		{"Write", `{"file_path":"/p/.claude/settings.json"}`, "deny"},
		{"Write", `{"file_path":"~/docs/a"}`, "deny"},
		{"Write", `{}`, "deny"},
		{"Write", `{"file_path":7}`, "deny"},
		{"Bash", `{"command":"git status"}`, "allow"},
		{"Bash", `{"command":"git status && git push x"}`, "deny"},
		{"Bash", `{"command":"make"}`, "ask"},
		{"Bash", `{}`, "deny"},
		{"PowerShell", `{"command":"git status"}`, "deny"},
		{"WebFetch", `{"url":"https://a.example.com:8443/x"}`, "allow"},
		{"WebFetch", `{"url":"https://example.com@evil.test/"}`, "ask"},
		{"WebFetch", `{"url":"file:///etc/passwd"}`, "deny"},
		{"WebSearch", `{"query":"x"}`, "ask"},
		{"Agent", `{"subagent_type":"code"}`, "allow"},
		{"Task", `{"subagent_type":"general-purpose"}`, "deny"},
		{"mcp__my_docs__get_x", `{}`, "allow"},
		{"mcp__my_docs__put", `{}`, "ask"},
		{"mcp__my_docs__del", `{}`, "deny"},
		{"mcp__other__get_x", `{}`, "deny"},
		{"ReadMcpResourceTool", `{"server":"my_docs","uri":"x"}`, "deny"},
		{"TodoWrite", `{}`, "abstain"},
		{"BrandNewTool", `{}`, "ask"},
	} {
		if got := said(t, answerTo(t, dev, true, payloadOf(c.tool, c.input))); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.tool, c.input, got, c.want)
		}
	}
}

// Copilot runs the hooks of Claude Code's settings in a folder that is trusted: its calls are judged by what it does, and it
// keeps its own questions.
func TestHookOfCopilot(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"Read", `{"path":"/p/a"}`, "abstain"},
		{"Read", `{"path":"/p/.env"}`, "deny"},
		{"Read", `{"path":"/p/.env","file_path":"/p/a"}`, "deny"},
		{"Read", `{"file_path":"/p/a"}`, "deny"},
		{"Write", `{"path":"docs/a","file_text":"x"}`, "abstain"},
		{"Write", `{"path":"/p/src/a","file_text":"x"}`, "ask"},
		{"Edit", `{"path":"/p/.claude/settings.json","old_str":"a","new_str":"b"}`, "deny"},
		{"Grep", `{"pattern":"x","path":"/etc"}`, "ask"},
		{"Bash", `{"command":"git status"}`, "abstain"},
		{"Bash", `{"command":"git push x"}`, "deny"},
		{"Agent", `{"agent_type":"code"}`, "abstain"},
		{"Agent", `{"agent_type":"general-purpose","subagent_type":"code"}`, "deny"},
	} {
		payload := strings.Replace(payloadOf(c.tool, c.input), `"permission_mode":"default"`,
			`"timestamp":"2026-11-26T06:58:53.037Z"`, 1)
		if got := said(t, answerTo(t, ir.SubjectRef{Role: "dev"}, true, payload)); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.tool, c.input, got, c.want)
		}
	}
}

// Only a hook that did not travel with the repository approves, and never in
// plan mode.
func TestHookAbstainsFromAllow(t *testing.T) {
	p := payloadOf("Bash", `{"command":"git status"}`)
	for _, c := range []struct {
		may     bool
		payload string
		want    string
	}{
		{true, p, "allow"},
		{false, p, "abstain"},
		{true, strings.Replace(p, `"default"`, `"plan"`, 1), "abstain"},
		{false, payloadOf("Bash", `{"command":"git push x"}`), "deny"},
	} {
		if got := said(t, answerTo(t, ir.SubjectRef{Mode: "code"}, c.may, c.payload)); got != c.want {
			t.Errorf("%v %s: got %s, want %s", c.may, c.payload, got, c.want)
		}
	}
}

func TestHookRefuses(t *testing.T) {
	for _, payload := range []string{
		"", "{", "[]", `"x"`, `{}`,
		`{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{}}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash"}`,
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":[]}`,
	} {
		if got := said(t, answerTo(t, ir.SubjectRef{Role: "dev"}, true, payload)); got != "refused" {
			t.Errorf("%q: got %s, want a refusal", payload, got)
		}
	}
	bash := payloadOf("Bash", `{"command":"x"}`)
	if got := said(t, answerTo(t, ir.SubjectRef{Role: "nobody"}, true, bash)); got != "refused" {
		t.Errorf("an unknown subject: got %s", got)
	}
}

// Whatever an agent sends, the hook answers or refuses, and never allows what
// it does not understand.
func FuzzHook(f *testing.F) {
	f.Add(payloadOf("Bash", `{"command":"git push $(x)"}`))
	f.Add(payloadOf("Write", `{"file_path":"/p/../x"}`))
	f.Add(payloadOf("mcp__a__b", `{}`))
	f.Fuzz(func(t *testing.T, payload string) {
		a := answerTo(t, ir.SubjectRef{Role: "dev"}, true, payload)
		if !json.Valid([]byte(payload)) && a.Exit == 0 && said(t, a) == "allow" {
			t.Errorf("%q is allowed", payload)
		}
	})
}

// In a work tree of git the project is there, and the main one is outside.
func TestHookInWorktree(t *testing.T) {
	p := project()
	p.Roles[0].Can.OutsideEdit = &ir.Default{Decision: ir.Allow}
	for file, want := range map[string]string{
		"/w/docs/a":                     "allow",
		"docs/a":                        "allow",
		"/w/x":                          "deny",
		"/w/.claude/settings.json":      "deny",
		"/p/.claude/settings.json":      "deny",
		"/p/docs/a":                     "deny", // outside, and no rule allows it
		"/p/.claude/worktrees/y/docs/a": "deny",
	} {
		a := Answer(contract.HookRequest{
			Payload: []byte(`{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"Write","tool_input":{"file_path":"` +
				file + `"}}`),
			Policy: policy.New(p), Subject: ir.SubjectRef{Role: "dev"}, Root: "/p", MayAllow: true,
			Resolve:  func(p string) (string, error) { return filepath.Clean(p), nil },
			Worktree: func(dir string) (string, bool) { return "/w", dir == "/w" },
		})
		if got := said(t, a); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}

// What a call is about is on record as a rule would name it, and nothing where no rule could.
func TestAbout(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"Bash", `{"command":"git push origin main"}`, "git push origin main"},
		{"PowerShell", `{"command":"git push"}`, ""},
		{"Edit", `{"file_path":"/p/src/a.go"}`, "src/a.go"},
		{"NotebookEdit", `{"notebook_path":"src/../a.ipynb"}`, "a.ipynb"},
		{"Read", `{"file_path":"/etc/passwd"}`, ""},
		{"Read", `{"file_path":"../a"}`, ""},
		{"Grep", `{"pattern":"x","path":"/p/src"}`, ""},
		{"WebFetch", `{"url":"https://a.test:8443/x?key=1"}`, "a.test"},
		{"Task", `{"subagent_type":"other"}`, "other"},
		{"mcp__my_docs__put", `{}`, "put"},
		{"mcp__my_docs__new", `{}`, ""},
		{"mcp__else__put", `{}`, ""},
	} {
		a := Answer(contract.HookRequest{
			Payload: []byte(`{"hook_event_name":"PreToolUse","cwd":"/p","tool_name":"` + c.tool + `","tool_input":` + c.input + `}`),
			Policy:  policy.New(project()), Subject: ir.SubjectRef{Role: "dev"}, Root: "/p",
			Resolve: func(p string) (string, error) { return filepath.Clean(p), nil },
		})
		if a.Judgement == nil || a.Judgement.About() != c.want {
			t.Errorf("%s %s: got %+v, want %q", c.tool, c.input, a.Judgement, c.want)
		}
	}
}
