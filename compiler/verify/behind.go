package verify

import (
	"io/fs"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
)

// behind decides about the servers of the source where the agent starts modec's gateway in their place. What the
// gateway hides from a session the agent cannot call, whatever its own files say. What it passes on the agent decides
// by the gateway's name for it. It reads in the agent's own lists which gateways a session starts, and for whom.
type behind struct {
	contract.Decider
	host   contract.GatewayHost
	files  fs.FS
	source *policy.Engine // with the servers themselves, by the names of the target
	whole  *ir.Project    // by the names of the source, as the gateway's arguments have them

	mu    sync.Mutex
	gates map[ir.SubjectRef][]gate
}

// gate is a server that a session starts.
type gate struct {
	contract.Started
	of     []ir.SubjectRef // whom it serves, by the names of the target
	decide func() func(policy.Action) policy.Result
}

// Behind returns deciders about the source's own servers, for a target whose agent has the gateway in their place;
// those of any other target as they are. files are what the deciders were opened on.
func Behind(t contract.Target, source *policy.Engine, files fs.FS, list []contract.Decider) []contract.Decider {
	host, ok := t.(contract.GatewayHost)
	if !ok || len(source.Project().Gateways[t.Name()]) == 0 {
		return list
	}
	out := make([]contract.Decider, len(list))
	for i, d := range list {
		out[i] = &behind{Decider: d, host: host, files: files, source: source.ForServers(t.Name()),
			whole: source.Project(), gates: map[ir.SubjectRef][]gate{}}
	}
	return out
}

// Decide returns what becomes of an action at the gateways that a session of the subject starts: the most that one of
// them, and the agent in front of it, lets through.
func (b *behind) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if a.Group != ir.MCP || !b.fronts(a.Server) || !b.Contains(ref) {
		return b.Decider.Decide(ref, a)
	}
	most := hidden("no gateway in the list of servers", diag.Pos{})
	for _, g := range b.started(ref) {
		v := most
		switch {
		case g.Gateway:
			v = b.through(ref, a, &g)
		case g.Name == a.Server: // somebody's own entry, past the gateway
			v = b.Decider.Decide(ref, a)
		}
		if v.Decision > most.Decision || most.At.IsZero() {
			most = v
		}
	}
	return most
}

// hidden is the verdict about what a session does not see.
func hidden(why string, at diag.Pos) contract.Verdict {
	return contract.Verdict{Answer: contract.Answer{Governs: contract.Access, Rule: why, At: at}}
}

// fronts reports whether a server of the source is behind a gateway.
func (b *behind) fronts(server string) bool {
	sv := b.source.Project().Server(server)
	return sv != nil && sv.Type != ir.External
}

// started returns what a subject's sessions start.
func (b *behind) started(ref ir.SubjectRef) []gate {
	b.mu.Lock()
	defer b.mu.Unlock()
	if list, ok := b.gates[ref]; ok {
		return list
	}
	var list []gate
	for _, file := range b.host.Lists(b.files, ref) {
		for _, s := range contract.StartedIn(b.files, file) {
			g := gate{Started: s, of: []ir.SubjectRef{s.Ref}} // none of the project's, of a server that is no gateway
			source := b.source
			if s.Target != b.host.Name() && len(b.whole.Agents()) > 0 { // it knows no rules for this agent alone
				source = policy.New(b.whole.For(s.Target)).ForServers(b.host.Name())
			}
			if s.Target != "" && s.Ref == (ir.SubjectRef{}) {
				g.of, source = contract.United(b.host, b.whole), source.Closed() // which knows no times
			}
			for i := range g.of {
				g.of[i], _ = policy.InView(b.whole, b.host.Name(), g.of[i])
			}
			g.decide = sync.OnceValue(func() func(policy.Action) policy.Result { return source.GatewayDecider(g.of) })
			list = append(list, g)
		}
	}
	b.gates[ref] = list
	return list
}

// through returns what one gateway does with an action, and the agent in front of it.
func (b *behind) through(ref ir.SubjectRef, a policy.Action, g *gate) contract.Verdict {
	if a.Kind == policy.Tool {
		if b.source.Project().Server(a.Server).Tool(a.Arg) == nil {
			return hidden("the gateway knows no tool that the inventory does not list", g.At)
		}
	}
	if d := g.decide()(a).Decision; d == ir.Deny || g.Explicit && d == ir.Agent {
		return hidden("the gateway hides it", g.At)
	}
	if a.Kind == policy.Tool {
		a.Arg = ir.GatewayTool(policy.SourceServer(b.whole, b.host.Name(), a.Server), a.Arg)
	}
	a.Server = g.Name
	return b.Decider.Decide(ref, a)
}

// Contains reports whether the agent's files contain a subject.
func (b *behind) Contains(ref ir.SubjectRef) bool {
	c, ok := b.Decider.(contract.Container)
	return !ok || c.Contains(ref)
}

// Patterns returns those of the agent's files but for MCP, where they have the gateway's names.
func (b *behind) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	out := map[ir.Group][]ir.Pattern{}
	if p, ok := b.Decider.(contract.Patterned); ok {
		for g, list := range p.Patterns(ref) {
			if g != ir.MCP {
				out[g] = list
			}
		}
	}
	return out
}

// NamedCalls returns those that rules of the agent's files name.
func (b *behind) NamedCalls(ref ir.SubjectRef, servers []string) []policy.Action {
	if n, ok := b.Decider.(contract.CallNamer); ok {
		return n.NamedCalls(ref, servers)
	}
	return nil
}

// Languages returns a language for each tool of a server behind a gateway, which has no others.
func (b *behind) Languages(ref ir.SubjectRef, f policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	if f.Group == ir.MCP && b.fronts(f.Server) {
		var list []regexlang.Language
		for _, t := range b.source.Project().Server(f.Server).Tools {
			list = append(list, sp.Text(t.Name))
		}
		return list, nil
	}
	if r, ok := b.Decider.(contract.Regular); ok {
		return r.Languages(ref, f, sp)
	}
	return nil, regexlang.ErrNotRegular
}

// ToolName returns a tool's name as the agent has it.
func (b *behind) ToolName(name string) string {
	if r, ok := b.Decider.(contract.Renaming); ok {
		return r.ToolName(name)
	}
	return name
}

// KnownPrograms returns those of the agent.
func (b *behind) KnownPrograms() []string {
	if k, ok := b.Decider.(contract.Knowing); ok {
		return k.KnownPrograms()
	}
	return nil
}
