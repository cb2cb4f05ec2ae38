package output_test

import (
	"context"
	"fmt"
	"os"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
)

type robot struct{ contract.Target }

func (robot) Name() string   { return "robot" }
func (robot) Owns() []string { return []string{"robot.json"} }

// A second build of the same files writes nothing, and a file of somebody's own is left
// alone.
func ExampleWrite() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	build := output.Build{Outputs: []contract.Artifacts{
		{Target: robot{}, Files: []contract.File{{Path: "robot.json", Data: []byte("{}\n")}}},
	}}
	for range 2 {
		changes, diags := output.Write(context.Background(), build, output.Options{Dir: dir})
		fmt.Println(changes[0].Action, changes[0].Path, diags.Err())
	}
	if err := os.WriteFile(dir+"/robot.json", []byte("mine\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	build.Outputs[0].Files[0].Data = []byte("[]\n")
	_, diags := output.Write(context.Background(), build, output.Options{Dir: dir})
	fmt.Println(diags[0].Code, diags[0].Pos.File)
	// Output:
	// create robot.json <nil>
	// unchanged robot.json <nil>
	// edited robot.json
}

// Put writes files that are a person's own from then on.
func ExamplePut() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files := []contract.File{{Path: "modec/modes/code.cue", Data: []byte("package modec\n")}}
	put := func(there output.Existing) diag.List {
		return output.Put(context.Background(), files, output.PutOptions{Dir: dir, Existing: there})
	}
	fmt.Println(put(output.KeepExisting).Err())
	files[0].Data = []byte("package modec // again\n")
	fmt.Println(put(output.KeepExisting)[0].Code)
	fmt.Println(put(output.ReplaceExisting).Err())
	// Output:
	// <nil>
	// not-ours
	// <nil>
}
