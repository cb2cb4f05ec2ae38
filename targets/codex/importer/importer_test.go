package importer_test

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/codex/importer"
)

// FuzzImport: whatever stands in a file, an import ends, and what it names has valid names.
func FuzzImport(f *testing.F) {
	f.Add("approval_policy = \"never\"\n[mcp_servers.a]\ncommand = \"x\"\nenv_vars = [\"Y\"]\ntool_timeout_sec = 2\n",
		"name = \"a\"\ndescription = \"b\"\ndeveloper_instructions = \"c\"\nfeatures.shell_tool = false\n")
	f.Add("mcp_servers.\"\" = {url = \"https://x\", http_headers = {A = \"${B}\"}, enabled_tools = [1]}\n", "name = 1\n")
	f.Fuzz(func(t *testing.T, config, agent string) {
		got, _ := importer.Import(contract.Source{
			Root: memfs.FS{".codex/config.toml": []byte(config), ".codex/agents/a.toml": []byte(agent)},
			Home: memfs.FS{".codex/config.toml": []byte(config)},
		})
		if got.Project == nil {
			return
		}
		for _, m := range got.Project.Modes {
			if m.Slug == "" || contract.Slug(m.Slug) != m.Slug || m.RoleDefinition == "" && m.WhenToUse == "" {
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
