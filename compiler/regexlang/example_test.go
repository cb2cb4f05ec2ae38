package regexlang_test

import (
	"fmt"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/regexlang"
)

// small is an alphabet for examples.
var small = regexlang.SetOf(func(r rune) bool { return r >= 'a' && r <= 'z' || r == '/' || r == '.' })

// Two expressions meet where some text matches both.
func ExampleSpace_Meets() {
	s := regexlang.New(small)
	language := func(expr string) regexlang.Language {
		l, err := s.Go(expr)
		if err != nil {
			fmt.Println(err)
		}
		return l
	}
	docs, markdown := language(`^docs/`), language(`\.md$`)
	fmt.Println(s.Meets(docs, markdown))
	fmt.Println(s.Meets(docs, language(`^src/`)))
	fmt.Println(s.Without(s.And(docs, markdown), docs) == regexlang.None) // nothing is left
	// Output:
	// true
	// false
	// true
}

// Cells finds every combination of languages that a text meets, with a short text of each: what a
// comparison of two sets of rules has to look at, and no more.
func ExampleSpace_Cells() {
	s := regexlang.New(small)
	var parts []regexlang.Language
	for _, expr := range []string{`^docs/`, `\.md$`} {
		p, err := ecma.Parse(expr)
		if err != nil {
			fmt.Println(err)
			return
		}
		l, err := s.ECMAScript(p, false)
		if err != nil {
			fmt.Println(err)
			return
		}
		parts = append(parts, l)
	}
	all, ok := s.Cells(s.Star(s.Chars(small)), regexlang.MostStates, parts)
	fmt.Println(ok)
	for _, c := range all {
		fmt.Printf("%q %v\n", c.Text, c.In)
	}
	// Output:
	// true
	// "" [false false]
	// ".md" [false true]
	// "docs/" [true false]
	// "docs/.md" [true true]
}
