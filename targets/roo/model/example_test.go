package model_test

import (
	"fmt"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
	"modec.dev/modec/targets/roo/model"
)

// A mode edits what its expression finds, and nothing that the ignore file names.
func ExampleOpen() {
	d, diags := model.Open(memfs.FS{
		".roomodes": []byte(`customModes:
  - slug: writer
    name: Writer
    roleDefinition: You write documents.
    groups: [read, [edit, {fileRegex: \.md$}]]
`),
		".rooignore": []byte("legal/\n"),
	}, format.Stock)
	fmt.Println(len(diags), "warnings")
	for _, a := range []policy.Action{
		{Group: ir.Edit, Arg: "docs/plan.md"},
		{Group: ir.Edit, Arg: "main.go"},
		{Group: ir.Read, Arg: "legal/terms.md"},
		{Group: ir.Command, Arg: "make"},
	} {
		v := d.Decide(ir.SubjectRef{Mode: "writer"}, a)
		fmt.Println(a.Group, a.Arg, "-", v.Decision, "by", v.Rule)
	}
	// Output:
	// 0 warnings
	// edit docs/plan.md - ask by fileRegex: \.md$
	// edit main.go - deny by fileRegex: \.md$
	// read legal/terms.md - deny by legal/
	// command make - deny by no group command
}

// Without any file of it the agent asks about everything: what a verification takes off the account of a
// source that leaves a decision to the agent.
func ExampleAlone() {
	d := model.Alone(&ir.Project{Modes: []ir.Mode{{Slug: "writer"}}})
	fmt.Println(d.Decide(ir.SubjectRef{Mode: "writer"}, policy.Action{Group: ir.Edit, Arg: "main.go"}).Decision)
	// Output:
	// ask
}
