package gemini

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/gemini/format"
)

// mode writes the policy of a mode, and its agent.
func (e *emitter) mode(m *ir.Mode) {
	ref := ir.SubjectRef{Mode: m.Slug}
	w, ok := e.compile(ref, m.Pos, "")
	if !ok {
		return
	}
	e.policy(ref, w.rules)
	if !format.AgentName(m.Slug) {
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
	line("name", m.Slug)
	line("description", quoted(description(m)))
	if m.Name != "" && m.Name != m.Slug {
		line("display_name", quoted(m.Name))
	}
	e.extras(m.Extra, line)
	if tools, ok := e.tools(w); ok {
		if b.WriteString("tools:"); len(tools) == 0 {
			b.WriteString(" []")
		}
		b.WriteString("\n")
		for _, t := range tools {
			b.WriteString("  - " + quoted(t) + "\n")
		}
	}
	b.WriteString("---\n\n" + prompt(m))
	e.files = append(e.files, contract.File{Path: format.AgentFile(m.Slug), Data: []byte(b.String())})
}

// quoted writes a text into front matter.
func quoted(s string) string { return contract.QuoteYAML(s, nil) }

// description says when to use a mode. Gemini CLI takes no agent without one.
func description(m *ir.Mode) string {
	var parts []string
	for _, s := range []string{m.Description, m.WhenToUse} {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, s)
		}
	}
	if len(parts) == 0 {
		return m.Slug
	}
	return strings.Join(parts, "\n")
}

// prompt is the text of an agent.
func prompt(m *ir.Mode) string {
	var parts []string
	for _, s := range []string{m.RoleDefinition, m.CustomInstructions} {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, s)
		}
	}
	for _, r := range m.Rules {
		parts = append(parts, strings.TrimSpace(r.Text))
	}
	if len(parts) == 0 {
		parts = []string{m.Slug}
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// extraFields are the members of extra.gemini of a mode, by the keys of an agent.
var extraFields = map[string]string{
	"maxTurns": "max_turns", "model": "model", "temperature": "temperature", "timeoutMins": "timeout_mins",
}

// extras writes what a subject says for Gemini CLI alone; line is nil for a role, which has nothing.
func (e *emitter) extras(all map[string]ir.Extra, line func(key, value string)) {
	x := all[name]
	for _, key := range slices.Sorted(maps.Keys(x.Fields)) {
		field, known := extraFields[key]
		value, ok := "", false
		switch v := x.Fields[key].(type) {
		case string:
			value, ok = quoted(v), key == "model"
		case float64, int, int64:
			value, ok = fmt.Sprint(v), key != "model"
		}
		if line == nil || !known || !ok {
			e.diags.Errorf(codeUnknownExtra, x.Pos, "extra.gemini.%s: Gemini CLI knows no such setting", key).
				Hint("a mode may have maxTurns, model, temperature and timeoutMins").
				Target(name)
			continue
		}
		line(field, value)
	}
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
	for t, d := range most {
		if d > ir.Deny && t != format.Every && t != format.Invoke && t != readMany {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out, true
}

// readMany is a tool that agents cannot have.
const readMany = "read_many_files"

// serverKeys are the members of a server's entry that the source decides.
var serverKeys = []string{"command", "args", "env", "cwd", "type", "url", "headers", "timeout", "excludeTools"}

// settings writes the servers that everybody shares, and for the baseline its policy.
func (e *emitter) settings() {
	o := contract.Object{}
	var places []string
	if b := e.in.Project.Baseline; b != "" {
		file := format.PolicyFile(ir.SubjectRef{Role: b})
		if slices.ContainsFunc(e.files, func(f contract.File) bool { return f.Path == file }) {
			o = append(o, "adminPolicyPaths", []string{file})
			places = append(places, "/adminPolicyPaths/-")
		}
	}
	if servers := e.servers(); len(servers) > 0 {
		o = append(o, "mcpServers", servers)
		places = append(places, contract.MCPServers...)
	}
	if len(o) == 0 {
		return
	}
	e.files = append(e.files, contract.File{Path: format.SettingsFile, Data: contract.JSON(o), Places: places,
		Restrains: []string{"/adminPolicyPaths/-"}, Keys: serverKeys})
}

// servers returns the list of servers.
func (e *emitter) servers() contract.Object {
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
		if len(never) > 0 {
			o = append(o, "excludeTools", never)
		}
		all = append(all, s.Name, o)
	}
	return all
}

// opened reports whether a written exception puts a server into the list that is off by default.
func (e *emitter) opened(s *ir.Server) bool {
	for i := range e.in.Exceptions {
		if x := &e.in.Exceptions[i]; x.Group == ir.MCP && x.Server == s.Name {
			e.diags.Warnf(diag.ExceptionUsed, x.Pos,
				"the server %q, off by default, is in the list that everybody shares", s.Name).
				Hintf("reason: %s, until %s", x.Reason, x.Until.Format("2006-01-02")).
				Target(name).
				Subject(x.Subject.String()).
				Loses(diag.Widening, string(ir.MCP))
			return true
		}
	}
	e.diags.Warnf(codeServerOff, s.Pos,
		"the server %q is off by default, and Gemini CLI has one list for everybody: it is left out", s.Name).
		Hint("who may use it adds it to ~/.gemini/settings.json").
		Target(name).
		Loses(diag.Narrowing, string(ir.MCP))
	return false
}
