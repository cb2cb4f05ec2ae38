package policy

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/cache"
)

// ParseLine parses a line of bash. The caller must not change what it returns: it is the same for
// everybody who asks for the line again.
//
// One decision needs the same line several times: of the source, and of each model and hook that
// judges it. The last lines are kept, and no more than that.
func ParseLine(line string) (*syntax.File, error) {
	if len(line) > maxKept {
		return parse(line)
	}
	if p, ok := parsedLines.Get(line); ok {
		return p.file, p.err
	}
	file, err := parse(line)
	parsedLines.Put(line, parsed{file, err})
	return file, err
}

// parsed is what a line parses to, which depends on nothing else.
type parsed struct {
	file *syntax.File
	err  error
}

// RedirectBehind returns where the first redirect stands behind the name of a command, false for none. Agents that
// parse lines by tree-sitter take the words behind it for the redirect's; a here-string takes one word only.
func RedirectBehind(name *syntax.Word, redirects []*syntax.Redirect) (at syntax.Pos, ok bool) {
	for _, r := range redirects {
		if r.Op != syntax.WordHdoc && r.Pos().After(name.Pos()) {
			return r.Pos(), true
		}
	}
	return at, false
}

const (
	keptLines = 768 // at least, and twice as many at most
	maxKept   = 256 // the length of a line
)

var parsedLines = cache.New[string, parsed](keptLines)

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

func parse(line string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	return p.Parse(strings.NewReader(line), "")
}
