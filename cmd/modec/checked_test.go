package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/targets"
)

// What a build wrote, a check finds as the source makes it, and the next build leaves as it is.
func TestCheckAfterBuild(t *testing.T) {
	const mode = `"name": "A", "roleDefinition": "r"`
	for name, source := range map[string]string{
		"tools of a server without a list": `"servers": {"s": {"command": "srv"}}, "modes": {"a": {` + mode + `,
			"can": {"mcp": {"s": {"allow": ["get", "l_*"], "ask": ["put"]}}}}},
			"roles": {"r": {"can": {"mcp": {"s": {"allow": ["get"], "ask": ["put"], "default": "deny"}}}}}`,
		"a server of which nothing is said": `"servers": {"s": {"url": "https://x.example.com/mcp"}},
			"modes": {"a": {` + mode + `}}, "roles": {"r": {}}`,
		"every server by a name of a tool": `"servers": {"s": {"command": "srv"}, "t": {"command": "srv",
			"tools": {"get": {}}, "defaultEnabled": false}}, "modes": {"a": {` + mode + `,
			"can": {"mcp": {"*": {"allow": ["get"]}}}}}, "roles": {"r": {"can": {"mcp": {"*": {"ask": ["get"]}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			config := "baseline = \"r\"\n"
			for _, target := range targets.All() {
				if target.Name() != "mcpnest" {
					config += "[targets." + target.Name() + "]\n"
				}
			}
			for file, text := range map[string]string{"modec.toml": config, "modec/a.json": "{" + source + "}"} {
				path := filepath.Join(dir, file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, args := range []string{"build", "build --check", "build", "verify --disk"} {
				var out bytes.Buffer
				line := append([]string{"-C", dir}, strings.Fields(args)...)
				if code := run(t.Context(), targets.All(), line, nil, &out, &out); code != 0 {
					t.Fatalf("modec %s: exit %d\n%s", args, code, &out)
				}
			}
		})
	}
}
