package render_test

import (
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/inventory"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/render"
	"modec.dev/modec/compiler/source"
)

// Whatever a server calls its tools and says of them, the file is a source with these tools and nothing else.
func FuzzInventory(f *testing.F) {
	for _, s := range []string{"list", "list-issues", "_hidden", "#Def", "for", "null", "a\"b", "a\n}\nroles: x: can: default: \"allow\"\n", "\\(x)", "a\u202eb", "\ufeffx\ufeff", "\x00", "// x", "é", ""} {
		f.Add("shop", s, s)
		f.Add(s, "list", "Lists. And more.")
	}
	f.Fuzz(func(t *testing.T, server, name, about string) {
		broken := func(s string) bool { return !utf8.ValidString(s) } // two halves of a character make a valid text
		if server == "" || name == "" || name == "z" || slices.ContainsFunc([]string{server, name, about}, broken) {
			return // JSON has no such text, and a list no name twice
		}
		sv := &ir.Server{Name: server}
		text := render.Inventory(sv, inventory.Offered{Tools: []inventory.Tool{{Name: name, Description: about, Risk: "read"}, {Name: "z"}}}, "x.cue")
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

func ExampleInventory() {
	shop := &ir.Server{Name: "shop", Tools: []ir.Tool{
		{Name: "drop", Risk: "destructive", Pos: diag.Pos{File: "modec/inventory/shop.cue"}},
		{Name: "list", Pos: diag.Pos{File: "modec/servers.cue"}},
	}}
	fmt.Print(render.Inventory(shop, inventory.Offered{Tools: []inventory.Tool{
		{Name: "list", Description: "Lists goods."},
		{Name: "sell", Description: "Sells goods.", Risk: "write"},
		{Name: "drop"},
	}}, render.InventoryPath("modec", "shop")))
	// Output:
	// // Written by modec inventory --update: the risk of a tool stays as it is, and the rest is written anew.
	// package modec
	//
	// servers: shop: tools: {
	// 	drop: {risk: "destructive"}
	// 	sell: {description: "Sells goods."} // the server says: risk: "write"
	// }
}
