package claude

import (
	"io/fs"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// Allows reads the user's own settings, and for the baseline also the project's local ones,
// which no other role is started with. The user's own permission mode does not count where the
// role's settings have one: they come after it, and before the local ones.
func (claude) Allows(project, home fs.FS, p *ir.Project, role string) (out []contract.Allow) {
	if own := settingsIn(home, format.UserSettings, "~/"+format.UserSettings); own != nil {
		if r := p.Role(role); r == nil || !setsMode(project, r, p.Baseline) {
			out = append(out, allowedByMode(own)...)
		}
		out = append(out, allowedByRules(own)...)
	}
	if role != p.Baseline {
		return out
	}
	if local := settingsIn(project, format.LocalSettings, format.LocalSettings); local != nil {
		out = append(append(out, allowedByMode(local)...), allowedByRules(local)...)
	}
	return out
}

// settingsIn reads a settings file, nil where there is none that loads. name is the file as
// places name it.
func settingsIn(fsys fs.FS, file, name string) *format.Settings {
	if fsys == nil {
		return nil
	}
	data, err := contract.ReadImport(fsys, file)
	if err != nil {
		return nil
	}
	read, err := format.ReadSettings(name, data)
	if err != nil {
		return nil
	}
	return read
}

// setsMode reports whether the settings that a role is started with have a permission mode.
func setsMode(project fs.FS, r *ir.Role, baseline string) bool {
	file := format.Session(r.Name, format.OfSettings)
	if r.Name == baseline {
		file = format.ProjectSettings
	}
	read := settingsIn(project, file, file)
	if read == nil {
		return false
	}
	_, ok := format.ModeOf(read.Mode)
	return ok
}

// allowedByMode returns what the permission mode of a settings file approves.
func allowedByMode(read *format.Settings) []contract.Allow {
	groups := map[string][]ir.Group{
		format.AcceptEdits: {ir.Edit, ir.Command},
		format.Bypass:      ir.Decided,
		format.Auto:        ir.Decided,
	}
	mode, ok := format.ModeOf(read.Mode)
	if !ok || groups[mode] == nil {
		return nil
	}
	return []contract.Allow{{Groups: groups[mode], Rule: "defaultMode " + mode, At: read.Mode.Line()}}
}

// allowedByRules returns the allow rules of a settings file.
func allowedByRules(read *format.Settings) (out []contract.Allow) {
	for _, item := range read.Rules {
		text, ok := item.Str()
		if r, err := rule.Parse(text); ok && err == nil && item.List == ir.Allow {
			out = append(out, contract.Allow{Groups: []ir.Group{groupOf(r.Tool)}, Rule: text, At: item.Line(),
				Means: meaning(r)})
		}
	}
	return out
}

// meaning returns what a rule is about in neutral words, or more; nil where these cannot say it without an inventory.
func meaning(r rule.Rule) []contract.NeutralRule {
	if g := groupOf(r.Tool); g == ir.Modes || g == ir.MCP {
		return nil
	}
	if means, ok := dialect.Translate(r, ir.Deny, nil); ok { // a deny means no less
		return means
	}
	return nil
}

// groupOf returns the tool group that a rule's tool belongs to.
func groupOf(tool string) ir.Group {
	for _, g := range ir.Groups {
		if slices.Contains(format.Tools[g], tool) {
			return g
		}
	}
	switch {
	case slices.Contains(format.Starters, tool), tool == "Task":
		return ir.Modes
	case strings.HasPrefix(tool, "mcp__"):
		return ir.MCP
	}
	return ir.Unknown
}
