package verify_test

import (
	"maps"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
)

// What sessions are started with lies in no project: a file of a project that names it names what somebody put there, and
// a hook that is about another folder holds nothing of this one.
func TestNamesOfSessions(t *testing.T) {
	const source = `{"roles": {"dev": {"description": "Does", "can": {"read": {"allow": ["docs/**"], "deny": ["secrets/**"], "default": "ask"},
		"edit": {"deny": ["config/**"], "default": "ask"}, "command": {"deny": ["rm *"], "default": "ask"}}}},
		"modes": {"code": {"name": "C", "roleDefinition": "r", "can": {"read": {"allow": ["**"], "deny": ["secrets/**"]}}}}}`
	for _, c := range []struct{ target, file, before, after string }{
		{"gemini", ".gemini/settings.json", `".gemini/policies/dev.toml"`, `".gemini/policies/dev.toml", "session:gemini/dev.toml"`},
		{"gemini", ".gemini/settings.json", `".gemini/policies/dev.toml"`, `"x/../session:gemini"`},
		{"cursor", ".cursor/hooks.json", "modec hook cursor", "modec hook cursor --root /nowhere"},
		{"claude", ".claude/settings.json", "modec hook claude", "modec hook claude --root /nowhere"},
		{"copilot", ".github/agents/code.agent.md", "modec hook copilot", "modec hook copilot --root /nowhere"},
		{"opencode", ".opencode/plugin/modec.js", "modec hook opencode", "modec hook opencode --root /nowhere"},
	} {
		toml := "hooks = \"enforce\"\nbaseline = \"dev\"\n[targets." + c.target + "]\n"
		res := compileSource(t, toml, source)
		disk := memfs.FS{}
		maps.Copy(disk, contract.InMemory(res.Files()))
		text := string(disk[c.file])
		if !strings.Contains(text, c.before) {
			t.Fatalf("%s has another form: %s", c.file, text)
		}
		disk[c.file] = []byte(strings.ReplaceAll(text, c.before, c.after))
		disk["session:policy.json"] = []byte("whatever somebody wrote")
		report, diags := res.VerifyBy(t.Context(), compiler.Verification{Seed: 1, Disk: disk})
		if report == nil || report.Wider() == 0 && !diags.HasErrors() {
			t.Errorf("%s, %s: nothing is found: %v", c.target, c.after, diags)
		}
	}
}
