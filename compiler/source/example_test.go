package source_test

import (
	"fmt"

	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/source"
)

// The files of a source are united, whatever their form, and every value keeps its place.
func ExampleLoad() {
	tree, diags := source.Load(memfs.FS{
		"modec/a.cue":  []byte("package modec\n\nmodes: code: name: \"Code\"\n"),
		"modec/b.yaml": []byte("modes:\n  code:\n    roleDefinition: You write code.\n"),
	}, "modec")
	if diags.HasErrors() {
		fmt.Println(diags)
		return
	}
	for _, f := range tree.Root.Get("modes").Get("code").Fields {
		fmt.Println(f.Name, f.Node, f.Node.Pos)
	}
	// Output:
	// name "Code" modec/a.cue:3:20
	// roleDefinition "You write code." modec/b.yaml:3:21
}

func ExampleParseData() {
	n, err := source.ParseData("servers.json", []byte(`{"docs": {"timeout": 60}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	timeout := n.Get("docs").Get("timeout")
	fmt.Println(timeout.Typed(), timeout.Pos, n.Get("other") == nil)
	// Output:
	// 60 (int) servers.json:1:22 true
}
