package lastmatch

import (
	"math/rand/v2"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/opencode/format"
)

// A list that is bounded by another one permits no more than either, and where the other one says nothing, what it did.
func TestBound(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	patterns := []string{"*", "docs/*", "docs/a*", "*.md", "src/*", "x"}
	decisions := []ir.Decision{ir.Deny, ir.Ask, ir.Allow}
	draw := func(n int) (list []entry) {
		for range r.IntN(n) {
			list = append(list, entry{patterns[r.IntN(len(patterns))], decisions[r.IntN(3)]})
		}
		return list
	}
	// As a source writes it: what is allowed, asked about and denied, in this order.
	ordered := func(list []entry) (out []entry) {
		for _, d := range []ir.Decision{ir.Allow, ir.Ask, ir.Deny} {
			for _, e := range list {
				if e.decision == d && e.pattern != "*" {
					out = append(out, e)
				}
			}
		}
		return out
	}
	last := func(base ir.Decision, list []entry, text string) ir.Decision {
		for _, e := range list {
			if format.Match(e.pattern, text) {
				base = e.decision
			}
		}
		return base
	}
	for range 20_000 {
		base, list, own := decisions[r.IntN(3)], ordered(draw(5)), draw(5)
		gotBase, got := bound(base, list, own)
		for _, text := range []string{"docs/a.md", "docs/b", "src/a.md", "src/b", "x", "y", "y.md"} {
			one, other := last(base, list, text), last(ir.Agent, own, text)
			if is := last(gotBase, got, text); is > min(one, other) || len(own) == 0 && is != one {
				t.Fatalf("%v %v bounded by %v: %v %v says %v of %q, and they say %v and %v",
					base, list, own, gotBase, got, is, text, one, other)
			}
		}
	}
}
