package policy

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// behind returns a view in which gateways stand in the place of the servers that they start. A gateway has the tools
// that some subject may use which it serves, under names of its own: those of the source, which it reads. External
// servers stay: another program starts them.
func behind(source, p *ir.Project, target string) *ir.Project {
	gateways := source.Gateways[target]
	if len(gateways) == 0 {
		return p
	}
	q := *p
	q.Servers, q.Behind = nil, nil
	for _, sv := range p.Servers {
		if sv.Type == ir.External {
			q.Servers = append(q.Servers, sv)
		} else {
			q.Behind = append(q.Behind, sv)
		}
	}
	e := New(p)
	name := func(server string) string { return SourceServer(source, target, server) }
	for _, g := range gateways {
		if sv := e.fronted(g, q.Behind, name); len(sv.Tools) > 0 {
			q.Servers = append(q.Servers, sv)
		}
	}
	q.Sort()
	return &q
}

// fronted returns the entry of a gateway with what it offers of some servers. A subject that does not compile may use
// nothing.
func (e *Engine) fronted(g ir.Gateway, servers []ir.Server, source func(string) string) ir.Server {
	out := ir.Server{Name: g.Name, Type: "stdio", Command: "modec", Args: g.Args, DefaultEnabled: true,
		Tools: []ir.Tool{}, Gateway: &ir.Fronts{Gateway: g, Tools: map[string]ir.ToolRef{}, Resources: map[string]bool{},
			Prompts: map[string]bool{}}}
	refs := slices.DeleteFunc(e.project.Subjects(), func(ref ir.SubjectRef) bool { return !g.Serves(ref) })
	usable := e.Passing(refs)
	for i := range servers {
		sv := &servers[i]
		a := Action{Group: ir.MCP, Server: sv.Name}
		for _, t := range sv.Tools {
			if a.Arg = t.Name; usable(a).Decision > ir.Deny {
				of := ir.ToolRef{Server: sv.Name, Tool: t.Name, Pos: t.Pos}
				t.Name = ir.GatewayTool(source(sv.Name), t.Name)
				if _, twice := out.Gateway.Tools[t.Name]; !twice { // a build reports names that are not unique
					out.Tools = append(out.Tools, t)
				}
				out.Gateway.Tools[t.Name] = of
			}
		}
		a.Arg, a.Kind = "", Resource
		out.Gateway.Resources[sv.Name] = usable(a).Decision > ir.Deny
		a.Kind = Prompt
		out.Gateway.Prompts[sv.Name] = usable(a).Decision > ir.Deny
	}
	slices.SortFunc(out.Tools, func(a, b ir.Tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Passing returns a function that decides what a gateway does for several subjects at once, behind an agent that holds
// each of them to its own: it passes on what any of them may do. A subject that does not compile may do nothing.
func (e *Engine) Passing(refs []ir.SubjectRef) func(Action) Result {
	var all []*Subject
	for _, ref := range refs {
		if s, err := e.Subject(ref); err == nil {
			all = append(all, s)
		}
	}
	return func(a Action) Result {
		best := Result{Rule: "no subject may use it"}
		for i, s := range all {
			if r := s.Decide(a); i == 0 || r.Decision > best.Decision {
				best = r
			}
		}
		return best
	}
}

// through decides about an item of a gateway as about the server's own.
func (s *Subject) through(g *ir.Fronts, kind MCPKind, name string) *Result {
	if !g.Serves(s.ref) {
		return &Result{Rule: "the gateway is for others"}
	}
	if kind == Tool {
		of, ok := g.Tools[name]
		if !ok {
			return &Result{Rule: "the gateway has no such tool"}
		}
		return s.decideTool(of.Server, s.engine.inventory.servers[of.Server].server, Tool, of.Tool)
	}
	offered := g.Resources
	if kind == Prompt {
		offered = g.Prompts
	}
	var all *Result
	for i := range s.engine.project.Behind {
		sv := &s.engine.project.Behind[i]
		r := s.decideTool(sv.Name, sv, kind, name)
		// What a gateway of the subject's own denies is not there. Of one for several subjects the agent has to
		// deny it, and agents know one server.
		if r.Decision == ir.Deny && (g.Apart && s.ref.Role != "" || g.Mode != "" || !offered[sv.Name]) {
			continue
		}
		if all == nil {
			all = r
		} else {
			all = both(all, r)
		}
	}
	if all == nil {
		return &Result{Rule: "the gateway has none"}
	}
	return all
}
