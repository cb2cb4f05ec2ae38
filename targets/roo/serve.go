package roo

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// searching are the tools that look below a folder.
var searching = map[string]bool{"list_files": true, "search_files": true, "codebase_search": true,
	"list_code_definition_names": true}

// Tool describes a tool of Roo Code.
func (roo) Tool(name string) (contract.Tool, bool) {
	g, ok := ToolGroup(name)
	return contract.Tool{Group: g, Searches: searching[name]}, ok
}

// PathPattern returns the fileRegex of a mode.
func (roo) PathPattern(e *policy.Engine, m *ir.Mode) string { return FileRegex(e, m) }

// ServerList says how mcp.json lists a server.
func (t roo) ServerList() contract.ServerList {
	return contract.ServerList{File: "." + t.Name() + "/mcp.json", Field: "mcpServers", Remote: "streamable-http",
		Extra: func(readOnly []string) contract.Object {
			return contract.Object{"disabled", false, "alwaysAllow", readOnly}
		}}
}

// GlobalModes returns where Roo keeps the modes that a user has everywhere.
func (t roo) GlobalModes() (format string, files []string) {
	return t.Name(), []string{"." + t.Name() + "/custom_modes.yaml"}
}
