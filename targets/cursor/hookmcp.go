package cursor

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// reading is what a live server id stands for.
type reading struct {
	servers []string // of the inventory
	sure    bool     // the id is a name, or a name behind a prefix that Cursor puts
}

// read finds the inventory's servers that an id may stand for: the exact name;
// else the id without one prefix, every way to take project-N-FOLDER- away
// counted; else, unsure, every name that it ends with.
func (q *question) read(id string) reading {
	if i := strings.LastIndex(id, "::mcpScope:"); i >= 0 {
		id = id[:i] // as the engine does
	}
	id = fold(id)
	for _, r := range []struct {
		sure bool
		is   func(name string) bool
	}{
		{true, func(name string) bool { return id == name }},
		{true, func(name string) bool { return isAlias(id, name) }},
		{false, func(name string) bool { return strings.HasSuffix(id, "-"+name) }},
	} {
		if servers := q.inventory(func(s *ir.Server) bool { return r.is(fold(s.Name)) }); len(servers) > 0 {
			return reading{servers, r.sure}
		}
	}
	return reading{}
}

func (q *question) inventory(is func(*ir.Server) bool) []string {
	var out []string
	p := q.Policy.Project()
	for i := range p.Servers {
		if is(&p.Servers[i]) {
			out = append(out, p.Servers[i].Name)
		}
	}
	return out
}

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

// mcpAction decides a tool of a server. Deny and ask hold when any reading of
// the server matches; allow needs exactly one.
func mcpAction(q *question) verdict {
	tool := strings.TrimPrefix(q.ToolName, "MCP:")
	if tool == "" {
		return refused("an MCP call without a tool")
	}
	return q.server(q.ServerName, policy.Action{Group: ir.MCP, Arg: tool})
}

func (q *question) server(id string, a policy.Action) verdict {
	r := q.read(id)
	if !r.sure {
		if found := q.identify(); len(found) > 0 {
			r.servers, r.sure = append(r.servers, found...), len(r.servers) == 0
		}
	}
	v := verdict{none: true}
	for _, name := range r.servers {
		a.Server = name
		v = lower(v, verdict{Result: q.subject.Decide(a)})
	}
	switch {
	case v.none && id == "":
		return refused("a server that nothing identifies")
	case v.none: // a server of somebody's own
		a.Server = id
		v = verdict{Result: q.subject.Decide(a)}
		v.Decision = min(v.Decision, ir.Ask)
	case v.Decision == ir.Allow && (!r.sure || len(r.servers) > 1):
		v.Decision, v.Rule = ir.Ask, "a server id that may mean several"
	}
	return v
}

// anyServer decides an MCP tool at preToolUse, which names no server:
// beforeMCPExecution follows and decides. What no server may run is refused here
// already; a closed inventory says which servers have the tool.
func (q *question) anyServer(tool string) verdict {
	servers := q.inventory(func(s *ir.Server) bool { return s.Tool(tool) != nil })
	if len(servers) == 0 || !q.Policy.Project().ClosedInventory {
		servers = q.inventory(func(*ir.Server) bool { return true })
		if q.subject.Default(ir.MCP).Decision > ir.Deny {
			return abstain(q) // a server of somebody's own may
		}
	}
	for _, name := range servers {
		if q.subject.Decide(policy.Action{Group: ir.MCP, Server: name, Arg: tool}).Decision > ir.Deny {
			return abstain(q)
		}
	}
	return refused("no server may run such a tool")
}

// resources decides reading a server's resources. Without a server all are
// meant. What is saved is judged as an edit.
func resources(q *question) verdict {
	a := policy.Action{Group: ir.MCP, Kind: policy.Resource}
	a.Arg, _ = q.text("uri")
	v := verdict{none: true}
	if id, _ := q.text("server"); id != "" {
		v = q.server(id, a)
	} else {
		for _, name := range q.inventory(func(*ir.Server) bool { return true }) {
			a.Server = name
			v = lower(v, verdict{Result: q.subject.Decide(a)})
		}
	}
	if _, ok := q.input["download_path"]; ok {
		v = lower(v, edits("download_path")(q))
	}
	return v
}
