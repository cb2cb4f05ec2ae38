package migrate_test

import (
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/policy"
)

// TestFormsThatAreNarrower tells what of an expression over folders is not kept, each with a reason.
func TestFormsThatAreNarrower(t *testing.T) {
	res, diags := run(t, map[string]string{".roomodes": `customModes:
  - slug: docs
    name: Docs
    roleDefinition: You write.
    groups: [read, [edit, {fileRegex: docs/.*}]]
`}, nil)
	if res == nil {
		t.Fatal(diags)
	}
	found := map[migrate.Form]bool{}
	for _, n := range res.Report.Narrower {
		if found[n.Form] = true; n.At.String() != ".roomodes:5:39" {
			t.Errorf("got %+v, want it where the original permits it", n)
		}
	}
	if !found[migrate.Spelling] {
		t.Errorf("nothing is narrower %s: %+v", migrate.Spelling, res.Report.Narrower)
	}
}

// TestIgnoreFileDeniesItself in a mode that leaves edits to the agent, too.
func TestIgnoreFileDeniesItself(t *testing.T) {
	for _, group := range []string{"edit", `[edit, {fileRegex: \.md$}]`} {
		res, diags := run(t, map[string]string{
			".roomodes": "customModes:\n  - slug: m\n    name: M\n    roleDefinition: r\n    groups: [read, " + group + "]\n", ".rooignore": "x\n",
		}, nil)
		if res == nil {
			t.Fatal(diags)
		}
		s, err := res.Compiled.Policy.Subject(ir.SubjectRef{Mode: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if r := s.Decide(policy.Action{Group: ir.Edit, Arg: ".rooignore"}); r.Decision != ir.Deny {
			t.Errorf("%s: edit .rooignore: got %s, want deny", group, r.Decision)
		}
	}
}
