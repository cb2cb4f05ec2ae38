package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/internal/shop"
)

// ask asks about one payload in the workspace /w. Links are kept as they are,
// but for /w/link, which leads to /etc.
func ask(p *ir.Project, payload string, mayAllow bool) contract.HookAnswer {
	return Answer(contract.HookRequest{Payload: []byte(payload), Policy: policy.New(p),
		Subject: ir.SubjectRef{Role: "dev"}, Root: "/w", MayAllow: mayAllow,
		Resolve: func(path string) (string, error) {
			if path == "/w/broken" {
				return "", os.ErrPermission
			}
			if rest, ok := strings.CutPrefix(path, "/w/link"); ok {
				return "/etc" + rest, nil
			}
			return filepath.Clean(path), nil
		}})
}

// permission reads an answer: what it says, "" for no opinion, "refused" for
// exit code 2.
func permission(t *testing.T, a contract.HookAnswer) (permission, message string) {
	t.Helper()
	if a.Exit != 0 {
		if a.Exit != 2 || a.Stderr == "" || len(a.Stdout) > 0 {
			t.Errorf("got %+v, want exit code 2 and a reason", a)
		}
		return "refused", a.Stderr
	}
	var got map[string]string
	if err := json.Unmarshal(a.Stdout, &got); err != nil {
		t.Errorf("got %q, want one JSON object: %v", a.Stdout, err)
	}
	for key := range got {
		if key != "permission" && key != "user_message" && key != "agent_message" {
			t.Errorf("got the field %q, which Cursor does not know", key)
		}
	}
	return got["permission"], got["user_message"]
}

func TestHook(t *testing.T) {
	const common = `"conversation_id":"c","generation_id":"g","model":"m","cursor_version":"3.20.17",` +
		`"workspace_roots":["/w"],"user_email":null,"transcript_path":null,`
	shell := func(command, cwd string) string {
		b, _ := json.Marshal(map[string]any{"command": command, "cwd": cwd})
		return `{` + common + `"hook_event_name":"beforeShellExecution","sandbox":false,` + string(b[1:])
	}
	mcpCall := func(tool, rest string) string {
		return `{` + common + `"hook_event_name":"beforeMCPExecution","tool_name":"` + tool + `","tool_input":"{}"` +
			rest + `}`
	}
	named := func(id, tool string) string {
		return mcpCall(tool, `,"mcp_server_name":"`+id+`"`)
	}
	read := func(path string) string {
		return `{` + common + `"hook_event_name":"beforeReadFile","content":"x","file_path":"` + path +
			`","attachments":[]}`
	}
	tool := func(name, input string) string {
		return `{` + common + `"hook_event_name":"preToolUse","tool_name":"` + name + `","tool_input":` + input +
			`,"tool_use_id":"u","cwd":"/w"}`
	}
	subagent := func(kind string) string {
		return `{` + common + `"hook_event_name":"subagentStart","subagent_type":"` + kind + `","task":"t"}`
	}
	for _, c := range []struct {
		name, payload, want string
	}{
		// beforeShellExecution can ask; "" leaves the decision to Cursor's lists.
		{"an allowed command", shell("git log -3", "/w"), ""},
		{"an allowed command without a folder", shell("git log -3", ""), ""},
		{"an unlisted command", shell("make", "/w"), "ask"},
		{"a denied command", shell("git push", "/w"), "deny"},
		{"a denied command behind an allowed one", shell("git log; git push", "/w"), "deny"},
		{"a denied command in another spelling", shell("/usr/bin/git -C sub push", "/w"), "deny"},
		{"an allowed command that writes", shell("git log > .cursor/hooks.json", "/w"), "deny"},
		{"an allowed command that writes elsewhere from a folder", shell("git log > x", "/w/.cursor"), "deny"},
		{"an allowed command outside the project", shell("git log -3", "/etc"), "ask"},
		{"a relative folder", shell("git log -3", "sub"), "deny"},
		{"no command", shell("", "/w"), "deny"},

		// beforeMCPExecution can ask.
		{"an allowed tool", named("github", "list_issues"), ""},
		{"an asked tool", named("github", "create_issue"), "ask"},
		{"a denied tool", named("github", "delete_repo"), "deny"},
		{"a tool with its prefix", named("github", "MCP:delete_repo"), "deny"},
		{"a name in another case", named(" GitHub", "list_issues"), ""},
		{"a user's server", named("user-github", "delete_repo"), "deny"},
		{"a project's server", named("project-0-web-github", "list_issues"), ""},
		{"a scoped server", named("user-admin::mcpScope:abc", "drop"), "deny"},
		{"two prefixes are one too many to allow", named("user-user-github", "list_issues"), "deny"},
		{"two prefixes still deny", named("user-user-github", "delete_repo"), "deny"},
		{"a server that is off", named("admin", "drop"), "deny"},
		{"a server of somebody's own", named("mine", "get"), "deny"},
		{"an own server that is one of the inventory",
			mcpCall("delete_repo", `,"mcp_server_name":"mine","command":"github-mcp stdio"`), "deny"},
		{"an own server that runs an allowed one",
			mcpCall("list_issues", `,"mcp_server_name":"mine","command":"github-mcp stdio"`), ""},
		{"a name that runs another program",
			mcpCall("list_issues", `,"mcp_server_name":"github","command":"npx evil"`), "deny"},
		{"a name that runs at an address",
			mcpCall("list_issues", `,"mcp_server_name":"github","url":"https://docs.example/mcp"`), "deny"},
		{"an address that is another", mcpCall("get", `,"mcp_server_name":"docs","url":"https://evil.example/mcp"`), "deny"},
		{"the name and what it runs",
			mcpCall("list_issues", `,"mcp_server_name":"user-github","command":"github-mcp stdio"`), ""},
		{"a longer name", named("my-github", "list_issues"), "deny"},
		{"no name, the command line", mcpCall("list_issues", `,"command":"github-mcp stdio"`), ""},
		{"no name, the program", mcpCall("create_issue", `,"command":"github-mcp"`), "ask"},
		{"no name, the address", mcpCall("get", `,"url":"https://docs.example/mcp"`), ""},
		{"no name, another address", mcpCall("get", `,"url":"https://docs.example/mcp/x"`), "deny"},
		{"no tool", mcpCall("", `,"mcp_server_name":"docs"`), "deny"},

		// Reading cannot ask.
		{"a readable file", read("/w/src/a.go"), ""},
		{"a secret", read("/w/secrets/key"), "deny"},
		{"a secret in another case", read("/w/Secrets/key"), "deny"},
		{"what is asked about is refused", read("/w/contracts/a.md"), "deny"},
		{"a file outside, asked for a role", read("/etc/passwd"), "deny"},
		{"a link that leads outside", read("/w/link/passwd"), "deny"},
		{"a path that cannot be resolved", read("/w/broken"), "deny"},
		{"a path with dots", read("/w/src/../secrets/key"), "deny"},
		{"an address for a path", read("file:///w/src/a.go"), "deny"},
		{"a file at home", read("~/.ssh/id"), "deny"},
		{"no path", read(""), "deny"},
		{"a file that Tab reads", strings.Replace(read("/w/secrets/key"), "beforeReadFile", "beforeTabFileRead", 1),
			"deny"},

		// preToolUse cannot ask; Shell and MCP tools have events that can.
		{"a write", tool("Write", `{"file_path":"/w/src/a.go","content":"x"}`), ""},
		{"a relative write", tool("Write", `{"file_path":"src/a.go"}`), ""},
		{"a write elsewhere", tool("Write", `{"file_path":"/w/README.md"}`), "deny"},
		{"a write of a guarded file", tool("Write", `{"file_path":"/w/.cursor/hooks.json"}`), "deny"},
		{"a write under two names", tool("Write", `{"file_path":"src/a.go","path":"README.md"}`), "deny"},
		{"a key in another case is another key", tool("Write", `{"file_path":"README.md","File_Path":"src/a.go"}`),
			"deny"},
		{"a path that is no text", tool("Write", `{"file_path":["src/a.go",7]}`), "deny"},
		{"a delete", tool("Delete", `{"file_path":"/w/README.md"}`), "deny"},
		{"a read", tool("Read", `{"file_path":"secrets/key"}`), "deny"},
		{"a search of the workspace", tool("Grep", `{"pattern":"x"}`), ""},
		{"a search of a secret folder", tool("Grep", `{"pattern":"x","file_path":"secrets"}`), "deny"},
		{"lints of several files", tool("ReadLints", `{"paths":["src/a.go","secrets/b.go"]}`), "deny"},
		{"a shell call", tool("Shell", `{"command":"git push"}`), ""},
		{"typing into a shell", tool("WriteShellStdin", `{"shell_id":1,"chars_length":3}`), "deny"},
		{"an MCP call that some server allows", tool("MCP:list_issues", `{}`), ""},
		{"an MCP call that no server allows", tool("MCP:delete_repo", `{}`), "deny"},
		{"a fetch", tool("Fetch", `{"url":"https://docs.example/a"}`), ""},
		{"a fetch that is asked about", tool("WebFetch", `{"url":"https://maybe.example/a"}`), "deny"},
		{"a fetch from elsewhere", tool("Fetch", `{"url":"https://docs.example@evil.example/a"}`), "deny"},
		{"a fetch that browsers read otherwise", tool("Fetch", `{"url":"https://docs.example\\@evil.example/a"}`),
			"deny"},
		{"a fetch of a file", tool("Fetch", `{"url":"file:///etc/passwd"}`), "deny"},
		{"a web search", tool("WebSearch", `{"query":"x"}`), "deny"},
		{"a task", tool("Task", `{"subagent_type":"explore"}`), ""},
		{"a task of another kind", tool("Task", `{"subagent_type":"shell"}`), "deny"},
		{"a task without a kind is decided when it starts", tool("Task", `{"prompt":"x"}`), ""},
		{"resources of a server", tool("FetchMcpResource", `{"server":"docs","uri":"x"}`), ""},
		{"resources that are saved",
			tool("FetchMcpResource", `{"server":"docs","uri":"x","download_path":"README.md"}`), "deny"},
		{"resources of every server", tool("ListMcpResources", `{}`), "deny"},
		{"an unknown tool, of which nothing is said", tool("Telepathy", `{}`), ""},
		{"an unknown tool that reads a secret", tool("Telepathy", `{"path":"secrets/key"}`), "deny"},
		{"an input that is no object", tool("Write", `"x"`), "deny"},

		{"a subagent", subagent("explore"), ""},
		{"another subagent", subagent("generalPurpose"), "deny"},
		{"a subagent without a kind", subagent(""), "deny"},

		{"an event that cannot refuse", `{"hook_event_name":"stop"}`, "refused"},
		{"no event", `{}`, "refused"},
		{"no object", `[]`, "refused"},
		{"nothing", ``, "refused"},
		{"half a payload", `{"hook_event_name":"beforeReadFile"`, "refused"},
		{"two payloads", `{"hook_event_name":"beforeReadFile","file_path":"/w/a"}{}`, "refused"},
		{"a field of another type", `{"hook_event_name":"beforeReadFile","file_path":7}`, "refused"},
		{"a byte order mark", "\ufeff" + read("/w/src/a.go"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, message := permission(t, ask(shop.Project(), c.payload, false))
			if got != c.want {
				t.Errorf("got %q (%s), want %q", got, message, c.want)
			}
			// Only a hook that did not travel with the repository allows, and it
			// differs in nothing else.
			switch got, _ := permission(t, ask(shop.Project(), c.payload, true)); {
			case got == "allow" && c.want != "":
				t.Errorf("got an allow, want %q", c.want)
			case got != "allow" && got != c.want:
				t.Errorf("got %q where it may allow, want %q", got, c.want)
			}
		})
	}
}

// What a subject leaves to Cursor the hook leaves to it, on every event: the empty object.
// What it says holds all the same, a written permissionMode included.
func TestSilence(t *testing.T) {
	quiet := shop.Role(ir.Can{}, shop.Server("docs", 10, "get"))
	one := shop.Role(ir.Can{Command: &ir.Table{Rules: []ir.Rule{shop.Rule(ir.Deny, "git push *", 1)}}},
		shop.Server("docs", 10, "get"))
	mapped := shop.Role(ir.Can{})
	mapped.Roles[0].PermissionMode = "dontAsk"
	edits := shop.Role(ir.Can{Edit: shop.Table(ir.Allow, shop.Rule(ir.Ask, ".envrc", 1), shop.Rule(ir.Deny, "modec.toml", 2))})
	const shell = `{"hook_event_name":"beforeShellExecution","cwd":"/w","command":`
	const tool = `{"hook_event_name":"preToolUse","workspace_roots":["/w"],"tool_name":`
	for _, c := range []struct {
		payload                   string
		quiet, one, mapped, edits string
	}{
		{shell + `"git log"}`, "", "", "deny", ""},
		{shell + `"git push"}`, "", "deny", "deny", ""},
		{shell + `"$X push"}`, "", "", "deny", ""},
		{shell + `"echo > modec.toml"}`, "", "", "deny", "deny"},
		{shell + `"echo > .envrc"}`, "", "", "deny", "ask"},
		{`{"hook_event_name":"beforeMCPExecution","tool_name":"get","tool_input":"{}","mcp_server_name":"docs"}`,
			"", "", "deny", ""},
		{`{"hook_event_name":"beforeMCPExecution","tool_name":"get","tool_input":"{}","mcp_server_name":"mine"}`,
			"", "", "deny", ""},
		{`{"hook_event_name":"beforeReadFile","file_path":"/etc/passwd"}`, "", "", "deny", ""},
		{`{"hook_event_name":"beforeReadFile","file_path":"file:///etc/passwd"}`, "", "", "deny", ""},
		{`{"hook_event_name":"beforeTabFileRead","file_path":""}`, "", "", "deny", ""},
		{`{"hook_event_name":"subagentStart"}`, "", "", "deny", ""},
		{tool + `"Write","tool_input":{"file_path":"/w/modec.toml"}}`, "", "", "deny", "deny"},
		{tool + `"Write","tool_input":{"file_path":"/w/.envrc"}}`, "", "", "deny", "deny"},
		{tool + `"Write","tool_input":{"file_path":7}}`, "", "", "deny", "deny"},
		{tool + `"Fetch","tool_input":{"url":"http://a@b"}}`, "", "", "deny", ""},
		{tool + `"WebSearch","tool_input":{}}`, "", "", "deny", ""},
		{tool + `"WriteShellStdin","tool_input":{}}`, "", "", "deny", ""},
		{tool + `"MCP:get","tool_input":{}}`, "", "", "deny", ""},
		{tool + `"ListMcpResources","tool_input":{}}`, "", "", "", ""},
		{tool + `"Telepathy","tool_input":{"path":"src/a.go"}}`, "", "", "deny", ""},
	} {
		for _, q := range []struct {
			name string
			p    *ir.Project
			want string
		}{
			{"quiet", quiet, c.quiet}, {"one deny", one, c.one}, {"dontAsk", mapped, c.mapped}, {"edits", edits, c.edits},
		} {
			if got, message := permission(t, ask(q.p, c.payload, false)); got != q.want {
				t.Errorf("%s: %s: got %q (%s), want %q", q.name, c.payload, got, message, q.want)
			}
			if got, _ := permission(t, ask(q.p, c.payload, true)); got == "allow" && q.name != "edits" {
				t.Errorf("%s: %s: got an allow of what is left", q.name, c.payload)
			}
		}
	}
}

// An unknown tool that can.unknown permits is still judged by what it touches.
func TestUnknownToolsAreJudgedByTheirArguments(t *testing.T) {
	p := shop.Project()
	p.Roles[0].Can.Unknown = &ir.Default{Decision: ir.Allow, Pos: shop.At(40)}
	for input, want := range map[string]string{
		`{}`:                                 "",
		`{"file_path":"src/a.go"}`:           "",
		`{"path":"README.md"}`:               "deny",
		`{"command":"git push"}`:             "deny",
		`{"url":"https://evil.example"}`:     "deny",
		`{"target_notebook":".cursor/x.nb"}`: "deny",
	} {
		payload := `{"hook_event_name":"preToolUse","workspace_roots":["/w"],"tool_name":"Telepathy","tool_input":` +
			input + `}`
		if got, message := permission(t, ask(p, payload, false)); got != want {
			t.Errorf("%s: got %q (%s), want %q", input, got, message, want)
		}
	}
}

// A search may show files that may not be read: no hook allows it where there are such files.
func TestSearchesAreNotAllowed(t *testing.T) {
	payload := `{"hook_event_name":"preToolUse","workspace_roots":["/w"],"tool_name":"Grep","tool_input":{"pattern":"x"}}`
	open := shop.Role(ir.Can{Read: shop.Table(ir.Allow)})
	if got, _ := permission(t, ask(open, payload, true)); got != "allow" {
		t.Errorf("where all may be read: got %q, want allow", got)
	}
	if got, _ := permission(t, ask(shop.Project(), payload, true)); got != "" {
		t.Errorf("where secrets may not be read: got %q, want no opinion", got)
	}
}

// Cursor replaces the variables of a command line and an address before it tells the hook.
func TestExpands(t *testing.T) {
	for _, c := range []struct {
		text, by string
		want     bool
	}{
		{"npx -y docs", "npx -y docs", true},
		{"npx -y docs", "", false},
		{"${env:X}", "", false},
		{"npx ${env:PKG} --root ${workspaceFolder}", "npx docs --root /w", true},
		{"npx ${env:PKG} --root ${workspaceFolder}", "npx docs --root", false},
		{"npx ${env:PKG} --root", "node docs --root", false},
		{"npx ${env:PKG} --root", "npx docs --rooted", false},
		{"https://${HOST}/mcp", "https://a.example/mcp", true},
		{"https://${HOST}/mcp", "http://a.example/mcp", false},
		{"a${X}a", "a", false},
	} {
		if got := expands(c.text, c.by); got != c.want {
			t.Errorf("%q by %q: got %v", c.text, c.by, got)
		}
	}
}

// An id that may mean two servers allows what neither alone would be sure of.
func TestAmbiguousServers(t *testing.T) {
	can := ir.Can{MCP: shop.MCP(ir.Deny, shop.Entry("hub", ir.Allow),
		shop.Entry("git-hub", ir.Allow, shop.Rule(ir.Deny, "b", 1)))}
	p := shop.Role(can, shop.Server("git-hub", 10, "a", "b"), shop.Server("hub", 20, "a", "b"))
	for id, want := range map[string][2]string{ // tools a and b
		"hub":                 {"", ""},
		"git-hub":             {"", "deny"},
		"user-hub":            {"", ""},
		"project-0-x-hub":     {"", ""},
		"project-0-x-git-hub": {"ask", "deny"},
	} {
		for i, tool := range []string{"a", "b"} {
			payload := `{"hook_event_name":"beforeMCPExecution","tool_name":"` + tool +
				`","tool_input":"{}","mcp_server_name":"` + id + `"}`
			if got, _ := permission(t, ask(p, payload, false)); got != want[i] {
				t.Errorf("%s %s: got %q, want %q", id, tool, got, want[i])
			}
		}
	}
}

// What a pattern of servers says holds for their names, and not for a prefix before them.
func TestServersOfOnesOwn(t *testing.T) {
	p := shop.Role(ir.Can{MCP: shop.MCP(ir.Deny, ir.MCPEntry{Key: "*-*", Default: &ir.Default{Decision: ir.Ask}})})
	for id, want := range map[string]string{
		"a-b": "ask", "user-a-b": "ask", "user-zz": "deny", "project-0-x-zz": "deny", "zz": "deny",
		"a-b::mcpScope:x": "ask", "zz::mcpScope:a-b": "deny",
	} {
		payload := `{"hook_event_name":"beforeMCPExecution","tool_name":"t","tool_input":"{}","mcp_server_name":"` + id + `"}`
		if got, _ := permission(t, ask(p, payload, false)); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

// A relative path starts at every workspace root; the lowest decision holds.
func TestSeveralRoots(t *testing.T) {
	for roots, want := range map[string]string{`["/w"]`: "", `["/w","/other"]`: "deny", `["/w/secrets"]`: "deny",
		`[]`: "", `["relative"]`: "deny"} {
		payload := `{"hook_event_name":"preToolUse","workspace_roots":` + roots +
			`,"tool_name":"Read","tool_input":{"file_path":"src/a.go"}}`
		if got, _ := permission(t, ask(shop.Project(), payload, false)); got != want {
			t.Errorf("%s: got %q, want %q", roots, got, want)
		}
	}
}

// Whatever the payload, the answer is one that Cursor understands, and it allows
// nothing to a subject that may do nothing.
func FuzzHook(f *testing.F) {
	for _, seed := range []string{
		`{"hook_event_name":"beforeShellExecution","command":"git log","cwd":"/w"}`,
		`{"hook_event_name":"beforeMCPExecution","tool_name":"x","tool_input":"{}",` +
			`"mcp_server_name":"user-docs::mcpScope:1"}`,
		`{"hook_event_name":"preToolUse","tool_name":"Write","tool_input":{"file_path":["a"]},` +
			`"workspace_roots":["/w"]}`,
		`{"hook_event_name":"preToolUse","tool_name":"Fetch","tool_input":{"url":"http://[::1%25eth0]:80"}}`,
		`{"hook_event_name":"beforeReadFile","file_path":"/w/\u0000"}`,
		`{"hook_event_name":"subagentStart","subagent_type":"*"}`,
		`{"hook_event_name":null}`, `null`, `"`, "\ufeff{}",
	} {
		f.Add(seed)
	}
	none := &ir.Default{Decision: ir.Deny, Pos: shop.At(1)}
	nobody := shop.Role(ir.Can{Default: none, Unknown: none, OutsideRead: none, OutsideEdit: none},
		shop.Server("docs", 10, "x"))
	f.Fuzz(func(t *testing.T, payload string) {
		permission(t, ask(shop.Project(), payload, true))
		if got, _ := permission(t, ask(nobody, payload, true)); got == "allow" || got == "ask" {
			t.Errorf("got %q for a subject that may do nothing", got)
		}
	})
}

func BenchmarkHook(b *testing.B) {
	p := policy.New(shop.Project())
	req := contract.HookRequest{
		Payload: []byte(`{"hook_event_name":"beforeShellExecution","command":"git log -3","cwd":"/w"}`),
		Policy:  p, Subject: ir.SubjectRef{Role: "dev"}, Root: "/w",
		Resolve: func(path string) (string, error) { return path, nil },
	}
	for b.Loop() {
		if Answer(req).Exit != 0 {
			b.Fatal("refused")
		}
	}
}

// What a call is about is on record as a rule would name it, and nothing where no rule could.
func TestAbout(t *testing.T) {
	for payload, want := range map[string]string{
		`{"hook_event_name":"beforeShellExecution","command":"make test","cwd":"/w"}`:         "make test",
		`{"hook_event_name":"beforeReadFile","file_path":"/w/src/a.go"}`:                      "src/a.go",
		`{"hook_event_name":"beforeReadFile","file_path":"/w/link/a"}`:                        "",
		`{"hook_event_name":"beforeReadFile","file_path":"/etc/passwd"}`:                      "",
		`{"hook_event_name":"beforeMCPExecution","tool_name":"MCP:get_page","command":"x"}`:   "get_page",
		`{"hook_event_name":"subagentStart","subagent_type":"explore"}`:                       "explore",
		`{"hook_event_name":"preToolUse","tool_name":"Edit","tool_input":{"file_path":"/w"}}`: "",
	} {
		a := ask(shop.Project(), payload, false)
		if a.Judgement == nil || a.Judgement.About() != want {
			t.Errorf("%s: got %+v, want %q", payload, a, want)
		}
	}
}

// The arguments of a call decide, in the text of beforeMCPExecution and in the object of preToolUse.
func TestArguments(t *testing.T) {
	rule := func(d ir.Decision, tool string) ir.Rule {
		return ir.Rule{Decision: d, Pattern: ir.Pattern{Text: tool, Args: `{"repo":"acme/*"}`}}
	}
	e := ir.MCPEntry{Key: "hub", Literal: true, Default: &ir.Default{Decision: ir.Deny},
		Rules: []ir.Rule{rule(ir.Allow, "get"), rule(ir.Ask, "put")}}
	p := &ir.Project{ClosedInventory: true, Servers: []ir.Server{{Name: "hub", DefaultEnabled: true, Tools: []ir.Tool{{Name: "get"}, {Name: "put"}}}},
		Roles: []ir.Role{{Name: "dev", Can: ir.Can{MCP: &ir.MCPTable{Default: &ir.Default{}, Entries: []ir.MCPEntry{e}}}}}}
	for _, c := range []struct{ event, tool, input, want string }{
		{"beforeMCPExecution", "get", `"{\"repo\":\"acme/x\"}"`, "allow"},
		{"beforeMCPExecution", "get", `"{\"repo\":\"other/x\"}"`, "deny"},
		{"beforeMCPExecution", "put", `"{\"repo\":\"acme/x\"}"`, "ask"},
		{"beforeMCPExecution", "put", `"{\"repo\":\"other/x\"}"`, "deny"},
		{"beforeMCPExecution", "get", `"*"`, "deny"},
		{"beforeMCPExecution", "get", `null`, "ask"},
		{"preToolUse", "MCP:get", `{"repo":"acme/x"}`, ""},
		{"preToolUse", "MCP:get", `{"repo":"other/x"}`, "deny"},
	} {
		payload := `{"hook_event_name":"` + c.event + `","workspace_roots":["/w"],"mcp_server_name":"hub","tool_name":"` + c.tool +
			`","tool_input":` + c.input + `}`
		if got, why := permission(t, ask(p, payload, true)); got != c.want {
			t.Errorf("%s %s %s: got %q (%s), want %q", c.event, c.tool, c.input, got, why, c.want)
		}
	}
}
