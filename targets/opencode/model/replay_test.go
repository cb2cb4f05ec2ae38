package model_test

import (
	"flag"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/internal/asked"
	"modec.dev/modec/targets/internal/replay"
	"modec.dev/modec/targets/opencode/format"
)

var update = flag.Bool("update", false, "rewrite what the program is asked")

// TestReplay writes with -update what opencode is asked, and holds the model against what it did (`make agents`).
func TestReplay(t *testing.T) {
	today := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	a := asked.New(&asked.Program{Name: "opencode", Package: "opencode-linux-x64",
		Files: []string{format.ConfigFile}, Every: 7})
	for _, name := range []string{"acme", "opencode"} {
		req := compiler.Request{FS: replay.Fixture(t, name), Targets: targets.All(), Today: today, Unhooked: true}
		res, diags := compiler.Compile(t.Context(), req)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		target := replay.Target(t, targets.All(), "opencode")
		a.Add(t, name, res.Project, res.Outputs, target, res.Input(target).Options)
	}
	a.Replay(t, *update)
}
