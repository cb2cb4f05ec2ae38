package opencode

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/targets/internal/lastmatch"
	"modec.dev/modec/targets/opencode/format"
	"modec.dev/modec/targets/opencode/hook"
	"modec.dev/modec/targets/opencode/importer"
	"modec.dev/modec/targets/opencode/model"
)

type opencode struct{}

// New returns the target.
func New() contract.Target { return opencode{} }

func (opencode) Name() string { return name }

func (opencode) Summary() string { return "opencode: agents, permissions, MCP servers" }

func (opencode) Options() []contract.Option {
	return []contract.Option{
		{Name: "subject", Type: contract.String, Holds: true,
			Doc: "The role that opencode.json holds every session to (\"role:NAME\" or the bare name). " +
				"Default: the baseline."},
		{Name: "file", Type: contract.String, Choices: format.ProjectFiles, Default: format.ConfigFile,
			Doc: "The file that every session reads. `modec migrate` names the one that a project has."},
	}
}

// Codes documents what the target reports.
func (opencode) Codes() []diag.Doc { return append(diag.Docs(codesText), importer.Codes()...) }

func (opencode) Owns() []string {
	// The last one is where the plugin lay before: a build removes it.
	return []string{format.ConfigFile, format.HookFile, ".modec/opencode/hook.js"}
}

// OwnsPlaced returns where the settings may lie (targets.opencode.file), and where agents.opencode.settings.file of a
// mode may place an agent.
func (opencode) OwnsPlaced() []string { return agent.OwnsPlaced(format.Dir) }

// HoldsRoles marks that every role that says something has a file of its own.
func (opencode) HoldsRoles() {}

func (opencode) Governs(file string, g ir.Group) contract.Halves { return model.Governs(file, g) }

// Agent describes opencode.
func (opencode) Agent() contract.Agent {
	return contract.Agent{Name: "opencode", Programs: []string{"opencode"}, Observed: "1.18.33"}
}

// ServerList says how opencode lists a server.
func (opencode) ServerList() contract.ServerList {
	return contract.ServerList{File: format.ConfigFile, Field: "mcp", Local: "local", Remote: "remote",
		OneList: format.OneList}
}

// Hook answers one payload of modec's plugin in opencode.
func (opencode) Hook(req contract.HookRequest) contract.HookAnswer { return hook.Answer(name, req) }

// Open reads the artifacts as opencode does. The model runs the real hook.
func (o opencode) Open(fsys fs.FS, opt contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, opt, o.Hook)
}

// Alone returns what opencode decides by itself; it has no permission mode of a role.
func (opencode) Alone(*ir.Project) []contract.Decider { return model.Alone() }

// AgentFiles lists the files of opencode.
func (opencode) AgentFiles() []contract.AgentFile { return importer.Files() }

// Formats returns the one that opencode has.
func (opencode) Formats() []string { return []string{name} }

// Import reads settings and agents.
func (opencode) Import(src contract.Source) (contract.Imported, diag.List) {
	return importer.Import(src)
}

// Layout describes an agent's front matter.
func (opencode) Layout(file string) *layout.Style { return agent.Layout(file) }

// Starts returns the agent as which a session starts.
func (opencode) Starts() string { return format.Start }

// Lodgers returns what opencode loads from a project that a build did not write.
func (opencode) Lodgers(project, compiled fs.FS) []contract.Lodger {
	return places().Lodgers(project, compiled)
}

// Loads returns the providers of models of a project.
func (opencode) Loads(project, _ fs.FS) []contract.Lodger { return places().Loads(project) }

// Beside returns opencode's settings.
func (opencode) Beside() []contract.File { return places().Beside() }

// Below returns what opencode reads from the root of the repository down to the folder of a session.
func (opencode) Below() []string { return places().Below() }

// places are where opencode reads its files in a project.
func places() lastmatch.Places {
	return lastmatch.Places{Files: format.ProjectFiles, Dirs: []string{format.Dir}, BuiltIn: format.BuiltIn,
		Start: format.Start}
}

// Joins reports whether what a file says of an agent is read together with what others say of it.
func (opencode) Joins(file string) bool { return slices.Contains(format.ProjectFiles, file) }
