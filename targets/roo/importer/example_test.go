package importer_test

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
	"modec.dev/modec/targets/roo/importer"
)

// The expression of a mode becomes patterns over paths. Whether a person is asked is a setting of
// each user of the agent, so that what it permits is asked about.
func ExampleImport() {
	got, diags := importer.Import(contract.Source{Root: memfs.FS{".roomodes": []byte(`customModes:
  - slug: writer
    name: Writer
    roleDefinition: You write documents.
    groups: [read, [edit, {fileRegex: '^docs/.*\.md$'}]]
`)}}, format.Stock)
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	writer, err := policy.New(got.Project).Subject(ir.SubjectRef{Mode: "writer"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, file := range []string{"docs/plan.md", "docs/plan.txt", "main.go"} {
		fmt.Println(file, writer.Decide(policy.Action{Group: ir.Edit, Arg: file}).Decision)
	}
	// Output:
	// docs/plan.md ask
	// docs/plan.txt deny
	// main.go deny
}
