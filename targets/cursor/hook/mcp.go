package hook

import (
	"encoding/json"
	"regexp"
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

// named finds the inventory's servers that an id stands for: the exact name; else the id
// without one prefix that the IDE puts, every way to take project-N-FOLDER- away counted. A
// longer name is another server.
func (q *question) named(id string) []string {
	if i := strings.LastIndex(id, "::mcpScope:"); i >= 0 {
		id = id[:i] // as the engine does
	}
	id = format.Fold(id)
	if exact := q.inventory(func(s *ir.Server) bool { return id == format.Fold(s.Name) }); len(exact) > 0 {
		return exact
	}
	return q.inventory(func(s *ir.Server) bool { return IsAlias(id, format.Fold(s.Name)) })
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

// runs reports whether a server of the inventory is what the payload says that runs: the
// same address, or the same command line (older versions sent the program alone).
func (q *question) runs(s *ir.Server) bool {
	if s.Command == "" {
		return s.URL != "" && (expands(s.URL, q.ServerURL) || expands(s.URL, q.URL))
	}
	return expands(s.Command, q.Command) ||
		expands(strings.Join(append([]string{s.Command}, s.Args...), " "), q.Command)
}

// variable is a reference that Cursor replaces before it starts a server.
var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// expands reports whether a text is another one with its variables replaced.
func expands(text, by string) bool {
	if by == "" || !variable.MatchString(text) {
		return text == by
	}
	fixed := variable.Split(text, -1)
	last := len(fixed) - 1
	if !strings.HasPrefix(by, fixed[0]) {
		return false
	}
	by = by[len(fixed[0]):]
	for _, part := range fixed[1:last] {
		_, rest, found := strings.Cut(by, part)
		if !found {
			return false
		}
		by = rest
	}
	return strings.HasSuffix(by, fixed[last])
}

// replaced reports whether the payload says that something else runs under the name of a
// server than the inventory's.
func (q *question) replaced(name string) bool {
	s := q.Policy.Project().Server(name)
	if q.Command == "" && q.URL == "" && q.ServerURL == "" || s.Command == "" && s.URL == "" {
		return false // neither says what runs
	}
	return !q.runs(s)
}

// mcpTool decides a tool of a server.
func mcpTool(q *question) policy.Result {
	name := strings.TrimPrefix(q.ToolName, "MCP:")
	if name == "" {
		return refused("an MCP call without a tool")
	}
	return q.server(q.ServerName, policy.Action{Group: ir.MCP, Arg: name, Args: q.args()})
}

// args returns the arguments of the call of a server's tool, which may be in a text; "" where they are not known.
func (q *question) args() string {
	var text string
	switch {
	case q.AnyArgs, string(q.ToolInput) == "null":
		return ""
	case json.Unmarshal(q.ToolInput, &text) == nil:
		return text
	}
	return string(q.ToolInput)
}

// server decides an action on a server by its id, and without a name by what it runs. Where
// that fits several, deny and ask hold where any of them matches; allow needs exactly one.
func (q *question) server(id string, a policy.Action) policy.Result {
	servers := q.named(id)
	if len(servers) > 0 {
		if servers = slices.DeleteFunc(servers, q.replaced); len(servers) == 0 {
			return refused("a server with the name of one in the source, which runs something else")
		}
	} else {
		servers = q.inventory(q.runs)
	}
	all := q.lowest(servers, a)
	switch own := len(servers) == 0; {
	case own && id == "":
		return refused("a server that nothing identifies")
	case own: // a server of the user's own
		all = q.lowest(ownNames(id), a)
		if all.Decision == ir.Allow {
			all.Decision = ir.Ask
		}
	case all.Decision == ir.Allow && len(servers) > 1:
		all.Decision, all.Rule = ir.Ask, "a server id that may mean several"
	}
	return all
}

// ownNames returns what a server of the user's own may be called in the source: its id, and that without a prefix of
// the IDE, every way to take project-N-FOLDER- away counted.
func ownNames(id string) []string {
	if i := strings.LastIndex(id, "::mcpScope:"); i >= 0 {
		id = id[:i]
	}
	names := []string{id}
	for i := range id {
		if id[i] == '-' && IsAlias(format.Fold(id), format.Fold(id[i+1:])) {
			names = append(names, id[i+1:])
		}
	}
	return names
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
		a := policy.Action{Group: ir.MCP, Server: server, Arg: name, Args: q.args()}
		if decided(q.subject.Decide(a)).Decision > ir.Deny {
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
