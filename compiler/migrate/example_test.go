package migrate_test

import (
	"context"
	"fmt"

	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
)

// settings is a repository with the settings of an agent, and with its instructions.
var settings = memfs.FS{
	".claude/settings.json": []byte(`{"permissions": {"allow": ["Bash(make test)"], "deny": ["Read(.env)"]}}`),
	"CLAUDE.md":             []byte("Write tests first.\n"),
}

// Run makes a source of what the agents' files say, and proves that it permits nothing more.
func ExampleRun() {
	res, diags := migrate.Run(context.Background(), migrate.Request{Root: settings, Targets: targets.All(), Out: "modec"})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, f := range res.Files {
		fmt.Println(f.Path)
	}
	for _, p := range res.Report.Proof {
		fmt.Println(p.File, p.Source.Wider, "wider")
	}
	// Output:
	// modec/roles/claude.cue
	// modec.toml
	// .claude/settings.json 0 wider
}

// Look names what lies there for agents and is not imported, with the reason.
func ExampleLook() {
	req := migrate.Request{Root: settings, Targets: targets.All(), Out: "modec"}
	fmt.Println(migrate.Importable(context.Background(), req))
	for _, s := range migrate.Look(context.Background(), req) {
		fmt.Println(s.Path, s.Reason)
	}
	// Output:
	// [.claude/settings.json]
	// CLAUDE.md instructions
}
