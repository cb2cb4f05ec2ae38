package hook_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/gemini/hook"
)

const source = `{"servers": {"sh_op": {"command": "s", "tools": {"get_all": {}, "close": {}, "drop": {}}}},
	"modes": {"writer": {"name": "W", "roleDefinition": "w", "can": {"read": "allow"},
		"agents": {"gemini": {"settings": {"name": "the_writer"}}}}},
	"roles": {"dev": {"can": {"default": "allow",
		"read": {"default": "allow", "deny": ["secrets/**"], "ask": ["finance/**"]},
		"edit": {"default": "allow", "deny": ["docs/legal/**"], "ask": ["ci/**"]},
		"command": {"default": "allow", "deny": ["rm *"], "ask": ["git push *"]},
		"web": {"default": "allow", "deny": ["evil.example"], "ask": ["*.test"]},
		"mcp": {"sh_op": {"default": "allow", "ask": ["close"], "deny": ["drop"]}},
		"modes": {"default": "allow", "deny": ["writer"], "ask": ["ask"]}, "unknown": "deny", "outside": "deny"}},
	"careful": {"can": {"read": "ask", "unknown": "ask", "mcp": "deny"}}}}`

func TestAnswer(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		"modec.toml": []byte("[targets.gemini]\n"), "modec/a.json": []byte(source)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	disk := contract.ModelDisk("/w")
	disk.Home = "/home/p"
	disk.Resolve = func(path string) (string, error) { // link leads to docs/legal, books to finance, out to /srv
		for link, to := range map[string]string{"/w/link": "/w/docs/legal", "/w/books": "/w/finance", "/w/out": "/srv"} {
			if rest, ok := strings.CutPrefix(path, link); ok {
				return to + rest, nil
			}
		}
		return filepath.Clean(path), nil
	}
	disk.Same = func(a, b string) bool { return a == b && !strings.Contains(a, "missing") }
	type args = map[string]any
	file := func(path string) args { return args{"file_path": path} }
	line := func(text string) args { return args{"command": text} }
	page := func(prompt string) args { return args{"prompt": prompt} }
	for _, c := range []struct {
		name, role, tool, server string
		args                     args
		denied                   bool
	}{
		{name: "a command", tool: "run_shell_command", args: line("make")},
		{name: "a denied one", tool: "run_shell_command", args: line(`r\m x`), denied: true},
		{name: "one that the policy asks about", tool: "run_shell_command", args: line("git push origin")},
		{name: "none", tool: "run_shell_command", denied: true},
		{name: "no text", tool: "run_shell_command", args: args{"command": []any{"make"}}, denied: true},
		{name: "a redirect", tool: "run_shell_command", args: line("echo x > docs/legal/a"), denied: true},
		{name: "a redirect through a link", tool: "run_shell_command", args: line("echo x > link/a"), denied: true},
		{name: "in another folder", tool: "run_shell_command", args: args{"command": "echo x > a", "dir_path": "docs/legal"}, denied: true},
		{name: "in a folder outside", tool: "run_shell_command", args: args{"command": "echo x > a", "dir_path": "/srv"}, denied: true},
		{name: "in one that is asked about", tool: "run_shell_command", args: args{"command": "echo x > a", "dir_path": "ci"}, denied: true},
		{name: "modec's own switch", tool: "run_shell_command", args: line("modec off --reason x"), denied: true},

		{name: "a file", tool: "read_file", args: file("a")},
		{name: "an absolute one", tool: "read_file", args: file("/w/a")},
		{name: "a denied one", tool: "read_file", args: file("/w/secrets/a"), denied: true},
		{name: "a denied one by another path", tool: "read_file", args: file("a/../secrets/a"), denied: true},
		{name: "a denied one with a sign", tool: "read_file", args: file("@secrets/a"), denied: true},
		{name: "a denied one with a sign and slashes", tool: "read_file", args: file("@//secrets/a"), denied: true},
		{name: "a denied one with a NUL", tool: "read_file", args: file("sec\x00rets/a"), denied: true},
		{name: "one that the policy asks about", tool: "read_file", args: file("finance/a")},
		{name: "one that it does not know for that", tool: "read_file", args: file("books/a"), denied: true},
		{name: "one that it does not know for that, with a sign", tool: "read_file", args: file("@finance/a"), denied: true},
		{name: "outside", tool: "read_file", args: file("/srv/x"), denied: true},
		{name: "outside through a link", tool: "read_file", args: file("out/x"), denied: true},
		{name: "none", tool: "read_file", denied: true},

		{name: "an edit", tool: "replace", args: file("src/a")},
		{name: "a denied one", tool: "write_file", args: file("docs/legal/a"), denied: true},
		{name: "a link", tool: "write_file", args: file("link/a"), denied: true},
		{name: "one that the policy asks about", tool: "write_file", args: file("ci/a")},
		{name: "a new file", tool: "write_file", args: file("missing")},
		{name: "another file of that name", tool: "replace", args: file("missing"), denied: true},
		{name: "a file by its whole path", tool: "replace", args: file("/w/missing")},
		{name: "who may edit everything", role: "careful", tool: "replace", args: file("missing")},

		{name: "a search", tool: "grep_search", args: args{"pattern": "secrets/"}},
		{name: "below a folder", tool: "grep_search", args: args{"pattern": "x", "dir_path": "secrets"}, denied: true},
		{name: "by the former name", tool: "search_file_content", args: args{"pattern": "x", "dir_path": "secrets"}, denied: true},
		{name: "of files there", tool: "grep_search", args: args{"pattern": "x", "include_pattern": "secrets/*"}, denied: true},
		{name: "of one of two folders", tool: "grep_search", args: args{"pattern": "x", "include_pattern": "{src,secrets}/a"}, denied: true},
		{name: "in a folder that is asked about", tool: "grep_search", args: args{"pattern": "x", "dir_path": "finance"}, denied: true},
		{name: "who is asked about all", role: "careful", tool: "grep_search", args: args{"pattern": "x"}},
		{name: "names", tool: "glob", args: args{"pattern": "**/*.go"}},
		{name: "names there", tool: "glob", args: args{"pattern": "secrets/a*"}, denied: true},
		{name: "names outside", tool: "glob", args: args{"pattern": "../*"}, denied: true},
		{name: "a folder", tool: "list_directory", args: args{"dir_path": "secrets"}, denied: true},
		{name: "files", tool: "read_many_files", args: args{"include": []any{"a", "secrets/a"}}, denied: true},

		{name: "a page", tool: "web_fetch", args: page("read https://a.example/x now")},
		{name: "a denied one", tool: "web_fetch", args: page("read https://a.example/x https://evil.example/x"), denied: true},
		{name: "a denied host", tool: "web_fetch", args: page("read https://a.example/x and evil.example"), denied: true},
		{name: "two in one word", tool: "web_fetch", args: page("https://a.example/,https://evil.example"), denied: true},
		{name: "one that the policy asks about", tool: "web_fetch", args: page("https://a.test")},
		{name: "by its address", tool: "web_fetch", args: args{"url": "https://evil.example/"}, denied: true},
		{name: "of another scheme", tool: "web_fetch", args: args{"url": "https:a.example"}, denied: true},
		{name: "none", tool: "web_fetch", args: page("read it"), denied: true},
		{name: "a search of the web", role: "careful", tool: "google_web_search", args: args{"query": "x"}},
		{name: "one by who may not reach every host", tool: "google_web_search", args: args{"query": "x"}, denied: true},

		{name: "an agent", tool: "invoke_agent", args: args{"agent_name": "generalist"}},
		{name: "a denied one by its own name", tool: "invoke_agent", args: args{"agent_name": "the_writer"}, denied: true},
		{name: "one that the policy asks about", tool: "invoke_agent", args: args{"agent_name": "ask"}},
		{name: "a skill", tool: "activate_skill", args: args{"name": "pdf"}},

		{name: "a tool", tool: "mcp_sh_op_get_all", server: "sh_op"},
		{name: "one that the policy asks about", tool: "mcp_sh_op_close", server: "sh_op"},
		{name: "a denied one", tool: "mcp_sh_op_drop", server: "sh_op", denied: true},
		{name: "of nobody knows which server", tool: "mcp_sh_op_get_all", denied: true},
		{name: "a resource", tool: "read_mcp_resource", args: args{"uri": "x"}},
		{name: "a resource of any server", role: "careful", tool: "read_mcp_resource", args: args{"uri": "x"}, denied: true},
		{name: "of nobody", tool: "other", denied: true},
		{name: "of nobody, asked about", role: "careful", tool: "other"},
		{name: "that touches nothing", tool: "write_todos"},
	} {
		t.Run(c.tool+" "+c.name, func(t *testing.T) {
			if c.role == "" {
				c.role = "dev"
			}
			req := contract.HookRequest{Payload: hook.Payload("/w", c.tool, c.server, c.args),
				Policy: policy.New(policy.HookView(res.Project, "gemini")), Subject: ir.SubjectRef{Role: c.role}}
			a := hook.Answer(req.At(disk))
			var said struct{ Decision, Reason string }
			if a.Exit != 0 || json.Unmarshal(a.Stdout, &said) != nil {
				t.Fatalf("exit %d: %s%s", a.Exit, a.Stdout, a.Stderr)
			}
			if denied := said.Decision == "deny"; denied != c.denied || denied != (said.Reason != "") {
				t.Errorf("got %q (%s), want denied: %v", said.Decision, said.Reason, c.denied)
			}
		})
	}
	const call = `"hook_event_name": "BeforeTool", "tool_name": "read_file"`
	for _, payload := range []string{"", "[]", "{}", `{"tool_name": "read_file"}`, `{"hook_event_name": "BeforeTool"}`,
		`{"hook_event_name": "AfterTool", "tool_name": "read_file"}`, `{` + call + `, "tool_name": "glob"}`,
		`{` + call + `, "Tool_Name": "glob"}`, `{` + call + `, "tool_input": {"file_path": "a", "file_path": "b"}}`,
		`{` + call + `, "tool_input": "a"}`} {
		req := contract.HookRequest{Payload: []byte(payload), Policy: policy.New(res.Project), Subject: ir.SubjectRef{Role: "dev"}}
		if a := hook.Answer(req.At(disk)); a.Exit != 2 || a.Stderr == "" {
			t.Errorf("%s: got exit %d, want a refusal", payload, a.Exit)
		}
	}
}
