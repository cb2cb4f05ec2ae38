package cursor

import "modec.dev/modec/compiler/contract"

// ServerList says how mcp.json lists a server.
func (cursor) ServerList() contract.ServerList {
	return contract.ServerList{File: ".cursor/mcp.json", Field: "mcpServers"}
}
