package policy

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
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
	if p, ok := parsedLines.get(line); ok {
		return p.file, p.err
	}
	file, err := parse(line)
	parsedLines.put(line, parsed{file, err})
	return file, err
}

// parsed is what a line parses to, which depends on nothing else.
type parsed struct {
	file *syntax.File
	err  error
}

const (
	keptLines = 768 // at least, and twice as many at most
	maxKept   = 256 // the length of a line
)

// recent keeps the values of the last keys. It is safe for concurrent use.
type recent[K comparable, V any] struct {
	mu          sync.Mutex
	last, older map[K]V
	size        int
}

var parsedLines = recent[string, parsed]{size: keptLines}

func (r *recent[K, V]) get(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.last[key]
	if !ok {
		v, ok = r.older[key]
	}
	return v, ok
}

func (r *recent[K, V]) put(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil || len(r.last) >= r.size {
		r.last, r.older = make(map[K]V, r.size), r.last
	}
	r.last[key] = v
}

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

func parse(line string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	defer parsers.Put(p)
	return p.Parse(strings.NewReader(line), "")
}
