package format

import "modec.dev/modec/compiler/located"

// WorkspaceFiles and ContainerFiles are patterns of files in which a project has settings of VS Code beside its own:
// those of a workspace, which its settings stand behind, and of a container in which it is opened.
var (
	WorkspaceFiles = "*.code-workspace"
	ContainerFiles = []string{".devcontainer.json", ".devcontainer/devcontainer.json",
		".devcontainer/*/devcontainer.json"}
)

// BesideFiles are all of them.
func BesideFiles() []string { return append([]string{WorkspaceFiles}, ContainerFiles...) }

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
