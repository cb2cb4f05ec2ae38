package model

import (
	"slices"
	"testing"

	"modec.dev/modec/targets/internal/asked"
)

// What is compared of lines with redirects is what the program compares.
func TestSplit(t *testing.T) {
	for _, c := range asked.Splits {
		want := slices.Clone(c.Asked)
		if c.Kilo != nil {
			want = slices.Clone(c.Kilo)
		}
		got, _, ok := split(c.Line)
		slices.Sort(got)
		slices.Sort(want)
		if got = slices.Compact(got); !ok || !slices.Equal(got, want) {
			t.Errorf("got %q of %q, want %q", got, c.Line, want)
		}
	}
}
