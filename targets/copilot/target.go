package copilot

import (
	"io/fs"
	"path"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/copilot/format"
	"modec.dev/modec/targets/copilot/hook"
	"modec.dev/modec/targets/copilot/importer"
	"modec.dev/modec/targets/copilot/model"
)

type copilot struct{}

// New returns the target. Copilot's hooks are answered by it too ([contract.Hooker]).
func New() contract.Target { return copilot{} }

func (copilot) Name() string { return name }

func (copilot) Summary() string {
	return "GitHub Copilot CLI: sessions by role, agents, MCP servers, hooks"
}

func (copilot) Options() []contract.Option {
	return nil
}

// Codes documents what the target reports.
func (copilot) Codes() []diag.Doc { return append(diag.Docs(codesText), importer.Codes()...) }

func (copilot) Owns() []string {
	return []string{format.AgentsDir + "/*.agent.md", format.ServersFile}
}

// OwnsPlaced returns where a mode's own extra may place its agent.
func (copilot) OwnsPlaced() []string { return []string{format.AgentsDir + "/**/*.agent.md"} }

// HoldsRoles marks that every role that says something has a session.
func (copilot) HoldsRoles() {}

func (copilot) Governs(file string, g ir.Group) contract.Halves { return model.Governs(file, g) }

// Hook answers one payload of Copilot's hooks.
func (copilot) Hook(req contract.HookRequest) contract.HookAnswer { return hook.Answer(req) }

// Lodgers returns the agents of a project that a build did not write, in any folder of those that Copilot reads, with
// the servers and the hooks that they bring, the hooks of the project, and the servers of the list above modec's.
func (copilot) Lodgers(project, compiled fs.FS) (out []contract.Lodger) {
	for _, dir := range []string{format.AgentsDir, ".claude/agents"} {
		_ = contract.EachFile(project, dir, func(file string) {
			if path.Ext(file) != ".md" {
				return
			}
			data, err := fs.ReadFile(project, file)
			if _, ours := fs.Stat(compiled, file); err != nil || ours == nil {
				return
			}
			a, err := format.ReadAgent(file, data)
			if err != nil {
				return
			}
			id := format.AgentID(strings.TrimPrefix(file, dir+"/"))
			l := contract.Lodger{Kind: contract.EntryAgent, Name: id, At: diag.Pos{File: file}}
			out = append(out, l)
			for _, m := range a.Root.Get("mcp-servers").Fields() {
				out = append(out, contract.Lodger{Kind: contract.EntryServer, Name: m.Key, Of: l.What(), At: m.Pos})
			}
			for _, h := range hooks(a.Root) {
				h.Of = l.What()
				out = append(out, h)
			}
		})
	}
	out = append(out, contract.Added(projectHooks(project), projectHooks(compiled))...)
	return append(out, rootServers(project, compiled)...)
}

// Loads returns the hooks and the servers of a project that a build did not write: a session has them where the folder
// is trusted.
func (copilot) Loads(project, compiled fs.FS) (out []contract.Lodger) {
	list := contract.AddedServers(serversIn(project, format.ServersFile), serversIn(compiled, format.ServersFile))
	for _, l := range append((copilot{}).Lodgers(project, compiled), list...) {
		if l.Runs() || l.Kind == contract.EntryServer {
			out = append(out, l)
		}
	}
	return out
}

// serversIn returns the list of servers of a file, nil for none.
func serversIn(fsys fs.FS, file string) *located.Value {
	root, err := contract.ReadJSONC(fsys, file)
	if err != nil {
		return nil
	}
	return root.Get("mcpServers")
}

// hooks returns those of a file. Before a call and in the place of a person an allow of theirs counts, also where a
// session denies.
func hooks(root *located.Value) []contract.Lodger {
	return contract.Hooks(root.Get("hooks"), format.Before, "PreToolUse", "permissionRequest", "PermissionRequest")
}

// projectHooks returns the hooks that every session in the folder has.
func projectHooks(project fs.FS) (out []contract.Lodger) {
	files, _ := fs.Glob(project, format.HooksDir+"/*.json")
	for _, file := range append(files, format.OwnSettings...) {
		if root, err := contract.ReadJSONC(project, file); err == nil {
			out = append(out, hooks(root)...)
		}
	}
	return out
}

// rootServers returns the servers of the list above modec's that a build did not write: those in the place of modec's,
// and further ones.
func rootServers(project, compiled fs.FS) (out []contract.Lodger) {
	ours, same := serversIn(compiled, format.ServersFile), serversIn(compiled, format.RootServersFile)
	for _, m := range serversIn(project, format.RootServersFile).Fields() {
		was := ours.Get(m.Key)
		if written := same.Get(m.Key); written != nil && !contract.StartsOther(written, m.Value) ||
			was != nil && !contract.StartsOther(was, m.Value) {
			continue
		}
		out = append(out, contract.Lodger{Kind: contract.EntryServer, Name: m.Key, Entry: m.Value, At: m.Pos,
			Instead: was != nil})
	}
	return out
}

// Open reads the artifacts as Copilot does. The model runs the real hook.
func (copilot) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o, hook.Answer)
}

// Alone returns what Copilot decides by itself; it has no permission mode of a role.
func (copilot) Alone(*ir.Project) []contract.Decider { return model.Alone() }

// AgentFiles lists the files of Copilot.
func (copilot) AgentFiles() []contract.AgentFile { return importer.Files() }

// Formats returns the one that Copilot has.
func (copilot) Formats() []string { return []string{name} }

// Import reads agents and servers.
func (copilot) Import(src contract.Source) (contract.Imported, diag.List) {
	return importer.Import(src)
}

// Layout describes an agent's front matter.
func (copilot) Layout(file string) *layout.Style {
	if !strings.HasPrefix(file, format.AgentsDir+"/") {
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

// Beside returns Copilot's settings and lists of servers.
func (copilot) Beside() []contract.File {
	places := []string{"/hooks/*/-", "/disableAllHooks", "/allowedUrls/-", "/deniedUrls/-", "/defaultPermissionMode"}
	var files []contract.File
	for _, name := range format.Settings {
		files = append(files, contract.File{Path: name, Places: places, Restrains: []string{"/deniedUrls/-"}})
	}
	return append(files, contract.File{Path: format.ServersFile, Places: contract.MCPServers},
		contract.File{Path: format.RootServersFile, Places: contract.MCPServers})
}

// Reads reports whether a file is the list of servers that Claude Code has, too.
func (copilot) Reads(file string) bool { return file == format.RootServersFile }
