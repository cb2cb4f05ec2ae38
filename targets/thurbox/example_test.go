package thurbox_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/thurbox"
)

// Roles are for two ages of Thurbox.
func ExampleNew() {
	p := &ir.Project{Version: ir.Version, Name: "acme", ClosedInventory: true, Roles: []ir.Role{{Name: "dev"}}}
	engine := policy.New(p)
	reach, err := contract.NewReach(engine)
	if err != nil {
		fmt.Println(err)
		return
	}
	in := contract.Input{Project: p, Policy: engine, Reach: reach,
		Options: contract.NewOptions(thurbox.New().Options(), nil, nil), Beside: []string{"claude"}}
	files, _ := thurbox.New().Emit(in)
	for _, f := range files {
		fmt.Println(f.Path)
	}
	// Output:
	// .thurbox/set_roles.json
	// .thurbox/agents.toml
}
