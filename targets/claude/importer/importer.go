// Package importer reads the files and command lines of Claude Code as a source.
//
// [Import] reads settings files, subagents and lists of servers, [Args] one command line.
// The settings of a project become a role, and so does a command line. A subagent becomes
// a mode.
//
// The package promises that an import never widens: what a rule may mean beyond the
// neutral vocabulary is kept for Claude Code, and the role that holds by it is for Claude Code
// alone. A note reports what became of every rule. What Claude Code decides by itself stands in
// habits.go. The package shares the format's parser with the model of the agent, and nothing else:
// an import is compared with the model's decisions.
package importer

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/claude/format"
)

// CodeImport is the code of what cannot be imported.
const CodeImport diag.Code = "claude-import"

// Codes documents the codes that the package reports.
func Codes() []diag.Doc {
	return []diag.Doc{{Code: CodeImport, Text: "Claude Code itself would not load this file or not take this " +
		"command line: the session then runs without any of its rules. Correct it first, then import it."}}
}

// The formats under which files can be asked for.
const (
	FormatFiles = "claude"
	FormatArgs  = "claude-args" // a command line
)

// settingsRole is the role that the settings of a project become: the session that names
// no other.
const settingsRole = "claude"

// sharedRules is the policy that the subagents share: what the project's settings say
// holds for them too.
const sharedRules = "policy claude_settings"

// Result is what an import understood. The originals in it are not opened yet.
type Result struct {
	contract.Imported
	// Layers are settings under those of every session: those of the project and the
	// user's own. The originals do not contain them.
	Layers []format.Layer
	// Command is the command line of which a role was made, nil for files.
	Command *format.CommandLine
}

// importer collects what Claude Code's files say.
type importer struct {
	src     contract.Source
	out     Result
	diags   diag.List
	servers map[string]*ir.Server
	modes   map[string]ir.Mode
	roles   map[string]ir.Role
	// subagents are those whose files could be read.
	subagents []*format.Agent
	tree      memfs.FS        // the files as the model finds them
	shared    importedRules   // of the project's settings
	noted     map[string]bool // the settings files whose rules are in the notes
}

func newImporter(src contract.Source) *importer {
	im := &importer{
		src: src, servers: map[string]*ir.Server{}, modes: map[string]ir.Mode{}, roles: map[string]ir.Role{},
		tree: memfs.FS{}, noted: map[string]bool{},
	}
	im.out.Comments = map[diag.Pos]string{}
	return im
}

// Import reads settings, subagents and servers, or a command line.
func Import(src contract.Source) (Result, diag.List) {
	switch args := src.Format == FormatArgs; {
	case args && src.Args != nil:
		return Args(src, FormatArgs, src.Args, diag.Pos{File: "command line"})
	case args, src.Args != nil:
		return Result{}, nil
	}
	im := newImporter(src)
	im.read()
	if im.out.Empty() {
		return Result{}, im.diags
	}
	im.joined()
	im.originals()
	im.diags.Sort()
	return im.out, im.diags
}

// file reads a file if it is there. at is its name in places.
func (im *importer) file(fsys fs.FS, name, at string) ([]byte, bool) {
	return im.out.Read(fsys, name, at, CodeImport, &im.diags)
}

// placed is a file, and its name in places.
type placed struct {
	fsys fs.FS
	name string
	at   string
}

func (im *importer) ofProject(name string) placed { return placed{im.src.Root, name, name} }

func (im *importer) ofUser(name string) placed { return placed{im.src.Home, name, "~/" + name} }

// agentFile is a subagent's file.
type agentFile struct {
	placed
	data []byte
}

func (im *importer) read() {
	settings, agents, servers := im.known()
	if im.src.Files != nil {
		settings, agents, servers = im.named()
	}
	for _, s := range servers {
		if data, ok := im.file(s.fsys, s.name, s.at); ok {
			im.serversFile(s.at, data)
		}
	}
	for _, s := range settings {
		if data, ok := im.file(s.fsys, s.name, s.at); ok && !im.written(s.at, data) {
			im.out.Layers = append(im.out.Layers, newLayer(s.at, data))
		}
	}
	var files []agentFile
	for _, a := range agents {
		if data, ok := im.file(a.fsys, a.name, a.at); ok && !im.written(a.at, data) {
			files = append(files, agentFile{a, data})
			if agent, err := format.ReadAgent(a.at, data); err == nil {
				im.subagents = append(im.subagents, agent)
			}
		}
	}
	im.settings()
	slices.SortStableFunc(files, func(a, b agentFile) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, f := range files {
		im.agent(f)
	}
}

// named lists the files that were asked for.
func (im *importer) named() (settings, agents, servers []placed) {
	for _, name := range im.src.Files {
		name = path.Clean(name)
		base, dir := path.Base(name), path.Base(path.Dir(name))
		file := im.ofProject(name)
		switch {
		case strings.HasSuffix(base, ".mcp.json"), base == format.UserServers:
			servers = append(servers, file)
		case strings.HasSuffix(base, ".md") && (dir == "agents" || im.src.Format != ""):
			agents = append(agents, file)
		case strings.HasSuffix(base, ".json") && (dir == ".claude" || im.src.Format != ""):
			settings = append(settings, file)
		}
	}
	return settings, agents, servers
}

// known lists the files of the project and of the user. Of two subagents with the same
// name the project's holds, as observed on 2.1.329.
func (im *importer) known() (settings, agents, servers []placed) {
	servers = append(servers, im.ofProject(format.ProjectServers))
	if im.src.Home != nil {
		settings = append(settings, im.ofUser(format.UserSettings))
		servers = append(servers, im.ofUser(format.UserServers))
	}
	for _, f := range format.SettingsFiles {
		settings = append(settings, im.ofProject(f.Path))
	}
	return settings, im.agentFiles(), servers
}

// agentFiles lists the subagents' files, those of the project first.
func (im *importer) agentFiles() (files []placed) {
	for _, name := range im.markdown(im.src.Root, format.AgentsFolder) {
		files = append(files, im.ofProject(name))
	}
	for _, name := range im.markdown(im.src.Home, format.AgentsFolder) {
		files = append(files, im.ofUser(name))
	}
	return files
}

// newLayer is a settings file of the project, or of the user by its name in places.
func newLayer(at string, data []byte) format.Layer {
	if strings.HasPrefix(at, "~/") {
		return format.Layer{File: at, Data: data, Folder: path.Dir(at)}
	}
	return format.Layer{File: at, Data: data, Project: true}
}

// written reports, with a note, whether modec wrote a file with a hook. The hook holds
// more than the file's rules, and its source is there already.
func (im *importer) written(at string, data []byte) bool {
	if im.src.Ours || !strings.Contains(string(data), "modec hook claude --model") {
		return false
	}
	im.out.Note(contract.Left, diag.Pos{File: at}, "", path.Base(at),
		"modec wrote the file: its hook decides by a source that is there already")
	return true
}

// markdown lists the Markdown files below a folder, sorted.
func (im *importer) markdown(fsys fs.FS, dir string) []string {
	if fsys == nil {
		return nil
	}
	var names []string
	err := contract.EachFile(fsys, dir, func(name string) {
		if strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		im.diags.Errorf(CodeImport, diag.Pos{File: dir}, "the folder cannot be read: %v", diag.Reason(fsys, dir, err))
	}
	return names
}

// settings joins the settings files into one role, as Claude Code does.
func (im *importer) settings() {
	layers := im.out.Layers
	if len(layers) == 0 {
		return
	}
	at := diag.Pos{File: layers[len(layers)-1].File, Line: 1, Col: 1}
	r, rules := im.role(session{name: settingsRole, at: at, layers: layers})
	if rules == nil {
		im.out.Layers = nil
		return
	}
	im.roles[settingsRole] = r
	im.out.Baseline = settingsRole
	im.shared = *rules
	im.tree[format.Session(settingsRole, format.OfSettings)] = []byte("{}")
}

// joined makes the project of what was read.
func (im *importer) joined() {
	p := &ir.Project{Version: ir.Version}
	for _, s := range im.servers {
		p.Servers = append(p.Servers, *s)
	}
	for _, m := range im.modes {
		p.Modes = append(p.Modes, m)
	}
	for _, r := range im.roles {
		p.Roles = append(p.Roles, r)
	}
	slices.SortFunc(p.Servers, func(a, b ir.Server) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Modes, func(a, b ir.Mode) int { return strings.Compare(a.Slug, b.Slug) })
	slices.SortFunc(p.Roles, func(a, b ir.Role) int { return strings.Compare(a.Name, b.Name) })
	im.out.Project = p
}

// originals adds the files that were read, each with the subjects whose sessions it decides.
func (im *importer) originals() {
	p := im.out.Project
	refs := map[string][]ir.SubjectRef{}
	for i := range p.Roles {
		file := p.Roles[i].Pos.File
		refs[file] = append(refs[file], ir.SubjectRef{Role: p.Roles[i].Name})
	}
	for i := range p.Modes {
		file := p.Modes[i].Pos.File
		refs[file] = append(refs[file], ir.SubjectRef{Mode: p.Modes[i].Slug})
	}
	for _, f := range im.out.Files {
		if len(refs[f]) > 0 {
			im.out.Originals = append(im.out.Originals, contract.Original{File: f, Files: im.tree, Subjects: refs[f]})
		}
	}
}
