package contract

import (
	"regexp"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
)

// EntryAt is the place of a server's entry: a file of the project and the name that the server
// has there.
type EntryAt struct{ File, Server string }

// Entries are the entries of external servers as they lie in people's files. They may state
// secrets: nothing of them is written or printed.
type Entries map[EntryAt]*located.Value

var envRef = regexp.MustCompile(`\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)

// SourceRefs returns a text with the ${env:VAR} of Roo and Cursor written as ${VAR}, as the
// source does.
func SourceRefs(s string) string { return envRef.ReplaceAllString(s, "$${$1}") }

// ShapeOf returns the shape ([ir.Server.Shape]) of an entry in an agent's list of servers.
func ShapeOf(entry *located.Value) string {
	text := func(key string) string { s, _ := entry.Get(key).Str(); return SourceRefs(s) }
	s := ir.Server{Command: text("command")}
	if s.Command == "" {
		s.URL = text("url")
		return s.Shape()
	}
	for _, item := range entry.Get("args").List() {
		if arg, ok := item.Str(); ok {
			s.Args = append(s.Args, SourceRefs(arg))
		}
	}
	return s.Shape()
}
