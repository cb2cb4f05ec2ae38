package gemini

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
	"modec.dev/modec/targets/internal/persona"
)

// mode writes the policy of a mode, and its agent.
func (e *emitter) mode(m *ir.Mode) {
	ref := ir.SubjectRef{Mode: m.Slug}
	w, ok := e.compile(ref, m.Pos, m)
	if !ok {
		return
	}
	tools, limited := e.toolsOf(m, w)
	own := ownTools(m)
	e.agent(m, w)
	w.without(own)
	open := !limited && decided(w.subject.UnknownTool()) > ir.Deny
	if e.listed(m) && format.AgentName(format.AgentOf(m)) && (own != nil || open) {
		w.rules = nil // the agent's list says the same
	}
	alone := slices.DeleteFunc(w.rules, func(r rule) bool { return r.inside })
	e.subjects = append(e.subjects, subjectRules{ref, alone})
	if !format.AgentName(format.AgentOf(m)) {
		e.diags.Warnf(codeAgentName, m.Pos,
			"Gemini CLI takes no agent by the name %q: the mode has a policy, and no agent", m.Slug).
			Hint("name it in lower case, of letters, digits, - and _").
			Target(name).
			Subject(ref.String()).
			Loses(diag.Text, "")
		return
	}
	var b strings.Builder
	line := func(key, value string) { b.WriteString(key + ": " + value + "\n") }
	b.WriteString("---\n")
	line("name", format.AgentOf(m))
	line("description", quoted(persona.Description(m)))
	if m.Name != "" && m.Name != format.AgentOf(m) {
		line("display_name", quoted(m.Name))
	}
	e.extras(m.Extra[name], line)
	if limited {
		if b.WriteString("tools:"); len(tools) == 0 {
			b.WriteString(" []")
		}
		b.WriteString("\n")
		for _, t := range tools {
			b.WriteString("  - " + quoted(t) + "\n")
		}
	}
	b.WriteString("---\n\n" + persona.Prompt(m))
	file := format.AgentFile(format.AgentOf(m))
	if own, ok := m.Extra[name].Fields["file"].(string); ok && agentFile().MatchString(own) {
		file = format.AgentsDir + "/" + own
	}
	e.files = append(e.files, contract.File{Path: file, Data: []byte(b.String())})
}

// agentOf returns the name of the agent of any mode.
func (e *emitter) agentOf(slug string) string {
	if m := e.in.Project.Mode(slug); m != nil {
		return format.AgentOf(m)
	}
	return slug
}

var agentFile = lazy.Regexp(`\A[A-Za-z0-9][\w.-]*\.md\z`)

// quoted writes a text into front matter.
func quoted(s string) string { return contract.QuoteYAML(s, nil) }

// extraFields are the members of agents.gemini.settings of a mode, by the keys of an agent; "" for what is no key.
var extraFields = map[string]string{
	"file": "", "kind": "kind", "maxTurns": "max_turns", "model": "model", "name": "", "temperature": "temperature",
	"timeoutMins": "timeout_mins", "tools": "",
}

// extras writes what a mode says for Gemini CLI alone.
func (e *emitter) extras(x ir.Extra, line func(key, value string)) {
	for _, key := range slices.Sorted(maps.Keys(x.Fields)) {
		value, ok := "", false
		switch v := x.Fields[key].(type) {
		case string:
			value = quoted(v)
			ok = key == "model" || key == "file" && agentFile().MatchString(v) || key == "kind" && v == "local" ||
				key == "name" && format.AgentName(v)
		case float64, int, int64:
			value, ok = fmt.Sprint(v), slices.Contains([]string{"maxTurns", "temperature", "timeoutMins"}, key)
		case []any:
			ok = key == "tools"
		}
		if field := extraFields[key]; !ok {
			e.diags.Errorf(codeUnknownSetting, x.At(key),
				"agents.gemini.settings.%s: Gemini CLI takes no such value", key).
				Target(name)
		} else if field != "" {
			line(field, value)
		}
	}
}

// ownTools returns the list of tools that a mode names itself, nil for none.
func ownTools(m *ir.Mode) []any {
	own, _ := m.Extra[name].Fields["tools"].([]any)
	return own
}

// without takes away what a list of tools does not have of the groups that it has.
func (w *writer) without(own []any) {
	if own == nil || slices.Contains(own, any(format.Every)) {
		return
	}
	var gone []string
	for _, b := range byItself {
		if !slices.Contains(own, any(b.tool)) && b.tool != format.EveryMCP && b.tool != format.Invoke {
			gone = append(gone, b.tool)
		}
	}
	if len(gone) > 0 {
		w.add(rule{tools: gone, decision: ir.Deny, rank: denied})
	}
}

// toolsOf lists what a mode has at all: what its groups say, or of that what it names itself.
func (e *emitter) toolsOf(m *ir.Mode, w *writer) (out []string, limited bool) {
	out, limited = e.tools(w)
	x := m.Extra[name]
	own := ownTools(m)
	if own == nil {
		return out, limited
	}
	list := []string{}
	for _, item := range own {
		t, _ := item.(string)
		switch {
		case !format.ToolOfAgent(t):
			e.diags.Errorf(codeUnknownSetting, x.At("tools"),
				"agents.gemini.settings.tools: Gemini CLI knows no tool %q, and does not load an agent with it", t).
				Hint("name a tool of Gemini CLI, mcp_SERVER_TOOL, mcp_SERVER_* or *").
				Target(name)
		case limited && !slices.Contains(out, t) && !within(out, t) && !slices.Contains(format.Harmless, t):
			e.diags.Warnf(codeTools, x.At("tools"),
				"mode %s denies what the tool %q does: it is left out of its list", m.Slug, t).
				Hint("permit its group in can, or take it out of agents.gemini.settings.tools").
				Target(name).
				Subject("mode "+m.Slug).
				Loses(diag.Text, "")
		default:
			list = append(list, t)
		}
	}
	return list, true
}

// within reports whether a pattern of a list has a tool of a server.
func within(list []string, tool string) bool {
	return slices.ContainsFunc(list, func(p string) bool {
		begin, any := strings.CutSuffix(p, "*")
		return any && strings.HasPrefix(tool, begin) && strings.HasPrefix(tool, "mcp_")
	})
}

// tools lists what a mode has at all; false where nothing limits it.
func (e *emitter) tools(w *writer) (out []string, limited bool) {
	if decided(w.subject.UnknownTool()) > ir.Deny {
		return nil, false
	}
	most := map[string]ir.Decision{}
	for _, r := range w.rules {
		for _, t := range r.tools {
			switch {
			case r.server != "" && !format.Named(r.server, t):
				return nil, false // the agent would not be loaded: its policy holds it alone
			case r.server != "":
				t = format.ToolName(r.server, t)
			}
			most[t] = max(most[t], r.decision)
		}
	}
	w.separate(most)
	for t, d := range most {
		if d > ir.Deny && t != format.Every && t != format.Invoke && t != readMany {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out, true
}

// separate puts in the place of all tools of servers, where some are denied, those that are not: a list has no
// exceptions.
func (w *writer) separate(most map[string]ir.Decision) {
	denied := func(begin string) bool {
		for tool, d := range most {
			if d == ir.Deny && strings.HasPrefix(tool, begin) {
				return true
			}
		}
		return false
	}
	servers := w.in.Project.Servers
	if all := most[format.EveryMCP]; all > ir.Deny && denied("mcp_") {
		for i := range servers {
			every := format.ToolName(servers[i].Name, format.Every)
			if _, said := most[every]; !said && format.Named(servers[i].Name, format.Every) {
				most[every] = all
			}
		}
		most[format.EveryMCP] = ir.Deny
	}
	for i := range servers {
		sv := &servers[i]
		every := format.ToolName(sv.Name, format.Every)
		if most[every] == ir.Deny || !denied(format.ToolName(sv.Name, "")) {
			continue
		}
		for _, t := range w.subject.NamedTools(sv) {
			tool := format.ToolName(sv.Name, t.Name)
			if _, said := most[tool]; !said && format.Named(sv.Name, t.Name) {
				a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}
				most[tool] = decided(w.subject.Decide(a))
			}
		}
		if !w.subject.ListsTools(sv) && most[every] > ir.Deny {
			w.loss(ir.MCP, codeUnlisted, w.pos, "the list of tools of a subagent has no exceptions: it has no tool "+
				"of %q that the inventory does not list", sv.Name).
				Hintf("list the server's tools: `modec inventory %s --update`", sv.Name)
		}
		most[every] = ir.Deny
	}
}

// readMany is a tool that agents cannot have.
const readMany = "read_many_files"

// serverKeys are the members of a server's entry that the source decides.
var serverKeys = []string{"command", "args", "env", "cwd", "type", "url", "httpUrl", "headers", "timeout",
	"excludeTools"}

// settings writes the servers that everybody shares, what the role of every session says in Gemini CLI's own words, and
// its policy.
func (e *emitter) settings() {
	o := contract.Object{}
	var places []string
	if b := e.everybody(); b != "" {
		if paths := e.projectPolicies(ir.SubjectRef{Role: b}); paths != nil {
			o = append(o, "adminPolicyPaths", paths)
			places = append(places, "/adminPolicyPaths/-")
			if e.in.Listens() {
				o = append(o, format.HooksKey, hookOf(e.projectHook()))
				places = append(places, "/hooks/BeforeTool/-")
			}
		}
	}
	own := e.own()
	lists, of, problem := settingLists(own)
	if problem != nil {
		e.diags.Errorf(codeSetting, problem.Pos,
			"%q takes away whatever its list does not name, and agents.gemini.native.deny does not say so",
			problem.Text).
			Hintf("add %q to agents.gemini.native.deny", format.Limit(problem.Text)).
			Target(name)
	}
	o, places = append(o, lists...), append(places, of...)
	keys := serverKeys
	if slices.ContainsFunc(own, func(n ir.NativeRule) bool { _, trust := format.Trusts(n.Text); return trust }) {
		keys = append(slices.Clone(keys), "trust")
	}
	if servers := e.servers(own); len(servers) > 0 {
		o = append(o, "mcpServers", servers)
		places = append(places, contract.MCPServers...)
	}
	if len(o) == 0 {
		return
	}
	defaults := maps.Clone(contract.ServerDefaults)
	defaults["excludeTools"] = []string{"[]"}
	defaults["type"] = append([]string{`"http"`}, defaults["type"]...) // what Gemini CLI tries first
	e.files = append(e.files, contract.File{Path: format.SettingsFile, Data: contract.JSON(o), Places: places,
		Restrains: restraining,
		Keys:      keys, Sets: []string{"excludeTools"}, Defaults: defaults,
		Renamed: map[string]string{"url": "httpUrl"}, Spelled: spelledRef})
}

// restraining are the places of the settings whose entries only hold back.
var restraining = []string{"/adminPolicyPaths/-", "/hooks/BeforeTool/-", "/mcp/excluded/-",
	"/tools/confirmationRequired/-", "/tools/exclude/-"}

// spelledRef returns the reference to a variable that a build writes for another way to write it.
func spelledRef(place, text string) string {
	if strings.HasPrefix(place, "/mcpServers/") {
		if ref := format.SourceRefs(text); ref != text {
			return ref
		}
	}
	return ""
}

// servers returns the list of servers.
func (e *emitter) servers(own []ir.NativeRule) contract.Object {
	all := contract.Object{}
	for i := range e.in.Project.Servers {
		s := &e.in.Project.Servers[i]
		usable := s.Type != ir.External && e.in.Reach.Server(s.Name).Any() != ir.Deny
		if !usable || !s.DefaultEnabled && !e.opened(s) {
			continue
		}
		o := contract.Object{}
		if s.Type == "stdio" {
			o = append(o, "command", s.Command)
			if len(s.Args) > 0 {
				o = append(o, "args", s.Args)
			}
			if len(s.Env) > 0 {
				o = append(o, "env", s.Env)
			}
			if s.Cwd != "" {
				o = append(o, "cwd", s.Cwd)
			}
		} else {
			o = append(o, "type", s.Type, "url", s.URL)
		}
		if len(s.Headers) > 0 {
			o = append(o, "headers", s.Headers)
		}
		if s.TimeoutSeconds > 0 {
			o = append(o, "timeout", s.TimeoutSeconds*1000)
		}
		var never []string
		for _, t := range s.Tools {
			if e.in.Reach.Tool(s.Name, t.Name).Any() == ir.Deny {
				never = append(never, t.Name)
			}
		}
		trusted := false
		for _, n := range own {
			if server, tool, ok := format.Without(n.Text); ok && server == s.Name && !slices.Contains(never, tool) {
				never = append(never, tool)
			}
			server, ok := format.Trusts(n.Text)
			trusted = trusted || ok && server == s.Name
		}
		if len(never) > 0 {
			o = append(o, "excludeTools", never)
		}
		if trusted {
			o = append(o, "trust", trusted)
		}
		all = append(all, s.Name, o)
	}
	return all
}

// opened reports whether a written exception puts a server into the list that is off by default.
func (e *emitter) opened(s *ir.Server) bool {
	if e.in.Shares(&e.diags, name, s) {
		return true
	}
	e.diags.Warnf(codeServerOff, s.Pos,
		"the server %q is off by default, and Gemini CLI has one list for everybody: it is left out", s.Name).
		Hint("who may use it adds it to ~/.gemini/settings.json").
		Target(name).
		Loses(diag.Narrowing, string(ir.MCP))
	return false
}
