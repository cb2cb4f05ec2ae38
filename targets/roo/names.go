package roo

import (
	"regexp"
	"strings"
)

var (
	dropped = regexp.MustCompile(`[^A-Za-z0-9_-]`)
	dashes  = regexp.MustCompile(`--+`)
)

// sanitize is Roo's sanitizeMcpName (src/utils/mcp-name.ts).
func sanitize(s string) string {
	s = dashes.ReplaceAllString(dropped.ReplaceAllString(strings.ReplaceAll(s, " ", "_"), ""), "-")
	switch c := s + " "; {
	case s == "":
		return "_"
	case c[0] != '_' && !(c[0] >= 'a' && c[0] <= 'z' || c[0] >= 'A' && c[0] <= 'Z'):
		return "_" + s
	}
	return s
}

// toolName is how Roo offers an MCP tool to the model.
func toolName(server, tool string) string {
	n := "mcp--" + sanitize(server) + "--" + sanitize(tool)
	return same(n[:min(len(n), 64)])
}

// same makes names equal that Roo takes for one when the model answers.
func same(name string) string { return strings.ReplaceAll(name, "-", "_") }

// checkNames reports servers and tools that Roo would not tell apart.
func (e *emitter) checkNames() {
	seen, servers := map[string]string{}, map[string]string{}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		label := same(sanitize(sv.Name))
		if other, ok := servers[label]; ok {
			e.diags.Errorf(codeToolCollision, sv.Pos, "got the servers %q and %q, which are one name to Roo, "+
				"want names that differ after it drops characters", other, sv.Name).
				Target(e.name)
			continue
		}
		servers[label] = sv.Name
		for _, t := range sv.Tools {
			key, full := toolName(sv.Name, t.Name), sv.Name+":"+t.Name
			if other, ok := seen[key]; ok {
				e.diags.Errorf(codeToolCollision, t.Pos, "got the tools %s and %s, which are one name to Roo, "+
					"want names that differ after it drops characters and cuts at 64", other, full).
					Target(e.name)
			}
			seen[key] = full
		}
	}
}
