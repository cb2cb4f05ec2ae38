package migrate_test

import (
	"slices"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/policy"
)

// TestRefusedPastAGap counts what the new expression of a mode refuses, although its agent does not test
// it everywhere: the guards by name, and with them the folder of an agent that
// its expression refuses whole. What else has no readable expression is told by its form, and where the
// original permits it.
func TestRefusedPastAGap(t *testing.T) {
	res, diags := run(t, map[string]string{".roomodes": `customModes:
  - slug: docs
    name: Docs
    roleDefinition: You write.
    groups: [read, [edit, {fileRegex: \.md$}]]
`}, nil)
	if res == nil {
		t.Fatal(diags)
	}
	source, built := res.Report.Total()
	for name, tally := range map[string]migrate.Tally{"source": source, "built": built} {
		if tally.Guarded == 0 || tally.Equal+tally.Narrower+tally.Guarded != tally.Compared || tally.Wider > 0 {
			t.Errorf("%s: got %+v, want each half once, some of them guarded and none wider", name, tally)
		}
	}
	for _, guard := range []string{"modec/**", "**/.roo/rules-*/*", ".git/", ".roo/"} {
		named := func(n migrate.Narrowing) bool { return n.Guard == guard && n.Built }
		if !slices.ContainsFunc(res.Report.Narrower, named) {
			t.Errorf("the guard %s is not named: %+v", guard, res.Report.Narrower)
		}
	}
	for _, n := range res.Report.Narrower {
		if n.Guard == "" && (n.Form != migrate.LineBreak || !n.Built || n.Group != ir.Edit || n.At.String() != ".roomodes:5:39") {
			t.Errorf("got %+v narrower", n)
		}
	}
}

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
	for _, form := range []migrate.Form{migrate.LineBreak, migrate.Spelling} {
		if !found[form] {
			t.Errorf("nothing is narrower %s: %+v", form, res.Report.Narrower)
		}
	}
}

// TestIgnoredGuards denies what an ignore file says about itself in a mode that leaves edits to the agent,
// too: no guard holds there.
func TestIgnoredGuards(t *testing.T) {
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
