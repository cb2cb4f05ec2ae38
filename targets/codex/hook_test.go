package codex_test

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

const shop = `{"servers": {"git-hub": {"command": "x", "tools": {"close": {}, "drop.all": {}, "list": {}}}, "own": {"command": "y"}},
"modes": {"doc-writer": {"name": "D", "roleDefinition": "x", "can": {"command": {"allow": ["make"], "default": "deny"}},
	"agents": {"codex": {"settings": {"name": "doc_writer", "file": "docs.toml"}}}}, "reader": {"name": "R", "roleDefinition": "x",
	"can": {"read": "allow", "command": {"allow": ["make"], "default": "ask"},
	"edit": {"ask": ["src/a.go"]}, "mcp": {"git-hub": {"ask": ["list"]}}}}},
"roles": {
	"dev": {"can": {
		"read": {"deny": ["secrets/"], "ask": ["finance/"], "default": "allow"},
		"edit": {"allow": ["src/**"], "deny": ["src/gen/"], "default": "ask"},
		"command": {"allow": ["make", "make *"], "deny": ["git push *"], "default": "ask"},
		"modes": {"allow": ["reader", "doc-writer"], "ask": ["code"], "default": "deny"},
		"mcp": {"git-hub": {"allow": ["list"], "ask": ["close"], "deny": ["drop.all"]},
			"own": {"allow": ["get-all"]}, "default": "ask"},
		"unknown": "ask"}},
	"open": {"can": {"modes": {"deny": ["reader", "doc-writer"], "default": "allow"}, "command": "ask"}},
	"editor": {"can": {"edit": {"ask": ["src/**"], "default": "deny"}, "command": "deny"}}}}`

// hooked asks the hook in /w, where /w/link leads to /etc.
func hooked(t *testing.T, p *ir.Project, ref ir.SubjectRef, payload string) contract.HookAnswer {
	t.Helper()
	for _, target := range targets.All() {
		if h, ok := target.(contract.Hooker); ok && h.Name() == "codex" {
			return h.Hook(contract.HookRequest{Payload: []byte(payload), Policy: policy.New(policy.HookView(p, "codex")), Subject: ref,
				Root: "/w", MayAllow: true, Resolve: func(path string) (string, error) {
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
	t.Fatal("nobody answers Codex's hook")
	return contract.HookAnswer{}
}

func TestHook(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File: []byte("hooks = \"enforce\"\ninventory = \"closed\"\n[targets.codex]\n"), "modec/a.json": []byte(shop)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	dev, editor, reader := ir.SubjectRef{Role: "dev"}, ir.SubjectRef{Role: "editor"}, ir.SubjectRef{Mode: "reader"}
	open := ir.SubjectRef{Role: "open"}
	hands := func(to string) string { return call("spawn_agent", map[string]any{"agent_type": to, "message": "x"}) }
	shell := func(line string) string { return call("Bash", map[string]any{"command": line}) }
	patch := func(lines ...string) string {
		return call("apply_patch", map[string]any{"command": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"})
	}
	image := func(path string) string { return call("view_image", map[string]any{"path": path}) }
	in := func(payload string, more ...string) string {
		return strings.TrimSuffix(payload, "}") + "," + strings.Join(more, ",") + "}"
	}
	const agent = `"agent_type":"reader"`
	headless := func(payload string) string { return strings.Replace(payload, `"default"}`, `"bypassPermissions"}`, 1) }
	for _, c := range []struct {
		name    string
		ref     ir.SubjectRef
		payload string
		before  string // PreToolUse
		asked   string // PermissionRequest
	}{
		{"an allowed command", dev, shell("make all"), "", "allow"},
		{"a command that is asked about", dev, shell("ls"), "", ""},
		{"a denied command", dev, shell("git push origin"), "deny", "deny"},
		{"a denied command in another form", dev, shell("sh -c 'git -C . push x'"), "deny", "deny"},
		{"an allowed command that writes", dev, shell("make > src/gen/a"), "deny", "deny"},
		{"an allowed command outside the project", dev, strings.Replace(shell("make"), `"/w"`, `"/etc"`, 1), "", ""},
		{"a folder that cannot be resolved", dev, strings.Replace(shell("make"), `"/w"`, `"/w/broken"`, 1), "deny", "deny"},
		{"a person's command", dev, shell("modec off"), "deny", "deny"},
		{"no command", dev, call("Bash", map[string]any{}), "deny", "deny"},
		{"a command that is no text", dev, call("Bash", map[string]any{"command": []string{"make"}}), "deny", "deny"},
		{"nobody is there", dev, headless(shell("ls")), "deny", ""},
		{"nobody is there, and it is allowed", dev, headless(shell("make")), "", "allow"},
		{"a session without commands", editor, shell("make"), "deny", "deny"},

		{"an allowed edit", dev, patch("*** Add File: src/a.go", "+x"), "", "allow"},
		{"an edit that is asked about", dev, patch("*** Update File: README.md", "@@", "-a", "+b"), "", ""},
		{"a denied edit", dev, patch("*** Delete File: src/gen/a.go"), "deny", "deny"},
		{"two files, of which one is asked about", dev, patch("*** Add File: src/a.go", "+x", "*** Add File: b", "+x"), "", ""},
		{"a file that is moved where it may not be", dev, patch("*** Update File: src/a.go", "*** Move to: src/gen/a.go"), "deny", "deny"},
		{"a link out of the project", dev, patch("*** Add File: link/a", "+x"), "deny", "deny"},
		{"a path that climbs", dev, patch("*** Add File: src/../src/gen/a", "+x"), "deny", "deny"},
		{"an indented header", dev, patch("  *** Add File: src/gen/a", "+x"), "deny", "deny"},
		{"a text like a header", dev, patch("*** Add File: src/a.go", "+*** Add File: src/gen/a"), "", "allow"},
		{"a header that nobody knows", dev, patch("*** Environment ID: x", "*** Add File: src/a.go"), "deny", "deny"},
		{"no file", dev, patch("+x"), "deny", "deny"},
		{"nobody is there for an edit", dev, headless(patch("*** Add File: b", "+x")), "deny", ""},
		{"an edit that the sandbox asks about", editor, patch("*** Add File: src/a.go", "+x"), "", ""},
		{"an edit that is closed", editor, patch("*** Add File: b", "+x"), "deny", "deny"},

		{"an image", dev, image("a.png"), "", "allow"},
		{"an image that is asked about is refused", dev, image("finance/a.png"), "deny", ""},
		{"a denied image", dev, image("secrets/a.png"), "deny", "deny"},
		{"an image without a path", dev, call("view_image", map[string]any{}), "deny", "deny"},

		{"an allowed tool", dev, call("mcp__git_hub__list", nil), "", "allow"},
		{"a tool that Codex asks about", dev, call("mcp__git_hub__close", nil), "", ""},
		{"a denied tool, as Codex writes it", dev, call("mcp__git_hub__drop_all", nil), "deny", "deny"},
		{"a tool that is not listed", dev, call("mcp__git_hub__new", nil), "", ""},
		{"a tool that only a rule names", dev, call("mcp__own__get_all", nil), "", "allow"},
		{"one that nothing names", dev, call("mcp__own__get_one", nil), "", ""},
		{"a server of somebody's own is not asked about", dev, call("mcp__mine__get", nil), "deny", ""},
		{"resources", dev, call("read_mcp_resource", map[string]any{"server": "git-hub", "uri": "x"}), "deny", ""},
		{"resources of all servers", dev, call("list_mcp_resources", nil), "deny", ""},

		{"an agent", dev, hands("reader"), "", "allow"},
		{"an agent whose name has signs that no slug has", dev, hands("doc_writer"), "", "allow"},
		{"a denied agent", open, hands("reader"), "deny", "deny"},
		{"a denied agent, with blanks that Codex takes away", open, hands(" reader\t"), "deny", "deny"},
		{"a denied agent by its name in Codex", open, hands("doc_writer"), "deny", "deny"},
		{"an agent of somebody's own", open, hands("my_own"), "", "allow"},
		{"an agent that is asked about is refused", dev, call("spawn_agent", map[string]any{"agent_type": "code"}), "deny", ""},
		{"an agent without a name", dev, call("spawn_agent", map[string]any{"message": "x"}), "deny", "deny"},
		{"a tool that touches nothing", dev, call("update_plan", nil), "", ""},
		{"an unknown tool is not asked about", dev, call("telepathy", nil), "deny", ""},

		{"a mode's agent edits what both may", dev, in(patch("*** Add File: src/a.go", "+x"), agent), "", ""},
		{"a mode's agent edits what it may not", dev, in(patch("*** Add File: src/b.go", "+x"), agent), "deny", "deny"},
		{"a mode's agent calls what the session may without a question", dev, in(call("mcp__git_hub__list", nil), agent), "deny", ""},
		{"a mode's agent runs what both may", dev, in(shell("make"), agent), "", "allow"},
		{"a mode's agent by its name in Codex", dev, in(shell("make all"), `"agent_type":"doc_writer"`), "deny", "deny"},
		{"the same runs what both may", dev, in(shell("make"), `"agent_type":"doc_writer"`), "", "allow"},
		{"an agent of somebody's own is the session", dev, in(shell("make all"), `"agent_type":"mine"`), "", "allow"},
		{"a session as a mode", reader, patch("*** Add File: src/b.go", "+x"), "deny", "deny"},

		{"another subject", ir.SubjectRef{Role: "nobody"}, shell("make"), "refused", "refused"},
		{"no object", dev, "[]", "refused", "refused"},
		{"a key twice", dev, in(shell("ls"), `"tool_name":"update_plan"`), "refused", "refused"},
	} {
		for event, want := range map[string]string{"PreToolUse": c.before, "PermissionRequest": c.asked} {
			a := hooked(t, res.Project, c.ref, strings.Replace(c.payload, "EVENT", event, 1))
			if got := said(t, a); got != want {
				t.Errorf("%s, %s: got %q (%s%s), want %q", c.name, event, got, a.Stdout, a.Stderr, want)
			}
		}
	}
	if a := hooked(t, res.Project, dev, strings.Replace(shell("make"), "EVENT", "PostToolUse", 1)); a.Exit != 2 || a.Stderr == "" {
		t.Errorf("another event: got %+v", a)
	}
}

// call returns a payload in /w.
func call(tool string, input map[string]any) string {
	data, err := json.Marshal(input)
	if err != nil {
		panic(err)
	}
	return `{"hook_event_name":"EVENT","cwd":"/w","tool_name":"` + tool + `","tool_input":` + string(data) + `,"permission_mode":"default"}`
}

// said reads an answer: what it says, "" for nothing, "refused" for exit code 2.
func said(t *testing.T, a contract.HookAnswer) string {
	t.Helper()
	if a.Exit != 0 {
		if a.Exit != 2 || a.Stderr == "" || len(a.Stdout) > 0 {
			t.Errorf("got %+v, want exit code 2 and a reason", a)
		}
		return "refused"
	}
	var answer struct {
		HookSpecificOutput struct {
			HookEventName, PermissionDecision, PermissionDecisionReason string
			Decision                                                    struct{ Behavior, Message string }
		}
	}
	if err := json.Unmarshal(a.Stdout, &answer); err != nil {
		t.Errorf("got %q: %v", a.Stdout, err)
	}
	o := answer.HookSpecificOutput
	if word := o.PermissionDecision + o.Decision.Behavior; word != "deny" || o.PermissionDecisionReason+o.Decision.Message != "" {
		return word
	}
	t.Errorf("got a denial without a reason: %s", a.Stdout)
	return ""
}
