package model_test

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/internal/replay"
)

const source = `{"servers": {"github": {"command": "g", "tools": {"list": {}, "drop": {}}},
	"docs": {"command": "d", "tools": {"get": {}, "put": {}}}},
"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"read": {"allow": ["docs/**"]}, "edit": {"allow": ["docs/**"]},
	"mcp": {"github": {"allow": ["list"]}, "docs": {"ask": ["get"]}}}}},
"roles": {"r": {"can": {"command": {"allow": ["make"], "default": "deny"},
	"mcp": {"docs": {"ask": ["get"], "default": "deny"}, "default": "deny"}}}}}`

// TestEdited: what becomes of files that somebody edited. The wider reading counts.
func TestEdited(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File: []byte("hooks = \"enforce\"\ninventory = \"closed\"\n[targets.copilot]\n"), "modec/a.json": []byte(source)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	target := replay.Target(t, targets.All(), "copilot")
	const session, agent = "session:copilot/r.json", ".github/agents/m.agent.md"
	command := func(line string) policy.Action { return policy.Action{Group: ir.Command, Arg: line} }
	edit := policy.Action{Group: ir.Edit, Arg: "src/a"}
	tool := func(server, name string) policy.Action {
		return policy.Action{Group: ir.MCP, Server: server, Arg: name}
	}
	for _, c := range []struct {
		name     string
		file     string
		old, new string
		of       policy.Action
		want     ir.Decision
		warns    string
	}{
		{name: "as it was written", file: session, of: command("make"), want: ir.Allow},
		{name: "as it was written", file: session, of: command("ls"), want: ir.Deny},
		{name: "no hook", file: session, old: "preToolUse", new: "postToolUse",
			of: command("ls"), want: ir.Agent}, // nothing restricts it
		{name: "a hook that goes on", file: session, old: "exit 2", new: "exit 1",
			of: command("ls"), want: ir.Allow, warns: "goes on"},
		{name: "a hook of another agent", file: session, old: "hook copilot", new: "hook claude",
			of: command("make"), want: ir.Deny, warns: "refuses"},
		{name: "a hook that is late", file: session, old: `"timeoutSec": 30`, new: `"timeoutSec": 2`,
			of: command("ls"), want: ir.Ask, warns: "time"},
		{name: "a hook about some tools", file: session, old: `"type"`, new: `"matcher": "view", "type"`,
			of: command("ls"), want: ir.Ask, warns: "some tools"},
		{name: "a hook of no shell", file: session, old: `"bash"`, new: `"exec"`,
			of: command("ls"), want: ir.Allow, warns: "not known"},
		{name: "a hook of nobody", file: session, old: "--subject ", new: "--subject role:nobody --subject=x",
			of: command("make"), want: ir.Deny, warns: "refuses every call"},
		{name: "an option that a build does not write", file: session, old: "--disable-builtin-mcps", new: "--yolo",
			of: command("ls"), want: ir.Agent, warns: "--yolo"},
		{name: "a tool of a server", file: session, of: tool("docs", "get"), want: ir.Ask},
		{name: "a tool that is taken out", file: session, old: `"get"`, new: `"other"`,
			of: tool("docs", "get"), want: ir.Deny},
		{name: "a tool that is put in", file: session, old: `"get"`, new: `"put"`,
			of: tool("docs", "put"), want: ir.Deny}, // by the hook

		{name: "an agent", file: agent, of: edit, want: ir.Deny},
		{name: "an agent's allowed edit is asked about", file: agent,
			of: policy.Action{Group: ir.Edit, Arg: "docs/a"}, want: ir.Ask},
		{name: "an agent without commands", file: agent, of: command("make"), want: ir.Deny},
		{name: "an agent without a hook", file: agent, old: "hooks:", new: "other:", of: edit, want: ir.Ask},
		{name: "an agent with every tool", file: agent, old: "tools:", new: "other:",
			of: command("make"), want: ir.Deny}, // by the hook
		{name: "an agent with a list in one text", file: agent, old: "tools:\n  - \"read\"\n  - \"search\"\n  - \"edit\"",
			new: "tools: \"read, edit\"\nother:\n  - \"x\"",
			of:  tool("github", "list"), want: ir.Deny},
		{name: "an agent without a description", file: agent, old: "description:", new: "other:",
			of: edit, want: ir.Agent, warns: "does not have this agent"},
		{name: "a server of Copilot's own has this name", file: agent, old: "github-list", new: "github/list",
			of: tool("github", "list"), want: ir.Deny},
		{name: "a tool of the server in the list", file: agent, of: tool("github", "list"), want: ir.Allow},

		{name: "hooks are off", file: ".github/copilot/settings.json", new: `{"disableAllHooks": true}`,
			of: edit, want: ir.Ask},
		{name: "hooks are off by another agent's settings", file: ".claude/settings.local.json", new: `{"disableAllHooks": true}`,
			of: edit, want: ir.Ask},
		{name: "hooks are on", file: ".github/copilot/settings.json", new: `{"disableAllHooks": false}`,
			of: edit, want: ir.Deny},
	} {
		files := memfs.FS{contract.PolicyFile: res.PolicyJSON()}
		for name, data := range replay.Artifacts(res.Outputs, "session:", ".github/") {
			files[name] = data
		}
		if text := string(files[c.file]); c.old != "" && !strings.Contains(text, c.old) {
			t.Fatalf("%s: got no %q in %s", c.name, c.old, text)
		} else if c.old != "" || c.new != "" {
			files[c.file] = []byte(strings.Replace(text, c.old, c.new, 1))
		}
		list, diags := target.Open(files, res.Input(target).Options)
		ref, surface := ir.SubjectRef{Role: "r"}, "session"
		if c.file != session {
			ref, surface = ir.SubjectRef{Mode: "m"}, "agent"
		}
		got := ir.Agent
		if d := contract.OnSurface(list, surface); d != nil && d.(contract.Container).Contains(ref) {
			got = d.Decide(ref, c.of).Decision
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
		if (c.warns != "") != (len(diags) > 0) || c.warns != "" && !strings.Contains(diags.Error(), c.warns) {
			t.Errorf("%s: got %v, want %q", c.name, diags, c.warns)
		}
	}
}
