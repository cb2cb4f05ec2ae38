package codex

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/codex/format"
	"modec.dev/modec/targets/codex/hook"
	"modec.dev/modec/targets/internal/persona"
)

// agent writes the agent of a mode, to which a session hands work: what it is told. It has the sandbox, the servers and
// the questions of its session, whatever its file says.
func (e *emitter) agent(m *ir.Mode) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return // reported before
	}
	o := contract.Object{nameField, agentName(m), "description", persona.Description(m),
		"developer_instructions", persona.Prompt(m)}
	o = append(o, e.extras(m)...)
	if contract.Denies(s, ir.Command) {
		o = append(o, "features", contract.Object{"shell_tool", false})
	}
	e.files = append(e.files, contract.File{Path: agentFile(m), Data: contract.TOML(o)})
}

// The members of agents.codex.settings that say how the agent of a mode is called, and in which file it is.
const (
	nameField = "name"
	fileField = "file"
)

// agentName returns the name of a mode's agent: its slug, or what has signs that no slug has.
func agentName(m *ir.Mode) string {
	if own, ok := m.Extra[name].Fields[nameField].(string); ok {
		return own
	}
	return m.Slug
}

// agentFile returns the file of a mode's agent. Codex goes by the name that is in the file.
func agentFile(m *ir.Mode) string {
	if own, ok := m.Extra[name].Fields[fileField].(string); ok && format.IsAgentFile(own) {
		return format.AgentsDir + "/" + own
	}
	return format.AgentFile(agentName(m))
}

// extraFields are the settings of an agent that a mode may have in agents.codex.settings; "" for what is no setting.
var extraFields = map[string]string{
	fileField: "", "model": "model", nameField: "", "reasoningEffort": "model_reasoning_effort",
}

func (e *emitter) extras(m *ir.Mode) (o contract.Object) {
	x := m.Extra[name]
	for _, key := range slices.Sorted(maps.Keys(x.Fields)) {
		if other, ok := x.Fields[key].(map[string]any); ok && key == "other" {
			for _, k := range slices.Sorted(maps.Keys(other)) {
				o = append(o, k, tomlValue(other[k]))
			}
			continue
		}
		text, ok := x.Fields[key].(string)
		field := extraFields[key]
		switch {
		case !ok:
			e.diags.Errorf(codeUnknownSetting, x.At(key), "agents.codex.settings.%s: want text", key).Target(name)
		case key == nameField && (contract.Slug(text) != m.Slug || strings.TrimSpace(text) != text):
			e.diags.Errorf(codeUnknownSetting, x.At(key),
				"agents.codex.settings.name: got %q, want a name of which %q is the slug", text, m.Slug).Target(name)
		case key == fileField && !format.IsAgentFile(text):
			e.diags.Errorf(codeUnknownSetting, x.At(key),
				"agents.codex.settings.file: got %q, want the name of a file that ends in .toml", text).Target(name)
		case field != "":
			o = append(o, field, text)
		}
	}
	return o
}

// hookTimeout is how long Codex waits, in seconds; modec refuses before.
const hookTimeout = 30

// hookLines runs modec before every call, and before each question. Codex goes on where a hook fails, or refuses
// without a word, so that the line refuses with one.
func (s *session) hookLines() (o contract.Object) {
	line := s.in.SessionHook(name, s.ref)
	for _, event := range []string{hook.Before, hook.Permission} {
		command := line
		if event == hook.Permission {
			command += " --may-allow" // in place of the question
		}
		o = append(o, event, []contract.Object{{"matcher", "*", "hooks", []contract.Object{
			{"type", "command", "command", command + s.in.HookEnd(contract.Refusing), "timeout", hookTimeout}}}})
	}
	return o
}

// tomlValue returns a value of JSON as a document has it.
func tomlValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := contract.Object{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			o = append(o, key, tomlValue(v[key]))
		}
		return o
	case []any:
		list := make([]string, 0, len(v))
		for _, item := range v {
			if text, ok := item.(string); ok {
				list = append(list, text)
			}
		}
		return list
	}
	return v
}
