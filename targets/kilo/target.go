package kilo

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/targets/internal/lastmatch"
	"modec.dev/modec/targets/kilo/format"
	"modec.dev/modec/targets/kilo/importer"
	"modec.dev/modec/targets/kilo/model"
	opencode "modec.dev/modec/targets/opencode/format"
	"modec.dev/modec/targets/opencode/hook"
	before "modec.dev/modec/targets/roo/format"
	extension "modec.dev/modec/targets/roo/model"
)

type kilo struct{}

// New returns the target.
func New() contract.Target { return kilo{} }

func (kilo) Name() string { return name }

func (kilo) Summary() string { return "Kilo: agents, permissions, MCP servers" }

func (kilo) Options() []contract.Option {
	return []contract.Option{
		{Name: "subject", Type: contract.String, Holds: true,
			Doc: "The role that .kilo/kilo.json holds every session to (\"role:NAME\" or the bare name). " +
				"Default: the baseline."},
		{Name: "file", Type: contract.String, Choices: format.OwnFiles, Default: format.ConfigFile,
			Doc: "The file that has the agents and the servers. `modec migrate` names the one that a project has."},
	}
}

// Codes documents what the target reports.
func (kilo) Codes() []diag.Doc { return append(diag.Docs(codesText), importer.Codes()...) }

func (kilo) Owns() []string {
	return []string{format.FloorFile, format.ConfigFile, format.HookFile}
}

// OwnsPlaced returns where the settings may lie (targets.kilo.file), and where agents.kilo.settings.file of a
// mode may place an agent.
func (kilo) OwnsPlaced() []string { return agent.OwnsPlaced(format.Dir, format.OldDir) }

// HoldsRoles marks that every role that says something has a file of its own.
func (kilo) HoldsRoles() {}

func (kilo) Governs(file string, g ir.Group) contract.Halves { return model.Governs(file, g) }

// Agent describes Kilo.
func (kilo) Agent() contract.Agent {
	return contract.Agent{Name: "Kilo", Programs: []string{"kilo"}, Observed: "7.7.9"}
}

// ServerList says how Kilo lists a server.
func (kilo) ServerList() contract.ServerList {
	return contract.ServerList{File: format.ConfigFile, Field: "mcp", Local: "local", Remote: "remote",
		OneList: opencode.OneList}
}

// Hook answers one payload of modec's plugin in Kilo.
func (kilo) Hook(req contract.HookRequest) contract.HookAnswer { return hook.Answer(name, req) }

// Open reads the artifacts as Kilo does. The model runs the real hook.
func (k kilo) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o, k.Hook)
}

// Alone returns what Kilo decides by itself; it has no permission mode of a role.
func (kilo) Alone(*ir.Project) []contract.Decider { return model.Alone() }

// AgentFiles lists the files of Kilo, and of its extension before.
func (kilo) AgentFiles() []contract.AgentFile { return importer.Files() }

// Formats returns the one that Kilo has.
func (kilo) Formats() []string { return []string{name} }

// Import reads settings and agents. What the extension before had is judged by what that made of it.
func (kilo) Import(src contract.Source) (contract.Imported, diag.List) {
	own, old, diags := importer.Import(src)
	for i := range old.Originals {
		o := &old.Originals[i]
		d, _ := extension.Open(o.Files, before.Stock) // the importer lays them out as Roo Code's
		o.Opened, o.Another = []contract.Decider{d}, another
	}
	own.Join(&old, "in Kilo's own files")
	return own, diags
}

// another says that the extension before decided otherwise than Kilo.
const another = true

// Layout describes an agent's front matter.
func (kilo) Layout(file string) *layout.Style { return agent.Layout(file) }

// Starts returns the agent as which a session starts.
func (kilo) Starts() string { return format.Default }

// Lodgers returns what Kilo loads from a project that a build did not write.
func (kilo) Lodgers(project, compiled fs.FS) []contract.Lodger {
	return places().Lodgers(project, compiled)
}

// Loads returns the providers of models of a project.
func (kilo) Loads(project, _ fs.FS) []contract.Lodger { return places().Loads(project) }

// Beside returns Kilo's settings.
func (kilo) Beside() []contract.File { return places().Beside() }

// Below returns what Kilo reads from the root of the repository down to the folder of a session.
func (kilo) Below() []string { return places().Below() }

// places are where Kilo reads its files in a project.
func places() lastmatch.Places {
	return lastmatch.Places{Files: format.ProjectFiles(), Dirs: format.Dirs,
		Before: format.ModesFile, ReadBefore: format.ReadModes, BuiltIn: format.BuiltIn, Start: format.Default}
}

// Joins reports whether what a file says of an agent is read together with what others say of it.
func (kilo) Joins(file string) bool { return slices.Contains(format.ProjectFiles(), file) }

// Reads reports whether a file is opencode's, which Kilo reads as its own.
func (kilo) Reads(file string) bool { return slices.Contains(format.ProjectFiles(), file) }
