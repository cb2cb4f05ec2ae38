package contract

import (
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// UnknownTool is a tool name that no inventory holds: it stands for every tool
// of a server that the source does not list.
const UnknownTool = "modec-unlisted-tool"

// UnknownServer is a server name that no inventory holds.
const UnknownServer = "modec-unlisted-server"

// Most is the most that any mode, and any role, may do.
type Most struct{ Modes, Roles ir.Decision }

func (m Most) over(n Most) Most {
	return Most{Modes: max(m.Modes, n.Modes), Roles: max(m.Roles, n.Roles)}
}

// Any returns the most over modes and roles.
func (m Most) Any() ir.Decision { return max(m.Modes, m.Roles) }

// Reach tells which servers and tools the emitted subjects may use at all. It
// is computed once a build and shared by the targets: what every subject
// denies goes into project-wide controls, and a server that nobody may use is
// not started.
type Reach struct {
	servers map[string]Most
	tools   map[[2]string]Most
}

// NewReach asks the engine about every subject and every inventory tool. A
// server without listed tools, and every server of an open inventory, is asked
// about UnknownTool too.
func NewReach(e *policy.Engine) (*Reach, error) {
	p := e.Project()
	r := &Reach{servers: map[string]Most{}, tools: map[[2]string]Most{}}
	for _, ref := range p.Subjects() {
		s, err := e.Subject(ref)
		if err != nil {
			return nil, err
		}
		for i := range p.Servers {
			sv := &p.Servers[i]
			for j := range sv.Tools {
				r.add(s, ref, sv.Name, sv.Tools[j].Name)
			}
			if len(sv.Tools) == 0 || !p.ClosedInventory {
				r.add(s, ref, sv.Name, UnknownTool)
			}
		}
	}
	return r, nil
}

func (r *Reach) add(s *policy.Subject, ref ir.SubjectRef, server, tool string) {
	d := s.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool}).Decision
	m := Most{Modes: d}
	if ref.Role != "" {
		m = Most{Roles: d}
	}
	k := [2]string{server, tool}
	r.tools[k] = r.tools[k].over(m)
	r.servers[server] = r.servers[server].over(m)
}

// Server returns the most that anyone may do with any tool of a server.
func (r *Reach) Server(name string) Most { return r.servers[name] }

// Tool returns the most that anyone may do with a tool.
func (r *Reach) Tool(server, tool string) Most { return r.tools[[2]string{server, tool}] }

// Usable reports whether a subject may use any tool of a server.
func Usable(s *policy.Subject, sv *ir.Server) bool {
	for _, t := range sv.Tools {
		if s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}).Decision > ir.Deny {
			return true
		}
	}
	return len(sv.Tools) == 0 && s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: UnknownTool}).Decision > ir.Deny
}
