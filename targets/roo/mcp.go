package roo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

// server is an entry of mcp.json and what its modes may do with it.
type server struct {
	*ir.Server
	disabled bool
	banned   []string // disabledTools: what every mode denies
	unasked  []string // alwaysAllow
}

// servers decides what holds for all modes at once.
func (e *emitter) servers() []server {
	var out []server
	for i := range e.in.Project.Servers {
		sv := server{Server: &e.in.Project.Servers[i]}
		most := e.in.Reach.Server(sv.Name).Modes
		switch {
		case most == ir.Deny:
			sv.disabled = true // also shadows a global server of that name
		case !sv.DefaultEnabled && e.dialect == stock:
			sv.disabled = true
			e.diags = append(e.diags, diag.Diagnostic{Severity: diag.Warning, Code: "roo-mcp-off", Pos: sv.Pos, Message: fmt.Sprintf("the server %q is off by default and cannot be there for some modes only: it is disabled", sv.Name),
				Hint: "the dialects zoo and mcp-restrictions limit servers by mode", Target: e.name, Group: string(ir.MCP), Loss: diag.Narrowing})
		}
		for _, t := range sv.Tools {
			if e.in.Reach.Tool(sv.Name, t.Name).Modes == ir.Deny {
				sv.banned = append(sv.banned, t.Name)
			}
		}
		out = append(out, sv)
	}
	e.approve(out)
	return out
}

// approve finds the tools that may be called unasked in every mode that may
// call them.
func (e *emitter) approve(servers []server) {
	for i := range servers {
		sv := &servers[i]
		if sv.disabled {
			continue
		}
		for _, t := range sv.Tools {
			if slices.Contains(sv.banned, t.Name) {
				continue
			}
			allow, ask := "", diag.Pos{}
			asked := false
			for j := range e.in.Project.Modes {
				m := &e.in.Project.Modes[j]
				s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
				if err != nil {
					continue // reported where the mode is emitted
				}
				switch r := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}); r.Decision {
				case ir.Allow:
					allow = m.Slug
				case ir.Ask:
					asked, ask = true, r.Pos
				}
			}
			switch {
			case allow != "" && !asked:
				sv.unasked = append(sv.unasked, t.Name)
			case allow != "":
				e.diags = append(e.diags, diag.Diagnostic{Severity: diag.Warning, Code: "roo-mcp-approval", Pos: ask, Message: fmt.Sprintf("the tool %s:%s is asked about in every mode: alwaysAllow holds for all of them", sv.Name, t.Name),
					Hint: "decide alike in every mode", Target: e.name, Subject: "mode " + allow, Group: string(ir.MCP), Loss: diag.Narrowing})
			}
		}
	}
}

// modeServers writes what a mode may call: its group mcp, and the limits of the
// dialect.
func (e *emitter) modeServers(m *ir.Mode, s *policy.Subject, servers []server, out *mode) {
	var full, partly []server
	var permitted []toolRef
	for _, sv := range servers {
		if sv.disabled {
			continue
		}
		var tools []string
		var denied *policy.Result
		name := ""
		n := 0
		for _, t := range sv.Tools {
			if slices.Contains(sv.banned, t.Name) {
				continue
			}
			n++
			r := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
			if r.Decision > ir.Deny {
				tools = append(tools, t.Name)
				continue
			}
			if e.dialect == restrictions {
				denied, name = &r, t.Name // said exactly: no exception is needed
				continue
			}
			if x := e.in.Excepts(ir.SubjectRef{Mode: m.Slug}, sv.Name, t.Name, t.Risk == "destructive" || !sv.DefaultEnabled); x != nil {
				e.widened(m, ir.MCP, x, fmt.Sprintf("may call %s:%s, which the format cannot deny to one mode", sv.Name, t.Name))
			} else if denied == nil {
				denied, name = &r, t.Name
			}
		}
		if unknown := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: target.UnknownTool}); denied == nil && unknown.Decision == ir.Deny && (!e.in.Project.ClosedInventory || len(sv.Tools) == 0) {
			denied, name = &unknown, "a tool that the inventory does not list"
		}
		switch {
		case n > 0 && len(tools) == 0:
			if denied != nil {
				partly = append(partly, sv) // all denied: no loss where the server can be left out
			}
		case denied == nil:
			full = append(full, sv)
		default:
			partly = append(partly, sv)
			if e.dialect != restrictions {
				e.deniedTool(m, sv, name, denied)
			}
		}
		if n > 0 && len(tools) == n && denied == nil && e.in.Project.ClosedInventory {
			permitted = append(permitted, toolRef{sv.Name, "*"})
			continue
		}
		for _, t := range tools {
			permitted = append(permitted, toolRef{sv.Name, t})
		}
	}
	switch e.dialect {
	case restrictions:
		if len(permitted) > 0 {
			out.groups, out.tools = append(out.groups, group{name: "mcp"}), &permitted
		}
	case zoo:
		if len(full) == 0 {
			return
		}
		out.groups = append(out.groups, group{name: "mcp"})
		names := []string{}
		for _, sv := range full {
			names = append(names, sv.Name)
		}
		out.servers = &names
	default:
		if len(full) == 0 && len(permitted) == 0 {
			return
		}
		if len(partly) == 0 {
			out.groups = append(out.groups, group{name: "mcp"})
			return
		}
		e.loss(m, ir.MCP, "roo-mcp", m.Pos, fmt.Sprintf("the group mcp is all or nothing and the mode denies tools of %s that others may use: it loses the group", names(partly)),
			"deny them in every mode, use the dialect zoo or mcp-restrictions, or write an exception for \"mcp\"")
	}
}

func names(servers []server) string {
	var list []string
	for _, s := range servers {
		list = append(list, fmt.Sprintf("%q", s.Name))
	}
	return strings.Join(list, ", ")
}

// deniedTool reports what costs a mode its server (zoo).
func (e *emitter) deniedTool(m *ir.Mode, sv server, tool string, r *policy.Result) {
	if e.dialect != zoo {
		return // reported once for the group
	}
	e.loss(m, ir.MCP, "roo-mcp", r.Pos, fmt.Sprintf("a mode lists whole servers and denies %s of %q, which others may use: it loses the server", tool, sv.Name),
		fmt.Sprintf("deny the tool in every mode, or write an exception for \"mcp %s\"", sv.Name))
}

// types are the transports under Roo's names.
var types = map[string]string{"stdio": "stdio", "http": "streamable-http", "sse": "sse"}

func (e *emitter) serversJSON(servers []server) []byte {
	all := target.Object{}
	for _, sv := range servers {
		o := target.Object{"type", types[sv.Type]}
		if sv.Type == "stdio" {
			o = append(o, "command", target.EnvRefs(sv.Command))
			if len(sv.Args) > 0 {
				o = append(o, "args", target.EnvRefsList(sv.Args))
			}
			if sv.Cwd != "" {
				o = append(o, "cwd", target.EnvRefs(sv.Cwd))
			}
			if len(sv.Env) > 0 {
				o = append(o, "env", target.EnvRefsAll(sv.Env))
			}
		} else {
			o = append(o, "url", target.EnvRefs(sv.URL))
			if len(sv.Headers) > 0 {
				o = append(o, "headers", target.EnvRefsAll(sv.Headers))
			}
		}
		if sv.TimeoutSeconds > 0 {
			o = append(o, "timeout", sv.TimeoutSeconds)
		}
		if sv.disabled {
			o = append(o, "disabled", true)
		}
		if e.dialect == restrictions && !sv.DefaultEnabled {
			o = append(o, "defaultEnabled", false)
		}
		if len(sv.unasked) > 0 {
			o = append(o, "alwaysAllow", sv.unasked)
		}
		if len(sv.banned) > 0 && !sv.disabled {
			o = append(o, "disabledTools", sv.banned)
		}
		all = append(all, sv.Name, o)
	}
	return marshal(target.Object{"mcpServers", all})
}

var (
	dropped = regexp.MustCompile(`[^A-Za-z0-9_-]`)
	dashes  = regexp.MustCompile(`--+`)
)

// sanitize is Roo's sanitizeMcpName (src/utils/mcp-name.ts).
func sanitize(s string) string {
	s = dashes.ReplaceAllString(dropped.ReplaceAllString(strings.ReplaceAll(s, " ", "_"), ""), "-")
	switch c := s + " "; {
	case s == "":
		return "_"
	case c[0] != '_' && !(c[0] >= 'a' && c[0] <= 'z' || c[0] >= 'A' && c[0] <= 'Z'):
		return "_" + s
	}
	return s
}

// toolName is how Roo offers an MCP tool to the model; it takes "-" and "_" for
// the same when the model answers.
func toolName(server, tool string) string {
	n := "mcp--" + sanitize(server) + "--" + sanitize(tool)
	return strings.ReplaceAll(n[:min(len(n), 64)], "-", "_")
}

// checkNames reports tools that Roo would not tell apart.
func (e *emitter) checkNames() {
	seen := map[string]string{}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		for _, t := range sv.Tools {
			key, full := toolName(sv.Name, t.Name), sv.Name+":"+t.Name
			if other, ok := seen[key]; ok {
				e.diags = append(e.diags, diag.Diagnostic{Code: "roo-tool-collision", Pos: t.Pos, Target: e.name,
					Message: fmt.Sprintf("got the tools %s and %s, which are one name to Roo, want names that differ after it drops characters and cuts at 64", other, full)})
			}
			seen[key] = full
		}
	}
}
