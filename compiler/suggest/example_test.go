package suggest_test

import (
	"context"
	"fmt"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/suggest"
	"modec.dev/modec/targets"
)

// A mode that edits documents alone may run any command, and so edit anything. The suggestion
// comes with the file of the source that a patch makes of it.
func ExampleProject() {
	files := memfs.FS{
		"modec.toml": []byte("[targets.model]\n"),
		"modec/writer.cue": []byte(`package modec

modes: writer: {
	name:           "Writer"
	roleDefinition: "You write documents."
	can: {
		edit: allow: ["docs/**"]
		command: "allow"
	}
}
`),
	}
	ctx, req := context.Background(), compiler.Request{FS: files, Targets: targets.All()}
	res, diags := compiler.Compile(ctx, req)
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	got, diags := suggest.Project(ctx, files, req, res)
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, s := range got.Suggestions {
		fmt.Println(s.Pos, s.Code)
	}
	for _, f := range got.Files {
		fmt.Print(string(f.Data))
	}
	// Output:
	// modec/writer.cue:8:12 command-defeats-edit
	// package modec
	//
	// modes: writer: {
	// 	name:           "Writer"
	// 	roleDefinition: "You write documents."
	// 	can: {
	// 		edit: allow: ["docs/**"]
	// 		command: "ask"
	// 	}
	// }
}
