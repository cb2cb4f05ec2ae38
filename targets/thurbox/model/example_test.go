package model_test

import (
	"fmt"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/thurbox/model"
)

// A rule with a comma does not hold: Thurbox tears it.
func ExampleOpen() {
	deciders, _ := model.Open(memfs.FS{".thurbox/set_roles.json": []byte(`{"roles": [
		{"name": "dev", "allowed_tools": ["Bash(make *)", "Bash(foo a,b)"]}]}`)})
	for _, line := range []string{"make all", "foo a,b"} {
		v := deciders[0].Decide(ir.SubjectRef{Role: "dev"}, policy.Action{Group: ir.Command, Arg: line})
		fmt.Println(deciders[0].Surface(), line, v.Decision)
	}
	// Output:
	// set_roles make all allow
	// set_roles foo a,b ask
}
