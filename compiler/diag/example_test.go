package diag_test

import (
	"fmt"

	"modec.dev/modec/compiler/diag"
)

// A stage collects diagnostics in a list and returns it. Details are added to the one
// that was appended last.
func ExampleList() {
	var diags diag.List
	at := diag.Pos{File: "modec/modes.cue", Line: 7, Col: 9}
	diags.Errorf(diag.BadChoice, at, "got %q, want one of %s", "opsu", diag.Quote([]string{"opus", "sonnet"})).
		Path("modes.code.model").
		Hint(diag.DidYouMean("opsu", []string{"opus", "sonnet"}))
	fmt.Println(diags.HasErrors())
	fmt.Println(diags[0])
	fmt.Println(diags[0].Hint)
	// Output:
	// true
	// modec/modes.cue:7:9: error: got "opsu", want one of "opus", "sonnet" [bad-choice]
	// did you mean "opus"?
}

func ExampleDidYouMean() {
	known := []string{"command", "read", "web"}
	fmt.Printf("%q\n", diag.DidYouMean("comand", known))
	fmt.Printf("%q\n", diag.DidYouMean("shell", known))
	// Output:
	// "did you mean \"command\"?"
	// ""
}

// A path names a field as its author would write it.
func ExampleJoin() {
	path := diag.Join("modes", diag.Label("code"))
	path = diag.Join(path, diag.Index("rules", 2))
	fmt.Println(path)
	fmt.Println(diag.Join("servers", diag.Label("my docs")))
	// Output:
	// modes.code.rules[2]
	// servers."my docs"
}
