package claude

import (
	"slices"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// TestAskingAboutReads asks about every tool that reads: where Bash is gone, Grep and
// Glob are there.
func TestAskingAboutReads(t *testing.T) {
	ask := &ir.Default{Decision: ir.Ask}
	p := &ir.Project{Version: ir.Version, Roles: []ir.Role{{Name: "r", Can: ir.Can{Read: &ir.Table{Default: ask}}}}}
	e := newEmitter(contract.Input{Project: p, Policy: policy.New(p)})
	c := e.compile(&p.Roles[0])
	if c.err != nil {
		t.Fatal(c.err)
	}
	for _, tool := range []string{"Read", "Glob", "Grep", "LSP"} {
		if !slices.Contains(c.rules.ask, tool) {
			t.Errorf("%s is not asked about: %v", tool, c.rules.ask)
		}
	}
}
