package model_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
	"modec.dev/modec/targets/gemini/model"
)

// settingsFile has what the model takes the engine to answer by settings: e2e/settings.test.mjs asks the engine.
const settingsFile = "../e2e/testdata/settings.json"

var settings = []string{
	`{"tools": {"allowed": ["run_shell_command(git status)", "read_file", "web_fetch(x)"]}}`,
	`{"tools": {"allowed": ["ShellTool(npm test)", "ShellTool(a-b.c*)"], "exclude": ["google_web_search", "ShellTool"]}}`,
	`{"tools": {"allowed": ["run_shell_command", "write_file"], "confirmationRequired": ["ShellTool", "read_file"]}}`,
	`{"tools": {"allowed": ["run_shell_command()"]}}`,
	`{"tools": {"core": ["read_file", "run_shell_command(git)", "mcp_docs_search"], "allowed": ["web_fetch"]}}`,
	`{"tools": {"core": []}}`,
	`{"tools": {"exclude": ["run_shell_command(rm)", "replace", "mcp_docs_get"]}}`,
	`{"mcp": {"excluded": ["docs"]}, "mcpServers": {"docs": {"command": "x", "trust": true}, "shop": {"command": "x", "trust": true}}}`,
	`{"mcp": {"excluded": ["*"]}, "tools": {"allowed": ["mcp_docs_*", "mcp_shop_search"]}}`,
	`{"tools": {"allowed": ["*"], "exclude": ["invoke_agent"]}}`,
}

// TestSettings: what settings decide is what the engine was asked about.
func TestSettings(t *testing.T) {
	type row struct {
		Settings json.RawMessage
		Calls    [][]any
	}
	var rows []row
	for _, text := range settings {
		list, diags := model.Open(memfs.FS{format.SettingsFile: []byte(text)},
			contract.NewOptions(nil, map[string]any{"subject": "role:r"}, nil), nil)
		if len(list) != 1 || len(diags) > 0 {
			t.Fatalf("%s: %d deciders, %v", text, len(list), diags)
		}
		r := row{Settings: json.RawMessage(text)}
		for _, a := range settingActions() {
			verdicts := model.Engine(list[0], ir.SubjectRef{Role: "r"}, a)
			for i, c := range model.Calls(a) {
				r.Calls = append(r.Calls, []any{c.Tool, c.Server, c.Args, verdicts[i]})
			}
		}
		rows = append(rows, r)
	}
	data, err := json.MarshalIndent(rows, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	data = append(data, '\n')
	if *update {
		if err := os.WriteFile(settingsFile, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, err := os.ReadFile(settingsFile); err != nil || !bytes.Equal(was, data) {
		t.Errorf("%s is not what the model says today (%v): go test ./targets/gemini/model -update, then make agents",
			settingsFile, err)
	}
}

func settingActions() (out []policy.Action) {
	for _, line := range []string{"git status", "git status -s", "git statusx", "git push", "npm test && git push", "npm test",
		"ls", "rm x", "echo a > b", "a-b.c* x", "axbxc x"} {
		out = append(out, policy.Action{Group: ir.Command, Arg: line})
	}
	for _, server := range []string{"docs", "shop"} {
		for _, tool := range []string{"search", "get"} {
			out = append(out, policy.Action{Group: ir.MCP, Server: server, Arg: tool})
		}
	}
	return append(out, policy.Action{Group: ir.Read, Arg: "a"}, policy.Action{Group: ir.Edit, Arg: "a"},
		policy.Action{Group: ir.Edit, Arg: "package.json"}, policy.Action{Group: ir.Web},
		policy.Action{Group: ir.Web, Arg: "example.org"}, policy.Action{Group: ir.Modes, Arg: "writer"},
		policy.Action{Group: ir.Unknown, Arg: "save_memory"}, policy.Action{Group: ir.Unknown, Arg: "glob"})
}
