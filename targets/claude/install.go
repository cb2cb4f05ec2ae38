package claude

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
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

// Home lists the user's own settings.
func (claude) Home() []string { return []string{format.UserSettings} }

// Install returns a role's settings for the home folder, with the hook on the project's
// policy. They hold in every folder. To the hook, paths outside the project are outside.
// Without the hook an allow would hold in other projects too, so that none is written.
func (claude) Install(
	in contract.Input, ref ir.SubjectRef, policy contract.PolicyCopy,
) ([]contract.HomeFile, diag.List) {
	e := newEmitter(in)
	if ref.Role == "" || ref.Mode != "" {
		e.diags.Errorf(codeInstall, diag.Pos{},
			"Claude Code has no settings for %s in the home folder, only for a role", ref).
			Hint("name a role, or `--target cursor`").
			Target("claude")
		return nil, e.diags
	}
	e.baseline = "" // the file is the user's own, and does not travel
	if e.hooks == contract.WhereNeeded {
		e.hooks = contract.Always // what rules allow would hold in every folder
	}
	r := in.Project.Role(ref.Role)
	as := r
	if e.hooks == contract.Never &&
		r.PermissionMode == format.DontAsk { // the mode of any project holds over the user's
		held := *r
		held.PermissionMode = format.Default
		as = &held
	}
	c := e.compile(as)
	if c.err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", c.err)
		return nil, e.diags
	}
	e.diags = nil // the build reports them
	if as != r && c.mode != "" {
		c.mode = r.PermissionMode
	}
	line := e.ofRole(r)
	artifact := contract.File{Path: settingsPath(r), Data: contract.JSON(e.settings(r, c, line))}
	warn := func(g ir.Group, message string) {
		e.diags.Warnf(codeInstall, r.Pos, "%s", message).
			Hint("`modec args "+contract.ShellQuote(r.Name)+"` starts a session that has it").
			Target("claude").
			Subject("role "+r.Name).
			Loses(diag.NoLoss, string(g))
	}
	if !c.hook && len(c.rules.allow) > 0 {
		held := *c
		held.rules.allow = nil
		c = &held
		warn("", "without the hook an allow would hold in every folder of the machine: none is installed")
	}
	if r.Tools != nil {
		warn("", "settings cannot say which built-in tools there are: tools is not installed")
	}
	if _, own := e.roleServers(r); own != listShared {
		warn(ir.MCP, "settings have no list of servers: what the user's own list starts is refused by rule and hook "+
			"only")
	}
	e.copied = &policy
	off := ""
	if c.hook {
		off = "disableAllHooks"
	}
	data := contract.JSON(e.settings(r, c, line))
	return []contract.HomeFile{{
		File:     contract.File{Path: format.UserSettings, Data: data, Places: settingsPlaces, Strict: true},
		Off:      off,
		Artifact: artifact,
	}}, e.diags
}
