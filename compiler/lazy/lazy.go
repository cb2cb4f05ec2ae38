// Package lazy makes what most runs do not need when it is first used: a program that an agent starts
// before each of its commands must not prepare what only other commands read.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns an expression, which is compiled once, when it is first called.
// It panics then where the text is no expression.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
