package cursor

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"

	"modec.dev/modec/compiler/diag"
)

// Checked is what a permissions.json says of one tool.
type Checked struct {
	Ran
	Mode    RunMode
	At      diag.Pos  // of the entry that lets it run
	Ignored diag.List // entries that Cursor's settings do not read; its engine may read a glob
}

// CheckTool tells whether a tool would run without a question by a
// permissions.json, in a run mode; "" for that of the file, which is
// UseAllowlist where it says none.
func CheckTool(name string, data []byte, mode RunMode, server, tool string) (Checked, error) {
	f, diags := readPermissions(name, data)
	if f == nil {
		return Checked{}, errors.New(diags[0].Message)
	}
	for i := range diags { // the file is the person's own
		diags[i].Hint, diags[i].Target = "write the tools one by one, or SERVER:*", ""
	}
	run := f.mcp
	if mode != "" {
		run.Mode = mode
	}
	c := Checked{Ran: run.Decide(server, tool), Mode: run.Mode, Ignored: diags}
	if c.Why == ByUserList {
		c.At = f.entries[f.mcp.List.Find(server, tool)]
	}
	return c, nil
}

// Edit is what adding an entry makes of a permissions.json.
type Edit struct {
	Data    []byte
	By      string   // the entry that covers the new one already; then Data is unchanged
	Removed []string // entries that the new one makes needless
	// Pins is set where the file had no say in the run mode and has one now:
	// with any entry it switches off Run Everything and Auto-review.
	Pins bool
}

// NewPermissions is what a permissions.json starts from.
var NewPermissions = []byte("{\n}\n")

// AddEntry adds an entry to mcpAllowlist in a permissions.json. Everything else
// keeps its bytes: comments, order, commas. Where entries are needless now, the
// new one takes the place of the first.
func AddEntry(data []byte, e Entry) (Edit, error) {
	file, err := hujson.Parse(data)
	if err != nil {
		return Edit{}, err
	}
	o, ok := file.Value.(*hujson.Object)
	if !ok {
		return Edit{}, fmt.Errorf("got %s, want an object", kindOf(file.Value))
	}
	silent := pinned(data)
	list := member(o, "mcpAllowlist")
	if list == nil {
		list = addMember(o, "mcpAllowlist", &hujson.Array{})
	}
	a, ok := list.Value.(*hujson.Array)
	if !ok {
		return Edit{}, fmt.Errorf("mcpAllowlist: got %s, want a list", kindOf(list.Value))
	}
	var entries Allowlist
	var places []int // of the entries in the list, which may hold what is none
	for i := range a.Elements {
		if l, ok := a.Elements[i].Value.(hujson.Literal); ok && l.Kind() == '"' {
			if old, err := ParseEntry(l.String()); err == nil {
				entries, places = append(entries, old), append(places, i)
			}
		}
	}
	add := entries.Add(e)
	if add.By >= 0 {
		return Edit{Data: data, By: entries[add.By].String()}, nil
	}
	edit := Edit{}
	for _, i := range add.Subsumed {
		edit.Removed = append(edit.Removed, entries[i].String())
	}
	text := hujson.String(e.String())
	if len(add.Subsumed) == 0 {
		appendElement(a, text)
	} else {
		a.Elements[places[add.Subsumed[0]]].Value = text
		for _, i := range slices.Backward(add.Subsumed[1:]) {
			removeElement(a, places[i])
		}
	}
	edit.Data = file.Pack()
	edit.Pins = !silent && pinned(edit.Data)
	return edit, nil
}

// pinned reports whether a file has a say in the run mode.
func pinned(data []byte) bool {
	f, _ := readPermissions("", data)
	return f != nil && f.mode != RunEverything && (!f.modeAt.IsZero() || f.hasMCP || f.hasShell)
}

func kindOf(v hujson.ValueTrimmed) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a text"
	}
	return string(v.(hujson.Literal))
}

// member returns the last member of a name: Cursor goes by it.
func member(o *hujson.Object, name string) *hujson.Value {
	for i := range slices.Backward(o.Members) {
		if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

func addMember(o *hujson.Object, name string, v hujson.ValueTrimmed) *hujson.Value {
	m := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(name)}, Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: v}}
	var first hujson.Extra
	if len(o.Members) > 0 {
		first = o.Members[0].Name.BeforeExtra
		if last := &o.Members[len(o.Members)-1].Value; last.AfterExtra != nil {
			m.Value.AfterExtra = hujson.Extra{} // the comma at the end stays there
		}
	} else if bytes.ContainsRune(o.AfterExtra, '\n') {
		first = hujson.Extra("\n  ")
	}
	m.Name.BeforeExtra, o.AfterExtra = between(first, o.AfterExtra, len(o.Members) == 0)
	o.Members = append(o.Members, m)
	return &o.Members[len(o.Members)-1].Value
}

func appendElement(a *hujson.Array, v hujson.Literal) {
	e := hujson.Value{Value: v}
	first := a.AfterExtra
	if len(a.Elements) > 0 {
		first = a.Elements[0].BeforeExtra
		if a.Elements[len(a.Elements)-1].AfterExtra != nil {
			e.AfterExtra = hujson.Extra{}
		}
	}
	e.BeforeExtra, a.AfterExtra = between(first, a.AfterExtra, len(a.Elements) == 0)
	a.Elements = append(a.Elements, e)
}

// between splits what stands before a closing bracket, so that a new last item
// stands after the comments and on a line like that of the first.
func between(first, closing hujson.Extra, empty bool) (before, after hujson.Extra) {
	kept := comments(closing)
	after = closing[len(kept):]
	indent := []byte(" ")
	if i := bytes.IndexByte(first, '\n'); i >= 0 {
		rest := first[i+1:]
		indent = append([]byte("\n"), rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))]...)
	} else if empty && len(kept) == 0 {
		indent = nil
	}
	return slices.Concat(kept, lineEnd(kept, indent), indent), after
}

// removeElement takes an element away and keeps the comments before it.
func removeElement(a *hujson.Array, i int) {
	gone := a.Elements[i]
	last := i == len(a.Elements)-1
	a.Elements = slices.Delete(a.Elements, i, i+1)
	kept := comments(gone.BeforeExtra, gone.AfterExtra)
	if !last {
		a.Elements[i].BeforeExtra = slices.Concat(kept, lineEnd(kept, a.Elements[i].BeforeExtra), a.Elements[i].BeforeExtra)
		return
	}
	a.AfterExtra = slices.Concat(kept, lineEnd(kept, a.AfterExtra), a.AfterExtra)
	before := &a.Elements[i-1] // the new entry, or what stands after it
	if gone.AfterExtra == nil {
		kept := comments(before.AfterExtra)
		a.AfterExtra, before.AfterExtra = slices.Concat(kept, lineEnd(kept, a.AfterExtra), a.AfterExtra), nil
	} else if before.AfterExtra == nil {
		before.AfterExtra = hujson.Extra{}
	}
}

// comments joins what holds comments, without the space after each.
func comments(list ...hujson.Extra) hujson.Extra {
	var out hujson.Extra
	for _, x := range list {
		if x = bytes.TrimRight(x, " \t\r\n"); len(x) == 0 {
			continue
		}
		out = slices.Concat(out, lineEnd(out, x), x)
	}
	return out
}

// lineEnd is the line break that must stand between a and b: a line comment
// ends with its line.
func lineEnd(a, b hujson.Extra) []byte {
	if bytes.Contains(a, []byte("//")) && !bytes.HasPrefix(b, []byte("\n")) {
		return []byte("\n")
	}
	return nil
}
