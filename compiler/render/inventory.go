package render

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/inventory"
	"modec.dev/modec/compiler/ir"
)

// InventoryHeader begins the files that Inventory writes.
const InventoryHeader = "// Written by modec inventory --update: the risk of a tool stays as it is, " +
	"and the rest is written anew.\n"

// InventoryPath returns the path of the file in which the tools of a server are, in the folder of a source.
func InventoryPath(source, server string) string {
	return path.Join(source, "inventory", contract.PathName(server)+".cue")
}

// mostServerName is how many bytes the name of a server may have in the name of its file. File systems take names of
// 255 bytes, to which the ending and the writer's copy add 14.
const mostServerName = 240

// InventoryFits reports whether a server's name can be that of its file.
func InventoryFits(server string) bool { return len(contract.PathName(server)) <= mostServerName }

// Inventory returns the file with the tools that a server offers and that no other file of the source lists, in CUE
// that is not formatted yet. file is its path: tools that the source has from there keep their risk.
func Inventory(sv *ir.Server, o inventory.Offered, file string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%spackage modec\n\nservers: %s: tools: {\n", InventoryHeader, Label(sv.Name))
	byName := func(a, b inventory.Tool) int { return cmp.Compare(a.Name, b.Name) }
	for _, t := range slices.SortedFunc(slices.Values(o.Tools), byName) {
		have, risk := sv.Tool(t.Name), ""
		if have != nil && have.Pos.File != file {
			continue
		}
		var fields []string
		if d := inventory.Short(t.Description); d != "" {
			fields = append(fields, "description: "+quoted(d))
		}
		if have != nil && have.Risk != "" {
			risk = have.Risk
			fields = append(fields, "risk: "+quoted(risk))
		}
		fmt.Fprintf(&b, "\t%s: {%s}", Label(t.Name), strings.Join(fields, ", "))
		if t.Risk != "" && t.Risk != risk {
			fmt.Fprintf(&b, " // the server says: risk: %s", quoted(t.Risk))
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return b.String()
}
