package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// TestToolsOfSeveralPatterns: a tool that no inventory lists may be matched by two patterns at once, and by neither
// alone is the decision another.
func TestToolsOfSeveralPatterns(t *testing.T) {
	server := func(rules ...ir.Rule) *policy.Engine {
		return policy.New(with(ir.Role{Name: "dev", Can: ir.Can{MCP: &ir.MCPTable{Default: def(ir.Deny), Entries: []ir.MCPEntry{
			{Key: "github", Literal: true, Default: def(ir.Ask), Rules: rules}}}}}))
	}
	for _, c := range []struct {
		before, after []ir.Rule
		want          []string
	}{
		{[]ir.Rule{rule(ir.Allow, "a*"), rule(ir.Ask, "*z")}, []ir.Rule{rule(ir.Allow, "a*")},
			[]string{"role dev: mcp github:az ask allow widened"}},
		{[]ir.Rule{rule(ir.Allow, "a*")}, []ir.Rule{rule(ir.Allow, "a*"), rule(ir.Ask, "*z")},
			[]string{"role dev: mcp github:az allow ask narrowed"}},
		{[]ir.Rule{rule(ir.Allow, "a*")}, []ir.Rule{rule(ir.Allow, "ab*")},
			[]string{"role dev: mcp github:a allow ask narrowed"}},
		{[]ir.Rule{rule(ir.Allow, "a*")}, []ir.Rule{rule(ir.Allow, "a*"), rule(ir.Allow, "ab*")}, nil},
	} {
		r, err := Projects(server(c.before...), server(c.after...), 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, lines(r)); d != "" {
			t.Errorf("%v, %v (-want +got)\n%s", c.before, c.after, d)
		}
	}
}

// TestRuns: what an agent takes over beside the decisions may permit something.
func TestRuns(t *testing.T) {
	r := &Report{}
	hook := contract.Run{Of: "settings", Text: "hook Stop(): a"}
	r.Runs([]contract.Run{hook, {Of: "settings", Text: "x"}}, []contract.Run{hook, {Of: "mode rev", Text: "permissionMode y"}})
	want := []string{"mode rev: has permissionMode y, for its agent alone widened",
		"settings: no longer has x, for its agent alone narrowed"}
	if d := cmp.Diff(want, lines(r)); d != "" || r.Widened != 1 || r.Narrowed != 1 {
		t.Errorf("got %d, %d (-want +got)\n%s", r.Widened, r.Narrowed, d)
	}
}
