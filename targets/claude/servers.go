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
		if !r.Enters(m.Slug) {
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

// ownList is which list of servers a role's session has.
type ownList uint8

const (
	listShared ownList = iota // that of the project
	listBeside                // one of the role's own, beside the servers of the user's own settings
	listAlone                 // one of the role's own, and no other server
)

// roleServers returns the servers that a role may use, and in which list its session has them. A role has a list of its
// own where they are not the shared ones, or where there may be others of which it may use none. Beside a list alone no
// other server is started: a role that may use an external one, which only the user's own list starts, never has one,
// and its rules deny the rest.
func (e *emitter) roleServers(r *ir.Role) (list []*ir.Server, own ownList) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		return nil, listShared
	}
	list, unread, own := e.serversOf(r, s)
	if unread != nil {
		e.loss("role "+r.Name, unread.Pos, ir.MCP, codeExternal,
			"a session of the role does not read .mcp.json, where the entry of the external server %q lies: "+
				"it is left out", unread.Name).
			Hint("put a reference in the place of the secret and import the server, or move the entry to " +
				"~/.claude.json")
	}
	return list, own
}

// inList reports whether the entry of an external server lies in the project's list.
func (e *emitter) inList(s *ir.Server) bool {
	return e.in.Entries[contract.EntryAt{File: format.ProjectServers, Server: s.Name}] != nil
}

// ownServers reports whether a role is started with a list of its own, and no other server.
func (e *emitter) ownServers(r *ir.Role, s *policy.Subject) bool {
	_, _, own := e.serversOf(r, s)
	return own == listAlone && !e.inProject(r)
}

// serversOf returns the servers that a role may use, an external one of them whose entry its session does not read, and
// in which list it has the rest.
func (e *emitter) serversOf(r *ir.Role, s *policy.Subject) (list []*ir.Server, unread *ir.Server, own ownList) {
	external, more := false, false // those that the session reads; servers that the project's list does not have
	shared := e.sharedServers()
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		switch {
		case !contract.Usable(s, sv):
			continue
		case sv.Type == ir.External && !e.inProject(r) && e.inList(sv):
			unread = cmp.Or(unread, sv)
			continue
		case sv.Type == ir.External:
			external = true
			continue
		case sv.Gateway != nil:
			sv = e.gatewayOf(r, sv)
		}
		list = append(list, sv)
		more = more || !slices.Contains(shared, sv)
	}
	unknown := policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool}
	closed := !e.in.Project.ClosedInventory && s.Decide(unknown).Decision == ir.Deny
	switch {
	case more && external:
		own = listBeside
	case more, !external && unread == nil && (!slices.Equal(list, shared) || closed && len(list) > 0):
		own = listAlone
	}
	return list, unread, own
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
