package format

import (
	"strings"

	"modec.dev/modec/compiler/lazy"
)

var (
	dropped = lazy.Regexp(`[^A-Za-z0-9_-]`)
	dashes  = lazy.Regexp(`--+`)
)

// Sanitize returns the name of a server or a tool as Roo offers it to the model: Roo's sanitizeMcpName
// (src/utils/mcp-name.ts).
func Sanitize(s string) string {
	s = dashes().ReplaceAllString(dropped().ReplaceAllString(strings.ReplaceAll(s, " ", "_"), ""), "-")
	switch c := s + " "; {
	case s == "":
		return "_"
	case c[0] != '_' && !(c[0] >= 'a' && c[0] <= 'z' || c[0] >= 'A' && c[0] <= 'Z'):
		return "_" + s
	}
	return s
}

// Same makes names equal that Roo takes for one when the model answers.
func Same(name string) string { return strings.ReplaceAll(name, "-", "_") }
