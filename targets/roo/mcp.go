package roo

import (
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/roo/format"
)

// server is an entry of mcp.json, with what the modes may do with it.
type server struct {
	*ir.Server
	disabled bool
	banned   []string       // disabledTools: what every mode denies
	unasked  []string       // alwaysAllow
	entry    *located.Value // of an external server in mcp.json: people wrote it, and modec never changes it
}

// bans reports whether every mode denies a tool.
func (sv *server) bans(tool string) bool { return slices.Contains(sv.banned, tool) }

// approves reports whether the entry of an external server approves a tool.
func (sv *server) approves(tool string) bool {
	list := sv.entry.Get("alwaysAllow").Strings()
	return slices.Contains(list, tool) || slices.Contains(list, "*")
}

// reachesServers reports whether a mode of the source may use any server. A mode that may not has no
// group mcp, and the source does not decide what Roo's own modes do with the servers.
func (e *emitter) reachesServers() bool {
	if slices.ContainsFunc(e.in.Project.Servers, func(sv ir.Server) bool {
		return e.in.Reach.Server(sv.Name).Modes > ir.Deny
	}) {
		return true
	}
	return !e.in.Project.ClosedInventory && slices.ContainsFunc(e.in.Project.Modes, func(m ir.Mode) bool {
		s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
		if err != nil {
			return true
		}
		a := policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool}
		return s.Decide(a).Decision > ir.Deny
	})
}

// servers decides what applies to all modes at once.
func (e *emitter) servers() []server {
	var out []server
	reached := e.reachesServers()
	for i := range e.in.Project.Servers {
		sv := server{Server: &e.in.Project.Servers[i]}
		sv.entry = e.in.Entries[contract.EntryAt{File: e.dir() + "/mcp.json", Server: sv.Name}]
		most := e.in.Reach.Server(sv.Name).Modes
		switch {
		case sv.entry != nil:
			sv.disabled = sv.entry.Get("disabled").True()
		case !reached: // by Roo's own modes alone
			sv.disabled = !sv.DefaultEnabled
		case most == ir.Deny:
			sv.disabled = true // also shadows a global server of that name
		case !sv.DefaultEnabled && e.dialect == format.Stock:
			sv.disabled = true
			e.diags.Warnf(codeMCPOff, sv.Pos,
				"the server %q is off by default and cannot be there for some modes only: it is disabled", sv.Name).
				Hint("the dialect mcp-restrictions and the target zoo limit servers by mode").
				Target(e.name).
				Loses(diag.Narrowing, string(ir.MCP))
		}
		limited := reached && sv.Type != ir.External
		for _, t := range sv.Tools {
			if sv.entry != nil && slices.Contains(sv.entry.Get("disabledTools").Strings(), t.Name) ||
				limited && e.in.Reach.Tool(sv.Name, t.Name).Modes == ir.Deny {
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
		e.stillApproved(sv)
		e.unlistedApprovals(sv)
		for _, t := range e.tools(sv) {
			if sv.bans(t.Name) {
				continue
			}
			switch a := e.approval(sv, &t); {
			case a.allows == "":
			case sv.entry != nil && !a.asks && sv.approves(t.Name):
				sv.unasked = append(sv.unasked, t.Name)
			case sv.entry != nil:
				e.asked(a, sv.Pos,
					"the tool %s:%s is asked about: modec does not change the entry of an external server",
					sv.Name, t.Name).
					Hint("say how the server is started (command or url)")
			case sv.Type == ir.External:
				e.asked(a, sv.Pos,
					"the tool %s:%s is asked about: no list of the project has an external server", sv.Name, t.Name).
					Hint("say how the server is started (command or url)")
			case a.asks:
				e.asked(a, a.at,
					"the tool %s:%s is asked about in every mode: alwaysAllow applies to all of them", sv.Name, t.Name).
					Hint("decide alike in every mode")
			default:
				sv.unasked = append(sv.unasked, t.Name)
			}
		}
	}
}

// tools returns the tools of a server, those that some mode allows by name included: an open inventory need not list
// them.
func (e *emitter) tools(sv *server) []ir.Tool {
	all := *sv.Server
	all.Tools = slices.Clone(all.Tools)
	for i := range e.in.Project.Modes {
		s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: e.in.Project.Modes[i].Slug})
		if err != nil {
			continue // reported where the mode is emitted
		}
		for _, r := range s.UnlistedToolRules(sv.Name) {
			if r.Decision == ir.Allow && contract.ToolName(r.Pattern.Text) {
				all.AddTool(ir.Tool{Name: r.Pattern.Text, Pos: r.Pos})
			}
		}
	}
	return all.Tools
}

// unlistedApprovals reports that the tools of a server are asked about which a mode may call unasked and of which
// nobody knows the names.
func (e *emitter) unlistedApprovals(sv *server) {
	if e.in.Project.ListsTools(sv.Server) {
		return
	}
	a := e.approval(sv, &ir.Tool{Name: contract.UnknownTool})
	at := sv.Pos
	for i := range e.in.Project.Modes {
		s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: e.in.Project.Modes[i].Slug})
		if err != nil || a.allows != "" {
			continue
		}
		for _, r := range s.UnlistedToolRules(sv.Name) {
			if r.Decision == ir.Allow && !contract.ToolName(r.Pattern.Text) {
				a.allows, at = e.in.Project.Modes[i].Slug, r.Pos
			}
		}
	}
	if a.allows == "" || sv.approves("*") && !a.asks {
		return
	}
	e.asked(a, at, "tools of the server %q that the inventory does not list are asked about: alwaysAllow names each",
		sv.Name).
		Hint("list the server's tools: `modec inventory` asks it for them")
}

// stillApproved warns of what the entry of an external server approves and the source asks about: modec does not change
// the entry, so that a person has to.
func (e *emitter) stillApproved(sv *server) {
	if sv.entry == nil {
		return
	}
	for _, item := range sv.entry.Get("alwaysAllow").List() {
		tool, _ := item.Str()
		for i := range e.in.Project.Modes {
			s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: e.in.Project.Modes[i].Slug})
			if err != nil || s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool}).Decision != ir.Ask {
				continue
			}
			e.diags.Warnf(diag.EntryChanged, item.Pos, "alwaysAllow of the external server %q has %q, about which the "+
				"source asks in mode %s: it stays in force, for modec does not change the entry", sv.Name, tool,
				e.in.Project.Modes[i].Slug).
				Hintf("take %q out of alwaysAllow there yourself", tool).
				Target(e.name)
			break
		}
	}
}

// approval is what the modes decide about calling a tool.
type approval struct {
	allows string   // the last mode that may call it unasked
	asks   bool     // some mode must ask, or leaves it to the agent
	at     diag.Pos // the rule that says so
}

func (e *emitter) approval(sv *server, t *ir.Tool) approval {
	var a approval
	for i := range e.in.Project.Modes {
		m := &e.in.Project.Modes[i]
		s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
		if err != nil {
			continue // reported where the mode is emitted
		}
		r := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
		switch {
		case r.Decision == ir.Allow:
			a.allows = m.Slug
		case r.Decision > ir.Deny || e.excepts(m, sv, t) != nil:
			a.asks, a.at = true, r.Pos
		}
	}
	return a
}

// asked reports a tool that a mode may call unasked and must ask about.
func (e *emitter) asked(a approval, at diag.Pos, text string, args ...any) diag.Builder {
	return e.diags.Warnf(codeMCPApproval, at, text, args...).
		Target(e.name).
		Subject("mode "+a.allows).
		Loses(diag.Narrowing, string(ir.MCP))
}

// excepts returns the exception by which a mode may call a tool that it denies
// and the dialect cannot deny to it alone.
func (e *emitter) excepts(m *ir.Mode, sv *server, t *ir.Tool) *contract.Exception {
	if e.dialect == format.Restrictions {
		return nil // every tool is said exactly
	}
	return e.in.Excepts(ir.SubjectRef{Mode: m.Slug}, sv.Name, t.Name,
		t.Risk == "destructive" || !sv.DefaultEnabled)
}

// types are the transports under Roo's names.
var types = map[string]string{"stdio": "stdio", "http": "streamable-http", "sse": "sse"}

// serversJSON writes mcp.json. The one that is judged has the entries of external servers that lie in it: what they
// deny to every mode, and what of their approvals the source allows.
func (e *emitter) serversJSON(servers []server, withExternals bool) []byte {
	all := contract.Object{}
	for _, sv := range servers {
		switch {
		case sv.Type != ir.External:
			all = append(all, sv.Name, e.serverJSON(sv))
		case sv.entry != nil && withExternals: // how it is started stays out
			denies := append([]string{}, sv.entry.Get("disabledTools").Strings()...)
			all = append(all, sv.Name, contract.Object{
				"type", "stdio", "command", "external", "disabled", sv.disabled,
				"alwaysAllow", append([]string{}, sv.unasked...), "disabledTools", denies,
			})
		case sv.entry != nil: // it is there
		case sv.disabled: // a server of the project shadows the user's own, and this one never starts
			all = append(all, sv.Name, contract.Object{"type", "stdio", "command", "false", "disabled", true})
		}
	}
	return marshal(contract.Object{"mcpServers", all})
}

// statedJSON writes what the lists of the external servers whose entries lie in mcp.json would be, were they modec's.
func (e *emitter) statedJSON(servers []server) []byte {
	all := contract.Object{}
	for i := range servers {
		sv := &servers[i]
		if sv.entry == nil || !e.reachesServers() {
			continue
		}
		names := slices.Concat(sv.entry.Get(toolLists[0]).Strings(), sv.entry.Get(toolLists[1]).Strings())
		for _, t := range e.tools(sv) {
			names = append(names, t.Name)
		}
		lists := map[string][]string{}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			t := ir.Tool{Name: name}
			if name == "*" {
				t.Name = contract.UnknownTool
			}
			switch a := e.approval(sv, &t); {
			case a.allows != "" && !a.asks:
				lists["alwaysAllow"] = append(lists["alwaysAllow"], name)
			case a.allows == "" && !a.asks:
				lists["disabledTools"] = append(lists["disabledTools"], name)
			}
		}
		entry := contract.Object{}
		for _, list := range toolLists {
			entry = append(entry, list, append([]string{}, lists[list]...))
		}
		all = append(all, sv.Name, entry)
	}
	return marshal(contract.Object{"mcpServers", all})
}

// toolLists are the members of a server's entry that are about its tools.
var toolLists = []string{"alwaysAllow", "disabledTools"}

// serverKeys are the members of a server's entry that the source decides. Where no mode of it may use a
// server, it says nothing of what is approved or denied: Roo's own modes have the lists that are there.
func (e *emitter) serverKeys() []string {
	keys := []string{"type", "command", "args", "cwd", "env", "url", "headers", "timeout", "disabled", "defaultEnabled"}
	if e.reachesServers() {
		keys = append(keys, toolLists...)
	}
	return keys
}

// serverDefaults are the members of a server's entry that mean the same where they are missing.
func serverDefaults() map[string][]string {
	defaults := maps.Clone(contract.ServerDefaults)
	defaults["type"] = append([]string{`"sse"`}, defaults["type"]...) // format reads an address without a type so
	defaults["disabled"] = []string{"false"}
	defaults["alwaysAllow"], defaults["disabledTools"] = []string{"[]"}, []string{"[]"}
	return defaults
}

func (e *emitter) serverJSON(sv server) contract.Object {
	o := append(contract.Object{"type", types[sv.Type]}, contract.EnvTransport(sv.Server)...)
	if sv.TimeoutSeconds > 0 {
		o = append(o, "timeout", sv.TimeoutSeconds)
	}
	if sv.disabled {
		o = append(o, "disabled", true)
	}
	if e.dialect == format.Restrictions && !sv.DefaultEnabled {
		o = append(o, "defaultEnabled", false)
	}
	if len(sv.unasked) > 0 {
		o = append(o, "alwaysAllow", sv.unasked)
	}
	if len(sv.banned) > 0 && !sv.disabled {
		o = append(o, "disabledTools", sv.banned)
	}
	return o
}
