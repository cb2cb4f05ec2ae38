package importer

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/opencode/format"
)

// serverKeys are what the source says of a server.
var serverKeys = []string{"type", "command", "cwd", "environment", "url", "headers", "timeout"}

// server reads an entry of mcp.
func (im *importer) server(m located.Member) {
	of := "server " + m.Key
	if im.out.Server(m, im.servers, start) == nil {
		return
	}
	for _, x := range m.Value.Fields() {
		switch {
		case slices.Contains(serverKeys, x.Key):
		case x.Key == "enabled" && x.Value.True():
		case x.Key == "enabled":
			im.out.Note(contract.Left, x.Pos, of, x.Key, "the server is off: it stays in the entry, and in force")
		default:
			im.out.Note(contract.Left, x.Pos, of, x.Key, "the source has no word for it: it stays in the entry")
		}
	}
}

// start reads how a server is started or reached, or returns why the source cannot say it.
func start(v *located.Value, s *ir.Server) (why string) {
	kind, _ := v.Get("type").Str()
	url, _ := v.Get("url").Str()
	command := contract.TextList(v.Get("command"), sourceRefs)
	seconds, whole := contract.Seconds(v.Get("timeout"))
	s.TimeoutSeconds = seconds
	switch {
	case !whole:
		return contract.NoWholeSeconds
	case refersToFile(v):
		return "it refers to a file, and the source has references to variables alone"
	case kind == "remote" && contract.ServerURL(url):
		s.Type, s.URL = "http", sourceRefs(url, v.Pos)
		s.Headers = contract.TextFields(v.Get("headers"), sourceRefs)
	case kind == "local" && len(command) > 0 && command[0] != "":
		s.Type, s.Command, s.Args = "stdio", command[0], command[1:]
		s.Env = contract.TextFields(v.Get("environment"), sourceRefs)
		s.Cwd, _ = v.Get("cwd").Str()
		s.Cwd = sourceRefs(s.Cwd, v.Pos)
	default:
		return contract.NoStart
	}
	if len(s.Args) == 0 {
		s.Args = nil
	}
	return ""
}

// sourceRefs writes references to the environment as the source does.
func sourceRefs(text string, _ diag.Pos) string { return format.SourceRefs(text) }

// refersToFile reports whether a text somewhere in a value has the content of a file in it.
func refersToFile(v *located.Value) bool {
	if text, ok := v.Str(); ok && strings.Contains(text, "{file:") {
		return true
	}
	return slices.ContainsFunc(v.List(), refersToFile) ||
		slices.ContainsFunc(v.Fields(), func(m located.Member) bool { return refersToFile(m.Value) })
}
