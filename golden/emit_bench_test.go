package golden

import (
	"path"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/targets"
)

// BenchmarkEmit measures compiling the showcase for each target, the reading of its source too.
func BenchmarkEmit(b *testing.B) {
	for _, t := range targets.All() {
		b.Run(t.Name(), func(b *testing.B) {
			req := compiler.Request{Root: path.Join(fixtures, showcase), Targets: targets.All(),
				Only: []string{t.Name()}, Today: today}
			b.ReportAllocs()
			for b.Loop() {
				if res, diags := compiler.Compile(b.Context(), req); res == nil {
					b.Fatal(diags)
				}
			}
		})
	}
}
