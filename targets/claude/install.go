package claude

import (
	"cmp"
	"path/filepath"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// settingsPlaces are where modec's entries stand in settings that people write too.
var settingsPlaces = []string{
	"/permissions/allow/-", "/permissions/ask/-", "/permissions/deny/-",
	"/permissions/defaultMode", "/permissions/disableBypassPermissionsMode", "/permissions/disableAutoMode",
	"/env/*", "/hooks/PreToolUse/-",
}

// Home lists the user's own settings.
func (claude) Home() []string { return []string{".claude/settings.json"} }

// Install writes a role's settings for the home folder, with the hook on the project's
// policy. They hold in every folder: paths outside the project are outside to the
// hook, and without it an allow would hold in other projects too, so that none is
// written.
func (claude) Install(in contract.Input, ref ir.SubjectRef, root string) ([]contract.HomeFile, diag.List) {
	e := &emitter{in: in, hooks: in.Options.Bool("hooks")}
	if ref.Role == "" || ref.Mode != "" {
		e.diags.Errorf(codeInstall, diag.Pos{}, "got %s, want a role: Claude Code has no settings for a mode in the home folder", ref).
			Hint("name a role, or `--target cursor`").
			Target("claude")
		return nil, e.diags
	}
	r := in.Project.Role(ref.Role)
	as := r
	if !e.hooks && r.PermissionMode == "dontAsk" { // any project's own mode goes before it
		held := *r
		held.PermissionMode = "default"
		as = &held
	}
	list, _, err := e.compile(as)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", err)
		return nil, e.diags
	}
	e.diags = nil // said by the build
	mode := cmp.Or(r.PermissionMode, "default")
	artifact := contract.File{Path: settingsPath(r), Data: contract.JSON(e.settingsOf(r, list, mode, projectModel))}
	warn := func(g ir.Group, message string) {
		e.diags.Warnf(codeInstall, r.Pos, "%s", message).
			Hint("`modec args "+contract.ShellQuote(r.Name)+"` starts a session that has it").
			Target("claude").
			Subject("role "+r.Name).
			Loses(diag.NoLoss, string(g))
	}
	if !e.hooks && len(list.allow) > 0 {
		list = &rules{ask: list.ask, deny: list.deny}
		warn("", "without the hook an allow would hold in every folder of the machine: none is installed")
	}
	if r.Tools != nil {
		warn("", "settings cannot say which built-in tools there are: tools is not installed")
	}
	if _, differs := e.roleServers(r); differs {
		warn(ir.MCP, "settings have no list of servers: what the user's own list starts is refused by rule and hook only")
	}
	model := contract.ShellQuote(filepath.Join(root, ".modec", "policy.json"))
	off := ""
	if e.hooks {
		off = "disableAllHooks"
	}
	return []contract.HomeFile{{
		File:     contract.File{Path: ".claude/settings.json", Data: contract.JSON(e.settingsOf(r, list, mode, model)), Places: settingsPlaces},
		Strict:   true,
		Off:      off,
		Artifact: artifact,
	}}, e.diags
}
