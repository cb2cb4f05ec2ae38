package roo

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// server is an entry of mcp.json and what its modes may do with it.
type server struct {
	*ir.Server
	disabled bool
	banned   []string // disabledTools: what every mode denies
	unasked  []string // alwaysAllow
}

// bans reports whether every mode denies a tool.
func (sv *server) bans(tool string) bool { return slices.Contains(sv.banned, tool) }

// servers decides what holds for all modes at once.
func (e *emitter) servers() []server {
	var out []server
	for i := range e.in.Project.Servers {
		sv := server{Server: &e.in.Project.Servers[i]}
		most := e.in.Reach.Server(sv.Name).Modes
		switch {
		case most == ir.Deny:
			sv.disabled = true // also shadows a global server of that name
		case !sv.DefaultEnabled && e.dialect == stock:
			sv.disabled = true
			e.diags.Warnf(codeMCPOff, sv.Pos, "the server %q is off by default and cannot be there for some modes only: it is disabled", sv.Name).
				Hint("the dialects zoo and mcp-restrictions limit servers by mode").
				Target(e.name).
				Loses(diag.Narrowing, string(ir.MCP))
		}
		for _, t := range sv.Tools {
			if sv.Type != ir.External && e.in.Reach.Tool(sv.Name, t.Name).Modes == ir.Deny {
				sv.banned = append(sv.banned, t.Name)
			}
		}
		out = append(out, sv)
	}
	e.approve(out)
	return out
}

// approve finds the tools that may be called unasked in every mode that may
// call them, a mode that an exception lets call them included.
func (e *emitter) approve(servers []server) {
	for i := range servers {
		sv := &servers[i]
		if sv.disabled {
			continue
		}
		for _, t := range sv.Tools {
			if sv.bans(t.Name) {
				continue
			}
			allow, ask := "", diag.Pos{}
			asked := false
			for j := range e.in.Project.Modes {
				m := &e.in.Project.Modes[j]
				s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
				if err != nil {
					continue // reported where the mode is emitted
				}
				r := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
				switch {
				case r.Decision == ir.Allow:
					allow = m.Slug
				case r.Decision == ir.Ask || e.excepts(m, sv, &t) != nil:
					asked, ask = true, r.Pos
				}
			}
			switch {
			case allow != "" && sv.Type == ir.External:
				e.diags.Warnf(codeMCPApproval, sv.Pos, "the tool %s:%s is asked about: no list of the project holds an external server", sv.Name, t.Name).
					Hint("say how the server is started (command or url)").
					Target(e.name).
					Subject("mode "+allow).
					Loses(diag.Narrowing, string(ir.MCP))
			case allow != "" && !asked:
				sv.unasked = append(sv.unasked, t.Name)
			case allow != "":
				e.diags.Warnf(codeMCPApproval, ask, "the tool %s:%s is asked about in every mode: alwaysAllow holds for all of them", sv.Name, t.Name).
					Hint("decide alike in every mode").
					Target(e.name).
					Subject("mode "+allow).
					Loses(diag.Narrowing, string(ir.MCP))
			}
		}
	}
}

// excepts returns the exception by which a mode may call a tool that it denies
// and the dialect cannot deny to it alone.
func (e *emitter) excepts(m *ir.Mode, sv *server, t *ir.Tool) *contract.Exception {
	if e.dialect == restrictions {
		return nil // every tool is said exactly
	}
	return e.in.Excepts(ir.SubjectRef{Mode: m.Slug}, sv.Name, t.Name,
		contract.Naming(t.Risk == "destructive" || !sv.DefaultEnabled))
}

// types are the transports under Roo's names.
var types = map[string]string{"stdio": "stdio", "http": "streamable-http", "sse": "sse"}

func (e *emitter) serversJSON(servers []server) []byte {
	all := contract.Object{}
	for _, sv := range servers {
		if sv.Type == ir.External {
			if sv.disabled { // a server of the project shadows the user's own, and this one never starts
				all = append(all, sv.Name, contract.Object{"type", "stdio", "command", "false", "disabled", true})
			}
			continue
		}
		o := contract.Object{"type", types[sv.Type]}
		if sv.Type == "stdio" {
			o = append(o, "command", contract.EnvRefs(sv.Command))
			if len(sv.Args) > 0 {
				o = append(o, "args", contract.EnvRefsList(sv.Args))
			}
			if sv.Cwd != "" {
				o = append(o, "cwd", contract.EnvRefs(sv.Cwd))
			}
			if len(sv.Env) > 0 {
				o = append(o, "env", contract.EnvRefsAll(sv.Env))
			}
		} else {
			o = append(o, "url", contract.EnvRefs(sv.URL))
			if len(sv.Headers) > 0 {
				o = append(o, "headers", contract.EnvRefsAll(sv.Headers))
			}
		}
		if sv.TimeoutSeconds > 0 {
			o = append(o, "timeout", sv.TimeoutSeconds)
		}
		if sv.disabled {
			o = append(o, "disabled", true)
		}
		if e.dialect == restrictions && !sv.DefaultEnabled {
			o = append(o, "defaultEnabled", false)
		}
		if len(sv.unasked) > 0 {
			o = append(o, "alwaysAllow", sv.unasked)
		}
		if len(sv.banned) > 0 && !sv.disabled {
			o = append(o, "disabledTools", sv.banned)
		}
		all = append(all, sv.Name, o)
	}
	return marshal(contract.Object{"mcpServers", all})
}
