package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

func TestCompare(t *testing.T) {
	sv := &ir.Server{Name: "s", Tools: []ir.Tool{{Name: "a", Risk: "read"}, {Name: "b"}, {Name: "c", Risk: "destructive"}, {Name: "d"}}}
	d := Compare(sv, Offered{Tools: []Tool{{Name: "z"}, {Name: "o/d"}, {Name: "e"}, {Name: "c", Risk: "read"}, {Name: "b", Risk: "destructive"}, {Name: "a", Risk: "write"}}})
	want := Difference{New: []Tool{{Name: "e"}, {Name: "z"}}, Gone: []ir.Tool{{Name: "d"}}, Refused: []string{"o/d"}, Riskier: []Tool{{Name: "a", Risk: "write"}}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("got (-want +got)\n%s", diff)
	}
	if !d.Any() || Compare(sv, Offered{Tools: []Tool{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}}).Any() {
		t.Error("a difference is none, or the other way round")
	}
}

func TestShort(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "",
		"Lists  issues.\n\nArgs: x":         "Lists issues.",
		strings.Repeat("é", 200):            strings.Repeat("é", maxDescription-1) + "…",
		strings.Repeat("é", maxDescription): strings.Repeat("é", maxDescription),
		"a\u202eb\x1b[31m":                  diag.Clean("a\u202eb\x1b[31m"),
	} {
		if got := Short(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func ExampleCompare() {
	shop := &ir.Server{Name: "shop", Tools: []ir.Tool{{Name: "list"}, {Name: "sink"}}}
	d := Compare(shop, Offered{Tools: []Tool{{Name: "list"}, {Name: "sell"}}})
	fmt.Println("new:", d.New[0].Name)
	fmt.Println("gone:", d.Gone[0].Name)
	// Output:
	// new: sell
	// gone: sink
}
