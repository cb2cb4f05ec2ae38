package accepted_test

import (
	"fmt"
	"os"

	"modec.dev/modec/compiler/accepted"
)

// What the user has accepted is not asked about again; what the project allows since is.
func ExampleRecord_New() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_STATE_HOME", dir) // the record is the user's own, outside of every project
	defer os.Unsetenv("XDG_STATE_HOME")

	points := []accepted.Point{
		{Kind: accepted.Allows, Of: "role dev", Text: "command: allow make *"},
		{Kind: accepted.Starts, Text: "server git: git-mcp"},
	}
	if err := accepted.Load("shop").Accept(points[:1]); err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range accepted.Load("shop").New(points) {
		fmt.Println(p.Kind, p.Text)
	}
	fmt.Println(len(accepted.Load("another").New(points)), "new in another project")
	// Output:
	// starts server git: git-mcp
	// 2 new in another project
}
