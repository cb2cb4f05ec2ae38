package roo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// use is what one mode may do with one server, the tools apart that every mode
// denies.
type use struct {
	*server
	some      bool     // it may use something of it
	tools     []string // the listed ones that it may call, by decision or by exception
	denied    string   // something that it may not use; "" when it may use everything
	at        diag.Pos // the rule that denies it
	resources bool     // its resources are among what it may not use
	widens    []widening
}

type widening struct {
	by   *contract.Exception
	at   diag.Pos // of the rule
	what string
}

func (e *emitter) use(m *ir.Mode, s *policy.Subject, sv *server) use {
	u := use{server: sv}
	decide := func(a policy.Action, what string, x *contract.Exception) bool {
		r := s.Decide(a)
		switch {
		case r.Decision > ir.Deny:
		case x != nil:
			u.widens = append(u.widens, widening{x, r.Pos, what})
		default:
			if u.denied == "" {
				u.denied, u.at = what, r.Pos
			}
			return false
		}
		u.some = true
		return true
	}
	named := s.NamedTools(sv.Server)
	for i := range named {
		t := &named[i]
		a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}
		if !sv.bans(t.Name) && decide(a, t.Name, e.excepts(m, sv, t)) {
			u.tools = append(u.tools, t.Name)
		}
	}
	// A closed inventory says that no other tool exists, and that resources are
	// there only where somebody writes of them: where they say less than the
	// server's default.
	closed := e.in.Project.ListsTools(sv.Server)
	other := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool}
	x := e.in.Excepts(ir.SubjectRef{Mode: m.Slug}, sv.Name, contract.UnknownTool, !sv.DefaultEnabled)
	if !closed {
		by := x
		if e.dialect == format.Restrictions {
			by = nil // the tools are listed: none is needed
		}
		decide(other, "tools that the inventory does not list", by)
		for _, r := range s.UnlistedToolRules(sv.Name) {
			such := policy.Action{Group: ir.MCP, Server: sv.Name,
				Arg: contract.AnyTool(r.Pattern.Text)}
			if r.Decision == ir.Deny { // no list of Roo has a pattern
				decide(such, strconv.Quote(r.Pattern.Text), by)
			}
		}
	}
	if !closed || s.Decide(other).Decision > ir.Deny || opensAnyTool(m) || e.offersResources(sv.Gateway) {
		other.Kind = policy.Resource
		u.resources = !decide(other, "resources", x)
	}
	return u
}

// opensAnyTool reports whether a mode may call tools at some times that the inventory does not list.
func opensAnyTool(m *ir.Mode) bool {
	return slices.ContainsFunc(m.Can.Timed(), func(r ir.TimedRule) bool {
		return r.Group == ir.MCP && policy.Wildcard(r.Pattern.Text, contract.UnknownTool)
	})
}

// offersResources reports whether a gateway has the resources of some server, which all its modes read.
func (e *emitter) offersResources(g *ir.Fronts) bool {
	return g != nil && slices.ContainsFunc(e.in.Project.Behind, func(sv ir.Server) bool { return g.Resources(sv.Name) })
}

// modeServers writes what a mode may call: its group mcp, and the limits of the
// dialect.
func (e *emitter) modeServers(m *ir.Mode, s *policy.Subject, servers []server, out *mode) {
	var uses []use
	for i := range servers {
		if !servers[i].disabled {
			uses = append(uses, e.use(m, s, &servers[i]))
		}
	}
	if other, ok := e.unlisted(m, s); ok {
		uses = append(uses, other)
	}
	kept := false
	switch {
	case e.dialect != format.Stock && !e.in.Project.ClosedInventory && everything(uses):
		kept = true // servers that nobody lists are meant, too: no list
		e.usedExceptions(uses...)
	case e.dialect == format.Restrictions:
		kept = e.listTools(m, uses, out)
	case e.dialect == format.Zoo:
		kept = e.listServers(m, uses, out)
	default:
		kept = e.allServers(m, uses)
	}
	if kept {
		out.groups = append(out.groups, group{name: "mcp"})
	}
}

// unlisted is what a mode may do with the servers that an open inventory does not
// list: all of them are one.
func (e *emitter) unlisted(m *ir.Mode, s *policy.Subject) (use, bool) {
	if e.in.Project.ClosedInventory {
		return use{}, false
	}
	u := use{server: &server{Server: &ir.Server{}}}
	r := s.Decide(policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool})
	if u.some = r.Decision > ir.Deny; !u.some {
		u.denied, u.at = "servers that the inventory does not list", r.Pos
	}
	for _, r := range s.UnlistedToolRules(contract.UnknownServer) {
		if r.Decision == ir.Deny && u.denied == "" {
			u.denied, u.at = strconv.Quote(r.Pattern.Text)+" of servers that the inventory does not list", r.Pos
		}
	}
	if u.denied != "" {
		if x := e.in.ExceptsGroup(ir.SubjectRef{Mode: m.Slug}, ir.MCP); x != nil {
			u.denied, u.widens = "", []widening{{x, u.at, u.denied}}
		}
	}
	return u, true
}

// everything reports whether a mode may use all that it could.
func everything(uses []use) bool {
	return !slices.ContainsFunc(uses, func(u use) bool { return !u.some || u.denied != "" })
}

// maxNamed bounds what a message names one by one.
const maxNamed = 3

// allServers reports whether a mode keeps the group mcp with every server: when
// it denies nothing of them.
func (e *emitter) allServers(m *ir.Mode, uses []use) bool {
	some := false
	var denied []string
	var at diag.Pos
	for _, u := range uses {
		some = some || u.some
		if u.denied == "" {
			continue
		}
		if denied == nil {
			at = u.at
		}
		what := u.denied
		if u.Name != "" {
			what = fmt.Sprintf("%s of %q", u.denied, u.Name)
		}
		denied = append(denied, what)
	}
	switch {
	case !some:
		return false
	case denied == nil:
		e.usedExceptions(uses...)
		return true
	}
	if more := len(denied) - maxNamed; more > 0 {
		denied = append(denied[:maxNamed], fmt.Sprintf("something of %d more", more))
	}
	e.loss(m, ir.MCP, codeMCP, at,
		"the group mcp is all or nothing and the mode denies %s, which others may use: it loses the group",
		strings.Join(denied, ", ")).
		Hint("deny them in every mode, use the target zoo or the dialect mcp-restrictions, or write an exception " +
			"for \"mcp\"")
	return false
}

// listServers writes the servers of which a mode denies nothing.
func (e *emitter) listServers(m *ir.Mode, uses []use, out *mode) bool {
	var names []string
	for _, u := range uses {
		switch {
		case !u.some, u.Name == "": // left out, which says it
		case u.denied == "":
			names = append(names, u.Name)
			e.usedExceptions(u)
		default:
			e.loss(m, ir.MCP, codeMCP, u.at,
				"a mode lists whole servers and denies %s of %q, which others may use: it loses the server",
				u.denied, u.Name).
				Hintf("deny that in every mode, let the gateway hold it ([gateway] emit = true), or write an "+
					"exception for \"mcp %s\"", u.Name)
		}
	}
	if len(names) == 0 {
		return false
	}
	out.servers = &names
	return true
}

// listTools writes the servers and the tools that a mode may call. The plan's
// allowedTools applies to the tools of every server, and a server that no list
// names would still show its resources; it takes "?" in a name for any character.
func (e *emitter) listTools(m *ir.Mode, uses []use, out *mode) bool {
	var tools []toolRef
	var servers []string
	for _, u := range uses {
		switch {
		case !u.some, u.Name == "":
			continue
		case u.resources:
			e.loss(m, ir.MCP, codeMCP, u.at,
				"mcpRestrictions cannot deny the resources of %q and permit its tools: the mode loses the server",
				u.Name).
				Hintf("let resources say what the server's default says, or write an exception for \"mcp %s\"", u.Name)
			continue
		case strings.Contains(u.Name, "?"):
			e.loss(m, ir.MCP, codeMCP, u.Pos,
				"the name %q is a pattern to mcpRestrictions, and may match other servers: the mode loses the server",
				u.Name).
				Hint("rename the server without \"?\"")
			continue
		case u.denied == "":
			tools = append(tools, toolRef{u.Name, "*"})
		default:
			for _, t := range u.tools {
				tools = append(tools, toolRef{u.Name, t})
			}
		}
		servers = append(servers, u.Name)
		e.usedExceptions(u)
	}
	if len(tools) == 0 {
		return false
	}
	out.servers, out.tools = &servers, &tools
	return true
}

func (e *emitter) usedExceptions(uses ...use) {
	for _, u := range uses {
		for _, w := range u.widens {
			what := w.what
			if u.Name != "" {
				what = fmt.Sprintf("%s of %q", w.what, u.Name)
			}
			w.by.Used(&e.diags, e.name, w.at, "may use %s, which the format cannot deny to one mode", what)
		}
	}
}
