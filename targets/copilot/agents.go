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
		e.files = append(e.files, contract.File{Path: format.AgentFile(m.Slug), Data: e.agentText(m, s, withHook)})
	}
}

// quiet returns an emitter whose reports count for nothing: others say the same.
func (e *emitter) quiet() *emitter {
	other := *e
	other.diags, other.files = nil, nil
	return &other
}

// hookUse is whether an agent's file asks a hook. In a session that modec starts, that of the session is asked about
// agents too.
type hookUse bool

const (
	withHook    hookUse = true
	withoutHook hookUse = false
)

// agentText returns an agent's file.
func (e *emitter) agentText(m *ir.Mode, s *session, hooks hookUse) []byte {
	var b strings.Builder
	line := func(key, value string) { b.WriteString(key + ": " + value + "\n") }
	b.WriteString("---\n")
	line("name", quoted(format.AgentName(m.Slug)))
	line("description", quoted(persona.Description(m)))
	e.extras(m, line)
	if s.says() {
		b.WriteString("tools:")
		tools := s.agentTools()
		if hooks == withoutHook && s.groups[ir.Modes] { // the session's hook is asked about whomever it starts
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
	if s.hooked && hooks == withHook {
		may := refuses
		if s.copied != nil { // outside of the repository
			may = answers
		}
		line(format.HooksKey, string(contract.JSONLine(s.hookLines(may)))) // which is YAML too
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

// extraFields are the keys of an agent that a mode may have in extra.copilot.
var extraFields = map[string]string{"model": "model"}

// extras writes what a mode says for Copilot alone.
func (e *emitter) extras(m *ir.Mode, line func(key, value string)) {
	x := m.Extra[name]
	for _, key := range slices.Sorted(maps.Keys(x.Fields)) {
		text, ok := x.Fields[key].(string)
		field := extraFields[key]
		if !ok || field == "" {
			e.diags.Errorf(codeUnknownExtra, x.Pos, "extra.copilot.%s: Copilot knows no such setting of an agent", key).
				Hintf("a mode may have %s", diag.Quote(slices.Sorted(maps.Keys(extraFields)))).
				Target(name)
			continue
		}
		line(field, quoted(text))
	}
}

// hookTimeout is how long Copilot waits, in seconds; modec itself refuses after two.
const hookTimeout = 30

// projectPolicy reads the project's own policy.
const projectPolicy = "--model " + contract.PolicyFile

// hookAnswer is whether a hook takes a question's place. That of a file in the repository does not: it would stand
// above what a person denies on the command line.
type hookAnswer bool

const (
	answers hookAnswer = true
	refuses hookAnswer = false
)

// hookLines runs modec before every call. A hook that fails refuses the call; one that is late, or says what Copilot
// does not know, does not.
func (s *session) hookLines(a hookAnswer) contract.Object {
	reads := projectPolicy
	if s.copied != nil {
		reads = s.copied.Flags()
	}
	line := "modec hook " + name + " " + reads + " --subject " + contract.ShellQuote(label(s.ref)) +
		" --digest " + s.in.Policy.Digest(s.ref)
	if a == answers {
		line += " --may-allow"
	}
	line += contract.Closed("modec did not decide: the call is refused")
	return contract.Object{format.Before, []contract.Object{
		{"type", "command", "bash", line, "timeoutSec", hookTimeout}}}
}

// label names a subject for the hook.
func label(ref ir.SubjectRef) string {
	if ref.Role != "" {
		return "role:" + ref.Role
	}
	return "mode:" + ref.Mode
}
