package format_test

import (
	"fmt"

	"modec.dev/modec/targets/thurbox/format"
)

// Thurbox tears a rule at its commas, and joins the pieces by spaces.
func ExampleRole_Args() {
	r := format.Role{Name: "dev", AllowedTools: []string{"Bash(make *)", "Bash(foo a,b)"}}
	fmt.Printf("%q\n", r.Args())
	// Output: ["--permission-mode" "default" "--allowed-tools" "Bash(make *) Bash(foo a b)"]
}

func ExampleStored() {
	fmt.Printf("%q\n", format.Stored([]string{"Edit(src/{a,b}/**)", " Read "}))
	// Output: ["Edit(src/{a" "b}/**)" "Read"]
}
