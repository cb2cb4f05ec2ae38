package roo_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo"
)

// writer is a mode that edits documents, but for one folder of them.
var writer = ir.Mode{Slug: "writer", Name: "Writer", RoleDefinition: "You write documents.", Can: ir.Can{
	Edit: &ir.Table{Default: &ir.Default{Decision: ir.Deny}, Rules: []ir.Rule{
		{Decision: ir.Deny, Pattern: ir.Pattern{Text: "docs/legal/**"}},
		{Decision: ir.Allow, Pattern: ir.Pattern{Text: "docs/**"}},
	}},
}}

// Roo has one expression for what a mode edits: what is denied is a look-ahead before what is permitted.
func ExampleFileRegex() {
	e := policy.New(&ir.Project{Version: ir.Version, Modes: []ir.Mode{writer}})
	fmt.Println(roo.FileRegex(e, &writer))
	// Output:
	// ^(?!docs/legal(/|$))docs(/.*)?$
}

// The modes of a project are one file.
func ExampleNew() {
	p := &ir.Project{Version: ir.Version, Modes: []ir.Mode{writer}}
	e := policy.New(p)
	reach, err := contract.NewReach(e)
	if err != nil {
		fmt.Println(err)
		return
	}
	files, losses := roo.New().Emit(contract.Input{Project: p, Policy: e, Reach: reach,
		Options: contract.NewOptions(roo.New().Options(), nil, nil)})
	for _, f := range files {
		fmt.Println(f.Path)
	}
	for _, l := range losses {
		fmt.Println(l.Group, l.Code)
	}
	// Output:
	// .roomodes
}
