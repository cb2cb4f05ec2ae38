package claude

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/hook"
	"modec.dev/modec/targets/claude/importer"
	"modec.dev/modec/targets/claude/model"
)

// claude joins the emitter with the model, the importer and the hook, which do not know
// each other.
type claude struct{}

// New returns the target.
func New() contract.Target { return claude{} }

// Codes documents what the target reports.
func (claude) Codes() []diag.Doc { return append(diag.Docs(codesText), importer.Codes()...) }

// Open returns a decider for the artifacts below fsys.
func (claude) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o.Baseline())
}

// OpenAt returns a decider for sessions at a disk.
func (claude) OpenAt(fsys fs.FS, o contract.Options, at contract.Disk) ([]contract.Decider, diag.List) {
	return model.OpenAt(fsys, o.Baseline(), &at)
}

// Alone returns a decider for Claude Code by itself.
func (claude) Alone(p *ir.Project) []contract.Decider { return model.Alone(p) }

// Programs returns the hooks of people's own that may allow a call.
func (claude) Programs(project fs.FS) []contract.Program { return model.Programs(project) }

// Lodgers returns the subagents of a project that a build did not write, the hooks that they bring, and the plugins and
// marketplaces of the settings.
func (claude) Lodgers(project, compiled fs.FS) (out []contract.Lodger) {
	for _, l := range model.Subagents(project) {
		if _, err := fs.Stat(compiled, l.At.File); err == nil {
			continue
		}
		out = append(out, l)
		data, err := contract.ReadImport(project, l.At.File)
		if err != nil {
			continue
		}
		if a, err := format.ReadAgent(l.At.File, data); err == nil {
			out = append(out, hooksOf(a, l.What())...)
		}
	}
	return append(out, contract.Added(programs(project), programs(compiled))...)
}

// programs returns the plugins that the settings of a project turn on, the marketplaces that they come from, the
// programs that settings and servers name, and the settings by which Claude Code asks less.
func programs(project fs.FS) (out []contract.Lodger) {
	for _, f := range format.SettingsFiles {
		data, err := contract.ReadImport(project, f.Path)
		if err != nil {
			continue
		}
		read, err := format.ReadSettings(f.Path, data)
		if err != nil {
			continue
		}
		for _, m := range read.Root.Get("enabledPlugins").Fields() {
			if off := m.Value.Is(located.Bool) && !m.Value.True(); !off {
				out = append(out, contract.Lodger{Kind: contract.EntryPlugin, Name: m.Key, Entry: m.Value, At: m.Pos,
					Listed: true})
			}
		}
		for _, m := range read.Root.Get(marketplaces).Fields() {
			out = append(out, contract.Lodger{Kind: contract.EntrySetting, Name: marketplaces + "." + m.Key,
				Entry: m.Value, At: m.Pos, Listed: true})
		}
		for _, m := range read.Root.Fields() {
			if slices.Contains(format.Helpers, m.Key) {
				out = append(out, contract.Lodger{Kind: contract.EntrySetting, Name: m.Key, Entry: m.Value, At: m.Pos,
					Starts: true, Listed: true})
			}
		}
		out = append(out, contract.Unasking(read.Root, loose...)...)
		for _, m := range read.Root.Get("env").Fields() {
			if format.Starts(m.Key) {
				out = append(out, contract.Lodger{Kind: contract.EntrySetting, Name: "env." + m.Key, Entry: m.Value,
					At: m.Pos, Starts: true})
			}
		}
	}
	data, err := contract.ReadImport(project, format.ProjectServers)
	if err != nil {
		return out
	}
	for _, server := range contract.ListedServers(format.ProjectServers, data, []string{"mcpServers"}).Fields() {
		for _, m := range server.Value.Fields() {
			if m.Key == "headersHelper" {
				out = append(out, contract.Lodger{Kind: contract.EntrySetting, Name: server.Key + "." + m.Key,
					Entry: m.Value, At: m.Pos, Starts: true})
			}
		}
	}
	return out
}

// loose are settings by which Claude Code asks less, beside the rules and modes that a build judges.
var loose = []contract.Loose{
	{Key: []string{"enableAllProjectMcpServers"}},
	{Key: []string{"skipDangerousModePermissionPrompt"}},
	{Key: []string{"autoMode", "allow"}},
}

// marketplaces is the key of where plugins come from.
const marketplaces = "extraKnownMarketplaces"

// Allowing returns the settings as they would be if some of these hooks allowed every call.
func (claude) Allowing(project fs.FS, programs []contract.Program) (*contract.File, []diag.Pos) {
	return model.Allowing(project, programs)
}

// Hook answers a PreToolUse payload.
func (claude) Hook(req contract.HookRequest) contract.HookAnswer { return hook.Answer(req) }

// Formats returns the files of Claude Code, and a command line.
func (claude) Formats() []string { return []string{importer.FormatFiles, importer.FormatArgs} }

// LineFormat returns the format of a command line of Claude Code.
func (claude) LineFormat() (format, example string) {
	return importer.FormatArgs, "claude --permission-mode plan"
}

// AgentFiles lists the files of Claude Code.
func (claude) AgentFiles() []contract.AgentFile { return importer.Files() }

// Import reads settings, subagents and servers, or a command line. Its originals are
// opened: the user's own settings, and flags, are not in any file of theirs.
func (claude) Import(src contract.Source) (contract.Imported, diag.List) {
	got, diags := importer.Import(src)
	if len(got.Originals) == 0 {
		return got.Imported, diags
	}
	// The originals of an import have the same files.
	original := got.Originals[0]
	d := model.OpenOver(original.Files, got.Layers)
	if got.Command != nil {
		var err error
		at := diag.Pos{File: original.File}
		d, err = model.OpenArgsOver(original.Files, got.Layers, *got.Command, at, original.Subjects[0])
		if err != nil {
			diags.Errorf(importer.CodeImport, at, "%v", err)
			return got.Imported, diags
		}
	}
	for i := range got.Originals {
		got.Originals[i].Opened = []contract.Decider{d}
	}
	return got.Imported, diags
}

// Lists returns the list with which a session of a role is started.
func (claude) Lists(fsys fs.FS, ref ir.SubjectRef) []string { return model.Lists(fsys, ref.Role) }

// gatewayOf returns the entry of the gateway in a role's own list.
func (e *emitter) gatewayOf(r *ir.Role, sv *ir.Server) *ir.Server {
	if e.inProject(r) {
		return sv // the project's list serves the role
	}
	own, name := *sv, r.Name
	if e.in.Source != nil {
		name = contract.SourceName(e.in.Source, "claude", name)
	}
	own.Args = contract.GatewayArgs("claude", ir.SubjectRef{Role: name})
	return &own
}

// Below returns what Claude Code reads in the folder in which a session starts.
func (claude) Below() []string {
	return []string{format.ProjectSettings, format.ProjectServers, format.AgentsFolder + "/*.md"}
}
