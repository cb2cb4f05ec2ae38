package copilot

import (
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/copilot/format"
)

// servers returns the servers that a session starts, with the tools that it has of them.
func (s *session) servers() (list contract.Object) {
	for i := range s.in.Project.Servers {
		sv := &s.in.Project.Servers[i]
		if sv.Type == ir.External || !contract.Usable(s.subject, sv) {
			continue
		}
		tools, all := s.toolsOf(sv)
		if all {
			tools = []string{"*"}
		}
		if len(tools) > 0 {
			list = append(list, sv.Name, append(entry(sv), "tools", tools))
		}
	}
	return list
}

// entry returns how Copilot starts a server. It replaces ${VAR} by itself.
func entry(sv *ir.Server) (o contract.Object) {
	if sv.Type == "stdio" {
		o = contract.Object{"command", sv.Command}
		if len(sv.Args) > 0 {
			o = append(o, "args", sv.Args)
		}
		if len(sv.Env) > 0 {
			o = append(o, "env", sv.Env)
		}
		if sv.Cwd != "" {
			o = append(o, "cwd", sv.Cwd)
		}
	} else {
		o = contract.Object{"type", sv.Type, "url", sv.URL}
		if len(sv.Headers) > 0 {
			o = append(o, "headers", sv.Headers)
		}
	}
	if sv.TimeoutSeconds > 0 {
		o = append(o, "timeout", sv.TimeoutSeconds*1000)
	}
	return o
}

// toolsOf returns the tools of a server that the session has; all: any, also one that no inventory lists. With a hook
// that is what the hook may permit.
func (s *session) toolsOf(sv *ir.Server) (tools []string, all bool) {
	least := ir.Ask
	if !s.hooked && s.says() { // a tool of which its server says that it only reads runs without a question
		least = ir.Allow
	}
	all = !s.subject.ListsTools(sv) && s.rest(sv) >= least
	for _, t := range sv.Tools {
		switch d := s.tool(sv.Name, t.Name); {
		case d >= least:
			tools = append(tools, t.Name)
		case !s.hooked:
			all = false
		}
	}
	return tools, all
}

// refused returns the servers of which the session does not have each tool.
func (s *session) refused() (names []string) {
	for i := range s.in.Project.Servers {
		sv := &s.in.Project.Servers[i]
		tools, all := s.toolsOf(sv)
		if !all && (len(tools) < len(sv.Tools) || !s.subject.ListsTools(sv)) {
			names = append(names, sv.Name)
		}
	}
	return names
}

// rest returns what is decided about tools that the inventory does not list.
func (s *session) rest(sv *ir.Server) ir.Decision {
	rest := s.tool(sv.Name, contract.UnknownTool)
	for _, r := range s.subject.UnlistedToolRules(sv.Name) {
		switch {
		case s.hooked: // which compares names
			rest = max(rest, r.Decision)
		case r.Decision < rest:
			rest = r.Decision
		}
	}
	return rest
}

// reportServers reports what a session without a hook does not have of the servers.
func (s *session) reportServers() {
	if s.hooked || !s.says() {
		return
	}
	for i := range s.in.Project.Servers {
		sv := &s.in.Project.Servers[i]
		if !contract.Usable(s.subject, sv) {
			continue
		}
		asked := 0
		for _, t := range sv.Tools {
			if s.tool(sv.Name, t.Name) == ir.Ask {
				asked++
			}
		}
		rest := s.tool(sv.Name, contract.UnknownTool)
		_, all := s.toolsOf(sv)
		if asked > 0 || !s.subject.ListsTools(sv) && rest > ir.Deny && !all {
			s.loss(ir.MCP, codeAsked, "Copilot does not ask about a tool of which its server says that it only "+
				"reads: %s has no tool of %q that has to be asked about, or of which nobody knows", s.ref, sv.Name)
		}
	}
}

// allowedTools returns the rules of the tools that need no question.
func (s *session) allowedTools() (rules []string) {
	for i := range s.in.Project.Servers {
		sv := &s.in.Project.Servers[i]
		if sv.Type == ir.External {
			continue
		}
		tools, all := s.toolsOf(sv)
		if all && s.rest(sv) == ir.Allow {
			rules = append(rules, sv.Name)
			continue
		}
		for _, t := range tools {
			if s.tool(sv.Name, t) == ir.Allow {
				rules = append(rules, sv.Name+"("+t+")")
			}
		}
	}
	return rules
}

// serverKeys are the members of a server's entry that the source decides.
var serverKeys = []string{"command", "args", "env", "cwd", "type", "url", "headers", "timeout", "tools"}

// serverDefaults are those of other agents, with Copilot's own word for a server that it starts.
var serverDefaults = func() map[string][]string {
	all := maps.Clone(contract.ServerDefaults)
	all["type"] = append(slices.Clone(all["type"]), `"local"`)
	return all
}()

// project writes the servers that a project shares, without the tools that no role and no mode may use.
func (e *emitter) project() {
	list := contract.Object{}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		if sv.Type == ir.External || e.in.Reach.Server(sv.Name).Any() == ir.Deny {
			continue
		}
		if !sv.DefaultEnabled {
			e.diags.Warnf(codeServerOff, sv.Pos,
				"the server %q is off by default, and Copilot has one list for everybody: it is left out of %s",
				sv.Name, format.ServersFile).
				Hint("start a session by `modec run`, which has it").
				Target(name).
				Loses(diag.Narrowing, string(ir.MCP)).
				Needless()
			continue
		}
		tools := []string{}
		if !e.in.Project.ListsTools(sv) && e.in.Reach.Tool(sv.Name, contract.UnknownTool).Any() > ir.Deny {
			tools = append(tools, "*")
		} else {
			for _, t := range sv.Tools {
				if e.in.Reach.Tool(sv.Name, t.Name).Any() > ir.Deny {
					tools = append(tools, t.Name)
				}
			}
		}
		list = append(list, sv.Name, append(entry(sv), "tools", tools))
	}
	if len(list) > 0 {
		e.files = append(e.files, contract.File{Path: format.ServersFile,
			Data:   contract.JSON(contract.Object{format.ServersKey, list}),
			Places: contract.MCPServers, Keys: serverKeys, Sets: []string{"tools"}, Defaults: serverDefaults})
	}
}
