package codex

import (
	"cmp"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/codex/format"
)

// servers returns the servers that a session starts, with what it may do with their tools.
func (s *session) servers() (list contract.Object) {
	for i := range s.in.Project.Servers {
		sv := &s.in.Project.Servers[i]
		if sv.Type == ir.External || !contract.Usable(s.subject, sv) {
			continue
		}
		entry, ok := s.entry(sv, s.ref.String())
		if !ok {
			continue
		}
		rest := s.rest(sv)
		list = append(list, sv.Name, append(entry, approvals(sv, rest, func(tool string) ir.Decision {
			return s.tool(sv.Name, tool)
		})...))
		s.resources(sv)
	}
	return list
}

// entry returns how Codex starts a server.
func (e *emitter) entry(sv *ir.Server, who string) (contract.Object, bool) {
	o, problem := format.ServerEntry(format.Entry{Command: sv.Command, Args: sv.Args, Cwd: sv.Cwd, Env: sv.Env,
		URL: sv.URL, Headers: sv.Headers})
	if sv.Type == "sse" {
		problem = "Codex speaks streamable HTTP, and no SSE"
	}
	if problem != "" {
		e.diags.Warnf(codeServer, sv.Pos, "%s: the server %q is left out", problem, sv.Name).
			Hint("let modec's gateway start it, or start it by a script of the project").
			Target(name).
			Subject(who).
			Loses(diag.Narrowing, string(ir.MCP)).
			Needless()
		return nil, false
	}
	if sv.TimeoutSeconds > 0 {
		o = append(o, "tool_timeout_sec", sv.TimeoutSeconds)
	}
	return o, true
}

// rest returns what is decided about tools that the inventory does not list.
func (s *session) rest(sv *ir.Server) ir.Decision {
	rest := s.tool(sv.Name, contract.UnknownTool)
	if s.subject.ListsTools(sv) {
		return rest
	}
	for _, r := range s.subject.UnlistedToolRules(sv.Name) {
		if r.Decision < min(rest, ir.Allow) && !s.hooked {
			s.diags.Warnf(codeUnlisted, r.Pos, "Codex has no patterns of tool names: %s decides about every tool "+
				"of %q that the inventory does not list", r.Pattern, sv.Name).
				Hintf("list the server's tools: `modec inventory %s --update`", sv.Name).
				Target(name).
				Subject(s.ref.String()).
				Loses(diag.Narrowing, string(ir.MCP))
			rest = r.Decision
		} else if r.Decision < min(rest, ir.Allow) {
			rest = min(rest, ir.Ask) // the hook compares names, and lets the rest be asked about
		}
	}
	return rest
}

// mode returns when Codex asks about a tool that it has.
func mode(d ir.Decision) format.Mode {
	switch d {
	case ir.Ask:
		return format.Prompt
	case ir.Allow:
		return format.Approve
	}
	return format.Auto
}

// approvals returns the keys of an entry that decide about tools: which of them there are, and when Codex asks.
func approvals(sv *ir.Server, rest ir.Decision, of func(tool string) ir.Decision) (o contract.Object) {
	enabled, denied := []string{}, []string{}
	count := map[format.Mode]int{}
	for _, t := range sv.Tools {
		if d := of(t.Name); d == ir.Deny {
			denied = append(denied, t.Name)
		} else {
			enabled = append(enabled, t.Name)
			count[mode(d)]++
		}
	}
	usual := mode(rest)
	switch {
	case rest == ir.Deny: // what is not listed is not there
		o = append(o, "enabled_tools", enabled)
		usual = format.Auto
		for _, m := range []format.Mode{format.Prompt, format.Approve} {
			if count[m] > count[usual] {
				usual = m
			}
		}
	case len(denied) > 0:
		o = append(o, "disabled_tools", denied)
	}
	if usual != format.Auto {
		o = append(o, "default_tools_approval_mode", string(usual))
	}
	tools := contract.Object{}
	for _, t := range enabled {
		if m := mode(of(t)); m != usual {
			tools = append(tools, t, contract.Object{"approval_mode", string(m)})
		}
	}
	if len(tools) > 0 {
		o = append(o, "tools", tools)
	}
	return o
}

// resources reports that Codex reads a server's resources without asking, where the subject may not.
func (s *session) resources(sv *ir.Server) {
	r := s.subject.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: "x", Kind: policy.Resource})
	if decided(&r) >= ir.Allow || s.hooked {
		return
	}
	s.diags.Notef(codeResources, cmp.Or(r.Pos, s.pos),
		"Codex reads the resources of %q without asking, whatever tools there are", sv.Name).
		Hint("let hooks hold it: hooks = \"enforce\" in modec.toml").
		Target(name).
		Subject(s.ref.String())
}

// startKeys are the members of a server's entry that say how it is started.
var startKeys = []string{"command", "args", "cwd", "env", "env_vars", "url", "bearer_token_env_var", "http_headers",
	"env_http_headers", "tool_timeout_sec"}

// keysOf returns the members of entries that a build decides: how servers are started, and what limits them where it
// limits any. A limit of people's stays else.
func keysOf(list contract.Object) []string {
	keys := slices.Clone(startKeys)
	for i := 0; i+1 < len(list); i += 2 {
		entry, _ := list[i+1].(contract.Object)
		for j := 0; j+1 < len(entry); j += 2 {
			if key, ok := entry[j].(string); ok && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// project writes the servers that a project shares: what no role and no mode may use is not there, and what the
// baseline may do without a question is not asked about.
func (e *emitter) project() {
	list := contract.Object{}
	baseline, err := e.in.Policy.Subject(ir.SubjectRef{Role: e.in.Project.Baseline})
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		if sv.Type == ir.External || e.in.Reach.Server(sv.Name).Any() == ir.Deny || !sv.DefaultEnabled {
			continue
		}
		entry, ok := (&emitter{in: e.in}).entry(sv, "") // the subjects report it
		if !ok {
			continue
		}
		of := func(tool string) ir.Decision {
			switch d := e.in.Reach.Tool(sv.Name, tool).Any(); {
			case d == ir.Deny:
				return d
			case err != nil: // Codex asks by itself
				return ir.Agent
			default:
				r := baseline.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool})
				return min(d, decided(&r))
			}
		}
		rest := ir.Deny
		if !e.in.Project.ListsTools(sv) || len(e.in.Project.Subjects()) == 0 {
			rest = of(contract.UnknownTool)
		}
		keys := approvals(sv, rest, of)
		list = append(list, sv.Name, append(entry, keys...))
	}
	if len(list) > 0 {
		e.files = append(e.files, contract.File{Path: format.ConfigFile,
			Data:   contract.TOML(contract.Object{serversField, list}),
			Places: []string{"/" + serversField + "/*"}, Keys: keysOf(list)})
	}
}
