package cursor

import (
	"maps"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// serverKeys are the members of a server's entry that the source decides.
var serverKeys = []string{"type", "command", "args", "env", "url", "headers"}

// serverDefaults are the members of a server's entry that mean the same where they are missing: Cursor finds out
// by itself how an address speaks.
func serverDefaults() map[string][]string {
	defaults := maps.Clone(contract.ServerDefaults)
	defaults["type"] = append([]string{`"sse"`, `"http"`, `"streamable-http"`}, defaults["type"]...)
	return defaults
}

// servers returns the shared servers: those that some subject may use and that are on by
// default or named by an exception.
func (e *emitter) servers() contract.Object {
	all := contract.Object{}
	for i := range e.in.Project.Servers {
		s := &e.in.Project.Servers[i]
		usable := s.Type != ir.External && e.in.Reach.Server(s.Name).Any() != ir.Deny
		if !usable || !s.DefaultEnabled && !e.opened(s) {
			continue
		}
		e.lostFields(s)
		of := *s
		of.Cwd = "" // Cursor has no such field
		o := contract.EnvTransport(&of)
		if s.Type == "stdio" {
			o = append(contract.Object{"type", "stdio"}, o...)
		}
		all = append(all, s.Name, o)
	}
	return all
}

// opened reports whether a written exception puts a server into the list that is off by
// default.
func (e *emitter) opened(s *ir.Server) bool {
	if e.in.Shares(&e.diags, "cursor", s) {
		return true
	}
	e.diags.Warnf(codeServerOff, s.Pos,
		"the server %q is off by default, and Cursor has one list for everybody: it is left out", s.Name).
		Hint("who may use it adds it to ~/.cursor/mcp.json, or the gateway holds it ([gateway] emit = true)").
		Target("cursor").
		Loses(diag.Narrowing, string(ir.MCP))
	return false
}

// lostFields reports settings of a server that mcp.json does not have.
func (e *emitter) lostFields(s *ir.Server) {
	lost := func(field string) {
		e.diags.Warnf(codeServerField, s.Pos, "mcp.json has no %s: that of the server %q is left out", field, s.Name).
			Target("cursor").
			Loses(diag.Text, "")
	}
	if s.Cwd != "" {
		lost("working directory")
	}
	if s.TimeoutSeconds > 0 {
		lost("timeout")
	}
}
