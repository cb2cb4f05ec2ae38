//go:build !race

// The race detector makes sync.Pool drop what it is given, so allocations are
// counted without it.

package policy

import "testing"

// A decision after the first allocates nothing, but for regexes and commands.
func TestDecideAllocates(t *testing.T) {
	s := first(t)
	for _, d := range decisions {
		want(t, s, d.a, d.d)
		if d.allocs < 0 {
			continue
		}
		if got := testing.AllocsPerRun(200, func() { s.Decide(d.a) }); got > d.allocs {
			t.Errorf("%s: got %v allocations, want at most %v", d.name, got, d.allocs)
		}
	}
}
