package cue_test

import (
	"fmt"
	"path"

	"modec.dev/modec/cue"
)

// A template is the files of a new project.
func ExampleTemplate() {
	for _, t := range cue.Templates()[:1] {
		fmt.Println(t.Name)
		for _, f := range cue.Template(t.Name) {
			fmt.Println(" ", f.Name)
		}
	}
	fmt.Println(cue.Template("none of that name") == nil)
	// Output:
	// default
	//   modec.toml
	//   modec/everyone.cue
	//   modec/modes/docs-writer.cue
	//   modec/roles/developer.cue
	//   modec/schema.cue
	// true
}

// What modec brings along is data like a person's own source.
func ExampleBuiltins() {
	for _, f := range cue.Builtins() {
		fmt.Println(path.Base(f.Name))
	}
	// Output:
	// modes.cue
	// policies.cue
}
