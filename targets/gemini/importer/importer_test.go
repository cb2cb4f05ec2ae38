package importer_test

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/gemini/importer"
	"modec.dev/modec/targets/internal/imported"
)

// FuzzImport: whatever stands in a file, an import ends, and names only what it read.
func FuzzImport(f *testing.F) {
	f.Add(`{"tools": {"core": ["read_file", "run_shell_command(git)"]}, "mcp": {"allowed": ["*"]}}`,
		"---\nname: a\ndescription: b\ntools: [mcp_a_b, read_file]\n---\nc",
		"[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 1\n")
	f.Add(`{"mcpServers": {"": {}, "a": {"trust": true, "excludeTools": ["x", 1], "timeout": 1e9}}}`, "---\n- name: a\n---",
		"[[rule]]\nmcpName = \"a\"\ntoolName = [\"x\", \"*\"]\nargsPattern = \"x\"\ndecision = \"allow\"\npriority = 9\n")
	f.Fuzz(func(t *testing.T, settings, agent, policy string) {
		got, _ := importer.Import(contract.Source{
			Root: memfs.FS{".gemini/settings.json": []byte(settings), ".gemini/agents/a.md": []byte(agent)},
			Home: memfs.FS{".gemini/policies/p.toml": []byte(policy)},
		})
		imported.Hold(t, got.Project, nil)
	})
}
