package codex

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/codex/format"
	"modec.dev/modec/targets/codex/hook"
	"modec.dev/modec/targets/codex/importer"
	"modec.dev/modec/targets/codex/model"
)

type codex struct{}

// New returns the target. Codex's hooks are answered by it too ([contract.Hooker]).
func New() contract.Target { return codex{} }

func (codex) Name() string { return name }

func (codex) Summary() string { return "Codex: sessions by role, agents, MCP servers, hooks" }

func (codex) Options() []contract.Option {
	return []contract.Option{{Name: requirementsOption, Type: contract.Bool, Default: false,
		Doc: "Write " + format.RequirementsFile + " too: what none of the project's sessions needs, for an " +
			"administrator to place at " + format.AdminFile + ", above which nothing stands."}}
}

// Codes documents what the target reports.
func (codex) Codes() []diag.Doc { return append(diag.Docs(codesText), importer.Codes()...) }

func (codex) Owns() []string {
	return []string{format.AgentsDir + "/*.toml", format.ConfigFile, format.RequirementsFile}
}

// HoldsRoles marks that every role that says something has a configuration.
func (codex) HoldsRoles() {}

func (codex) Governs(file string, g ir.Group) contract.Halves { return model.Governs(file, g) }

// Hook answers one payload of Codex's hooks.
func (codex) Hook(req contract.HookRequest) contract.HookAnswer { return hook.Answer(req) }

// Open reads the artifacts as Codex does. The model runs the real hook.
func (codex) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o, hook.Answer)
}

// Alone returns what Codex decides by itself; it has no permission mode of a role.
func (codex) Alone(*ir.Project) []contract.Decider { return model.Alone() }

// ServersField returns the key of the list of servers.
func (codex) ServersField() string { return serversField }

const serversField = "mcp_servers"

// AgentFiles lists the files of Codex.
func (codex) AgentFiles() []contract.AgentFile { return importer.Files() }

// Formats returns the one that Codex has.
func (codex) Formats() []string { return []string{name} }

// Import reads a configuration and agents.
func (codex) Import(src contract.Source) (contract.Imported, diag.List) { return importer.Import(src) }

// Layout describes the file of an agent. Blanks around its name and what it is told say nothing.
func (codex) Layout(file string) *layout.Style {
	if path.Dir(file) != format.AgentsDir {
		return nil
	}
	return &layout.Style{Read: func(data []byte) (*located.Value, string, error) {
		v, err := located.TOML(file, data)
		return v, "", err
	}, Ignored: func(key string) bool {
		return slices.Contains(format.OfSession, key)
	}, Same: func(key string, a, b *located.Value) bool {
		x, text := a.Str()
		y, also := b.Str()
		return (key == "developer_instructions" || key == nameField) && text && also &&
			strings.TrimSpace(x) == strings.TrimSpace(y)
	}}
}

// Lodgers returns the agents of a project that a build did not write, and the hooks, the rules and the settings that a
// session has in a folder which its user trusts.
func (codex) Lodgers(project, compiled fs.FS) (out []contract.Lodger) {
	files, _ := fs.Glob(project, format.AgentsDir+"/*.toml")
	for _, file := range files {
		data, err := fs.ReadFile(project, file)
		if _, ours := fs.Stat(compiled, file); err != nil || ours == nil {
			continue
		}
		if a, err := format.ReadAgent(file, data); err == nil {
			out = append(out, contract.AgentOf(a.Name, a.At))
		}
	}
	files, _ = fs.Glob(project, format.RulesDir+"/*.rules")
	for _, file := range files {
		data, err := contract.ReadImport(project, file)
		if _, ours := fs.Stat(compiled, file); err != nil || ours == nil || format.OnlyRestrains(data) {
			continue
		}
		out = append(out, contract.Lodger{Kind: contract.EntryFile, Name: file, At: diag.Pos{File: file}})
	}
	out = append(out, contract.Added(settings(project), settings(compiled))...)
	out = append(out, contract.Added(listed(project), listed(compiled))...)
	return append(out, contract.Added(hooks(project), hooks(compiled))...)
}

// settings returns the plugins that the settings of the project turn on, and those settings by which a session that
// modec did not start asks nobody, or about less.
func settings(project fs.FS) (out []contract.Lodger) {
	root := config(project)
	for _, m := range root.Get("plugins").Fields() {
		if on := m.Value.Get("enabled"); !on.Is(located.Bool) || on.True() {
			out = append(out, contract.Lodger{Kind: contract.EntryPlugin, Name: m.Key, Entry: m.Value, At: m.Pos})
		}
	}
	return append(out, contract.Unasking(root,
		contract.Loose{Key: []string{"approval_policy"}, Values: []string{string(format.Never)}},
		contract.Loose{Key: []string{"approvals_reviewer"}, Others: []string{"user"}},
		contract.Loose{Key: []string{"default_permissions"}, Others: []string{":read-only", ":workspace"}},
		contract.Loose{Key: []string{"features", "hooks"}, Off: true},
		contract.Loose{Key: []string{"shell_environment_policy", "set"}},
		contract.Loose{Key: []string{"web_search"}, Values: []string{"live"}},
		contract.Loose{Key: []string{"sandbox_mode"}, Values: []string{"danger-full-access"}},
		contract.Loose{Key: []string{"sandbox_workspace_write", "network_access"}},
		contract.Loose{Key: []string{"sandbox_workspace_write", "writable_roots"}})...)
}

// config returns the settings of the project; nil where there are none that can be read.
func config(project fs.FS) *located.Value {
	data, err := contract.ReadImport(project, format.ConfigFile)
	if err != nil {
		return nil
	}
	root, err := located.TOML(format.ConfigFile, data)
	if err != nil {
		return nil
	}
	return root
}

// listed returns the agents that the settings of the project list with a file of settings each.
func listed(project fs.FS) (out []contract.Lodger) {
	for _, m := range config(project).Get("agents").Fields() {
		if m.Value.Get("config_file").Is(located.String) {
			l := contract.AgentOf(m.Key, m.Pos)
			l.Entry = m.Value
			out = append(out, l)
		}
	}
	return out
}

// hooks returns those of the project. Codex takes their allow in the place of a person alone.
func hooks(project fs.FS) (out []contract.Lodger) {
	if root, err := contract.ReadJSONC(project, format.HooksFile); err == nil {
		out = contract.Hooks(root.Get("hooks"), hook.Permission)
	}
	return append(out, contract.Hooks(config(project).Get("hooks"), hook.Permission)...)
}

// Beside returns Codex's settings and hooks.
func (codex) Beside() []contract.File {
	return []contract.File{
		{Path: format.ConfigFile, Places: []string{"/" + serversField + "/*", "/approval_policy",
			"/approvals_reviewer", "/default_permissions", "/features/*", "/hooks/*/-", "/permissions/*",
			"/sandbox_mode", "/sandbox_workspace_write/*", "/web_search"}},
		{Path: format.HooksFile, Places: []string{"/hooks/*/-"}},
	}
}

// Below returns what Codex reads in each folder from the root of a trusted repository down to that of a session; agents
// it reads in any.
func (codex) Below() []string {
	return []string{format.ConfigFile, format.HooksFile, format.RulesDir + "/*.rules", format.AgentsDir + "/*.toml"}
}
