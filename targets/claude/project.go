package claude

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
)

// settingsPlaces are the places of modec's entries in settings that people write too.
var settingsPlaces = []string{
	"/permissions/allow/-", "/permissions/ask/-", "/permissions/deny/-",
	"/permissions/defaultMode", "/permissions/disableBypassPermissionsMode", "/permissions/disableAutoMode",
	"/env/*", "/disableAllHooks", "/hooks/PreToolUse/-",
}

// restraining returns those of them that permit nothing, in settings with a permission mode.
func restraining(mode string) []string {
	list := []string{
		"/permissions/ask/-", "/permissions/deny/-", "/permissions/disableBypassPermissionsMode",
		"/permissions/disableAutoMode", "/disableAllHooks", "/hooks/PreToolUse/-",
	}
	if mode == format.Default || mode == format.Plan || mode == format.DontAsk {
		list = append(list, "/permissions/defaultMode")
	}
	return list
}

// isBaseline reports whether a session that names no role has this one. The project's own
// settings file is that role's.
func (e *emitter) isBaseline(r *ir.Role) bool { return r.Name == e.baseline }

// inProject reports whether a role is started in the project's own files: the baseline, unless
// these are shared with roles that another target starts, or the session starts in another
// folder, where Claude Code does not read them.
func (e *emitter) inProject(r *ir.Role) bool { return e.isBaseline(r) && !e.in.Shared && !e.elsewhere }

// everybody builds the project's settings file. It reports false where there is nothing to
// say. The file is the baseline role's, whole. Without a baseline it has what all roles deny,
// because a session may name no role.
func (e *emitter) everybody() (contract.File, bool) {
	var settings contract.Object
	mode := ""
	if r := e.in.Project.Role(e.baseline); r != nil {
		c := e.compile(r)
		if c.err != nil {
			return contract.File{}, false // Emit reports why
		}
		if e.in.Shared {
			c = e.allowedByAll(r, c)
		}
		hook := e.ofRole(r)
		hook.travels = true
		settings, mode = e.settings(r, c, hook), c.mode
		if c.mode == format.Auto {
			e.loss("role "+r.Name, r.PermissionModePos, "", codeAutoMode,
				"Claude Code takes the mode auto from no file of a project: the session starts in its own mode").
				Hint("start it with --permission-mode auto")
		}
	} else if denied := e.deniedByAll(); len(denied) > 0 {
		settings = contract.Object{"permissions", lists(&rules{deny: denied})}
	}
	if len(settings) == 0 {
		return contract.File{}, false
	}
	return contract.File{Path: format.ProjectSettings, Data: contract.JSON(settings), Places: settingsPlaces,
		Programs:  format.Helpers,
		Restrains: restraining(mode), Spelled: spelled, Strict: true}, true
}

// allowedByAll returns what came out for the baseline role without the rules that not every
// role allows: in a session that another program starts, an allow of the project's settings
// cannot be taken back. What the baseline denies or asks about holds there too, and what
// another role asks about no flag says.
func (e *emitter) allowedByAll(r *ir.Role, c *compiled) *compiled {
	out := *c
	for i := range e.in.Project.Roles {
		other := e.compile(&e.in.Project.Roles[i])
		ask := slices.DeleteFunc(slices.Clone(other.rules.ask), func(rule string) bool {
			return slices.Contains(c.rules.ask, rule)
		})
		out.rules.allow = slices.DeleteFunc(slices.Clone(out.rules.allow), func(rule string) bool {
			return !slices.Contains(other.rules.allow, rule) || asked(rule, ask)
		})
	}
	if n := len(c.rules.allow) - len(out.rules.allow); n > 0 {
		e.loss("role "+r.Name, r.Pos, "", codeShared, "%s leaves out %d of the rules that allow something: another "+
			"target starts every role over it, and not all of them may do that", format.ProjectSettings, n).
			Hintf("`modec run %s -- claude` starts a session that has them", contract.ShellQuote(r.Name))
	}
	return &out
}

// deniedByAll returns the rules that deny something to every role.
func (e *emitter) deniedByAll() (denied []string) {
	for i := range e.in.Project.Roles {
		c := e.compile(&e.in.Project.Roles[i])
		if i == 0 {
			denied = slices.Clone(c.rules.deny)
		}
		denied = slices.DeleteFunc(denied, func(rule string) bool {
			return !slices.Contains(c.rules.deny, rule)
		})
	}
	return denied
}
