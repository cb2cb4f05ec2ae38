package digest_test

import (
	"fmt"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/digest"
)

type rule struct {
	pattern string
	pos     diag.Pos
}

// The digest of a value has its unexported fields too. Places are beside it: a rule that moves
// to another line is the same rule.
func ExampleOf() {
	key := func(r rule) digest.Key {
		k, err := digest.Of(r, nil)
		if err != nil {
			fmt.Println(err)
		}
		return k
	}
	was := key(rule{"git push *", diag.Pos{File: "modec/code.cue", Line: 4}})
	moved := key(rule{"git push *", diag.Pos{File: "modec/code.cue", Line: 9}})
	other := key(rule{"git pull *", diag.Pos{File: "modec/code.cue", Line: 4}})
	fmt.Println(was.Sum == moved.Sum, was.Sum == other.Sum)
	fmt.Println(moved.Places)
	// Output:
	// true false
	// [modec/code.cue:9]
}

// What cannot be read whole is an error, unless somebody says what to read instead.
func ExampleFor() {
	type tested struct {
		expr  string
		match func(string) bool
	}
	value := &tested{"^a", func(s string) bool { return s[0] == 'a' }}
	_, err := digest.Of(value, nil)
	fmt.Println(err != nil)

	known := digest.Known{}
	digest.For(known, func(t *tested) any { return t.expr })
	_, err = digest.Of(value, known)
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}
