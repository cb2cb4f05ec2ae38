package ecma_test

import (
	"fmt"

	"modec.dev/modec/compiler/ecma"
)

func ExampleParse() {
	p, err := ecma.Parse(`^src/(\w+)\.ts$`)
	if err != nil {
		panic(err)
	}
	for _, term := range p.Root[0] {
		fmt.Printf("%d %T\n", term.Offset(), term)
	}

	_, err = ecma.Parse("a{2,1}")
	fmt.Println(err)
	// Output:
	// 0 *ecma.Assertion
	// 1 *ecma.Literal
	// 2 *ecma.Literal
	// 3 *ecma.Literal
	// 4 *ecma.Literal
	// 5 *ecma.Group
	// 10 *ecma.Literal
	// 12 *ecma.Literal
	// 13 *ecma.Literal
	// 14 *ecma.Assertion
	// want the smaller number first in "{2,1}" (character 2)
}

func ExampleCompile() {
	re, err := ecma.Compile(`^.\.md$`, ecma.Options{})
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"a.md", "ab.md", "😀.md"} {
		ok, err := re.Match(path)
		fmt.Println(path, ok, err)
	}
	// Output:
	// a.md true <nil>
	// ab.md false <nil>
	// 😀.md false <nil>
}

func ExampleAlternation_Terms() {
	p, err := ecma.Parse(`a*(?:b|[c-e]+)?`)
	if err != nil {
		panic(err)
	}
	p.Root.Terms(func(t ecma.Term) bool {
		if r, ok := t.(*ecma.Repetition); ok {
			fmt.Println(r.Min, r.Max)
		}
		return true
	})
	// Output:
	// 0 -1
	// 0 1
	// 1 -1
}
