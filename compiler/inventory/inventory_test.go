package inventory

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/source"
)

// Whatever a server calls its tools and says of them, the file is a source with these tools and nothing else.
func FuzzText(f *testing.F) {
	for _, s := range []string{"list", "list-issues", "_hidden", "#Def", "for", "null", "a\"b", "a\n}\nroles: x: can: default: \"allow\"\n", "\\(x)", "a\u202eb", "\ufeffx\ufeff", "\x00", "// x", "é", ""} {
		f.Add("shop", s, s)
		f.Add(s, "list", "Lists. And more.")
	}
	f.Fuzz(func(t *testing.T, server, name, about string) {
		if server == "" || name == "" || name == "z" || !utf8.ValidString(server+name+about) {
			return // JSON has no such text, and a list no name twice
		}
		sv := &ir.Server{Name: server}
		text := Text(sv, Offered{Tools: []Tool{{Name: name, Description: about, Risk: "read"}, {Name: "z"}}}, "x.cue")
		data, err := source.FormatCUE(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		tree, diags := source.Load(memfs.FS{"modec/x.cue": data}, "modec")
		if diags.HasErrors() {
			t.Fatalf("%v in\n%s", diags, data)
		}
		if len(tree.Root.Fields) != 1 {
			t.Fatalf("got\n%s", data)
		}
		servers := tree.Root.Get("servers")
		tools := servers.Get(server).Get("tools")
		if len(servers.Fields) != 1 || len(servers.Get(server).Fields) != 1 || len(tools.Fields) != 2 || tools.Get(name) == nil || tools.Get(name).Get("risk") != nil {
			t.Errorf("got\n%s", data)
		}
	})
}

func TestCompare(t *testing.T) {
	sv := &ir.Server{Name: "s", Tools: []ir.Tool{{Name: "a", Risk: "read"}, {Name: "b"}, {Name: "c", Risk: "destructive"}, {Name: "d"}}}
	d := Compare(sv, Offered{Tools: []Tool{{Name: "z"}, {Name: "e"}, {Name: "c", Risk: "read"}, {Name: "b", Risk: "destructive"}, {Name: "a", Risk: "write"}}})
	want := Difference{New: []Tool{{Name: "e"}, {Name: "z"}}, Gone: []ir.Tool{{Name: "d"}}, Riskier: []Tool{{Name: "a", Risk: "write"}}}
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

func ExampleText() {
	shop := &ir.Server{Name: "shop", Tools: []ir.Tool{
		{Name: "drop", Risk: "destructive", Pos: diag.Pos{File: "modec/inventory/shop.cue"}},
		{Name: "list", Pos: diag.Pos{File: "modec/servers.cue"}},
	}}
	fmt.Print(Text(shop, Offered{Tools: []Tool{
		{Name: "list", Description: "Lists goods."},
		{Name: "sell", Description: "Sells goods.", Risk: "write"},
		{Name: "drop"},
	}}, Path("modec", "shop")))
	// Output:
	// // Written by modec inventory --update: the risk of a tool stays as it is, and the rest is written anew.
	// package modec
	//
	// servers: shop: tools: {
	// 	drop: {risk: "destructive"}
	// 	sell: {description: "Sells goods."} // the server says: risk: "write"
	// }
}
