package hook

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// IsAlias reports whether a folded id is a folded name behind a prefix that the IDE puts:
// user- or project-N-FOLDER-.
func IsAlias(id, name string) bool {
	if rest, ok := strings.CutPrefix(id, "user-"); ok && rest == name {
		return true
	}
	rest, ok := strings.CutPrefix(id, "project-")
	if !ok {
		return false
	}
	digits, rest, ok := strings.Cut(rest, "-")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == "" && strings.HasSuffix(rest, "-"+name)
}

// reading is what the id of a running server stands for.
type reading struct {
	servers []string // of the inventory
	sure    bool     // the id is a name, or a name behind a prefix that the IDE puts
}

// read finds the inventory's servers that an id may stand for: the exact name;
// else the id without one prefix, every way to take project-N-FOLDER- away
// counted; else, unsure, every name that it ends with.
func (q *question) read(id string) reading {
	if i := strings.LastIndex(id, "::mcpScope:"); i >= 0 {
		id = id[:i] // as the engine does
	}
	id = format.Fold(id)
	for _, r := range []struct {
		sure bool
		is   func(name string) bool
	}{
		{true, func(name string) bool { return id == name }},
		{true, func(name string) bool { return IsAlias(id, name) }},
		{false, func(name string) bool { return strings.HasSuffix(id, "-"+name) }},
	} {
		if servers := q.inventory(func(s *ir.Server) bool { return r.is(format.Fold(s.Name)) }); len(servers) > 0 {
			return reading{servers, r.sure}
		}
	}
	return reading{}
}

// inventory returns the names of the servers that fit.
func (q *question) inventory(fits func(*ir.Server) bool) []string {
	var out []string
	p := q.Policy.Project()
	for i := range p.Servers {
		if fits(&p.Servers[i]) {
			out = append(out, p.Servers[i].Name)
		}
	}
	return out
}

func everyServer(*ir.Server) bool { return true }

// identify finds the inventory's servers that run what the payload says: the
// same address, or the same command line (older versions sent the program
// alone).
func (q *question) identify() []string {
	urls := []string{q.ServerURL, q.URL}
	return q.inventory(func(s *ir.Server) bool {
		if s.Command == "" {
			return s.URL != "" && slices.Contains(urls, s.URL)
		}
		return q.Command == s.Command || q.Command == strings.Join(append([]string{s.Command}, s.Args...), " ")
	})
}

// mcpTool decides a tool of a server.
func mcpTool(q *question) policy.Result {
	name := strings.TrimPrefix(q.ToolName, "MCP:")
	if name == "" {
		return refused("an MCP call without a tool")
	}
	return q.server(q.ServerName, policy.Action{Group: ir.MCP, Arg: name})
}

// server decides an action on a server by its id. Deny and ask hold where any reading of
// the id matches; allow needs exactly one.
func (q *question) server(id string, a policy.Action) policy.Result {
	r := q.read(id)
	if !r.sure {
		if found := q.identify(); len(found) > 0 {
			r.servers, r.sure = append(r.servers, found...), len(r.servers) == 0
		}
	}
	all := q.lowest(r.servers, a)
	switch own := len(r.servers) == 0; {
	case own && id == "":
		return refused("a server that nothing identifies")
	case own: // a server of the user's own
		a.Server = id
		all = decided(q.subject.Decide(a))
		if all.Decision == ir.Allow {
			all.Decision = ir.Ask
		}
	case all.Decision == ir.Allow && (!r.sure || len(r.servers) > 1):
		all.Decision, all.Rule = ir.Ask, "a server id that may mean several"
	}
	return all
}

// lowest decides an action on several servers.
func (q *question) lowest(servers []string, a policy.Action) policy.Result {
	all := unheld
	for _, name := range servers {
		a.Server = name
		all = both(all, decided(q.subject.Decide(a)))
	}
	return all
}

// anyServer decides an MCP tool at preToolUse, which names no server:
// beforeMCPExecution follows and decides. What no server may run is refused here
// already; a closed inventory says which servers have the tool.
func (q *question) anyServer(name string) policy.Result {
	servers := q.inventory(func(s *ir.Server) bool { return s.Tool(name) != nil })
	if len(servers) == 0 || !q.Policy.Project().ClosedInventory {
		servers = q.inventory(everyServer)
		if decided(q.subject.Default(ir.MCP)).Decision > ir.Deny {
			return abstain(q) // a server of the user's own may
		}
	}
	for _, server := range servers {
		if decided(q.subject.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: name})).Decision > ir.Deny {
			return abstain(q)
		}
	}
	return refused("no server may run such a tool")
}

// resources decides reading a server's resources, of all servers where the call names
// none. Saving them is also judged as an edit.
func resources(q *question) policy.Result {
	a := policy.Action{Group: ir.MCP, Kind: policy.Resource}
	a.Arg, _ = q.text("uri")
	all := abstain(q)
	if id, _ := q.text("server"); id != "" {
		all = q.server(id, a)
	} else if servers := q.inventory(everyServer); len(servers) > 0 {
		all = q.lowest(servers, a)
	}
	if _, ok := q.input["download_path"]; ok {
		all = both(all, edits("download_path")(q))
	}
	return all
}
