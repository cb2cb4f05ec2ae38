package roo

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/roo/format"
)

var _ contract.LaidOut = roo{}

// Layout describes the modes file, mode by mode. Roo itself writes where a mode comes from (source).
func (r roo) Layout(path string) *layout.Style {
	switch {
	case strings.HasSuffix(path, "ignore"):
		return &layout.Style{Comment: "#", Line: asIgnored}
	case !strings.HasSuffix(path, "modes"):
		return nil
	}
	return &layout.Style{
		Read: func(data []byte) (*located.Value, string, error) {
			v, _, err := format.ModeList(path, data)
			return v, "", err
		},
		List: "customModes", ID: "slug",
		Ignored:  func(key string) bool { return !format.Reads(key) && key != "groups" && key != "customModes" },
		Optional: func(key string) bool { return key != "roleDefinition" && slices.Contains(texts, key) },
		Same: func(key string, a, b *located.Value) bool {
			if key == "groups" {
				return sameGroups(a, b)
			}
			x, ok := a.Str()
			y, also := b.Str()
			x, y = asCleaned(x), asCleaned(y)
			if slices.Contains(texts, key) {
				x, y = strings.TrimSpace(x), strings.TrimSpace(y)
			} else if key != "name" {
				return false
			}
			return ok && also && x == y
		},
	}
}

// sameGroups reports whether two lists of groups mean the same: Roo reads the options of edit alone, and an
// expression that takes every path restricts nothing.
func sameGroups(a, b *located.Value) bool {
	return slices.EqualFunc(a.List(), b.List(), func(x, y *located.Value) bool {
		m, ok := plainGroup(x)
		n, also := plainGroup(y)
		if ok && also {
			return m == n
		}
		return layout.Equal(x, y)
	})
}

// plainGroup returns the name of a group without options, or with some that say nothing.
func plainGroup(v *located.Value) (name string, ok bool) {
	if v.Marked {
		return "", false
	}
	if !v.Is(located.List) {
		return v.Str()
	}
	if len(v.Items) != 2 || v.Items[0].Marked || v.Items[1].Marked || !v.Items[1].Is(located.Object) {
		return "", false
	}
	name, ok = v.Items[0].Str()
	regex, has := v.Items[1].Get("fileRegex").Str()
	return name, ok && (name != "edit" || has && format.TakesAll(regex))
}

// asCleaned returns a text as Roo cleans it where it stands in the file as it is: the source may have the
// characters that a person wrote.
func asCleaned(text string) string { return string(format.Clean([]byte(text))) }

// texts are the keys of texts around which white space does not count.
var texts = []string{"roleDefinition", "customInstructions", "whenToUse", "description"}
