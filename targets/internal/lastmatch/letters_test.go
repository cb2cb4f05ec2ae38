package lastmatch

import (
	"slices"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// What holds back is written in the letters in which an allow has it, and as it is where the allow has no letters or too
// many ways to write them.
func TestRespelled(t *testing.T) {
	for _, c := range []struct {
		pattern, allow string
		want           []string // nil: the allow permits nothing of it in any letters
	}{
		{"secret.txt", "S*", []string{"Secret.txt"}},
		{"secret.txt", "*.TXT", []string{"secret.TXT"}},
		{"secret.txt", "SECRET.TXT", []string{"SECRET.TXT"}},
		{"secret.txt", "sEcret?*", []string{"sEcret.txt"}},
		{"*/modec.toml", "M*", []string{"*/modec.toml"}},
		{"modec/*", "M*", []string{"Modec/*"}},
		{"a*a", "*A*", []string{"a*A", "A*A", "A*a"}},
		{"k", "??", []string{"k"}}, // of which one may be a character that nobody sees
		{"é*", "a*", []string{"é*"}},
		{"k", "a*", nil},
		{"secret/*", "*T", []string{"secret/*"}},
		{"abcdefgh", "*A*B*C*D*E*F*", []string{"ABCDEFgh"}},
		{"aaaaaaaa", "*A*", []string{"aaaaaaaa"}}, // too many
		{"home/x", "~/*", nil},
	} {
		list := []entry{{"zz", ir.Deny}, {c.allow, ir.Allow}}
		var got []string
		if opensAlike(list, c.pattern, ir.Deny) {
			got = respelled(list, c.pattern, ir.Deny)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s beside an allow of %s: got %q, want %q", c.pattern, c.allow, got, c.want)
		}
		if opensAlike(list, c.pattern, ir.Allow) {
			t.Errorf("%s: nothing permits more than an allow", c.pattern)
		}
	}
}
