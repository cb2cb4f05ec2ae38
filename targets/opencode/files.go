package opencode

import (
	"fmt"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets/internal/lastmatch"
	"modec.dev/modec/targets/opencode/format"
)

// agent is what opencode has of its own.
var agent = &lastmatch.Agent{
	Name: name, Title: name, File: format.ConfigFile, Schema: format.Schema,
	Codes: lastmatch.Codes{
		AgentName: codeAgentName, Approval: codeApproval, Deny: codeDeny, NativeRule: codeNativeRule,
		NoFlags:  codeNoFlags,
		RoleText: codeRoleText, Search: codeSearch, ServerOff: codeServerOff,
		UnknownSetting: codeUnknownSetting, UnknownSubject: codeUnknownSubject, Unlisted: codeUnlisted,
	},
	Own:         &lastmatch.Own{Files: format.ProjectFiles, AgentAt: format.AgentAt},
	Hook:        format.HookFile,
	SessionFile: format.SessionFile,
	BuiltIn:     format.BuiltIn,
	Reserved:    internal,
	Taken:       internal,
	Searches:    format.Searches,
	Harmless:    format.Harmless,
}

// internal are agents that opencode runs by itself.
var internal = []string{"compaction", "summary", "title"}

// Emit compiles a file for the sessions of each role, and the one that every session reads.
func (opencode) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := lastmatch.New(agent, in)
	for i := range in.Project.Roles {
		e.Role(&in.Project.Roles[i])
	}
	if p, ok := e.Project(); ok {
		project(e, &p)
	}
	return e.Emitted()
}

// project writes the file that every session reads: the modes, the servers, and the permission of the baseline.
func project(e *lastmatch.Emitter, p *lastmatch.Project) {
	o := contract.Object{"$schema", format.Schema}
	places := []string{"/$schema"}
	for member := p.Permissions; len(member) > 0; member = member[2:] {
		o, places = append(o, member[:2]...), append(places, fmt.Sprint("/", member[0]))
	}
	if len(p.Modes) > 0 {
		o, places = append(o, "agent", p.Modes), append(places, "/agent/*")
	}
	if len(p.Servers) > 0 {
		o, places = append(o, "mcp", p.Servers), append(places, "/mcp/*")
	}
	if len(o) > 2 {
		e.Files = append(e.Files, e.Entries(contract.File{Path: e.File(), Data: lastmatch.Text(o), Places: places}))
	}
}
