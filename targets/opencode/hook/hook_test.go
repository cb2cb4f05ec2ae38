package hook_test

import (
	"encoding/json"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/opencode/hook"
)

const source = `{"servers": {"sh.op": {"command": "s", "tools": {"get.all": {}, "drop": {}}}},
	"modes": {"writer": {"name": "W", "roleDefinition": "w", "can": {"read": "allow", "edit": {"allow": ["docs/**"]}}}},
	"roles": {"dev": {"can": {"default": "allow", "read": {"default": "allow", "deny": ["secrets/**"]},
		"edit": {"default": "allow", "deny": ["docs/legal/**"]}, "command": {"default": "allow", "deny": ["rm *"]},
		"web": {"default": "allow", "deny": ["evil.example"]}, "mcp": {"sh.op": {"default": "allow", "deny": ["drop"]}},
		"modes": {"default": "allow", "deny": ["writer"]}, "unknown": "deny", "outside": "deny"}}}}`

func TestAnswer(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		"modec.toml": []byte("[targets.opencode]\n"), "modec/a.json": []byte(source)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	disk := contract.ModelDisk("/w")
	disk.Home = "/home/p"
	type args = map[string]any
	for _, c := range []struct {
		name, agent, tool string
		args              args
		denied            bool
	}{
		{name: "a command", tool: "bash", args: args{"command": "make"}},
		{name: "a denied one", tool: "bash", args: args{"command": `r\m x`}, denied: true},
		{name: "none", tool: "bash", denied: true},
		{name: "no text", tool: "bash", args: args{"command": []any{"make"}}, denied: true},
		{name: "in another folder", tool: "bash", args: args{"command": "echo x > a", "workdir": "docs/legal"}, denied: true},
		{name: "modec's own switch", tool: "bash", args: args{"command": "modec off --reason x"}, denied: true},
		{name: "a file", tool: "read", args: args{"filePath": "/w/a"}},
		{name: "a denied one", tool: "read", args: args{"filePath": "/w/secrets/a"}, denied: true},
		{name: "outside", tool: "read", args: args{"filePath": "/srv/x"}, denied: true},
		{name: "output that opencode kept", tool: "read", args: args{"filePath": "/home/p/.local/share/opencode/tool-output/x"}},
		{name: "beside it", tool: "read", args: args{"filePath": "/home/p/.local/share/opencode/tool-output/../auth.json"}, denied: true},
		{name: "symbols of a file", tool: "lsp", args: args{"filePath": "/w/secrets/a"}, denied: true},
		{name: "a search", tool: "grep", args: args{"pattern": "x"}},
		{name: "below a folder", tool: "grep", args: args{"pattern": "x", "path": "secrets"}, denied: true},
		{name: "of files there", tool: "grep", args: args{"pattern": "x", "include": "secrets/*"}, denied: true},
		{name: "names", tool: "glob", args: args{"pattern": "**/*.go"}},
		{name: "names there", tool: "glob", args: args{"pattern": "secrets/*", "path": "src/.."}, denied: true},
		{name: "an edit", tool: "edit", args: args{"filePath": "src/a"}},
		{name: "a denied one", tool: "write", args: args{"filePath": "docs/legal/a"}, denied: true},
		{name: "of a mode", agent: "writer", tool: "write", args: args{"filePath": "src/a"}, denied: true},
		{name: "of a mode, permitted", agent: "writer", tool: "write", args: args{"filePath": "docs/a"}},
		{name: "a patch", tool: "apply_patch", args: args{
			"patchText": "*** Begin Patch\n*** Update File: a.md\n@@\n *** note ***\n-x\n+y\n*** End Patch"}},
		{name: "that moves a file", tool: "apply_patch", args: args{
			"patchText": "*** Begin Patch\n*** Update File: a\n*** Move to: docs/legal/a\n*** End Patch"}, denied: true},
		{name: "that is none", tool: "apply_patch", denied: true},
		{name: "a page", tool: "webfetch", args: args{"url": "https://a.example/x"}},
		{name: "a denied one", tool: "webfetch", args: args{"url": "https://evil.example/x"}, denied: true},
		{name: "an agent", tool: "task", args: args{"subagent_type": "general", "prompt": "write to a@secrets/key"}},
		{name: "a denied one", tool: "task", args: args{"subagent_type": "writer"}, denied: true},
		{name: "a file in what it is told", tool: "task", args: args{"subagent_type": "general",
			"prompt": "look at @secrets/key."}, denied: true},
		{name: "what no file is called", tool: "task", args: args{"subagent_type": "general",
			"prompt": "decode @" + strings.Repeat("QUJD", 100)}},
		{name: "a process", tool: "background_process", args: args{"action": "start", "command": "make"}},
		{name: "a denied one", tool: "background_process", args: args{"action": "monitor", "command": "r'm' x"}, denied: true},
		{name: "what it said", tool: "background_process", args: args{"action": "logs", "id": "x"}},
		{name: "started anew", tool: "background_process", args: args{"action": "restart", "id": "x"}, denied: true},
		{name: "a search by meaning", tool: "semantic_search", args: args{"query": "x", "path": "secrets"}, denied: true},
		{name: "a notebook", tool: "notebook_read", args: args{"path": "secrets/a.ipynb"}, denied: true},
		{name: "that is edited", tool: "notebook_edit", args: args{"path": "docs/legal/a.ipynb", "action": "create"}, denied: true},
		{name: "a tool", tool: "sh_op_get_all"},
		{name: "a denied one", tool: "sh_op_drop", denied: true},
		{name: "of nobody", tool: "other", denied: true},
		{name: "that touches nothing", tool: "todowrite"},
	} {
		t.Run(c.tool+" "+c.name, func(t *testing.T) {
			if c.agent == "" {
				c.agent = "build"
			}
			req := contract.HookRequest{Payload: hook.Payload("/w", c.tool, c.agent, c.args),
				Policy: policy.New(policy.HookView(res.Project, "opencode")), Subject: ir.SubjectRef{Role: "dev"}}
			a := hook.Answer("opencode", req.At(disk))
			var said struct{ Decision, Reason string }
			if a.Exit != 0 || json.Unmarshal(a.Stdout, &said) != nil {
				t.Fatalf("exit %d: %s%s", a.Exit, a.Stdout, a.Stderr)
			}
			if denied := said.Decision == "deny"; denied != c.denied || denied != (said.Reason != "") {
				t.Errorf("got %q (%s), want denied: %v", said.Decision, said.Reason, c.denied)
			}
		})
	}
	for _, payload := range []string{"", "[]", "{}", `{"tool": "read"}`, `{"tool": 1, "agent": "x"}`} {
		req := contract.HookRequest{Payload: []byte(payload), Policy: policy.New(res.Project), Subject: ir.SubjectRef{Role: "dev"}}
		if a := hook.Answer("opencode", req.At(disk)); a.Exit != 2 || a.Stderr == "" {
			t.Errorf("%s: got exit %d, want a refusal", payload, a.Exit)
		}
	}
}
