package suggest_test

import (
	"fmt"
	"slices"
	"testing"

	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/suggest"
)

const used = `
servers: hub: {command: "hub", tools: {list: risk: "read", make: risk: "write"}}
policies: shared: can: command: {allow: ["ls"], ask: ["make"]}
roles: a: {extends: ["shared"], can: {read: {allow: ["docs/**"], deny: [".env"]}, mcp: hub: {allow: ["list"], default: "ask"}}}
roles: b: {extends: ["shared"], can: edit: {ask: ["src/**"], default: "deny"}}
`

// Each rule is used by what is decided by it, whichever subject has it from where, and no other one is.
func TestUnused(t *testing.T) {
	_, _, res := project(t, used)
	names := func(list []suggest.Unused) (out []string) {
		for _, r := range list {
			out = append(out, fmt.Sprintf("%s %s %v", r.Group, r.Rule, r.Subjects))
		}
		return out
	}
	all := []string{`command allow "ls" [role a role b]`, `command ask "make" [role a role b]`, `read allow "docs/**" [role a]`,
		`mcp allow "list" of server "hub" [role a]`, `mcp default of server "hub" [role a]`, `edit ask "src/**" [role b]`}
	for _, c := range []struct {
		role   string
		action policy.Action
		uses   int // of all; -1: none
	}{
		{"a", policy.Action{Group: ir.Command, Arg: "ls"}, 0},
		{"b", policy.Action{Group: ir.Command, Arg: "make"}, 1},
		{"a", policy.Action{Group: ir.Read, Arg: "docs/a"}, 2},
		{"a", policy.Action{Group: ir.Read, Arg: ".env"}, -1},
		{"a", policy.Action{Group: ir.MCP, Server: "hub", Arg: "list"}, 3},
		{"a", policy.Action{Group: ir.MCP, Server: "hub", Arg: "make"}, 4},
		{"b", policy.Action{Group: ir.Edit, Arg: "src/a"}, 5},
		{"b", policy.Action{Group: ir.Edit, Arg: "else"}, -1},
	} {
		s, err := res.Policy.Subject(ir.SubjectRef{Role: c.role})
		if err != nil {
			t.Fatal(err)
		}
		r := s.Decide(c.action)
		digest := res.Policy.Digest(ir.SubjectRef{Role: c.role})
		for _, ev := range []audit.Event{
			{Role: c.role, Rule: r.Rule, Place: r.Pos.String(), Policy: digest}, // of this source
			{Role: c.role, Rule: r.Rule, Place: "modec/a.cue:99:1"},             // of one with other lines
			{Role: c.role, Rule: "what a hook says of it", Place: r.Pos.String(), Policy: digest},
			{Role: c.role, Rule: "another rule", Place: r.Pos.String(), Policy: "of another policy"},
		} {
			var u suggest.Usage
			u.Add(&ev)
			want := slices.Clone(all)
			if c.uses >= 0 && ev.Rule != "another rule" {
				want = slices.Delete(want, c.uses, c.uses+1)
			}
			got, denies := u.Unused(res.Policy)
			if !slices.Equal(names(got), want) || denies > 1 {
				t.Errorf("%s %v by %s at %s: got %q and %d denies, want %q", c.role, c.action, ev.Rule, ev.Place, names(got), denies, want)
			}
		}
	}
}
