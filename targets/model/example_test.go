package model_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/model"
)

// The model as JSON is a target like any other. It loses nothing.
func ExampleNew() {
	p := &ir.Project{Version: ir.Version, Roles: []ir.Role{{Name: "dev"}}}
	e := policy.New(p)
	reach, err := contract.NewReach(e)
	if err != nil {
		fmt.Println(err)
		return
	}
	files, losses := model.New().Emit(contract.Input{Project: p, Policy: e, Reach: reach,
		Options: contract.NewOptions(model.New().Options(), nil, nil)})
	fmt.Println(files[0].Path, len(losses))
	// Output:
	// modec.model.json 0
}
