package vscode

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/vscode/format"
	"modec.dev/modec/targets/vscode/importer"
	"modec.dev/modec/targets/vscode/model"
)

type vscode struct{}

// New returns the target.
func New() contract.Target { return vscode{} }

func (vscode) Name() string { return name }

func (vscode) Summary() string {
	return "VS Code: the MCP servers of its own chat, and what it asks about"
}

func (vscode) Options() []contract.Option {
	return []contract.Option{{Name: "subject", Type: contract.String, Holds: true,
		Doc: "The role whose settings the project has (\"role:NAME\" or the bare name). Default: the baseline."}}
}

// Codes documents what the target reports.
func (vscode) Codes() []diag.Doc { return diag.Docs(codesText) }

func (vscode) Owns() []string { return []string{format.ServersFile, format.SettingsFile} }

// Beside returns the settings of a project, of which a build writes some for some sources.
func (vscode) Beside() []contract.File {
	return []contract.File{{Path: format.SettingsFile, Restrains: settingRestrains,
		Places: append(slices.Clone(settingPlaces), "/"+format.OldTerminalKey+"/*", "/"+format.LevelKey)},
		{Path: format.ServersFile, Places: []string{"/servers/*"}}}
}

// Lodgers returns the settings of a project by which VS Code asks about no tool, whatever a build writes: some versions
// may take them from there, and not from a person's own settings alone. So does it what a workspace, or a container,
// has beside the settings that a build writes.
func (vscode) Lodgers(project, _ fs.FS) (out []contract.Lodger) {
	if root, err := contract.ReadJSONC(project, format.SettingsFile); err == nil {
		out = contract.Unasking(root, contract.Loose{Key: []string{"chat.tools.global.autoApprove"}},
			contract.Loose{Key: []string{"chat.tools.autoApprove"}})
	}
	for _, pattern := range format.BesideFiles {
		files, _ := fs.Glob(project, pattern)
		for _, file := range files {
			if root, err := contract.ReadJSONC(project, file); err == nil {
				out = append(out, besides(root)...)
			}
		}
	}
	return out
}

// besides returns what a file of a workspace, or of a container, has.
func besides(root *located.Value) (out []contract.Lodger) {
	settings, servers := format.SettingsBeside(root)
	for _, m := range settings.Fields() {
		if format.IsSetting(m.Key) && (m.Value.True() || m.Value.Is(located.String) || len(m.Value.Fields()) > 0) {
			out = append(out, contract.Lodger{Kind: contract.EntrySetting, Name: m.Key, Entry: m.Value, At: m.Pos})
		}
	}
	return append(out, contract.AddedServers(servers, nil)...)
}

func (vscode) Governs(file string, g ir.Group) contract.Halves { return model.Governs(file, g) }

// Open reads the list and the settings as VS Code does.
func (vscode) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o)
}

// Alone returns what VS Code decides by itself.
func (vscode) Alone(*ir.Project) []contract.Decider { return model.Alone() }

// ServerList says how mcp.json lists a server.
func (vscode) ServerList() contract.ServerList {
	return contract.ServerList{File: format.ServersFile, Field: format.ServersKey, Local: "stdio", Remote: "http"}
}

// Gateways returns one gateway for everybody who works in the project.
func (vscode) Gateways(*ir.Project) []ir.Gateway {
	return []ir.Gateway{{Name: contract.GatewayName,
		Args: append([]string{"-C", "${workspaceFolder}"}, contract.GatewayArgs(name, ir.SubjectRef{})...)}}
}

// Lists returns the list of the project.
func (vscode) Lists(fs.FS, ir.SubjectRef) []string { return []string{format.ServersFile} }

// AgentFiles lists the files of VS Code.
func (vscode) AgentFiles() []contract.AgentFile { return importer.Files() }

// Formats returns the one that VS Code has.
func (vscode) Formats() []string { return []string{name} }

// Import reads a list of servers and the settings.
func (vscode) Import(src contract.Source) (contract.Imported, diag.List) { return importer.Import(src) }
