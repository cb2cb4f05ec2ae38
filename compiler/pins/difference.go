package pins

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/diag"
)

// Part is a field that differs between two objects.
type Part struct {
	Path   string `json:"path"`
	Before string `json:"before,omitempty" jsonschema:"as JSON; absent where there was none"`
	After  string `json:"after,omitempty" jsonschema:"as JSON; absent where there is none"`
}

// Difference returns where two values in JSON differ, each place once and the innermost ones.
func Difference(before, after []byte) []Part {
	var a, b any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return []Part{{Before: visible(before), After: visible(after)}}
	}
	return differ(nil, "", a, b)
}

func differ(parts []Part, at string, a, b any) []Part {
	x, inA := a.(map[string]any)
	y, inB := b.(map[string]any)
	if !inA || !inB {
		if reflect.DeepEqual(a, b) {
			return parts
		}
		return append(parts, Part{at, written(a), written(b)})
	}
	names := maps.Clone(x)
	maps.Copy(names, y)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := x[name]
		is, after := y[name]
		path := diag.Join(at, name)
		switch {
		case !before:
			parts = append(parts, Part{path, "", written(is)})
		case !after:
			parts = append(parts, Part{path, written(was), ""})
		default:
			parts = differ(parts, path, was, is)
		}
	}
	return parts
}

func written(v any) string { return visible(of(v).Value) }

// String shows all of a difference.
func (p Part) String() string { return p.text(p.Before, p.After) }

// Short shows where a difference begins.
func (p Part) Short() string { return p.text(clip(p.Before, p.After), clip(p.After, p.Before)) }

func (p Part) text(before, after string) string {
	text := fmt.Sprintf("%s → %s", before, after)
	switch {
	case p.Before == "":
		text = "added " + after
	case p.After == "":
		text = "removed " + before
	}
	return strings.TrimPrefix(p.Path+": "+text, ": ")
}

// How much of a difference is shown.
const (
	around  = 40  // bytes before it
	clipped = 240 // bytes of it
)

// clip returns the part of a text in which it begins to differ from another.
func clip(s, other string) string {
	from := 0
	for from < min(len(s), len(other)) && s[from] == other[from] {
		from++
	}
	from = max(0, from-around)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	to := min(len(s), from+clipped)
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to--
	}
	out := s[from:to]
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}
