package importer_test

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/internal/imported"
	"modec.dev/modec/targets/opencode/format"
	"modec.dev/modec/targets/opencode/importer"
)

// FuzzImport: whatever stands in a file, an import ends, and each rule that it keeps is one that a build can write.
func FuzzImport(f *testing.F) {
	f.Add(`{"permission": {"bash": {"git push": "deny", "*": "allow"}, "*": "ask", "a b": "deny"}, "tools": {"edit": false}}`,
		"---\ndescription: a\npermission:\n  edit: {\"*\": deny, \"docs/**\": allow}\n---\nYou write.")
	f.Add(`{"agent": {"b": {"prompt": "{file:x}", "permission": "allow"}, "B": {}}, "mcp": {"": {}, "a": {"type": "local"}}}`,
		"---\nname: 1\ntools: {write: false}\n---")
	f.Fuzz(func(t *testing.T, settings, agent string) {
		got, _ := importer.Import(contract.Source{
			Root: memfs.FS{"opencode.json": []byte(settings), ".opencode/agent/a/b.md": []byte(agent)},
			Home: memfs.FS{".config/opencode/opencode.jsonc": []byte(settings)},
		})
		imported.Hold(t, got.Project, spelled)
	})
}

func spelled(text string, d ir.Decision) (string, error) {
	r, err := format.ParseRule(text, d)
	return r.Text(), err
}
