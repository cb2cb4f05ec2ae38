package thurbox_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/thurbox"
)

// agents.toml needs the settings files of the target claude beside it.
func ExampleNew() {
	p := &ir.Project{Version: ir.Version, Name: "acme", ClosedInventory: true, Roles: []ir.Role{{Name: "dev"}}}
	engine := policy.New(p)
	reach, err := contract.NewReach(engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	in := contract.Input{Project: p, Policy: engine, Reach: reach,
		Options: contract.NewOptions(thurbox.New().Options(), nil, nil)}
	for _, beside := range [][]string{{"claude"}, nil} {
		in.Beside = beside
		files, _ := thurbox.New().Emit(in)
		for _, f := range files {
			fmt.Println(beside, f.Path)
		}
	}
	// Output:
	// [claude] .thurbox/set_roles.json
	// [claude] .thurbox/agents.toml
	// [] .thurbox/set_roles.json
}
