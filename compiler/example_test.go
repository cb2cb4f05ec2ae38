package compiler_test

import (
	"context"
	"fmt"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets"
)

// small is a project with a mode that writes documents.
var small = memfs.FS{
	config.File: []byte("[targets.roo]\n"),
	"modec/writer.cue": []byte(`package modec

modes: writer: {
	name:           "Writer"
	roleDefinition: "You write documents."
	can: {read: "allow", edit: allow: ["docs/**"]}
}
`),
}

// Open reads and checks a source without compiling it: its model decides.
func ExampleOpen() {
	res, diags := compiler.Open(context.Background(), compiler.Request{FS: small, Targets: targets.All()})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	writer, err := res.Policy.Subject(ir.SubjectRef{Mode: "writer"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, file := range []string{"docs/plan.md", "main.go"} {
		r := writer.Decide(policy.Action{Group: ir.Edit, Arg: file})
		fmt.Printf("edit %s: %s by %s\n", file, r.Decision, r.Rule)
	}
	// Output:
	// edit docs/plan.md: allow by allow "docs/**"
	// edit main.go: deny by edit writes no default
}

// Compile returns the files of every target. Nothing is written before Write.
func ExampleCompile() {
	res, diags := compiler.Compile(context.Background(), compiler.Request{FS: small, Targets: targets.All()})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, f := range res.Files() {
		fmt.Println(f.Path)
	}
	// Output:
	// .roomodes
}

// Verify asks each agent's model what it would do with the compiled files, and compares
// that with the source.
func ExampleResult_Verify() {
	ctx := context.Background()
	res, diags := compiler.Compile(ctx, compiler.Request{FS: small, Targets: targets.All()})
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	report, diags := res.Verify(ctx, 1, nil)
	fmt.Println(report.Wider(), "decisions are wider than the source,", len(diags), "problems")
	// Output:
	// 0 decisions are wider than the source, 0 problems
}
