package claude

import (
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

// importedOf decides with the only role of an import.
func importedOf(t *testing.T, got target.Imported, diags diag.List) func(ir.Group, string) ir.Decision {
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
		fsys := fstest.MapFS{"s.json": {Data: []byte(settings)}, "conf/s.json": {Data: []byte(settings)}, "a/b/s.json": {Data: []byte(settings)}}
		got, diags := ImportArgs(fsys, "cli", []string{"--settings", file}, diag.Pos{File: "command line"})
		decide := importedOf(t, got, diags)
		if d := decide(ir.Edit, dir+"x/a.go"); d != ir.Allow {
			t.Errorf("%s: edit %sx/a.go: got %s, want allow", file, dir, d)
		}
		if d := decide(ir.Read, dir+"secret"); d != ir.Deny {
			t.Errorf("%s: read %ssecret: got %s, want deny", file, dir, d)
		}
		if d := decide(ir.Edit, "x/a.go"); dir != "" && d != ir.Ask {
			t.Errorf("%s: edit x/a.go: got %s, want ask", file, d)
		}
	}
	home := fstest.MapFS{".claude/settings.json": {Data: []byte(settings)}}
	got, diags := claude{}.Import(target.Source{Root: fstest.MapFS{}, Home: home})
	decide := importedOf(t, got, diags)
	if d := decide(ir.Edit, "x/a.go"); d != ir.Ask {
		t.Errorf("~/.claude/settings.json: edit x/a.go: got %s, want ask", d)
	}
}

func TestSettingsSwitchOffTheModeOfAFlag(t *testing.T) {
	fsys := fstest.MapFS{"s.json": {Data: []byte(`{"permissions":{"disableBypassPermissionsMode":"disable"}}`)}}
	for _, settings := range []string{"s.json", `{"permissions":{"disableBypassPermissionsMode":"disable"}}`} {
		for _, flags := range [][]string{{"--dangerously-skip-permissions"}, {"--permission-mode", "bypassPermissions"}} {
			got, diags := ImportArgs(fsys, "cli", append(flags, "--settings", settings), diag.Pos{File: "command line"})
			decide := importedOf(t, got, diags)
			if mode := got.Project.Roles[0].PermissionMode; mode != "default" {
				t.Errorf("%s %s: got the mode %q, want default", flags, settings, mode)
			}
			if e, c := decide(ir.Edit, "a.go"), decide(ir.Command, "rm x"); e != ir.Ask || c != ir.Ask {
				t.Errorf("%s %s: edit a.go %s, rm x %s, want ask", flags, settings, e, c)
			}
		}
	}
}
