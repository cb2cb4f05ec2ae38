package lazy_test

import (
	"fmt"

	"modec.dev/modec/compiler/lazy"
)

func ExampleRegexp() {
	word := lazy.Regexp(`^[a-z]+$`)
	fmt.Println(word().MatchString("mode"), word().MatchString("a mode"))
	// Output: true false
}
