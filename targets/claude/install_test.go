package claude

import (
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// installed returns the rules of an installation without hooks.
func installed(t *testing.T, r ir.Role) string {
	t.Helper()
	p := &ir.Project{Version: ir.Version, Roles: []ir.Role{r}}
	in := inputOf(t, p, map[string]any{"hooks": contract.Never})
	files, diags := claude{}.Install(in, ir.SubjectRef{Role: r.Name}, contract.PolicyCopy{File: "/home/policy.json", Root: "/project"})
	if diags.HasErrors() || len(files) != 1 {
		t.Fatal(files, diags)
	}
	return string(files[0].Data)
}

// TestInstallWithoutHooks: no allow is written, and what only the mode dontAsk would
// refuse is denied by rule, since a project's own mode goes before an installed one.
func TestInstallWithoutHooks(t *testing.T) {
	deny := &ir.Default{Decision: ir.Deny}
	got := installed(t, ir.Role{Name: "ci", PermissionMode: "dontAsk", Can: ir.Can{
		Read:    &ir.Table{Default: &ir.Default{Decision: ir.Allow}},
		Edit:    &ir.Table{Default: deny, Rules: []ir.Rule{{Decision: ir.Allow, Pattern: ir.Pattern{Text: "src/**"}}}},
		Command: &ir.Table{Default: deny, Rules: []ir.Rule{{Decision: ir.Allow, Pattern: ir.Pattern{Text: "make *"}}}},
	}})
	for _, want := range []string{`"Edit"`, `"Write"`, `"Bash"`, `"defaultMode": "dontAsk"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not there: %s", want, got)
		}
	}
	if strings.Contains(got, "src/**") || strings.Contains(got, "allow\"") || strings.Contains(got, "hook") {
		t.Errorf("got %s", got)
	}
}

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

// TestInstallKeepsTheModeOfTheBuild: where the compiler takes another mode than the role's, since
// rules cannot hold that one, the installation does too.
func TestInstallKeepsTheModeOfTheBuild(t *testing.T) {
	ask := &ir.Default{Decision: ir.Ask}
	got := installed(t, ir.Role{Name: "r", PermissionMode: "bypassPermissions", Can: ir.Can{
		Unknown: ask, OutsideRead: ask,
		Read: &ir.Table{Default: ask, Rules: []ir.Rule{{Decision: ir.Allow, Pattern: ir.Pattern{Text: "docs/**"}}}},
	}})
	if !strings.Contains(got, `"defaultMode": "default"`) || strings.Contains(got, "bypassPermissions\"") {
		t.Errorf("got %s", got)
	}
}
