package contract

import (
	"reflect"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// What is written is read as the same, on a line and as a document.
func TestTOML(t *testing.T) {
	texts := []string{"", "a", "a\nb", "\n", "a\n\"", "a\n\"\"", "x\n\"\"\"\"\"y",
		"\\", "\\\n\\n", "é\u202e\x01\n", "\"\"\"", "a\r\nb", "  a\n b  ",
		"\u00a0", "a\n\\"}
	for _, text := range texts {
		o := Object{"t", text, "l", []string{text, "z"}, "n", 3, "b", true, "o", Object{"a.b", Object{"c", text}, "k", []Object{{"q", text}}},
			"servers", Object{"one two", Object{"x", text, "in", Object{"w", 1}}, "e", Object{}}}
		var doc, inline map[string]any
		if err := toml.Unmarshal(TOML(o), &doc); err != nil {
			t.Fatalf("%q: %v\n%s", text, err, TOML(o))
		}
		if err := toml.Unmarshal([]byte("v = "+InlineTOML(o)), &inline); err != nil {
			t.Fatalf("%q: %v\n%s", text, err, InlineTOML(o))
		}
		if !reflect.DeepEqual(doc, inline["v"]) {
			t.Errorf("got %v and %v of %s", doc, inline, TOML(o))
		}
		if doc["t"] != text {
			t.Errorf("got %q, want %q", doc["t"], text)
		}
	}
}
