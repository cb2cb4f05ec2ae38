package importer

import (
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

var commandLine = diag.Pos{File: "command line"}

// importedOf decides with the only role of an import.
func importedOf(t *testing.T, got Result, diags diag.List) func(ir.Group, string) ir.Decision {
	t.Helper()
	if diags.HasErrors() || len(got.Project.Roles) != 1 {
		t.Fatalf("got %v and %d roles, want one role", diags, len(got.Project.Roles))
	}
	s, err := policy.New(got.Project).Subject(ir.SubjectRef{Role: got.Project.Roles[0].Name})
	if err != nil {
		t.Fatal(err)
	}
	return func(g ir.Group, arg string) ir.Decision { return s.Decide(policy.Action{Group: g, Arg: arg}).Decision }
}

func TestASlashStartsFromTheFolderOfTheSettings(t *testing.T) {
	const settings = `{"permissions":{"allow":["Edit(/x/**)"],"deny":["Read(/secret)"]}}`
	for file, dir := range map[string]string{"s.json": "", "./conf/s.json": "conf/", "a/b/s.json": "a/b/"} {
		fsys := fstest.MapFS{"s.json": {Data: []byte(settings)}, "conf/s.json": {Data: []byte(settings)},
			"a/b/s.json": {Data: []byte(settings)}}
		got, diags := Args(contract.Source{Root: fsys}, "cli", []string{"--settings", file}, commandLine)
		decide := importedOf(t, got, diags)
		if d := decide(ir.Edit, dir+"x/a.go"); d != ir.Allow {
			t.Errorf("%s: edit %sx/a.go: got %s, want allow", file, dir, d)
		}
		if d := decide(ir.Read, dir+"secret"); d != ir.Deny {
			t.Errorf("%s: read %ssecret: got %s, want deny", file, dir, d)
		}
		if d := decide(ir.Edit, "x/a.go"); dir != "" && d != ir.Agent {
			t.Errorf("%s: edit x/a.go: got %s, want it left to the agent", file, d)
		}
	}
	home := fstest.MapFS{".claude/settings.json": {Data: []byte(settings)}}
	got, diags := Import(contract.Source{Root: fstest.MapFS{}, Home: home})
	decide := importedOf(t, got, diags)
	if d := decide(ir.Edit, "x/a.go"); d != ir.Agent {
		t.Errorf("~/.claude/settings.json: edit x/a.go: got %s, want it left to the agent", d)
	}
}

func TestSettingsSwitchOffTheModeOfAFlag(t *testing.T) {
	fsys := fstest.MapFS{"s.json": {Data: []byte(`{"permissions":{"disableBypassPermissionsMode":"disable"}}`)}}
	for _, settings := range []string{"s.json", `{"permissions":{"disableBypassPermissionsMode":"disable"}}`} {
		for _, flags := range [][]string{
			{"--dangerously-skip-permissions"}, {"--permission-mode", "bypassPermissions"},
		} {
			args := append(flags, "--settings", settings)
			got, diags := Args(contract.Source{Root: fsys}, "cli", args, commandLine)
			decide := importedOf(t, got, diags)
			if mode := got.Project.Roles[0].PermissionMode; mode != "default" {
				t.Errorf("%s %s: got the mode %q, want default", flags, settings, mode)
			}
			if e, c := decide(ir.Edit, "a.go"), decide(ir.Command, "rm x"); e != ir.Agent || c != ir.Agent {
				t.Errorf("%s %s: edit a.go %s, rm x %s, want both left to the agent", flags, settings, e, c)
			}
		}
	}
}

// Of two subagents with a name Claude Code takes the project's (observed on 2.1.329).
func TestTheProjectsSubagentHolds(t *testing.T) {
	agent := func(tools string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("---\nname: x\ndescription: d\ntools: " + tools + "\n---\np\n")}
	}
	root := fstest.MapFS{".claude/agents/x.md": agent("Read")}
	home := fstest.MapFS{".claude/agents/x.md": agent("Read, Edit, Bash")}
	got, diags := Import(contract.Source{Root: root, Home: home})
	if diags.HasErrors() || len(got.Project.Modes) != 1 {
		t.Fatal(diags)
	}
	if m := got.Project.Modes[0]; m.Pos.File != ".claude/agents/x.md" || m.Can.Edit != nil || m.Can.Command != nil {
		t.Errorf("got the mode at %s, with edit %v and command %v", m.Pos, m.Can.Edit, m.Can.Command)
	}
}

// Every key of a settings file that limits something is told of.
func TestNotesOfSettings(t *testing.T) {
	got, diags := Import(contract.Source{Root: fstest.MapFS{".claude/settings.json": {Data: []byte(`{
		"disabledMcpjsonServers": ["a:b", "ok"],
		"permissions": {"disableAutoMode": "disable",
		"blockReadsOutsideWorkingDirectories": true}}`)}}})
	decide := importedOf(t, got, diags)
	want := map[string]contract.NoteKind{"disabledMcpjsonServers": contract.Left,
		"disableAutoMode":                     contract.Left,
		"blockReadsOutsideWorkingDirectories": contract.Understood}
	for _, n := range got.Notes {
		if kind, ok := want[n.What]; ok && kind == n.Kind {
			delete(want, n.What)
		}
	}
	if len(want) > 0 {
		t.Errorf("no such notes: %v among %v", want, got.Notes)
	}
	if d := decide(ir.Read, "/etc/passwd"); d != ir.Deny {
		t.Errorf("reading outside: got %s, want deny", d)
	}
}

// What a file leaves unsaid is left to Claude Code: no default is written.
func TestUnsaidIsSilence(t *testing.T) {
	got, diags := Import(contract.Source{Root: fstest.MapFS{
		".claude/settings.json": {Data: []byte(`{"permissions": {"allow": ["Bash(make *)", "mcp__s__t", "Edit(docs/**)"],
			"deny": ["Read(.env)"]}}`)},
		".claude/agents/all.md": {Data: []byte("---\nname: all\ndescription: d\n---\np\n")},
		".mcp.json":             {Data: []byte(`{"mcpServers": {"s": {"command": "x"}}}`)},
	}})
	importedOf(t, got, diags)
	can := &got.Project.Roles[0].Can
	for g, table := range tablesOf(can) {
		if *table != nil && (*table).Default != nil {
			t.Errorf("%s: got the default %s", g, (*table).Default.Decision)
		}
	}
	if can.Default != nil || can.Unknown != nil || can.Modes != nil || can.Web != nil || can.MCP.Default != nil {
		t.Errorf("got %+v, want nothing beside the rules", can)
	}
	if m := got.Project.Modes[0].Can; m.Web == nil || m.Web.Default.Decision != ir.Agent || m.Unknown == nil {
		t.Errorf("a subagent without tools: got %+v, want all that its session has", m)
	}
}
