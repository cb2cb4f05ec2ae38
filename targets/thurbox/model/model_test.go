package model

import (
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/thurbox/format"
)

func open(t *testing.T, fsys fstest.MapFS) map[string]contract.Decider {
	t.Helper()
	deciders, diags := Open(fsys)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	all := map[string]contract.Decider{}
	for _, d := range deciders {
		all[d.Surface()] = d
	}
	return all
}

func TestDecideRoles(t *testing.T) {
	d := open(t, fstest.MapFS{format.RolesPath: {Data: []byte(`{"project": "p", "roles": [
		{"name": "r", "permission_mode": "acceptEdits", "allowed_tools": ["Bash(foo a,b)", "Bash(npm test *)"],
			"disallowed_tools": ["Edit(src/{a,b}/**)", "Bash(rm *)", "mcp__off"]},
		{"name": "bare", "tools": ""}
	]}`)}})["set_roles"]
	for _, c := range []struct {
		role string
		a    policy.Action
		want ir.Decision
	}{
		{"r", policy.Action{Group: ir.Edit, Arg: "x"}, ir.Allow},
		{"r", policy.Action{Group: ir.Command, Arg: "npm test x"}, ir.Allow},
		{"r", policy.Action{Group: ir.Command, Arg: "rm x"}, ir.Deny},
		{"r", policy.Action{Group: ir.MCP, Server: "off", Arg: "x"}, ir.Deny},
		// Thurbox tears both rules at their commas: neither holds.
		{"r", policy.Action{Group: ir.Command, Arg: "foo a,b"}, ir.Ask},
		{"r", policy.Action{Group: ir.Edit, Arg: "src/a/x"}, ir.Allow},
		{"bare", policy.Action{Group: ir.Read, Arg: "x"}, ir.Deny},
		{"bare", policy.Action{Group: ir.MCP, Server: "s", Arg: "x"}, ir.Ask},
	} {
		if v := d.Decide(ir.SubjectRef{Role: c.role}, c.a); v.Decision != c.want {
			t.Errorf("%s, %s %q: got %s by %s, want %s", c.role, c.a.Group, c.a.Arg, v.Decision, v.Rule, c.want)
		}
	}
	read := policy.Action{Group: ir.Read, Arg: "x"}
	if v := d.Decide(ir.SubjectRef{Role: "r", Mode: "m"}, read); v != (contract.Verdict{}) {
		t.Errorf("got %+v: Thurbox knows no modes", v)
	}
}

func TestDecideAgents(t *testing.T) {
	d := open(t, fstest.MapFS{
		"r.settings.json": {Data: []byte(
			`{"permissions": {"deny": ["Read(.env)"], "defaultMode": "plan"}}`)},
		format.AgentsPath: {Data: []byte(`[[agents]]
name = 'r'
command = 'claude'
args = ['--settings=r.settings.json', '--permission-mode=acceptEdits']
[[agents]]
name = 'gone'
command = 'claude'
args = ['--settings=gone.json']
[[agents]]
name = 'other'
command = 'codex'
[[agents]]
name = 'session'
command = 'claude'
args = ['--settings=session:claude/r.settings.json']
`)}, "session:claude/r.settings.json": {Data: []byte(`{}`)}})["agents"]
	if v := d.Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: ir.Read, Arg: ".env"}); v.Decision != ir.Deny {
		t.Errorf("got %s, want deny by the settings file", v.Decision)
	}
	if v := d.Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: ir.Edit, Arg: "x"}); v.Decision != ir.Allow {
		t.Errorf("got %s, want allow by the flag's mode", v.Decision)
	}
	for _, role := range []string{"gone", "other", "session"} {
		v := d.Decide(ir.SubjectRef{Role: role}, policy.Action{Group: ir.Read, Arg: "x"})
		if v != (contract.Verdict{}) {
			t.Errorf("%s: got %+v, want no session", role, v)
		}
	}
}

// An agent that modec starts is the role of its name: another one is an error.
func TestStartedByModec(t *testing.T) {
	for args, want := range map[string]bool{"'run', 'role:r', '--', 'claude'": false, "'run', 'role:other', '--', 'claude'": true,
		"'run', 'role:r', '--', 'claude', '--yolo'": true, "'gateway'": true} {
		_, diags := Open(fstest.MapFS{format.AgentsPath: {Data: []byte(
			"[[agents]]\nname = 'r'\ncommand = 'modec'\nargs = [" + args + "]\n")}})
		if diags.HasErrors() != want {
			t.Errorf("%s: got %v, want an error %v", args, diags, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte(`{"roles": [{"name": "r", "allowed_tools": ["Bash(a,b)"], "tools": "Read"}]}`),
		"[[agents]]\nname='r'\ncommand='claude'\nargs=['--tools']")
	f.Fuzz(func(t *testing.T, roles []byte, agents string) {
		deciders, _ := Open(fstest.MapFS{format.RolesPath: {Data: roles}, format.AgentsPath: {Data: []byte(agents)}})
		if len(deciders) > 2 {
			t.Fatalf("got %d surfaces, want at most one for each file", len(deciders))
		}
		for _, d := range deciders {
			d.Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: ir.Command, Arg: "ls"})
		}
	})
}

// By itself Thurbox starts Claude Code in the role's permission mode, and knows no mode.
func TestAlone(t *testing.T) {
	deciders := Alone(&ir.Project{Roles: []ir.Role{{Name: "calm"}, {Name: "quick", PermissionMode: "acceptEdits"}}})
	if len(deciders) != 2 || deciders[0].Surface() != "set_roles" || deciders[1].Surface() != "agents" {
		t.Fatalf("got %d deciders, want one for each artifact", len(deciders))
	}
	for _, d := range deciders {
		edit := policy.Action{Group: ir.Edit, Arg: "a"}
		for role, want := range map[string]ir.Decision{"calm": ir.Ask, "quick": ir.Allow} {
			if v := d.Decide(ir.SubjectRef{Role: role}, edit); v.Decision != want || v.Governs&contract.Approval == 0 {
				t.Errorf("%s: %s: got %+v, want %s", d.Surface(), role, v.Answer, want)
			}
		}
		if v := d.Decide(ir.SubjectRef{Mode: "m"}, edit); v != (contract.Verdict{}) {
			t.Errorf("%s: got %+v of a mode", d.Surface(), v)
		}
	}
}
