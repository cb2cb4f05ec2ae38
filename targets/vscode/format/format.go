// Package format is what VS Code's list of MCP servers looks like. The emitter, the model and the importer share it and
// nothing else. It reads texts into values with their places and decides nothing.
package format

import (
	"fmt"

	"modec.dev/modec/compiler/located"
)

const (
	// Dir is the folder of VS Code's files in a project.
	Dir = ".vscode"
	// ServersFile lists the servers of a project.
	ServersFile = Dir + "/mcp.json"
	// ServersKey is its member that has the list.
	ServersKey = "servers"
)

// Keys are the members of a server's entry that a source knows.
var Keys = []string{"type", "command", "args", "cwd", "env", "url", "headers"}

// ReadServers reads a list of servers, with comments. An error is one for which VS Code starts none.
func ReadServers(file string, data []byte) (root *located.Value, err error) {
	root, err = located.JSONC(file, data)
	if err != nil {
		return nil, err
	}
	if list := root.Get(ServersKey); list != nil && !list.Is(located.Object) {
		return nil, fmt.Errorf("%s: got %s, want an object of servers", list.Pos, list.Kind)
	}
	return root, nil
}

// Starts reports whether VS Code starts or reaches the server of an entry.
func Starts(entry *located.Value) bool {
	command, _ := entry.Get("command").Str()
	url, _ := entry.Get("url").Str()
	return command != "" || url != ""
}
