package contract

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// HasUnknown reports whether a text has such a name.
func HasUnknown(text string) bool { return strings.Contains(text, policy.Unlisted) }

// UnknownTool is a tool name that no inventory has. It stands for every tool of a server
// that the source does not list.
const UnknownTool = policy.UnlistedTool

// UnknownServer is a server name that no inventory has.
const UnknownServer = policy.UnlistedServer

// UnknownMode is the name of a mode or subagent that no project has.
const UnknownMode = policy.Unlisted + "-mode"

// Most is the highest decision of any mode, and of any role.
type Most struct{ Modes, Roles ir.Decision }

func (m Most) over(n Most) Most {
	return Most{Modes: max(m.Modes, n.Modes), Roles: max(m.Roles, n.Roles)}
}

// Any returns the highest decision of any subject.
func (m Most) Any() ir.Decision { return max(m.Modes, m.Roles) }

// Reach says what the subjects of a project may do with each server and tool at most. The
// targets use it to write project-wide controls: a tool that every subject denies is denied
// there, and a server that no subject may use is not started.
type Reach struct {
	servers map[string]Most
	tools   map[[2]string]Most
}

// NewReach computes the reach from the decisions of every subject about every tool of the
// inventory. A server without listed tools, and every server of an open inventory, has
// UnknownTool too, and the tools that rules name there. In a project without subjects every
// server is left to the agent, with its tools.
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
			if !p.ListsTools(sv) {
				r.add(s, ref, sv.Name, UnknownTool)
				for _, tool := range s.PermittedTools(sv.Name) {
					r.add(s, ref, sv.Name, AnyTool(tool))
				}
			}
		}
	}
	if len(p.Subjects()) == 0 {
		r.leave(p.Servers)
	}
	return r, nil
}

// leave says that servers are left to the agent. Modes stays: an agent's own modes are none of the project.
func (r *Reach) leave(servers []ir.Server) {
	left := Most{Roles: ir.Agent}
	for i := range servers {
		sv := &servers[i]
		r.servers[sv.Name], r.tools[[2]string{sv.Name, UnknownTool}] = left, left
		for _, t := range sv.Tools {
			r.tools[[2]string{sv.Name, t.Name}] = left
		}
	}
}

// add counts what a subject may do with a tool.
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

// Server returns the most that any subject may do with any tool of a server.
func (r *Reach) Server(name string) Most { return r.servers[name] }

// Tool returns the most that any subject may do with a tool.
func (r *Reach) Tool(server, tool string) Most { return r.tools[[2]string{server, tool}] }

// AnyTool returns the name of a tool that a pattern takes.
func AnyTool(pattern string) string {
	return strings.NewReplacer("*", UnknownTool, "?", "x").Replace(pattern)
}

// Usable reports whether a subject may use any tool of a server, one included that the inventory does not list: where
// nothing else is, a rule may name it.
func Usable(s *policy.Subject, sv *ir.Server) bool {
	usable := func(tool string) bool {
		return s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool}).Decision > ir.Deny
	}
	permitted := func(pattern string) bool { return usable(AnyTool(pattern)) }
	if !s.ListsTools(sv) && (usable(UnknownTool) || slices.ContainsFunc(s.PermittedTools(sv.Name), permitted)) {
		return true
	}
	return slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return usable(t.Name) })
}

// StartedFor returns the servers of a project but those that are off by default, and that nothing opens to a subject:
// no session of it has them.
func StartedFor(p *ir.Project, s *policy.Subject) (names []string) {
	for i := range p.Servers {
		if sv := &p.Servers[i]; sv.DefaultEnabled || Usable(s, sv) {
			names = append(names, sv.Name)
		}
	}
	return names
}
