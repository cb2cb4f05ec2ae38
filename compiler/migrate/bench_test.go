package migrate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"modec.dev/modec/compiler/migrate"
)

// BenchmarkRoomodes migrates a modes file of 400 kB, its proof included.
func BenchmarkRoomodes(b *testing.B) {
	var modes []map[string]any
	prompt := strings.Repeat("You write careful code, and a test that would have caught it.\n", 250)
	for size := 0; size < 400_000; size += len(prompt) {
		slug := fmt.Sprintf("mode-%d", len(modes))
		modes = append(modes, map[string]any{"slug": slug, "name": slug, "roleDefinition": prompt, "groups": []any{"read", []any{"edit", map[string]string{"fileRegex": `\.(go|md)$`}}, "command", "mcp"}})
	}
	text, err := json.Marshal(map[string]any{"customModes": modes})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if res, diags := run(b, map[string]string{".roomodes": string(text)}, func(r *migrate.Request) { r.From = "roo" }); res == nil {
			b.Fatal(diags)
		}
	}
}
