// Package importer turns VS Code's list of MCP servers, and what its settings ask about, into a source.
//
// [Import] reads .vscode/mcp.json and .vscode/settings.json. A server becomes one of the inventory; inputs, and members
// of an entry that the source does not know, stay in the file. The entries about commands and edits become a role, as
// they are written there, for VS Code alone: they mean beginnings of commands, and count beside what VS Code has by
// itself, which no other agent has.
package importer

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/vscode/format"
)

const codeImport diag.Code = "vscode-import"

// Files lists what VS Code's chat has in a project, beside what belongs to the target copilot.
func Files() []contract.AgentFile {
	files := []contract.AgentFile{{Path: format.ServersFile, Imported: true}, {Path: format.SettingsFile, Look: looked}}
	for _, file := range format.BesideFiles {
		files = append(files, contract.AgentFile{Path: file, Look: lookedBeside})
	}
	return files
}

// lookedBeside says why settings in another file stay where they are.
func lookedBeside(data []byte) (contract.Reason, string) {
	root, err := located.JSONC("", data)
	if err != nil {
		return "", ""
	}
	settings, servers := format.SettingsBeside(root)
	if key := deciding(settings); key != "" {
		return contract.Permission, key + " decides in VS Code's own chat where this file is opened: it stays in force"
	}
	if len(servers.Fields()) > 0 {
		return contract.Programs, "servers that VS Code starts where this file is opened: they stay in force"
	}
	return "", ""
}

// looked says of a file of settings why it stays where it is, for whoever does not import it.
func looked(data []byte) (contract.Reason, string) {
	root, err := format.ReadSettings("", data)
	if err != nil {
		return "", ""
	}
	if key := deciding(root); key != "" {
		return contract.Permission, key + " decides in VS Code's own chat: it stays in force"
	}
	return "", ""
}

// deciding returns the first of some settings that is about what VS Code's agents may do, "" for none.
func deciding(settings *located.Value) string {
	for _, m := range settings.Fields() {
		if format.IsSetting(m.Key) {
			return m.Key
		}
	}
	return ""
}

// Import reads a list of servers and the settings.
func Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := &importer{servers: map[string]*ir.Server{},
		out: contract.Imported{Comments: map[diag.Pos]string{}, Reference: contract.EnvRefs}}
	for _, file := range files(&src, &im.diags) {
		if path.Base(file) == path.Base(format.SettingsFile) && !decides(src.Root, file) {
			continue
		}
		data, ok := im.out.Read(src.Root, file, file, codeImport, &im.diags)
		if !ok {
			continue
		}
		read, what := im.list, "starts no server"
		if path.Base(file) == path.Base(format.SettingsFile) {
			read, what = im.settings, "reads no setting"
		}
		if err := read(file, data); err != nil {
			im.out.Refuse(file)
			im.diags.Errorf(codeImport, located.PlaceOf(file, err), "VS Code %s of this file: %s", what,
				located.Reason(err))
		}
	}
	if im.out.Empty() {
		return contract.Imported{}, im.diags
	}
	im.finish()
	im.diags.Sort()
	return im.out, im.diags
}

// importer collects what VS Code's files say.
type importer struct {
	out     contract.Imported
	diags   diag.List
	servers map[string]*ir.Server
	role    *ir.Role
	tree    memfs.FS // what the model reads of the role
}

// decides reports whether settings have entries to import: most are about an editor.
func decides(root fs.FS, file string) bool {
	data, err := contract.ReadImport(root, file)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	settings, err := format.ReadSettings(file, data)
	return err == nil && (settings.Get(format.TerminalKey) != nil || settings.Get(format.EditsKey) != nil)
}

// finish makes a project of what was collected.
func (im *importer) finish() {
	im.out.Project = contract.ProjectOf(im.servers, nil)
	if im.role == nil {
		return
	}
	im.out.Project.Roles = []ir.Role{*im.role}
	im.out.Baseline = role
	im.out.Options = map[string]any{"subject": "role:" + role}
	im.out.Originals = []contract.Original{{File: im.role.Pos.File, Files: im.tree,
		Subjects: []ir.SubjectRef{{Role: role}}, Options: map[string]any{"subject": role}}}
}

// files are the files to read.
func files(src *contract.Source, diags *diag.List) (out []string) {
	if src.Files == nil {
		return []string{format.ServersFile, format.SettingsFile}
	}
	for _, file := range src.Files {
		file = path.Clean(file)
		switch {
		case strings.HasSuffix("/"+file, "/"+format.ServersFile),
			strings.HasSuffix("/"+file, "/"+format.SettingsFile),
			src.Format != "" && path.Ext(file) == ".json":
			out = append(out, file)
		case src.Format != "":
			diags.Errorf(codeImport, diag.Pos{File: file}, "got a file of no name that VS Code knows, want mcp.json "+
				"or settings.json")
		}
	}
	return out
}

// list reads the servers of a file.
func (im *importer) list(file string, data []byte) error {
	root, err := format.ReadServers(file, data)
	if err != nil {
		return err
	}
	for _, m := range root.Get(format.ServersKey).Fields() {
		if im.out.Server(m, im.servers, start) == nil {
			continue
		}
		for _, x := range m.Value.Fields() {
			if !slices.Contains(format.Keys, x.Key) {
				im.out.Note(contract.Left, x.Pos, "server "+m.Key, x.Key,
					"the source has no word for it: it stays in the entry")
			}
		}
	}
	for _, m := range root.Fields() {
		if m.Key != format.ServersKey {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "no permission of a mode or a role: it stays in the file")
		}
	}
	return nil
}

// otherRef matches what VS Code replaces, and no other agent does: a question to the person, a folder, a setting; and
// what the source would replace, and VS Code does not.
var otherRef = lazy.Regexp(`\$\{[^}]*\}`)

// start reads how a server is started or reached, or returns why the source cannot say it.
func start(v *located.Value, s *ir.Server) (why string) {
	kind, _ := v.Get("type").Str()
	text := func(key string) string {
		t, _ := v.Get(key).Str()
		return contract.SourceRefs(t)
	}
	refs := func(t string, _ diag.Pos) string { return contract.SourceRefs(t) }
	for _, m := range v.Fields() {
		if other := refers(m.Value); other != "" {
			return "VS Code alone knows what " + other + " is: the server is known by its name alone"
		}
	}
	switch {
	case (kind == "" || kind == "stdio") && text("command") != "":
		s.Type, s.Command, s.Cwd = "stdio", text("command"), text("cwd")
		s.Args, s.Env = contract.TextList(v.Get("args"), refs), contract.TextFields(v.Get("env"), refs)
	case (kind == "" || kind == "http" || kind == "sse") && contract.ServerURL(text("url")):
		s.Type, s.URL, s.Headers = "http", text("url"), contract.TextFields(v.Get("headers"), refs)
		if kind == "sse" {
			s.Type = kind
		}
	default:
		return contract.NoStart
	}
	return ""
}

// refers returns a reference somewhere in a value that is not to a variable of the environment, "" for none.
func refers(v *located.Value) string {
	if text, ok := v.Str(); ok {
		for _, ref := range otherRef().FindAllString(text, -1) {
			if contract.SourceRefs(ref) == ref {
				return ref
			}
		}
	}
	for _, item := range v.List() {
		if ref := refers(item); ref != "" {
			return ref
		}
	}
	for _, m := range v.Fields() {
		if ref := refers(m.Value); ref != "" {
			return ref
		}
	}
	return ""
}
