package lint

import "testing"

func TestBacktracks(t *testing.T) {
	for text, want := range map[string]bool{
		`(a+)+`:            true,
		`(a*)*`:            true,
		`(?:a+)+`:          true,
		`^(?:\w+\.?)*$`:    true,
		`(a+|b)*`:          true,
		`((a+)b?)+`:        true,
		`(a+b{0,2})+`:      true,
		`(?:x(?:a+){2,})y`: true,
		`(\d+(?:,\d+)*)+z`: true,
		`(?<=(a+)+)b`:      true,
		`(a+)\1`:           false,
		`(a+b)+`:           false,
		`(a+){2}`:          false,
		`(a{2})+`:          false,
		`^(?:a|b)+$`:       false,
		`[a+]+`:            false,
		`\.md$`:            false,
		`(`:                false,
	} {
		if got := backtracks(text); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}
