package contract

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/located"
)

// TextList returns the texts of a list in an agent's file, each as the source writes it. What is no text is left out.
func TextList(v *located.Value, as func(text string, at diag.Pos) string) (out []string) {
	for _, item := range v.List() {
		if s, ok := item.Str(); ok {
			out = append(out, as(s, item.Pos))
		}
	}
	return out
}

// TextFields returns the texts of an object in an agent's file, each as the source writes it, nil where there are none.
// What is no text is left out.
func TextFields(v *located.Value, as func(text string, at diag.Pos) string) (out map[string]string) {
	for _, x := range v.Fields() {
		if s, ok := x.Value.Str(); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[x.Key] = as(s, x.Pos)
		}
	}
	return out
}
