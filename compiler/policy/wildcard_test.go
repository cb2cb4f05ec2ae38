package policy

import "testing"

// A pattern covers another one where it matches each name that this one does.
func TestWildcardCovers(t *testing.T) {
	for _, c := range []struct {
		wide, narrow string
		want         bool
	}{
		{"*", "a?*", true},
		{"a*", "ab*c", true},
		{"?*", "a*", true},
		{"?*", "*a", false}, // the look goes from the left
		{"??*", "*o", false},
		{"?", "*", false},
		{"a?", "a?", true},
		{"a?", "ab", true},
		{"ab", "a?", false},
		{"a*", "*", false},
	} {
		if got := WildcardCovers(c.wide, c.narrow); got != c.want {
			t.Errorf("%q, %q: got %t", c.wide, c.narrow, got)
		}
	}
}

// No pattern names what nothing names, but one of all names.
func TestUnlistedNames(t *testing.T) {
	for pattern, want := range map[string]bool{"*": true, "**": true, "": false, "*e*": false, "m*": false, "?*": false} {
		if got := Wildcard(pattern, UnlistedTool); got != want {
			t.Errorf("%q: got %t", pattern, got)
		}
	}
}
