package claude

import (
	"io/fs"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// Allows reads the user's own settings, and for the baseline also the project's local ones,
// which no other role is started with. The user's own permission mode does not count where the
// role's settings have one: they come after it, and before the local ones.
func (claude) Allows(project, home fs.FS, p *ir.Project, role string) []contract.Allow {
	var out []contract.Allow
	if home != nil {
		out = append(out, allowsOf(home, format.UserSettings, "~/"+format.UserSettings)...)
	}
	if r := p.Role(role); r != nil && project != nil && setsMode(project, r, p.Baseline) {
		out = slices.DeleteFunc(out, func(a contract.Allow) bool { return strings.HasPrefix(a.Rule, modeRule) })
	}
	if project != nil && role == p.Baseline {
		out = append(out, allowsOf(project, format.LocalSettings, format.LocalSettings)...)
	}
	return out
}

// modeRule is what the allow of a permission mode begins with.
const modeRule = "defaultMode "

// setsMode reports whether the settings that a role is started with have a permission mode.
func setsMode(project fs.FS, r *ir.Role, baseline string) bool {
	file := settingsPath(r)
	if r.Name == baseline {
		file = format.ProjectSettings
	}
	data, err := contract.ReadImport(project, file)
	if err != nil {
		return false
	}
	read, err := format.ReadSettings(file, data)
	if err != nil {
		return false
	}
	_, ok := format.ModeOf(read.Mode)
	return ok
}

// allowsOf returns the allow rules of a settings file, and its permission mode where that
// approves something. name is the file as places name it.
func allowsOf(fsys fs.FS, file, name string) []contract.Allow {
	data, err := contract.ReadImport(fsys, file)
	if err != nil {
		return nil
	}
	read, err := format.ReadSettings(name, data)
	if err != nil {
		return nil
	}
	var out []contract.Allow
	add := func(at diag.Pos, rule string, groups ...ir.Group) {
		out = append(out, contract.Allow{Groups: groups, Rule: rule, At: at})
	}
	switch mode, ok := format.ModeOf(read.Mode); {
	case !ok:
	case mode == format.AcceptEdits:
		add(read.Mode.Line(), modeRule+mode, ir.Edit, ir.Command)
	case mode == format.Bypass, mode == format.Auto:
		add(read.Mode.Line(), modeRule+mode, append(ir.Groups[:len(ir.Groups):len(ir.Groups)], ir.Unknown)...)
	}
	for _, item := range read.Rules {
		text, ok := item.Str()
		if r, err := rule.Parse(text); ok && err == nil && item.List == ir.Allow {
			add(item.Line(), text, groupOf(r.Tool))
		}
	}
	return out
}

// groupOf returns the tool group that a rule's tool belongs to.
func groupOf(tool string) ir.Group {
	for _, g := range ir.Groups {
		if slices.Contains(format.Tools[g], tool) {
			return g
		}
	}
	switch {
	case tool == "Skill", tool == "Task":
		return ir.Modes
	case strings.HasPrefix(tool, "mcp__"):
		return ir.MCP
	}
	return ir.Unknown
}
