package textdiff_test

import (
	"fmt"

	"modec.dev/modec/compiler/textdiff"
)

func ExampleUnified() {
	before := "read\nedit\ncommand\nweb\n"
	after := "read\nedit\ncommand\nmcp\nweb\n"
	fmt.Print(textdiff.Unified("before", "after", before, after, 1))
	// Output:
	// --- before
	// +++ after
	// @@ -3,2 +3,3 @@
	//  command
	// +mcp
	//  web
}

// A file that is not there is nil.
func ExamplePatch() {
	fmt.Print(textdiff.Patch("docs/a.md", nil, []byte("new\n")))
	// Output:
	// --- /dev/null
	// +++ b/docs/a.md
	// @@ -0,0 +1 @@
	// +new
}

func ExampleLines() {
	for _, l := range textdiff.Lines("a\nb\n", "a\nc\n") {
		fmt.Printf("%q %s\n", l.Op, l.Text)
	}
	// Output:
	// ' ' a
	// '-' b
	// '+' c
}
