package shape_test

import (
	"fmt"

	"modec.dev/modec/compiler/shape"
	"modec.dev/modec/compiler/source"
)

// Every problem is reported at its place, and what fits can be used further.
func ExampleCheck() {
	data, err := source.ParseData("modec/code.yaml", []byte(`modes:
  code:
    name: Code
    roleDefinition: You write code.
    modle: opus
    can: {read: alow, web: ask}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	usable, ok, diags := shape.Check(data)
	for _, d := range diags {
		fmt.Printf("%s: %s, %s\n", d.Pos, d.Code, d.Hint)
	}
	for _, f := range usable.Get("modes").Get("code").Fields {
		fmt.Println(f.Name)
	}
	fmt.Println(ok)
	// Output:
	// modec/code.yaml:5:5: unknown-field, did you mean "model"?
	// modec/code.yaml:6:17: bad-choice, did you mean "allow"?
	// name
	// roleDefinition
	// can
	// true
}
