package copilot

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/copilot/format"
	"modec.dev/modec/targets/internal/persona"
)

// agent writes the agent of a mode, which a person turns to in a session of their own, in a folder that they trust.
func (e *emitter) agent(m *ir.Mode) {
	if s := e.quiet().session(ir.SubjectRef{Mode: m.Slug}, m.Pos); s != nil {
		e.files = append(e.files, contract.File{Path: format.AgentFile(m), Data: e.agentText(m, s, true, false)})
	}
}

// quiet returns an emitter whose reports count for nothing: others say the same.
func (e *emitter) quiet() *emitter {
	other := *e
	other.diags, other.files = nil, nil
	return &other
}

// agentText returns an agent's file. In a session that modec starts it has no hook: that of the session is asked about
// agents too.
func (e *emitter) agentText(m *ir.Mode, s *session, withHook, ofSession bool) []byte {
	var b strings.Builder
	line := func(key, value string) { b.WriteString(key + ": " + value + "\n") }
	b.WriteString("---\n")
	if own, ok := m.Extra[name].Fields["name"].(string); !ok {
		line("name", quoted(format.AgentOf(m)))
	} else if own != "" { // else the agent has the name of its file
		line("name", quoted(own))
	}
	line("description", quoted(persona.Description(m)))
	e.extras(m, line)
	own, listed := s.written()
	if s.says() || listed {
		b.WriteString("tools:")
		tools := s.agentTools()
		if listed {
			tools = own
		} else if !withHook && s.groups[ir.Modes] { // the session's hook is asked about whomever it starts
			tools = append(tools, "agent")
		}
		if len(tools) == 0 {
			b.WriteString(" []")
		}
		b.WriteString("\n")
		for _, t := range tools {
			b.WriteString("  - " + quoted(t) + "\n")
		}
	}
	if s.listens() && withHook {
		line(format.HooksKey, string(contract.JSONLine(s.hookLines(ofSession)))) // which is YAML too
	}
	b.WriteString("---\n\n" + persona.Prompt(m))
	return []byte(b.String())
}

// quoted writes a text into front matter.
func quoted(s string) string { return contract.QuoteYAML(s, nil) }

// aliases are what an agent's list names the tools of a group by. In a project it never has "agent": an agent that is
// started has every tool, whatever the one has that starts it.
var aliases = []struct {
	group ir.Group
	names []string
}{
	{ir.Read, []string{"read", "search"}},
	{ir.Edit, []string{"edit"}},
	{ir.Command, []string{"execute"}},
	{ir.Web, []string{"web"}},
}

// agentTools returns the list of an agent's tools.
func (s *session) agentTools() (tools []string) {
	for _, a := range aliases {
		if s.groups[a.group] {
			tools = append(tools, a.names...)
		}
	}
	tools = append(tools, "todo")
	for i := range s.in.Project.Servers {
		sv := &s.in.Project.Servers[i]
		list, all := s.toolsOf(sv)
		if all && sv.Name != format.Builtin {
			list = []string{"*"}
		}
		for _, t := range list {
			tools = append(tools, format.InAgent(sv.Name, t))
		}
	}
	return tools
}

// written returns the list of tools that a mode has in Copilot's own words, without what it may not use; false for
// none.
func (s *session) written() (tools []string, ok bool) {
	m := s.in.Project.Mode(s.ref.Mode)
	if m == nil {
		return nil, false
	}
	list, ok := m.Extra[name].Fields["tools"].([]any)
	if !ok || slices.Contains(list, any("*")) && s.says() {
		return nil, false
	}
	for _, item := range list {
		if t, is := item.(string); is && s.uses(t) {
			tools = append(tools, t)
		}
	}
	return tools, true
}

// uses reports whether a session may use what an agent's list names.
func (s *session) uses(tool string) bool {
	for _, g := range groups {
		in := func(t string) bool { return slices.Contains(format.Tools[g], t) }
		if !s.groups[g] && (in(tool) || slices.ContainsFunc(format.Aliases[tool], in)) {
			return false
		}
	}
	server, of, ok := strings.Cut(tool, "/")
	sv := s.in.Project.Server(server)
	switch {
	case !ok:
		return true
	case sv == nil:
		return s.tool(contract.UnknownServer, contract.UnknownTool) > ir.Deny
	}
	names, all := s.toolsOf(sv)
	return all || slices.Contains(names, of)
}

// names returns the tools that a list of an agent names, and those that any agent has.
func names(list []string) (tools []string) {
	for _, t := range append(slices.Clone(list), format.Always...) {
		switch server, of, ok := strings.Cut(t, "/"); {
		case ok && of != "*":
			tools = append(tools, format.ToolName(server, of))
		case format.Aliases[t] != nil:
			tools = append(tools, format.Aliases[t]...)
		default:
			tools = append(tools, t)
		}
	}
	slices.Sort(tools)
	return slices.Compact(tools)
}

// extraFields are the keys of an agent that a mode may have in agents.copilot.settings.
var extraFields = map[string]func(any) bool{format.FileField: isText, "model": isText, "name": isText,
	"other": isObject, "tools": isTools}

func isText(v any) bool { _, ok := v.(string); return ok }

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

func isTools(v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(t any) bool { return !isText(t) })
}

// extras writes what a mode says for Copilot alone.
func (e *emitter) extras(m *ir.Mode, line func(key, value string)) {
	x := m.Extra[name]
	for _, key := range slices.Sorted(maps.Keys(x.Fields)) {
		if is := extraFields[key]; is == nil || !is(x.Fields[key]) {
			e.diags.Errorf(codeUnknownSetting, x.At(key),
				"agents.copilot.settings.%s: Copilot takes no such value", key).
				Target(name)
			continue
		}
		if text, ok := x.Fields[key].(string); ok && key == "model" {
			line(key, quoted(text))
		}
	}
	if file, ok := x.Fields[format.FileField].(string); ok && !format.IsAgentFile(file, m.Slug) {
		e.diags.Errorf(codeUnknownSetting, x.At(format.FileField), "agents.copilot.settings.file: got %q, want a path "+
			"below %s that ends in .agent.md, and of whose name %q is the slug", diag.Short(file), format.AgentsDir,
			m.Slug).
			Target(name)
	}
	other, _ := x.Fields["other"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(other)) {
		line(quoted(key), string(contract.JSONLine(other[key])))
	}
}

// hookTimeout is how long Copilot waits, in seconds; modec refuses before.
const hookTimeout = 30

// hookLines runs modec before every call. A hook that fails refuses the call; one that is late, or says what Copilot
// does not know, does not. One that answers takes a question's place; that of a file in the repository does not: it
// would stand above what a person denies on the command line.
func (s *session) hookLines(ofSession bool) contract.Object {
	line := s.in.ProjectHook(name, s.ref)
	if ofSession {
		line = s.in.SessionHook(name, s.ref) + " --may-allow"
	}
	line += s.in.HookEnd(contract.Refusing)
	return contract.Object{format.Before, []contract.Object{
		{"type", "command", "bash", line, "timeoutSec", hookTimeout}}}
}
