package model

import (
	"testing"
	"testing/fstest"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// TestMonitor holds what an allow of the other tool that runs lines opens: what the rules for Bash leave to a
// question, and nothing that they refuse or ask about. So does Claude Code 2.1.329.
func TestMonitor(t *testing.T) {
	for _, c := range []struct {
		allow []string
		line  string
		want  ir.Decision
	}{
		{nil, "touch x", ir.Ask},
		{[]string{"Monitor"}, "touch x", ir.Allow},
		{[]string{"Monitor"}, "rm x", ir.Deny},
		{[]string{"Monitor"}, "git push", ir.Ask},
		{[]string{"Bash(touch *)"}, "touch x", ir.Allow},
	} {
		deciders, diags := Open(fstest.MapFS{".claude/settings.json": {Data: []byte(
			permissions("default", c.allow, []string{"Bash(git push)"}, []string{"Bash(rm *)"}))}}, roleR.Role)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		v := deciders[0].Decide(roleR, policy.Action{Group: ir.Command, Arg: c.line})
		if v.Decision != c.want {
			t.Errorf("with %q %s: got %s by %s, want %s", c.allow, c.line, v.Decision, v.Rule, c.want)
		}
	}
}
