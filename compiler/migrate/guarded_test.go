package migrate_test

import (
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
)

// TestRefusedPastAGap counts what the new expression of a mode refuses, although its agent does not test
// it everywhere: the guards by name, and what has no readable expression.
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
	for _, guard := range []string{"modec/**", "**/.roo/rules-*/*", ".git/"} {
		named := func(n migrate.Narrowing) bool { return n.Guard == guard && n.Built }
		if !slices.ContainsFunc(res.Report.Narrower, named) {
			t.Errorf("the guard %s is not named: %+v", guard, res.Report.Narrower)
		}
	}
	for _, n := range res.Report.Narrower {
		if n.Guard == "" && !(n.Built && n.Group == ir.Edit && strings.HasPrefix(n.Rule, "fileRegex: ")) {
			t.Errorf("got %+v narrower", n)
		}
	}
}
