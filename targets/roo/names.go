package roo

import "modec.dev/modec/targets/roo/format"

// toolName returns the name under which Roo offers an MCP tool to the model.
func toolName(server, tool string) string {
	n := "mcp--" + format.Sanitize(server) + "--" + format.Sanitize(tool)
	return format.Same(n[:min(len(n), 64)])
}

// checkNames reports servers and tools that Roo cannot distinguish.
func (e *emitter) checkNames() {
	seen, servers := map[string]string{}, map[string]string{}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		label := format.Same(format.Sanitize(sv.Name))
		if other, ok := servers[label]; ok {
			e.diags.Errorf(codeToolCollision, sv.Pos, "the servers %q and %q are one name to Roo, which drops "+
				"characters: give them names that differ in letters and digits", other, sv.Name).
				Target(e.name)
			continue
		}
		servers[label] = sv.Name
		for _, t := range sv.Tools {
			key, full := toolName(sv.Name, t.Name), sv.Name+":"+t.Name
			if other, ok := seen[key]; ok {
				e.diags.Errorf(codeToolCollision, t.Pos, "the tools %s and %s are one name to Roo, which drops "+
					"characters and cuts at 64: give them names that differ before that", other, full).
					Target(e.name)
			}
			seen[key] = full
		}
	}
}
