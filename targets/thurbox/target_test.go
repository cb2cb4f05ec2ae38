package thurbox

import (
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/thurbox/format"
)

// The settings of the project hold in every session that Thurbox starts in it.
func TestTheProjectsSettingsHoldForRoles(t *testing.T) {
	got, diags := thurbox{}.Import(contract.Source{Root: fstest.MapFS{
		format.RolesPath: {Data: []byte(`{"roles": [{"name": "dev", "description": "d",
			"permission_mode": "acceptEdits", "allowed_tools": ["Bash(make *)"]}]}`)},
		".claude/settings.json": {Data: []byte(`{"permissions": {"deny": ["Edit(src/**)", "Bash(make install)"]}}`)},
	}})
	if diags.HasErrors() || len(got.Originals) != 1 {
		t.Fatal(diags, got.Originals)
	}
	dev := ir.SubjectRef{Role: "dev"}
	s, err := policy.New(got.Project).Subject(dev)
	if err != nil {
		t.Fatal(err)
	}
	deciders, _ := thurbox{}.Open(got.Originals[0].Files, contract.NewOptions(thurbox{}.Options(), nil, nil))
	for a, want := range map[policy.Action]ir.Decision{
		{Group: ir.Edit, Arg: "src/a"}:           ir.Deny,
		{Group: ir.Edit, Arg: "a"}:               ir.Agent, // acceptEdits allows it
		{Group: ir.Command, Arg: "make install"}: ir.Deny,
		{Group: ir.Command, Arg: "make all"}:     ir.Allow,
	} {
		is, was := s.Decide(a), deciders[0].Decide(dev, a).Decision
		if is.Decision != want || was != is.WithoutPermissionMode() {
			t.Errorf("%s %s: got %s of the import and %s of the files, want %s", a.Group, a.Arg, is.Decision, was, want)
		}
	}
}
