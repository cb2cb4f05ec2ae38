package cursor

import (
	"fmt"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/hook"
)

// unsaid is what the source denies and no token does.
type unsaid struct {
	what string
	at   diag.Pos
}

// findUnsaid collects what no token says of each group: only hooks enforce it.
func (e *emitter) findUnsaid(p *profile) {
	p.unsaid = map[ir.Group][]unsaid{}
	for _, g := range ir.Decided {
		switch g {
		case ir.Read, ir.Edit:
			e.unsaidPaths(p, g)
		case ir.MCP:
			e.unsaidTools(p)
		default:
			e.unsaidRules(p, g)
		}
	}
}

func (p *profile) addUnsaid(g ir.Group, at diag.Pos, what string) {
	p.unsaid[g] = append(p.unsaid[g], unsaid{what, at})
}

// unsaidDefault adds that what is not listed is denied.
func (p *profile) unsaidDefault(g ir.Group) {
	p.addUnsaid(g, p.subject.Default(g).Pos, "the default of "+string(g))
}

func (p *profile) unsaidRule(g ir.Group, r ir.Rule) {
	p.addUnsaid(g, r.Pos, r.Decision.String()+" "+r.Pattern.String())
}

// unsaidRules adds what no token denies of commands, hosts, subagents and unknown tools, and
// what is asked about of all but commands: Cursor does that without asking. A
// token about a host denies nothing, and there are none about the last two.
func (e *emitter) unsaidRules(p *profile, g ir.Group) {
	if g == ir.Unknown {
		if r := p.subject.UnknownTool(); decided(r) < ir.Allow {
			p.addUnsaid(g, r.Pos, "the default of unknown tools")
		}
		return
	}
	if g == ir.Command && p.most(g) == ir.Deny {
		return // one token denies the group whole
	}
	least := ir.Allow // Cursor asks about commands, and not about the rest
	if g == ir.Command {
		least = ir.Ask
	}
	for _, r := range p.subject.Rules(g) {
		if r.Decision >= least {
			continue
		}
		if _, ok := e.deny(p, r.Pattern); g != ir.Command || !ok {
			p.unsaidRule(g, r)
		}
	}
	if p.byDefault(g) < least {
		p.unsaidDefault(g)
	}
}

// unsaidPaths adds what no token denies of paths. What is asked about is denied too, since
// Cursor does not ask inside the workspace.
func (e *emitter) unsaidPaths(p *profile, g ir.Group) {
	if p.most(g) < ir.Allow {
		return // one token denies the group whole
	}
	for _, r := range p.subject.Rules(g) {
		if refuses(r) && len(plainGlobs(r.Pattern)) == 0 {
			p.unsaidRule(g, r)
		}
	}
	if p.byDefault(g) < ir.Allow {
		p.unsaidDefault(g)
	}
	can := e.in.Project.Can(p.ref)
	outside := can.Ceiling(g)
	if outside != nil && outside.Decision == ir.Deny {
		p.addUnsaid(g, outside.Pos, "what lies outside the project")
	}
}

// unsaidTools adds what no token denies of MCP: tools and servers that the inventory does not
// list, and resources.
func (e *emitter) unsaidTools(p *profile) {
	if !e.in.Project.ClosedInventory {
		if r := p.elsewhere(); decided(r) == ir.Deny && !e.deniesServers(p) {
			p.addUnsaid(ir.MCP, r.Pos, "servers that the inventory does not list")
		}
	}
	for i := range e.in.Project.Servers {
		if sv := &e.in.Project.Servers[i]; e.deniesUnlisted(p, sv) && !p.whole(sv, ir.Deny) {
			p.addUnsaid(ir.MCP, sv.Pos, fmt.Sprintf("tools of %q that the inventory does not list", sv.Name))
		}
	}
	if can := e.in.Project.Can(p.ref); can.MCP != nil {
		for i := range can.MCP.Entries {
			entry := &can.MCP.Entries[i]
			if r := entry.Resources; r != nil && r.Decision == ir.Deny {
				p.resources = append(p.resources, unsaid{fmt.Sprintf("resources of %q", entry.Key), r.Pos})
			}
		}
	}
	p.unsaid[ir.MCP] = append(p.unsaid[ir.MCP], p.resources...)
	if len(p.unsaid[ir.MCP]) == 0 {
		delete(p.unsaid, ir.MCP)
	}
}

// beyondTools reports whether a subject says of a server's resources or prompts what no token does. A closed inventory
// has those alone of which somebody writes.
func (e *emitter) beyondTools(p *profile) bool {
	return slices.ContainsFunc(e.in.Project.Servers, func(sv ir.Server) bool {
		says := func(k policy.MCPKind) ir.Decision {
			a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool, Kind: k}
			return decided(p.subject.Decide(a))
		}
		return slices.ContainsFunc([]policy.MCPKind{policy.Resource, policy.Prompt}, func(k policy.MCPKind) bool {
			d := says(k)
			return d < ir.Allow && !(e.in.Project.ClosedInventory && d == says(policy.Tool))
		})
	})
}

// deniesUnlisted reports whether a subject denies tools of a server because nothing names them. A server without a list
// has such tools in a closed inventory, too.
func (e *emitter) deniesUnlisted(p *profile, sv *ir.Server) bool {
	return !e.in.Project.ListsTools(sv) && p.tool(sv.Name, contract.UnknownTool) == ir.Deny
}

// hooked reports whether a profile has hooks: where it says anything at all.
func (e *emitter) hooked(p *profile) bool { return e.in.Hooked() && len(e.stated(p)) > 0 }

// deniesServers reports whether a bare deny is about every server, listed or not.
func (e *emitter) deniesServers(p *profile) bool {
	can := e.in.Project.Can(p.ref)
	return can.MCP != nil && slices.ContainsFunc(can.MCP.Rules, ir.Rule.DeniesAll)
}

// quiet reports whether a subject says nothing.
func (e *emitter) quiet(p *profile) bool { return len(e.stated(p)) == 0 && !e.hasOwn(p) }

// stated returns the groups that a subject does not leave to Cursor as a whole. A server that
// is off by default does not count.
func (e *emitter) stated(p *profile) []ir.Group {
	var out []ir.Group
	for _, g := range ir.Decided {
		if !hook.Left(p.subject, e.in.Project.Servers, g) {
			out = append(out, g)
		}
	}
	if slices.Equal(out, []ir.Group{ir.MCP}) && e.in.Project.Can(p.ref).MCP == nil && p.byDefault(ir.MCP) == ir.Agent {
		return nil
	}
	return out
}

// closed reports whether a whole group is denied because no token says what its rules do,
// and hooks are off. A written exception keeps it.
func (e *emitter) closed(p *profile, g ir.Group) bool {
	if p.hooked || len(p.unsaid[g]) == 0 {
		return false
	}
	first := p.unsaid[g][0]
	if e.in.Keeps(&e.diags, "cursor", p.ref, g, first.at, "no token says %s", first.what) {
		return false
	}
	e.loss(p, g, codeDeny, first.at, "no token says %s, and hooks are off: the group %s is denied as a whole",
		first.what, g).
		Hintf("turn hooks on, or write partial = \"keep\" or an exception for %q", g)
	return true
}

// decided returns what a result of the source means to Cursor.
func decided(r policy.Result) ir.Decision { return contract.Decision(cursor{}, &r) }

// elsewhere decides about a server that the inventory does not list.
func (p *profile) elsewhere() policy.Result {
	return p.subject.Decide(policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool})
}

func (p *profile) byDefault(g ir.Group) ir.Decision { return decided(p.subject.Default(g)) }

// most returns the most that a subject may do anywhere in a group.
func (p *profile) most(g ir.Group) ir.Decision {
	most := p.byDefault(g)
	for _, r := range p.subject.Rules(g) {
		if r.DeniesAll() {
			return ir.Deny
		}
		most = max(most, r.Decision)
	}
	return most
}

// closes reports whether a subject writes that it asks about what it does not list of a group,
// or denies it, or denies the group whole.
func (p *profile) closes(g ir.Group) bool {
	return p.subject.Default(g).Decision < ir.Allow || p.most(g) == ir.Deny
}

// refuses reports whether a rule over paths becomes a refusal.
func refuses(r ir.Rule) bool {
	return r.Decision == ir.Deny || r.Decision == ir.Ask
}
