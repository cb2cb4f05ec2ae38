package importer_test

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/copilot/importer"
	"modec.dev/modec/targets/internal/imported"
)

// FuzzImport: whatever stands in a file, an import ends, and what it makes has names that a source can have.
func FuzzImport(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": "x", "tools": ["*"]}, "": {}, "b": {"type": "http", "tools": []}}}`,
		"---\ndescription: a\ntools: [read, a/b]\nmodel: m\n---\nYou write.")
	f.Add(`{"mcpServers": []}`, "---\nname: 1\ndescription: x\ntools: a, b\n---")
	f.Fuzz(func(t *testing.T, servers, agent string) {
		got, _ := importer.Import(contract.Source{
			Root: memfs.FS{".github/mcp.json": []byte(servers), ".github/agents/b.agent.md": []byte(agent)},
			Home: memfs.FS{".copilot/agents/B.agent.md": []byte(agent), ".copilot/mcp-config.json": []byte(servers)},
		})
		imported.Hold(t, got.Project, nil)
	})
}
