package importer_test

import (
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/internal/imported"
	"modec.dev/modec/targets/vscode/importer"
)

// FuzzImport: whatever stands in the files, an import ends, and what it makes has names that a source can have.
func FuzzImport(f *testing.F) {
	f.Add(`{"servers": {"a": {"command": "x"}, "": {}, "b": {"type": "http", "url": "https://b/"}}}`,
		`{"chat.tools.terminal.autoApprove": {"a": true, "": false, "/x/": {"approve": true, "matchCommandLine": true}}}`)
	f.Add(`{"servers": []}`, `{"chat.tools.edits.autoApprove": {"**": false, "{a,b}/[c": true, "c]": 1}, "chat": {"tools": null}}`)
	f.Fuzz(func(t *testing.T, servers, settings string) {
		got, _ := importer.Import(contract.Source{Root: memfs.FS{".vscode/mcp.json": []byte(servers),
			".vscode/settings.json": []byte(settings)}})
		imported.Hold(t, got.Project, nil)
	})
}
