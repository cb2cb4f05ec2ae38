package cursor

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// Call is a tool of a server.
type Call struct{ Server, Tool string }

// SplitToolName reads the name mcp_SERVER_TOOL, by which Cursor shows a
// server's tool to the model. Both parts may hold underscores, so that there
// may be several readings: those that the inventory has, both parts; else those
// whose server it has; none where it has none of these servers.
func SplitToolName(name string, inventory []ir.Server) []Call {
	rest, ok := strings.CutPrefix(name, "mcp_")
	if !ok {
		return nil
	}
	var listed, unlisted []Call
	for i := range inventory {
		s := &inventory[i]
		if len(rest) <= len(s.Name)+1 || !strings.EqualFold(rest[:len(s.Name)], s.Name) || rest[len(s.Name)] != '_' {
			continue
		}
		tool := rest[len(s.Name)+1:]
		if j := slices.IndexFunc(s.Tools, func(t ir.Tool) bool { return strings.EqualFold(t.Name, tool) }); j >= 0 {
			listed = append(listed, Call{s.Name, s.Tools[j].Name})
		} else {
			unlisted = append(unlisted, Call{s.Name, tool})
		}
	}
	if len(listed) > 0 {
		return listed
	}
	return unlisted
}
