package gemini

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/gemini/format"
)

// hookTimeout is how long Gemini CLI waits, in milliseconds; modec refuses before.
const hookTimeout = 10000

// hookOf runs a line before every call. What fails without a word on the errors lets a call pass.
func hookOf(line string) contract.Object {
	hook := contract.Object{"type", "command", "command", line, "timeout", hookTimeout}
	return contract.Object{format.Before, []any{
		contract.Object{"matcher", format.Every, "hooks", []any{hook}}}}
}

// projectHook returns the line of the project's settings.
func (e *emitter) projectHook() string {
	return e.in.ProjectHook(name, ir.SubjectRef{Role: e.everybody()}) + e.in.HookEnd(contract.Refusing)
}

// sessionSettings returns the settings that a session has in the place of its user's own: the hook of its subject. That
// of the project is for another role: its name, which is its line, turns it off.
func (e *emitter) sessionSettings(ref ir.SubjectRef) contract.Object {
	o := contract.Object{format.HooksKey, hookOf(e.in.SessionHook(name, ref) + e.in.HookEnd(contract.Refusing))}
	if e.everybody() != "" {
		o = append(o, format.HooksConfig, contract.Object{"disabled", []string{e.projectHook()}})
	}
	return o
}
