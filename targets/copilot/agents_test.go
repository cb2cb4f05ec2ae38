package copilot_test

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

// TestOddNames holds that an agent keeps the name and the folder of its file, which a slug cannot say: Copilot knows it by
// these.
func TestOddNames(t *testing.T) {
	compile := func(file string) (*compiler.Result, string) {
		res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
			config.File: []byte("hooks = \"enforce\"\ninventory = \"closed\"\n[targets.copilot]\n"),
			"modec/a.json": []byte(`{"roles": {"dev": {"can": {"read": "allow", "command": {"allow": ["make"], "default": "ask"}}}},
"modes": {"team-My-Agent": {"name": "M", "roleDefinition": "You read.", "can": {"read": "allow", "command": {"ask": ["make"]}},
	"agents": {"copilot": {"settings": {"file": "` + file + `"}}}}}}`)}})
		said := ""
		for _, d := range diags {
			said += string(d.Code) + " "
		}
		return res, said
	}
	const file = ".github/agents/team/My Agent.agent.md"
	res, said := compile("team/My Agent.agent.md")
	if said != "" {
		t.Fatal(said)
	}
	data, err := memfs.FS(res.FS()).ReadFile(file)
	if err != nil || !strings.Contains(string(data), "name: \"team--My Agent\"") {
		t.Fatalf("got %v and\n%s", err, data)
	}
	const payload = `{"toolName":"bash","toolArgs":{"command":"make"},"cwd":"/w","agentType":"team--My Agent"}`
	if a := hooked(t, res.Project, ir.SubjectRef{Role: "dev"}, true, payload); !strings.Contains(string(a.Stdout), `"ask"`) {
		t.Errorf("got %s %q for the agent in a role's session, want ask", a.Stdout, a.Stderr)
	}
	for _, target := range targets.All() {
		judged, ok := target.(contract.Judged)
		if !ok || target.Name() != "copilot" {
			continue
		}
		deciders, diags := judged.Open(res.FS(), contract.Options{})
		d := contract.OnSurface(deciders, "agent")
		if d == nil || len(diags) > 0 || !d.(contract.Container).Contains(ir.SubjectRef{Mode: "team-My-Agent"}) {
			t.Errorf("the agent in its folder is not found: %v", diags)
		}
	}
	var c copies
	l := launcher(t)
	args, diags := l.Args(res.Input(l), ir.SubjectRef{Mode: "team-My-Agent"}, contract.ArgsOptions{Copies: c.of()})
	if got := strings.Join(args, "|"); diags.HasErrors() || !strings.Contains(got, "--agent=team--My Agent") {
		t.Errorf("got %s and %v", got, diags)
	}
	for _, bad := range []string{"../x.agent.md", "other.agent.md", "team/My Agent.md", "/team/My Agent.agent.md"} {
		if _, said := compile(bad); !strings.Contains(said, "copilot-unknown-setting") {
			t.Errorf("%s: got %q, want an error", bad, said)
		}
	}
}
