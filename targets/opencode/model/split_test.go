package model

import (
	"slices"
	"testing"

	seen "modec.dev/modec/targets/internal/asked"
)

// What is compared of lines with redirects is what the program compares.
func TestSplit(t *testing.T) {
	for _, c := range seen.Splits {
		want := slices.Clone(c.Asked)
		got, _, ok := split(c.Line)
		slices.Sort(got)
		slices.Sort(want)
		if got = slices.Compact(got); !ok || !slices.Equal(got, want) {
			t.Errorf("got %q of %q, want %q", got, c.Line, want)
		}
	}
}
