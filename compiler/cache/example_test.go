package cache_test

import (
	"fmt"

	"modec.dev/modec/compiler/cache"
)

// A cache answers for its last keys. What is older must be computed again.
func ExampleCache() {
	lengths := cache.New[string, int](2)
	for _, word := range []string{"deny", "ask", "allow", "agent", "mode"} {
		lengths.Put(word, len(word))
	}
	fmt.Println(lengths.Get("mode"))
	fmt.Println(lengths.Get("deny"))
	// Output:
	// 4 true
	// 0 false
}
