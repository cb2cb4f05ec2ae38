package model_test

import (
	"flag"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/targets"
	"modec.dev/modec/targets/internal/asked"
	"modec.dev/modec/targets/internal/replay"
	"modec.dev/modec/targets/kilo/format"
)

var update = flag.Bool("update", false, "rewrite what the program is asked")

// TestReplay writes with -update what Kilo is asked, and holds the model against what it did (`make agents`).
func TestReplay(t *testing.T) {
	today := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	a := asked.New(&asked.Program{Name: "kilo", Package: "@kilocode/cli-linux-x64",
		Files:    []string{format.FloorFile, format.ConfigFile},
		Every:    20,
		Here:     []string{"x/y", "a/secrets/y", "finance/y"}, // Kilo asks nothing about a file of no folder
		Readable: []string{".env.example", "prod.env"},
		Paths:    []string{"AGENTS.md", "sub/AGENTS.md", ".kilo/agents/x.md", ".kilo/plans/x.md", "kilo.json", "opencode.json"},
		Lines: []string{
			"cd . > r1", "git status; > r2", "X=$(cd . > r3)", "git log 2>/dev/null", "echo 'a;b'", "echo $'x'", "touch t",
			"declare -x Z=1", "popd", "git add a_b", "sh -c 'echo x > r4'", `sh -c ls\>r5`, `eval ls\>r6`, "git add \\\n .",
		}})
	for _, name := range []string{"acme", "kilo"} {
		req := compiler.Request{FS: replay.Fixture(t, name), Targets: targets.All(), Today: today, Unhooked: true}
		res, diags := compiler.Compile(t.Context(), req)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		target := replay.Target(t, targets.All(), "kilo")
		a.Add(t, name, res.Project, res.Outputs, target, res.Input(target).Options)
	}
	a.Replay(t, *update)
}
