package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

// A source that lists no tools of a server and allows some by their names: the agents start the server, and the tools
// are there.
func TestNamedTools(t *testing.T) {
	const source = `{"servers": {"s": {"command": "srv"}}, "modes": {"a": {"name": "A", "roleDefinition": "r",
		"can": {"mcp": {"s": {"allow": ["get"]}}}}}, "roles": {"r": {"modes": [],
		"can": {"mcp": {"s": {"allow": ["get"], "default": "deny"}}}}}}`
	for _, name := range []string{"claude", "codex", "copilot", "kilo", "opencode", "roo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := memfs.FS{"modec/a.json": []byte(source),
				"modec.toml": fmt.Appendf(nil, "hooks = \"enforce\"\nbaseline = \"r\"\n[targets.%s]\n", name)}
			res, diags := compiler.Compile(t.Context(), compiler.Request{FS: files, Targets: targets.All()})
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			report, diags := res.Verify(t.Context(), 1, nil)
			if report.Wider() > 0 {
				t.Fatal(diags)
			}
			for _, s := range report.Surfaces {
				for _, f := range s.Narrower {
					if f.Action == "s:get" && !strings.Contains(f.Subject, " in ") {
						t.Errorf("narrower: %+v", f)
					}
				}
			}
		})
	}
}
