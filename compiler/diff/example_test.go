package diff_test

import (
	"fmt"

	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// What changes is what a subject may do, not the text.
func ExampleProjects() {
	engine := func(rules ...ir.Rule) *policy.Engine {
		table := &ir.Table{Default: &ir.Default{Decision: ir.Ask}, Rules: rules}
		can := ir.Can{Default: table.Default, Command: table}
		return policy.New(&ir.Project{Version: ir.Version, Roles: []ir.Role{{Name: "developer", Can: can}}})
	}
	before := engine()
	after := engine(ir.Rule{Decision: ir.Allow, Pattern: ir.Pattern{Text: "make test"}})
	report, err := diff.Projects(before, after, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range report.Changes {
		fmt.Printf("%s: %s %s %q: %s before, %s after\n",
			c.Kind, c.Subject, c.Group, c.What, c.Before.Decision, c.After.Decision)
	}
	// Output:
	// widened: role developer command "make test": ask before, allow after
}
