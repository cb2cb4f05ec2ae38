package verify_test

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

// What the baseline holds back in a mode is no loss of the mode: sessions without a role are the baseline's.
func TestBaselineIsNoLoss(t *testing.T) {
	for _, c := range []struct {
		name, base string
		losses     bool
	}{
		{"it asks", "can: command: default: \"ask\"", false},
		{"it allows", "can: command: default: \"allow\"", false},
		{"it does not enter the mode", "{modes: [\"plan\"], can: command: default: \"ask\"}", true},
	} {
		res, diags := compiler.Compile(t.Context(), compiler.Request{Today: today, Targets: targets.All(), FS: memfs.FS{
			"modec.toml": []byte("hooks = \"enforce\"\nbaseline = \"base\"\n[targets.claude]\n"),
			"modec/all.cue": []byte(`package modec
modes: plan: {name: "Plan", roleDefinition: "R"}
modes: code: {name: "Code", roleDefinition: "R", can: command: {allow: ["git log *", "npm test *"], default: "ask"}}
roles: base: can: {read: deny: ["**/.env"], command: {allow: ["make x"], deny: ["rm -rf *"]}}
roles: other: can: {}
roles: base: ` + c.base + "\n"),
		}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		report, err := verify.Run(t.Context(), requestOf(res))
		if err != nil {
			t.Fatal(err)
		}
		losses := false
		for i := range report.Surfaces {
			s := &report.Surfaces[i]
			if s.Access.Wider+s.Approval.Wider > 0 {
				t.Errorf("%s: wider: %+v", c.name, s.Findings)
			}
			for _, f := range s.Narrower {
				losses = losses || f.Subject == "mode code" && strings.HasPrefix(f.Rule, "allow ")
			}
		}
		if losses != c.losses {
			t.Errorf("%s: losses of the mode: %t, want %t", c.name, losses, c.losses)
		}
	}
}
