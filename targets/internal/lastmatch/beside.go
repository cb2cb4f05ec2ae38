package lastmatch

import (
	"slices"

	"modec.dev/modec/compiler/contract"
)

// beside are the places of settings that permit something, start a program, or begin sessions as another agent.
var beside = []string{"/permission/*", "/tools/*", "/agent/*/permission", "/agent/*/tools", "/agent/*/disable",
	"/mode/*/permission", "/mode/*/tools", "/mode/*/disable", "/mcp/*", "/plugin/-", "/formatter/*", "/lsp/*",
	"/default_agent", "/subagent_depth"}

// Beside returns the files of settings that an agent reads, whether a build writes them or not.
func (p Places) Beside() (files []contract.File) {
	for _, name := range p.Files {
		files = append(files, contract.File{Path: name, Places: beside})
	}
	return files
}

// Below returns what of its files an agent reads in a folder in which a session starts.
func (p Places) Below() []string {
	names := slices.Clone(p.Files)
	for _, dir := range p.Dirs {
		for _, folder := range []string{"agent", "agents", "mode", "modes"} {
			names = append(names, dir+"/"+folder+"/*.md")
		}
		for _, folder := range []string{"plugin", "plugins", "tool", "tools"} {
			names = append(names, dir+"/"+folder+"/*.js", dir+"/"+folder+"/*.ts")
		}
	}
	return names
}
