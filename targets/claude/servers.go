package claude

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// lostFields reports settings of servers that .mcp.json does not have.
func (e *emitter) lostFields() {
	for i := range e.in.Project.Servers {
		if s := &e.in.Project.Servers[i]; s.Cwd != "" {
			e.diags.Warnf(codeServerField, s.Pos,
				".mcp.json has no working directory: that of the server %q is left out", s.Name).
				Hint("let the command change into it").
				Target("claude").
				Loses(diag.Text, "")
		}
	}
}

// lostServers reports the servers that are off by default and that a mode names: a session
// starts none for a mode alone.
func (e *emitter) lostServers() {
	for i := range e.in.Project.Modes {
		m := &e.in.Project.Modes[i]
		s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
		if err != nil {
			continue // reported where the mode is emitted
		}
		for j := range e.in.Project.Servers {
			sv := &e.in.Project.Servers[j]
			if sv.DefaultEnabled || sv.Type == ir.External || !contract.Usable(s, sv) {
				continue
			}
			if r := e.without(m, sv); r != nil {
				e.loss("mode "+m.Slug, m.Pos, ir.MCP, codeServerOff,
					"the server %q is off by default: the mode has none of its tools in a session of role %s",
					sv.Name, r.Name).
					Hint("name the server in the role too")
			}
		}
	}
}

// without returns the first role that may enter a mode and may not use a server.
func (e *emitter) without(m *ir.Mode, sv *ir.Server) *ir.Role {
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		if !mayEnter(r, m.Slug) {
			continue
		}
		s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
		if err == nil && !contract.Usable(s, sv) {
			return r
		}
	}
	return nil
}

// sharedServers returns the servers that somebody may use and that are on by default.
func (e *emitter) sharedServers() []*ir.Server {
	var list []*ir.Server
	for i := range e.in.Project.Servers {
		s := &e.in.Project.Servers[i]
		if s.Type != ir.External && s.DefaultEnabled && e.in.Reach.Server(s.Name).Any() > ir.Deny {
			list = append(list, s)
		}
	}
	return list
}

// roleServers returns the servers that a role may use. It reports whether the role needs a
// list of its own: they are not the shared ones, or there may be others of which the role
// may use none. Beside such a list no other server is started. A role that may use an external
// one, which only the user's own list starts, therefore has none unless it needs more servers
// than the shared ones; its rules deny the rest.
func (e *emitter) roleServers(r *ir.Role) (list []*ir.Server, differs bool) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		return nil, false
	}
	list, external, differs := e.serversOf(r, s)
	if external != nil && !differs && !e.inProject(r) && e.inList(external) {
		e.loss("role "+r.Name, external.Pos, ir.MCP, codeExternal,
			"a session of the role does not read .mcp.json, where the entry of the external server %q lies: "+
				"it is left out", external.Name).
			Hint("put a reference in the place of the secret and import the server, or move the entry to " +
				"~/.claude.json")
	}
	if differs && external != nil {
		e.loss("role "+r.Name, external.Pos, ir.MCP, codeExternal,
			"a role with more servers than the shared ones is started without any other: the external server %q is "+
				"left out",
			external.Name).
			Hint("say how it is started (command or url)")
	}
	return list, differs
}

// inList reports whether the entry of an external server lies in the project's list.
func (e *emitter) inList(s *ir.Server) bool {
	return e.in.Entries[contract.EntryAt{File: format.ProjectServers, Server: s.Name}] != nil
}

// ownServers reports whether a role is started with a list of its own, and no other server.
func (e *emitter) ownServers(r *ir.Role, s *policy.Subject) bool {
	_, _, differs := e.serversOf(r, s)
	return differs && !e.inProject(r)
}

// serversOf returns the servers that a role may use, one that is external, and whether the role
// needs a list of its own.
func (e *emitter) serversOf(r *ir.Role, s *policy.Subject) (list []*ir.Server, external *ir.Server, differs bool) {
	for i := range e.in.Project.Servers {
		switch sv := &e.in.Project.Servers[i]; {
		case !contract.Usable(s, sv):
		case sv.Type == ir.External:
			external = cmp.Or(external, sv)
		case sv.Gateway != nil:
			list = append(list, e.gatewayOf(r, sv))
		default:
			list = append(list, sv)
		}
	}
	unknown := policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool}
	closed := !e.in.Project.ClosedInventory && s.Decide(unknown).Decision == ir.Deny
	shared := e.sharedServers()
	differs = !slices.Equal(list, shared) || closed && len(list) > 0
	if external != nil && !slices.ContainsFunc(list, func(sv *ir.Server) bool { return !slices.Contains(shared, sv) }) {
		differs = false
	}
	return list, external, differs
}

// serverKeys are the members of a server's entry that the source decides.
var serverKeys = []string{"type", "command", "args", "env", "url", "headers", "timeout"}

// spelledType returns the transport that a build writes for a person's word for it.
func spelledType(place, text string) string {
	if strings.HasSuffix(place, "/type") && text == "streamable-http" {
		return "http"
	}
	return ""
}

func serversJSON(servers []*ir.Server) []byte {
	all := contract.Object{}
	for _, s := range servers {
		o := contract.Object{"type", s.Type}
		if s.Type == "stdio" {
			o = append(o, "command", s.Command)
			if len(s.Args) > 0 {
				o = append(o, "args", s.Args)
			}
			if len(s.Env) > 0 {
				o = append(o, "env", s.Env)
			}
		} else {
			o = append(o, "url", s.URL)
			if len(s.Headers) > 0 {
				o = append(o, "headers", s.Headers)
			}
		}
		if s.TimeoutSeconds > 0 {
			o = append(o, "timeout", s.TimeoutSeconds*1000)
		}
		all = append(all, s.Name, o)
	}
	return contract.JSON(contract.Object{"mcpServers", all})
}
