package render_test

import (
	"fmt"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/render"
)

func ExampleSource() {
	code := ir.Mode{Slug: "code", Name: "Code", RoleDefinition: "You write code."}
	code.Can.Read = &ir.Table{Default: &ir.Default{Decision: ir.Allow}}
	files, err := render.Source(&ir.Project{Modes: []ir.Mode{code}}, "modec", nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Printf("%s:\n%s", f.Path, f.Data)
	}
	// Output:
	// modec/modes/code.cue:
	// package modec
	//
	// modes: code: {
	// 	name:           "Code"
	// 	roleDefinition: "You write code."
	// 	can: read: "allow"
	// }
}
