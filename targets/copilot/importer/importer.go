// Package importer turns the files of GitHub's Copilot CLI into a source: its agents, and the servers that a project
// shares.
//
// [Import] reads .github/agents/*.agent.md and .github/mcp.json. An agent becomes a mode. Its list of tools stays as it
// is written there, for Copilot alone, and so does whatever else its front matter says: it names tools of the editor,
// too, that no other agent has. What asks programs about calls stays where it is, and in force.
package importer

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/copilot/format"
)

const codeImport diag.Code = "copilot-import"

// Codes documents the codes that Import reports.
func Codes() []diag.Doc {
	return []diag.Doc{{Code: codeImport, Text: "Copilot itself goes on without a file to import: it is no JSON, or " +
		"no agent. The import does without it too, and leaves it as it is. Mend the file first."}}
}

// name is the target's.
const name = "copilot"

// Files lists what Copilot has in a project.
func Files() []contract.AgentFile {
	const told = "Copilot reads it in every session; no permissions"
	return []contract.AgentFile{
		{Path: format.AgentsDir + "/*.agent.md", Imported: true},
		{Path: format.AgentsDir + "/", Reason: contract.Permission,
			Why: "Copilot has its agent, too: it stays in force; call it NAME.agent.md in " + format.AgentsDir +
				" to import it"},
		{Path: format.ServersFile, Imported: true},
		{Path: ".github/hooks/", Reason: contract.Programs,
			Why: "programs that decide about calls and may change them, where a person trusts the folder: they stay " +
				"in force"},
		{Path: format.SettingsDir + "/", Reason: contract.Permission,
			Why: "settings for whoever trusts the folder, among them hooks and what turns them off: they stay in " +
				"force"},
		{Path: ".github/copilot-instructions.md", Reason: contract.Instructions, Why: told},
		{Path: ".github/instructions/", Reason: contract.Instructions, Why: told},
		{Path: ".github/prompts/", Reason: contract.Prompts, Why: "prompts, no permissions"},
		{Path: ".github/chatmodes/", Reason: contract.NotRead, Why: "Copilot CLI does not read it"},
		{Path: ".github/skills/", Reason: contract.Prompts, Why: "skills and what belongs to them, no permissions"},
	}
}

// importer collects what Copilot's files say.
type importer struct {
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	servers map[string]*ir.Server
	modes   map[string]ir.Mode
	trees   map[string]memfs.FS // what the model reads of a mode
}

// input is a file to read if it is there.
type input struct {
	fsys     fs.FS
	name, at string // at: in places
}

// Import reads agents and servers.
func Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := &importer{src: src, servers: map[string]*ir.Server{}, modes: map[string]ir.Mode{},
		trees: map[string]memfs.FS{}, out: contract.Imported{Comments: map[diag.Pos]string{}}}
	for _, in := range im.inputs() {
		data, ok := im.out.Read(in.fsys, in.name, in.at, codeImport, &im.diags)
		switch {
		case !ok:
		case path.Ext(in.name) == ".md":
			im.agent(in, data)
		default:
			im.list(in, data)
		}
	}
	if im.out.Empty() {
		return contract.Imported{}, im.diags
	}
	im.out.Project = contract.ProjectOf(im.servers, im.modes)
	for _, m := range im.out.Project.Modes {
		im.out.Originals = append(im.out.Originals, contract.Original{File: m.Pos.File, Files: im.trees[m.Slug],
			Subjects: []ir.SubjectRef{{Mode: m.Slug}}, Surface: format.AgentSurface})
	}
	im.diags.Sort()
	return im.out, im.diags
}

// ending is that of an agent's file.
const ending = ".agent.md"

// inputs are the files to read: servers first.
func (im *importer) inputs() (out []input) {
	if im.src.Files != nil {
		return im.named()
	}
	out = append(out, input{im.src.Root, format.ServersFile, format.ServersFile})
	for _, f := range format.AgentFiles(im.src.Root, format.AgentsDir) {
		out = append(out, input{im.src.Root, f, f})
	}
	if im.src.Home == nil {
		return out
	}
	const home = ".copilot"
	out = append(out, input{im.src.Home, home + "/mcp-config.json", "~/" + home + "/mcp-config.json"})
	files, _ := fs.Glob(im.src.Home, home+"/agents/*"+ending)
	for _, f := range files {
		out = append(out, input{im.src.Home, f, "~/" + f})
	}
	return out
}

// named sorts the files that the caller names. Without a format it takes those that are Copilot's by their names.
func (im *importer) named() (out []input) {
	for _, file := range im.src.Files {
		file = path.Clean(file)
		base := path.Base(file)
		servers := file == format.ServersFile || base == "mcp-config.json" ||
			im.src.Format != "" && path.Ext(base) == ".json"
		switch {
		case servers, strings.HasSuffix(base, ending):
			out = append(out, input{im.src.Root, file, file})
		case im.src.Format != "":
			im.diags.Errorf(codeImport, diag.Pos{File: file}, "got a file of no name that Copilot knows, want %s or "+
				"an agent (NAME%s)", format.ServersFile, ending)
		}
	}
	slices.SortStableFunc(out, func(a, b input) int { return strings.Compare(path.Ext(a.name), path.Ext(b.name)) })
	return out
}

// refuse reports a file that Copilot goes on without.
func (im *importer) refuse(at diag.Pos, file, why string) {
	im.out.Refuse(file)
	im.diags.Errorf(codeImport, at, "Copilot goes on without this file: %s", why)
}

// agent makes a mode of an agent.
func (im *importer) agent(in input, data []byte) {
	at := diag.Pos{File: in.at, Line: 1, Col: 1}
	a, err := format.ReadAgent(in.at, data)
	if err != nil {
		im.refuse(at, in.at, err.Error())
		return
	}
	left := func(why string) {
		im.out.Note(contract.Left, at, "", in.at, why+": it stays where it is, and in force")
	}
	file, placed := strings.CutPrefix(in.at, format.AgentsDir+"/")
	if !placed {
		file = path.Base(in.name)
	}
	slug := format.AgentID(file)
	switch {
	case contract.Slug(slug) != slug:
		left("a slug has letters or digits, and Copilot calls an agent by the name of its file")
		return
	case a.Root.Get("hooks") != nil:
		left("it asks programs about its calls, which the source cannot say")
		return
	}
	if i := slices.IndexFunc(a.Root.Fields(), unknown); i >= 0 && !im.src.Ours {
		key := a.Root.Fields()[i].Key
		why, _ := contract.RefusedSetting(name, key, false)
		left(key + ": " + why)
		return
	}
	for other, m := range im.modes {
		if strings.EqualFold(other, slug) {
			left("the agent at " + m.Pos.String() + " has this name")
			return
		}
	}
	of := "mode " + slug
	m := ir.Mode{Slug: slug, Pos: at, Name: a.Name, RoleDefinition: strings.TrimSpace(a.Prompt)}
	m.WhenToUse, _ = a.Root.Get("description").Str()
	m.Can.Default = &ir.Default{Decision: ir.Agent, Pos: at}
	if m.RoleDefinition == "" {
		m.RoleDefinition = strings.TrimSpace(m.WhenToUse)
		im.out.Note(contract.Kept, at, of, "prompt", "it is empty: the description takes its place")
	}
	own := map[string]any{"name": ""}
	if text, ok := a.Root.Get("name").Str(); ok {
		own["name"] = text
		m.Name = text
	}
	if own["name"] == slug {
		delete(own, "name")
	}
	m.Extra = map[string]ir.Extra{name: {Fields: own, Pos: at}}
	if file != format.AgentName(slug)+ending {
		own[format.FileField] = file
		im.out.Note(contract.Kept, at, of, "file "+file, "a slug has letters, digits and dashes: it is "+slug)
	}
	im.fields(a, own, of)
	if a.Listed {
		list := []any{}
		for _, t := range a.Tools {
			list = append(list, t)
			im.out.NoteRule(contract.Kept, a.Pos(), of, "tools "+t, "it stays as it is written, for Copilot "+
				"alone: it names tools of the editor too, which no other agent has")
		}
		own["tools"] = list
		m.Targets = im.out.Keep(name, !slices.Contains(a.Tools, "*"), a.Pos(), of)
	} else {
		im.out.NoteRule(contract.Understood, at, of, "no tools", "it has all of the session's")
	}
	if len(own) == 0 {
		m.Extra = nil
	}
	if a.Root.Comment != "" {
		im.out.Comments[at] = a.Root.Comment
	}
	im.modes[slug] = m
	im.trees[slug] = memfs.FS{format.AgentFile(&m): data}
}

// unknown reports whether a key of an agent is one that no source has.
func unknown(f located.Member) bool {
	return f.Key != "description" && f.Key != format.HooksKey && !contract.TakesSetting(name, f.Key) &&
		!contract.TakesSetting(name, "other."+f.Key)
}

// fields keeps what the front matter says beside.
func (im *importer) fields(a *format.Agent, own map[string]any, of string) {
	other := map[string]any{}
	for _, f := range a.Root.Fields() {
		switch f.Key {
		case "name", "description", "tools":
			continue
		case "model":
			if text, ok := f.Value.Str(); ok {
				own["model"] = text
				continue
			}
		}
		other[f.Key] = f.Value.Any()
		im.out.Note(contract.Kept, f.Pos, of, f.Key, "a setting for Copilot alone")
	}
	if len(other) > 0 {
		own["other"] = other
	}
}

// list reads a list of servers.
func (im *importer) list(in input, data []byte) {
	root, err := located.JSONC(in.at, data)
	if err != nil {
		im.refuse(located.PlaceOf(in.at, err), in.at, located.Reason(err))
		return
	}
	for _, m := range root.Get(format.ServersKey).Fields() {
		im.server(m)
	}
	for _, m := range root.Fields() {
		if m.Key != format.ServersKey {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "no permission of a mode")
		}
	}
}

// serverKeys are what the source says of a server.
var serverKeys = []string{"args", "command", "cwd", "env", "headers", "timeout", "tools", "type", "url"}

// server reads an entry of such a list.
func (im *importer) server(m located.Member) {
	if im.out.Server(m, im.servers, start) == nil {
		return
	}
	for _, x := range m.Value.Fields() {
		if !slices.Contains(serverKeys, x.Key) {
			im.out.Note(contract.Left, x.Pos, "server "+m.Key, x.Key,
				"the source has no word for it: it stays in the entry")
		}
	}
}

// start reads how a server is started or reached, or returns why the source cannot say it.
func start(v *located.Value, s *ir.Server) (why string) {
	kind, _ := v.Get("type").Str()
	url, _ := v.Get("url").Str()
	s.Command, _ = v.Get("command").Str()
	seconds, whole := contract.Seconds(v.Get("timeout"))
	s.TimeoutSeconds = seconds
	tools := v.Get("tools").Strings()
	same := func(text string, _ diag.Pos) string { return text }
	switch {
	case !whole:
		return contract.NoWholeSeconds
	case !slices.Equal(tools, []string{"*"}):
		return "its entry lists its tools for everybody, and stays in force: the server is known by its name alone"
	case (kind == "http" || kind == "sse") && contract.ServerURL(url):
		s.Type, s.URL, s.Headers = kind, url, contract.TextFields(v.Get("headers"), same)
	case (kind == "" || kind == "local" || kind == "stdio") && s.Command != "":
		s.Type = "stdio"
		s.Env, s.Args = contract.TextFields(v.Get("env"), same), contract.TextList(v.Get("args"), same)
		s.Cwd, _ = v.Get("cwd").Str()
	default:
		return contract.NoStart
	}
	if len(s.Args) == 0 {
		s.Args = nil
	}
	return ""
}
