package claude

import (
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
)

// ofRole returns the hook of a role's settings, which answers allow where its file does not
// travel.
func (e *emitter) ofRole(r *ir.Role) hookLine {
	return hookLine{ref: ir.SubjectRef{Role: r.Name}, travels: e.inProject(r)}
}

// ofMode returns the hook of a mode's subagent.
func (e *emitter) ofMode(m *ir.Mode) hookLine {
	return hookLine{ref: ir.SubjectRef{Mode: m.Slug}, travels: true}
}

// environment returns a role's variables but those that may undo what its settings hold.
func environment(r *ir.Role) map[string]string {
	env := maps.Clone(r.Env)
	maps.DeleteFunc(env, func(name, _ string) bool { return format.Disarms(name) })
	return env
}

// losesEnvironment reports the variables that are left out.
func (e *emitter) losesEnvironment(r *ir.Role) {
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		if format.Disarms(name) {
			e.loss("role "+r.Name, r.Pos, "", codeEnv,
				"the variable %s may undo what the role's settings hold: it is left out", name).
				Hint("set it where the session is started")
		}
	}
}

// settings builds a role's settings file. It is empty where nothing is left to say.
func (e *emitter) settings(r *ir.Role, c *compiled, hook hookLine) contract.Object {
	o := contract.Object{}
	if p := permissions(c, hook.travels); len(p) > 0 {
		o = append(o, "permissions", p)
	}
	if env := environment(r); len(env) > 0 {
		o = append(o, "env", env)
	}
	if !e.flagsOnly && e.in.Listens() {
		// Else any other settings file could switch the hook off. These hold over those of the
		// project and of the user.
		o = append(o, "disableAllHooks", false, "hooks", preToolUse(e.command(hook)))
	}
	return o
}

// permissions writes rules and mode. Of a file of the project Claude Code ignores the mode
// auto.
func permissions(c *compiled, ofProject bool) contract.Object {
	p := lists(&c.rules)
	if c.mode != "" && !(ofProject && c.mode == format.Auto) {
		p = append(p, "defaultMode", c.mode)
	}
	if c.closes && c.mode != format.Bypass {
		p = append(p, "disableBypassPermissionsMode", "disable")
	}
	if c.closes && c.mode != format.Auto {
		p = append(p, "disableAutoMode", "disable")
	}
	return p
}

// lists writes the lists that have rules.
func lists(r *rules) contract.Object {
	p := contract.Object{}
	add := func(name string, list []string) {
		if len(list) > 0 {
			p = append(p, name, list)
		}
	}
	add("allow", r.allow)
	add("ask", r.ask)
	add("deny", r.deny)
	return p
}

// preToolUse runs a command before every tool call.
func preToolUse(command string) contract.Object {
	hook := contract.Object{"type", "command", "command", command, "timeout", 10}
	return contract.Object{"PreToolUse", []any{contract.Object{"matcher", "*", "hooks", []any{hook}}}}
}

// hookLine is what the command of a hook says.
type hookLine struct {
	ref ir.SubjectRef
	// travels is set for a file that travels with the repository: the hook never answers allow.
	travels bool
}

// command returns the command of a hook.
func (e *emitter) command(h hookLine) string {
	line := e.in.ProjectHook("claude", h.ref)
	if !h.travels || e.session {
		line = e.in.SessionHook("claude", h.ref)
	}
	if !h.travels {
		line += " --may-allow"
	}
	return line + e.in.HookEnd(" || exit 2")
}
