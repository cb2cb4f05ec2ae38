package gemini

import (
	"io/fs"
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/gemini/format"
	"modec.dev/modec/targets/gemini/hook"
	"modec.dev/modec/targets/gemini/importer"
	"modec.dev/modec/targets/gemini/model"
)

type gemini struct{}

// New returns the target. Gemini CLI's hooks are answered by it too ([contract.Hooker]).
func New() contract.Target { return gemini{} }

func (gemini) Name() string { return name }

func (gemini) Summary() string { return "Gemini CLI: policies, agents, MCP servers, hooks" }

func (gemini) Options() []contract.Option {
	return []contract.Option{{Name: "subject", Type: contract.String, Holds: true,
		Doc: "The role that .gemini/settings.json holds every session to (\"role:NAME\" or the bare name). " +
			"Default: the baseline."}}
}

// Codes documents what the target reports.
func (gemini) Codes() []diag.Doc { return append(diag.Docs(codesText), importer.Codes()...) }

func (gemini) Owns() []string {
	return []string{format.PoliciesDir + "/*.toml", format.AgentsDir + "/*.md", format.SettingsFile}
}

// HoldsRoles marks that every role that says something has a policy.
func (gemini) HoldsRoles() {}

func (gemini) Governs(file string, g ir.Group) contract.Halves { return model.Governs(file, g) }

// Agent describes Gemini CLI.
func (gemini) Agent() contract.Agent {
	return contract.Agent{Name: "Gemini CLI", Programs: []string{"gemini"}, Observed: "0.61.0", Unnamed: true}
}

// ServerList says how the settings list a server.
func (gemini) ServerList() contract.ServerList {
	return contract.ServerList{File: format.SettingsFile, Field: "mcpServers", Remote: "http"}
}

// Hook answers one payload of Gemini CLI's hooks.
func (gemini) Hook(req contract.HookRequest) contract.HookAnswer { return hook.Answer(req) }

// Open reads the artifacts as Gemini CLI does. The model runs the real hook.
func (gemini) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o, hook.Answer)
}

// Alone returns what Gemini CLI decides by itself; it has no permission mode of a role.
func (gemini) Alone(*ir.Project) []contract.Decider { return model.Alone() }

// AgentFiles lists the files of Gemini CLI.
func (gemini) AgentFiles() []contract.AgentFile { return importer.Files() }

// Formats returns the one that Gemini CLI has.
func (gemini) Formats() []string { return []string{name} }

// Import reads settings and agents.
func (gemini) Import(src contract.Source) (contract.Imported, diag.List) { return importer.Import(src) }

// Layout describes an agent's front matter.
func (gemini) Layout(file string) *layout.Style {
	if path.Dir(file) != format.AgentsDir {
		return nil
	}
	return &layout.Style{Read: func(data []byte) (*located.Value, string, error) {
		a, err := format.ReadAgent(file, data)
		if err != nil {
			return nil, "", err
		}
		return a.Root, a.Prompt, nil
	}, Same: func(key string, a, b *located.Value) bool {
		return key == "description" && layout.SameText(a, b)
	}}
}

// Lodgers returns the agents of a project that a build did not write, and the servers that they start, and the files of
// variables that move the settings.
func (gemini) Lodgers(project, compiled fs.FS) (out []contract.Lodger) {
	files, _ := fs.Glob(project, format.AgentsDir+"/*.md")
	for _, file := range files {
		data, err := fs.ReadFile(project, file)
		_, ours := fs.Stat(compiled, file)
		if err != nil || ours == nil || strings.HasPrefix(path.Base(file), "_") {
			continue
		}
		for _, a := range format.NamedAgents(file, data) {
			name, _ := a.Get("name").Str()
			at, of := diag.Pos{File: file}, "agent "+name
			out = append(out, contract.AgentOf(name, at))
			for _, key := range format.ServersKeys {
				for _, m := range a.Get(key).Fields() {
					out = append(out, contract.Lodger{Kind: contract.EntryServer, Name: m.Key, Of: of, At: m.Pos})
				}
			}
		}
	}
	out = append(out, contract.Added(unasking(project), unasking(compiled))...)
	for _, file := range format.EnvFiles {
		data, err := contract.ReadImport(project, file)
		if err != nil {
			continue
		}
		if _, ours := fs.Stat(compiled, file); ours != nil && len(format.Moving(data)) > 0 {
			out = append(out, contract.Lodger{Kind: contract.EntryFile, Name: file, At: diag.Pos{File: file}})
		}
	}
	return out
}

// Loads returns the hooks, the servers and the programs that find tools that a build did not write, of a project's
// settings and agents.
func (gemini) Loads(project, compiled fs.FS) (out []contract.Lodger) {
	for _, l := range (gemini{}).Lodgers(project, compiled) {
		if l.Kind == contract.EntryServer {
			out = append(out, l)
		}
	}
	root, err := contract.ReadJSONC(project, format.SettingsFile)
	if err != nil {
		return out
	}
	ours, _ := contract.ReadJSONC(compiled, format.SettingsFile) // an error: nil, which has none
	out = append(out, contract.AddedServers(root.Get("mcpServers"), ours.Get("mcpServers"))...)
	commands := [][2]string{{"tools", "discoveryCommand"}, {"tools", "callCommand"}, {"mcp", "serverCommand"}}
	for _, place := range commands {
		if v := root.Get(place[0]).Get(place[1]); v.Is(located.String) {
			out = append(out, contract.Lodger{Kind: contract.EntryTool, Name: v.Text, Entry: v, At: v.Pos})
		}
	}
	return append(out, contract.Added(contract.Hooks(root.Get("hooks")), contract.Hooks(ours.Get("hooks")))...)
}

// unasking returns the settings of the project by which Gemini CLI asks less, where no policy of a build decides.
func unasking(project fs.FS) []contract.Lodger {
	root, err := contract.ReadJSONC(project, format.SettingsFile)
	if err != nil {
		return nil
	}
	return contract.Unasking(root,
		contract.Loose{Key: []string{"general", "defaultApprovalMode"}, Values: []string{"auto_edit", "yolo"}},
		contract.Loose{Key: []string{"tools", "allowed"}})
}

// Beside returns Gemini CLI's settings.
func (gemini) Beside() []contract.File {
	return []contract.File{{Path: format.SettingsFile,
		Places: []string{"/adminPolicyPaths/-", "/policyPaths/-", "/tools/*", "/mcp/*", "/mcpServers/*",
			"/general/defaultApprovalMode", "/security/*", "/hooks/*/-", "/hooksConfig/*"},
		Restrains: restraining}}
}
