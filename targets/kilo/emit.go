package kilo

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets/internal/lastmatch"
	"modec.dev/modec/targets/kilo/format"
	opencode "modec.dev/modec/targets/opencode/format"
)

// agent is what Kilo has of its own.
var agent = &lastmatch.Agent{
	Name: name, Title: "Kilo", File: format.ConfigFile, Schema: format.Schema,
	Codes: lastmatch.Codes{
		AgentName: codeAgentName, Approval: codeApproval, Deny: codeDeny, Line: codeLine, NativeRule: codeNativeRule,
		NoFlags: codeNoFlags, Protected: codeProtected, RoleText: codeRoleText, Search: codeSearch,
		ServerOff: codeServerOff, Text: codeText, UnknownExtra: codeUnknownExtra, UnknownSubject: codeUnknownSubject,
		Unlisted: codeUnlisted,
	},
	SessionFile: format.SessionFile,
	BuiltIn:     format.BuiltIn,
	Reserved:    reserved,
	Taken:       slices.Concat(reserved, format.BuiltIn),
	Searches:    format.Searches,
	Harmless:    opencode.Harmless,
	Unasked:     format.Unasked(),
	Secret:      format.Secret,
	// In quotes Kilo replaces signs by "_" before it compares: that of $'…', and the redirect in sh -c 'ls > x'.
	Expansions: []string{"*_'*"},
	Redirects:  []string{"*s*h*-*c*_*", "*e*v*a*l*_*"},
	Protected:  []string{"AGENTS.md"},
}

// reserved are agents that Kilo runs by itself, the older name of one, and those whose rules it puts behind all others.
var reserved = []string{"build", "compaction", "explore", "plan", "summary", "title"}

// Emit compiles a file for the sessions of each role, and those that every session reads.
func (kilo) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := lastmatch.New(agent, in)
	for i := range in.Project.Roles {
		e.Role(&in.Project.Roles[i])
	}
	if p, ok := e.Project(); ok {
		project(e, &p)
	}
	return e.Emitted()
}

// project writes what every session reads: the floor, and the agents and servers. The baseline is an agent, as in a
// session of its own, and the floor is taken back for it: what it leaves to Kilo is as without modec.
func project(e *lastmatch.Emitter, p *lastmatch.Project) {
	o := contract.Object{"$schema", format.Schema}
	places := []string{"/$schema"}
	add := func(key string, value any, place string) {
		o, places = append(o, key, value), append(places, place)
	}
	agents := p.Modes
	if s, ok := e.Baseline(); ok {
		floor := contract.Object{"*", "deny", opencode.Outside, "deny"}
		e.Files = append(e.Files, contract.File{Path: format.FloorFile, Places: []string{"/$schema", "/permission"},
			Data: lastmatch.Text(contract.Object{"$schema", format.Schema, "permission", floor})})
		add("permission", contract.Object{"*", nil, opencode.Outside, nil}, "/permission")
		add("default_agent", s.Start, "/default_agent")
		agents = e.Alone(s)
	}
	if len(agents) > 0 {
		add("agent", agents, "/agent/*")
	}
	if len(p.Servers) > 0 {
		add("mcp", p.Servers, "/mcp/*")
	}
	if len(o) > 2 {
		e.Files = append(e.Files, contract.File{Path: format.ConfigFile, Data: lastmatch.Text(o), Places: places})
	}
}
