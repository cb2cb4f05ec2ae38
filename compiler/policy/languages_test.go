package policy

import (
	"math/rand/v2"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/regexlang"
)

// The language of a glob has the plain paths that the glob matches.
func TestGlobLanguages(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	alphabet, expr := Plain(ir.Read)
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	name := func() string {
		return pick("a", "b", "*", "*.b", "a*", "?", "[ab]", "[!a]b", "{a,b}", ".a", "A", "**", "a*b", "ä")
	}
	tried := 0
	for n := range 3000 {
		parts := make([]string, 1+r.IntN(4))
		for i := range parts {
			parts[i] = name()
		}
		text := pick("", "/") + strings.Join(parts, "/") + pick("", "", "/")
		var e Engine
		for _, as := range []letters{exact, folded} {
			g, err := e.patterns.glob(text, as)
			if err != nil {
				continue
			}
			to := reach(n%2 == 0)
			sp := regexlang.New(alphabet)
			within, err := sp.Go(expr)
			if err != nil {
				t.Fatal(err)
			}
			l := g.language(sp, as, to)
			for range 40 {
				names := make([]string, 1+r.IntN(4))
				for i := range names {
					for range 1 + r.IntN(3) {
						names[i] += pick("a", "b", ".", "A", "B", string(regexlang.Other))
					}
				}
				path := strings.Join(names, "/")
				if !sp.Has(within, path) {
					continue
				}
				p := newFilePath()
				p.read(path, posix)
				at := &p.exact
				if as == folded {
					at = &p.folded
				}
				want := false
				for _, a := range g {
					want = want || a.match(at, 0, to)
				}
				tried++
				if got := sp.Has(l, path); got != want {
					t.Fatalf("%q (folded %t, below %t): got %t for %q", text, as, to, got, path)
				}
			}
		}
	}
	if tried < 10_000 {
		t.Errorf("%d paths were tried", tried)
	}
}
