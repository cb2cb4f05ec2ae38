package format

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/located"
)

// BesideFiles are patterns of files in which a project has settings of VS Code beside its own: those of a workspace,
// which its settings stand behind, and of a container in which it is opened.
var BesideFiles = []string{"*.code-workspace", ".devcontainer.json", ".devcontainer/devcontainer.json",
	".devcontainer/*/devcontainer.json"}

// IsSetting reports whether a setting is about what VS Code's agents may do.
func IsSetting(key string) bool {
	return strings.HasPrefix(key, "chat.tools.") || strings.HasPrefix(key, OldTerminalKey) ||
		strings.HasPrefix(key, LevelKey) || slices.Contains([]string{"chat", "chat.tools", "chat.permissions"}, key)
}

// SettingsBeside returns the settings in such a file, and its list of servers; nil for none.
func SettingsBeside(root *located.Value) (settings, servers *located.Value) {
	own := root
	if code := root.Get("customizations").Get("vscode"); code != nil {
		own = code
	}
	settings = own.Get("settings")
	servers = own.Get("mcp").Get(ServersKey)
	if servers == nil {
		servers = settings.Get("mcp").Get(ServersKey)
	}
	return settings, servers
}
