package model_test

import (
	"fmt"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
	"modec.dev/modec/targets/gemini/model"
)

// TestAdminPolicies: each policy that the settings put above others is read, of a folder all, or it is an error; and a
// rule for one approval mode permits.
func TestAdminPolicies(t *testing.T) {
	const asks = "[[rule]]\ntoolName = \"*\"\ndecision = \"ask_user\"\npriority = 100\n"
	rule := func(decision, more string) string {
		return fmt.Sprintf("[[rule]]\ntoolName = \"*\"\ndecision = %q\npriority = 999\n%s\n", decision, more)
	}
	for _, c := range []struct {
		path, policy string
		want         ir.Decision
		judged       bool
	}{
		{"pol/x.toml", rule("allow", ""), ir.Allow, true},
		{"pol", rule("allow", ""), ir.Allow, true},
		{"./pol/", rule("allow", ""), ir.Allow, true},
		{"pol/other.toml", rule("allow", ""), ir.Ask, true}, // which is not there
		{"${PWD}/pol/x.toml", rule("allow", ""), ir.Ask, false},
		{"$HOME/x.toml", rule("allow", ""), ir.Ask, false},
		{"/etc/x.toml", rule("allow", ""), ir.Ask, false},
		{"../x.toml", rule("allow", ""), ir.Ask, false},
		{"pol/x.toml", rule("allow", `modes = ["autoEdit", "yolo"]`), ir.Allow, true},
		{"pol/x.toml", rule("deny", `modes = ["default"]`), ir.Ask, true},
		{"pol/x.toml", rule("deny", `modes = ["default", "autoEdit", "yolo"]`), ir.Deny, true},
		{"pol/x.toml", rule("deny", ""), ir.Deny, true},
	} {
		const own = "ask.toml"
		files := memfs.FS{
			own: []byte(asks), "pol/x.toml": []byte(c.policy), "pol/x.txt": []byte("x"),
			format.SettingsFile: []byte(fmt.Sprintf(`{"adminPolicyPaths": [%q, %q]}`, own, c.path)),
		}
		list, diags := model.Open(files, contract.NewOptions(nil, map[string]any{"subject": "role:r"}, nil), nil)
		if judged := !diags.HasErrors(); len(list) != 1 || judged != c.judged || !judged && diags[0].Code != diag.ForeignWidening {
			t.Errorf("%s: %d deciders, %v", c.path, len(list), diags)
			continue
		}
		v := list[0].Decide(ir.SubjectRef{Role: "r"}, policy.Action{Group: ir.Edit, Arg: "a.txt"})
		if v.Decision != c.want {
			t.Errorf("%s: got %s, want %s, by %s", c.path, v.Decision, c.want, c.policy)
		}
	}
}

// TestNoAdminPolicies: settings that name no policy leave the sessions of everybody without one, whatever those have that
// modec starts.
func TestNoAdminPolicies(t *testing.T) {
	const denies = "[[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 900\n"
	ref := ir.SubjectRef{Role: "r"}
	own := format.PolicyFile(ref)
	for settings, want := range map[string]ir.Decision{
		fmt.Sprintf(`{"adminPolicyPaths": [%q]}`, format.ProjectPolicy(own)): ir.Deny, `{"adminPolicyPaths": []}`: ir.Ask, `{}`: ir.Ask,
	} {
		files := memfs.FS{format.SettingsFile: []byte(settings),
			own: []byte(denies), format.ProjectPolicy(own): []byte(denies)}
		list, diags := model.Open(files, contract.NewOptions(nil, map[string]any{"subject": "role:r"}, nil), nil)
		if len(list) != 1 || len(diags) > 0 {
			t.Fatalf("%s: %d deciders, %v", settings, len(list), diags)
		}
		v := list[0].Decide(ref, policy.Action{Group: ir.Edit, Arg: "a.txt"})
		if v.Decision != want || want == ir.Ask && v.At.File != format.SettingsFile {
			t.Errorf("%s: got %s at %s, want %s", settings, v.Decision, v.At, want)
		}
	}
}
