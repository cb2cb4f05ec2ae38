package importer_test

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/copilot/importer"
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
		if got.Project == nil {
			return
		}
		for _, m := range got.Project.Modes {
			if m.Slug == "" || m.RoleDefinition == "" {
				t.Errorf("got the mode %+v", m)
			}
		}
		for _, s := range got.Project.Servers {
			if !contract.ServerName(s.Name) {
				t.Errorf("got the server %q", s.Name)
			}
		}
	})
}
