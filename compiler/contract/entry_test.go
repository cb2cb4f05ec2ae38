package contract

import "testing"

// A reference in the place of a secret starts the same; another program, host or argument does not.
func TestSameShape(t *testing.T) {
	for _, c := range []struct {
		stated, shape string
		want          bool
	}{
		{"npx -y a", "npx -y a", true},
		{"npx -y a", "npx -y ${A}", false},
		{"https://x/mcp?key=***", "https://x/mcp?key=***", true},
		{"https://x/mcp?key=***", "https://x/mcp?key=${KEY}", true},
		{"https://x/mcp?key=***", "https://y/mcp?key=${KEY}", false},
		{"https://x/mcp?key=***", "https://x/mcp?key=${KEY}@y", false},
		{"https://x/mcp?key=***", "https://x/mcp?key=", false},
		{"a --key *** --b ***", "a --key ${K} --b ***", true},
		{"a --key *** --b ***", "a --key ${K} --c ***", false},
		{"a ***", "a ${1}", false},
		{"a ***", "", false},
	} {
		if got := SameShape(c.stated, c.shape); got != c.want {
			t.Errorf("%q and %q: got %t", c.stated, c.shape, got)
		}
	}
}
