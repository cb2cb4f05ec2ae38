// Package allowlist edits the list of MCP tools that Cursor runs without a question:
// mcpAllowlist in a permissions.json, which people write too.
//
// [Add] adds an entry for `modec cursor add`. Comments, order and everything else in the
// file stay as they are.
package allowlist

import (
	"slices"

	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/targets/cursor/format"
	"modec.dev/modec/targets/cursor/model"
)

// NewFile is the permissions.json that a list is added to where there is none.
var NewFile = []byte("{\n}\n")

// Added is what became of an entry.
type Added struct {
	Data    []byte   // the file
	By      string   // the entry that covers the new one already; then Data is unchanged
	Removed []string // entries that the new one makes needless
	// Pins is set where the file had no say in the run mode before and has one now: with
	// any entry it switches off Run Everything and Auto-review.
	Pins bool
}

// Add adds an entry. Where it covers others, it takes the place of the first and the
// others go.
func Add(data []byte, e format.Entry) (Added, error) {
	list, err := jsonedit.OpenList(data, "/mcpAllowlist")
	if err != nil {
		return Added{}, err
	}
	entries := parse(list.Items())
	if i := slices.IndexFunc(entries, func(old listed) bool { return old.Covers(e) }); i >= 0 {
		return Added{Data: data, By: entries[i].String()}, nil
	}
	needless := slices.DeleteFunc(entries, func(old listed) bool { return !e.Covers(old.Entry) })
	out := Added{}
	var places []int
	for _, old := range needless {
		out.Removed, places = append(out.Removed, old.String()), append(places, old.place)
	}
	if len(places) == 0 {
		list.Append(e.String())
	} else {
		list.Replace(places[0], e.String())
		list.Remove(places[1:]...)
	}
	out.Data = list.Pack()
	out.Pins = !model.PinsRunMode(data) && model.PinsRunMode(out.Data)
	return out, nil
}

// listed is an entry and its place in the list.
type listed struct {
	format.Entry
	place int
}

// parse returns the items that Cursor's settings read as entries.
func parse(items []jsonedit.Item) []listed {
	var out []listed
	for i, item := range items {
		if e, err := format.ParseEntry(item.Text); err == nil && item.IsText {
			out = append(out, listed{e, i})
		}
	}
	return out
}
