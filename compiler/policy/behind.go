package policy

import (
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/ir"
)

// behind returns a view in which gateways stand in the place of the servers that they start. A gateway has the tools
// that some subject may use which it serves, under names of its own: those of the source, which it reads. External
// servers stay: another program starts them.
func behind(source, p *ir.Project, target string, of offer) *ir.Project {
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
	for _, g := range gateways {
		sv := ir.Server{Name: g.Name, Type: "stdio", Command: "modec", Args: g.Args, DefaultEnabled: true,
			Tools: []ir.Tool{}}
		passing := sync.OnceValue(func() func(Action) Result { return e.GatewayDecider(e.servedBy(g)) })
		offers := func(kind MCPKind, server, name string) bool {
			a := Action{Group: ir.MCP, Kind: kind, Server: server, Arg: name}
			if g.Apart { // some role's has it, and modes in that role's sessions with it
				return slices.ContainsFunc(e.compiling(e.servedBy(g)), func(s *Subject) bool {
					return s.Decide(a).Decision > ir.Deny
				})
			}
			return passing()(a).Decision > ir.Deny
		}
		sv.Gateway = &ir.Fronts{Gateway: g, Tools: map[string]ir.ToolRef{},
			Resources: func(server string) bool { return offers(Resource, server, "") },
			Prompts:   func(server string) bool { return offers(Prompt, server, "") }}
		for i := range q.Behind {
			own := SourceServer(source, target, q.Behind[i].Name)
			for _, t := range q.Behind[i].Tools {
				name, ref := ir.GatewayTool(own, t.Name), ir.ToolRef{Server: q.Behind[i].Name, Tool: t.Name, Pos: t.Pos}
				if _, twice := sv.Gateway.Tools[name]; twice {
					continue // a build reports it
				}
				if sv.Gateway.Tools[name] = ref; of == every || offers(Tool, ref.Server, t.Name) {
					t.Name = name
					sv.Tools = append(sv.Tools, t)
				}
			}
		}
		slices.SortFunc(sv.Tools, func(a, b ir.Tool) int { return strings.Compare(a.Name, b.Name) })
		if len(sv.Tools) > 0 {
			q.Servers = append(q.Servers, sv)
		}
	}
	q.Sort()
	return &q
}

// offer is which tools a gateway has in a view.
type offer bool

const (
	every  offer = false // all, those included that nobody may use
	usable offer = true  // those that some subject may use which it serves
)

// servedBy returns the subjects that a gateway serves.
func (e *Engine) servedBy(g ir.Gateway) []ir.SubjectRef {
	return slices.DeleteFunc(e.project.Subjects(), func(ref ir.SubjectRef) bool { return !g.Serves(ref) })
}

// compiling returns those of some subjects that compile.
func (e *Engine) compiling(refs []ir.SubjectRef) (all []*Subject) {
	for _, ref := range refs {
		if s, err := e.Subject(ref); err == nil {
			all = append(all, s)
		}
	}
	return all
}

// GatewayDecider returns a function that decides what a gateway does for several subjects at once, behind an agent
// that restricts each of them by itself: it passes on the tools that any of them may use. Of resources and prompts
// agents know the gateway alone and not whose they are: it passes on what all of them may read. A subject that does
// not compile may do nothing.
func (e *Engine) GatewayDecider(refs []ir.SubjectRef) func(Action) Result {
	all := e.compiling(refs)
	return func(a Action) Result {
		best := Result{Rule: "no subject may use it"}
		for i, s := range all {
			r := s.Decide(a)
			better := r.Decision < best.Decision
			if a.Kind == Tool {
				better = r.Decision > best.Decision
			}
			if i == 0 || better {
				best = r
			}
		}
		return best
	}
}

// through decides about an item of a gateway as about the server's own.
func (s *Subject) through(g *ir.Fronts, a Action) *Result {
	if !g.Serves(s.ref) {
		return &Result{Rule: "the gateway is for others"}
	}
	if a.Kind == Tool {
		of, ok := g.Tools[a.Arg]
		if !ok {
			return &Result{Rule: "the gateway has no such tool"}
		}
		a.Server, a.Arg = of.Server, of.Tool
		return s.decideTool(s.engine.inventory.servers[of.Server].server, a)
	}
	offered := g.Resources
	if a.Kind == Prompt {
		offered = g.Prompts
	}
	var all *Result
	for i := range s.engine.project.Behind {
		sv := &s.engine.project.Behind[i]
		a.Server = sv.Name
		r := s.decideTool(sv, a)
		// What a gateway of the subject's own denies is not there. Of one for several subjects the agent has to
		// deny it, and agents know one server.
		if r.Decision == ir.Deny && (g.Apart && s.ref.Role != "" || g.Mode != "" || !offered(sv.Name)) {
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
