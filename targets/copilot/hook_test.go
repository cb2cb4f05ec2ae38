package copilot_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
)

const shop = `{"servers": {"git-hub": {"command": "x", "tools": {"close": {}, "drop.all": {}, "list": {}}},
	"git": {"command": "y", "tools": {"hub-list": {}}}, "own": {"command": "z"}},
"modes": {"reader": {"name": "R", "roleDefinition": "x", "can": {"read": "allow", "command": {"allow": ["make"], "default": "ask"},
	"edit": {"ask": ["src/a.go"]}, "mcp": {"git-hub": {"ask": ["list"]}}}}},
"roles": {
	"dev": {"can": {
		"read": {"deny": ["secrets/"], "ask": ["finance/"], "default": "allow"},
		"edit": {"allow": ["src/**"], "deny": ["src/gen/"], "default": "ask"},
		"command": {"allow": ["make", "make *"], "deny": ["git push *"], "default": "ask"},
		"web": {"allow": ["docs.example.com"], "deny": ["*.evil.example"], "default": "ask"},
		"modes": {"allow": ["reader"], "ask": ["code"], "default": "deny"},
		"mcp": {"git-hub": {"allow": ["list"], "ask": ["close"], "deny": ["drop.all"]}, "git": "ask",
			"own": {"allow": ["get-all"], "default": "deny"}, "default": "ask"},
		"unknown": "ask"}},
	"every": {"can": {"read": "allow"}},
	"free": {"appendSystemPrompt": "x"}}}`

// hooked asks the hook in /w, where /w/link leads to /etc.
func hooked(t *testing.T, p *ir.Project, ref ir.SubjectRef, may bool, payload string) contract.HookAnswer {
	t.Helper()
	for _, target := range targets.All() {
		if h, ok := target.(contract.Hooker); ok && h.Name() == "copilot" {
			return h.Hook(contract.HookRequest{Payload: []byte(payload), Policy: policy.New(policy.HookView(p, "copilot")), Subject: ref,
				Root: "/w", MayAllow: may, Resolve: func(path string) (string, error) {
					if rest, ok := strings.CutPrefix(path, "/w/link"); ok {
						return "/etc" + rest, nil
					}
					if path == "/w/broken" {
						return "", os.ErrPermission
					}
					return filepath.Clean(path), nil
				}})
		}
	}
	t.Fatal("nobody answers Copilot's hook")
	return contract.HookAnswer{}
}

func TestHook(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File: []byte("hooks = \"enforce\"\ninventory = \"closed\"\n[targets.copilot]\n"), "modec/a.json": []byte(shop)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	dev, every, reader, free := ir.SubjectRef{Role: "dev"}, ir.SubjectRef{Role: "every"}, ir.SubjectRef{Mode: "reader"}, ir.SubjectRef{Role: "free"}
	shell := func(line string) string { return call("bash", map[string]any{"command": line}) }
	file := func(tool, path string) string { return call(tool, map[string]any{"path": path}) }
	patch := func(lines ...string) string {
		return call("apply_patch", map[string]any{"input": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"})
	}
	in := func(payload string, more ...string) string {
		return strings.TrimSuffix(payload, "}") + "," + strings.Join(more, ",") + "}"
	}
	const agent = `"agentType":"reader"`
	for _, c := range []struct {
		name    string
		ref     ir.SubjectRef
		payload string
		want    string
	}{
		{"an allowed command", dev, shell("make all"), "allow"},
		{"a command that is asked about", dev, shell("ls"), "ask"},
		{"a denied command", dev, shell("git push origin"), "deny"},
		{"a denied command in another form", dev, shell("sh -c 'git -C . push x'"), "deny"},
		{"an allowed command that writes", dev, shell("make > src/gen/a"), "deny"},
		{"an allowed command outside the project", dev, strings.Replace(shell("make"), `"/w"`, `"/etc"`, 1), "ask"},
		{"a folder that cannot be resolved", dev, strings.Replace(shell("make"), `"/w"`, `"/w/broken"`, 1), "deny"},
		{"a person's command", dev, shell("modec off"), "deny"},
		{"no command", dev, call("bash", map[string]any{}), "deny"},
		{"a command that is no text", dev, call("bash", map[string]any{"command": []string{"make"}}), "deny"},
		{"what is typed into a command", dev, call("write_bash", map[string]any{"shellId": "1", "input": "make"}), "deny"},
		{"a line of another shell", reader, call("powershell", map[string]any{"command": "make"}), "ask"},
		{"a command that is left", every, shell("git push"), ""},

		{"an allowed edit", dev, file("create", "/w/src/a.go"), "allow"},
		{"an edit that is asked about", dev, file("edit", "README.md"), "ask"},
		{"a denied edit", dev, file("edit", "/w/src/gen/a.go"), "deny"},
		{"a link out of the project", dev, file("create", "/w/link/a"), "deny"},
		{"a path that climbs", dev, file("create", "/w/src/../src/gen/a"), "deny"},
		{"no path", dev, call("create", map[string]any{}), "deny"},
		{"a patch", dev, patch("*** Add File: src/a.go", "+x"), "allow"},
		{"two files, of which one is asked about", dev, patch("*** Add File: src/a.go", "+x", "*** Add File: b", "+x"), "ask"},
		{"a file that is moved where it may not be", dev, patch("*** Update File: src/a.go", "*** Move to: src/gen/a.go"), "deny"},
		{"a header that nobody knows", dev, patch("*** Environment ID: x", "*** Add File: src/a.go"), "deny"},

		{"an allowed file", dev, file("view", "/w/a.go"), "allow"},
		{"a file that is asked about", dev, file("view", "/w/finance/a"), "ask"},
		{"a denied file", dev, file("view", "/w/secrets/a"), "deny"},
		{"a search that may find what may not be read", dev, call("grep", map[string]any{"pattern": "x"}), "ask"},
		{"a search in a folder that may not be read", dev, call("rg", map[string]any{"pattern": "x", "paths": []string{"src", "secrets"}}), "deny"},
		{"a search outside", dev, call("grep", map[string]any{"pattern": "x", "glob": "../../*"}), "ask"},
		{"names", dev, call("glob", map[string]any{"pattern": "**/*.go"}), "allow"},
		{"names outside", every, call("glob", map[string]any{"pattern": "/etc/*"}), "ask"},
		{"a search by whoever reads everything in the project", every, call("grep", map[string]any{"pattern": "x", "paths": "/w/src"}), "allow"},
		{"folders that are no texts", dev, call("grep", map[string]any{"paths": map[string]any{"a": 1}}), "deny"},

		{"an allowed host", dev, call("web_fetch", map[string]any{"url": "https://docs.example.com/x"}), "allow"},
		{"a denied host", dev, call("web_fetch", map[string]any{"url": "http://a.evil.example"}), "deny"},
		{"a host that is asked about", dev, call("web_fetch", map[string]any{"url": "https://x.example"}), "ask"},
		{"no host", dev, call("web_fetch", map[string]any{"url": "x y"}), "deny"},
		{"a search of the web", dev, call("web_search", map[string]any{"query": "x"}), "deny"},

		{"an allowed tool", dev, call("git-hub-list", nil), "ask"}, // or that of another server: the lower one
		{"a tool that is asked about", dev, call("git-hub-close", nil), "ask"},
		{"a denied tool, as Copilot writes it", dev, call("git-hub-drop-all", nil), "deny"},
		{"a tool that is not listed", dev, call("git-hub-new", nil), "ask"},
		{"a tool that only a rule names", dev, call("own-get-all", nil), "allow"},
		{"one that nothing names", dev, call("own-get-one", nil), "deny"},
		{"a server of somebody's own", dev, call("mine-get", nil), "ask"},

		{"a mode's agent", dev, call("task", map[string]any{"agent_type": "reader"}), "allow"},
		{"an agent that is asked about", dev, call("task", map[string]any{"agent_type": "code"}), "ask"},
		{"an agent of Copilot's own", dev, call("task", map[string]any{"agent_type": "general-purpose"}), "deny"},
		{"a skill", dev, call("skill", map[string]any{"skill": "pdf"}), "deny"},
		{"a tool that touches nothing", dev, call("update_todo", nil), ""},
		{"an unknown tool", dev, call("telepathy", nil), "ask"},
		{"an unknown tool of a mode", reader, call("telepathy", nil), "deny"},

		{"a mode's agent edits what both may", dev, in(file("create", "/w/src/a.go"), agent), "ask"},
		{"a mode's agent edits what it may not", dev, in(file("create", "/w/src/b.go"), agent), "deny"},
		{"a mode's agent runs what both may", dev, in(shell("make"), agent), "allow"},
		{"a mode's agent runs what it has to ask for", dev, in(shell("make all"), agent), "ask"},
		{"an agent of somebody's own is the session", dev, in(shell("make all"), `"agentType":"mine"`), "allow"},
		{"a mode's agent of who says nothing", free, in(file("create", "/w/src/b.go"), agent), "deny"},

		{"the other event", dev, `{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"bash","tool_input":{"command":"make"}}`, "allow"},
		{"another event", dev, `{"hook_event_name":"PostToolUse","cwd":"/w","tool_name":"bash","tool_input":{"command":"make"}}`, "refused"},
		{"both forms", dev, in(shell("make"), `"hook_event_name":"PreToolUse"`), "refused"},
		{"no tool", dev, `{"cwd":"/w"}`, "refused"},
		{"another subject", ir.SubjectRef{Role: "nobody"}, shell("make"), "refused"},
		{"no object", dev, "[]", "refused"},
		{"a key twice", dev, in(shell("ls"), `"toolName":"update_todo"`), "refused"},
		{"arguments as a text", dev, `{"cwd":"/w","toolName":"bash","toolArgs":"{}"}`, "refused"},
	} {
		for _, may := range []bool{true, false} {
			a := hooked(t, res.Project, c.ref, may, c.payload)
			want := c.want
			if want == "allow" && !may {
				want = ""
			}
			if got := said(t, a); got != want {
				t.Errorf("%s, with an allow %t: got %q (%s%s), want %q", c.name, may, got, a.Stdout, a.Stderr, want)
			}
		}
	}
}

// call returns a payload in /w.
func call(tool string, input map[string]any) string {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"` + tool + `","toolArgs":` + string(data) + `}`
}

// said reads an answer: what it says in the form of both events, "" for nothing, "refused" for exit code 2.
func said(t *testing.T, a contract.HookAnswer) string {
	t.Helper()
	if a.Exit != 0 {
		if a.Exit != 2 || a.Stderr == "" || len(a.Stdout) > 0 {
			t.Errorf("got %+v, want exit code 2 and a reason", a)
		}
		return "refused"
	}
	type decision struct{ PermissionDecision, PermissionDecisionReason string }
	var answer struct {
		decision
		HookSpecificOutput decision
	}
	if err := json.Unmarshal(a.Stdout, &answer); err != nil {
		t.Errorf("got %q: %v", a.Stdout, err)
	}
	if answer.decision != answer.HookSpecificOutput {
		t.Errorf("got %s, want the same for both events", a.Stdout)
	}
	if answer.PermissionDecision != "" && answer.PermissionDecisionReason == "" {
		t.Errorf("got no reason: %s", a.Stdout)
	}
	return answer.PermissionDecision
}
