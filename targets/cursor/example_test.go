package cursor_test

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor"
)

// The tokens of the CLI for a role that may run the tests and nothing of git push.
func Example() {
	p := &ir.Project{Version: ir.Version, Name: "shop", Baseline: "dev", ClosedInventory: true,
		Roles: []ir.Role{{Name: "dev", Can: ir.Can{
			Read: &ir.Table{Default: &ir.Default{Decision: ir.Allow}},
			Edit: &ir.Table{Default: &ir.Default{Decision: ir.Allow}},
			Command: &ir.Table{Default: &ir.Default{Decision: ir.Ask}, Rules: []ir.Rule{
				{Decision: ir.Allow, Pattern: ir.Pattern{Text: "npm test *"}},
				{Decision: ir.Deny, Pattern: ir.Pattern{Text: "git push *"}},
			}},
			Web: &ir.Table{Default: &ir.Default{Decision: ir.Allow}},
		}}}}
	target, engine := cursor.New(), policy.New(p)
	reach, err := contract.NewReach(engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	files, _ := target.Emit(contract.Input{Project: p, Policy: engine, Reach: reach,
		Options: contract.NewOptions(target.Options(), nil, nil).WithHooks(contract.Enforce)})
	for _, f := range files {
		fmt.Println(f.Path)
		if f.Path == ".cursor/cli.json" {
			fmt.Print(string(f.Data))
		}
	}
	// Output:
	// session:cursor/dev/permissions.json
	// .cursor/cli.json
	// {
	//   "permissions": {
	//     "allow": [
	//       "Shell(npm test)",
	//       "WebFetch(*)"
	//     ],
	//     "deny": [
	//       "Shell(git push)"
	//     ]
	//   }
	// }
	// .cursor/hooks.json
}

// Cursor compares names without case: a source that tells two servers apart by it is
// refused.
func Example_collision() {
	p := &ir.Project{Version: ir.Version, Baseline: "dev", Roles: []ir.Role{{Name: "dev"}},
		Servers: []ir.Server{{Name: "docs"}, {Name: "Docs"}}}
	target, engine := cursor.New(), policy.New(p)
	reach, err := contract.NewReach(engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, diags := target.Emit(contract.Input{Project: p, Policy: engine, Reach: reach,
		Options: contract.NewOptions(target.Options(), nil, nil)})
	for _, d := range diags {
		if d.Code == "cursor-name-collision" {
			what, _, _ := strings.Cut(d.Message, ", want")
			fmt.Println(what)
		}
	}
	// Output:
	// the servers "docs" and "Docs" are one to Cursor: give them names that differ without case, surrounding space and prefix
}
