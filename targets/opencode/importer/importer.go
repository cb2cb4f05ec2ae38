// Package importer turns opencode's files into a source: the settings of a project, and its agents. A [Program] that is
// made of opencode is imported as it is.
//
// [Import] reads opencode.json (or opencode.jsonc, or one of them in .opencode), and the agents in it and in
// .opencode/agent and its like, below the root and, where it is given, the home folder.
// The permission of the settings becomes one role, the agents a mode each. What they decide stays as it is written
// there, for opencode alone: of all its rules the last one that matches decides, by the text of a call, and no other
// agent reads rules so.
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
	"modec.dev/modec/targets/opencode/format"
)

const codeImport diag.Code = "opencode-import"

// Codes documents the codes that Import reports.
func Codes() []diag.Doc {
	return []diag.Doc{{Code: codeImport, Text: "opencode itself starts nothing in a folder with a file to import: it " +
		"is not JSON, or a permission in it is none. Mend the file first."}}
}

// opencode is where opencode has its files, and what it makes of them.
var opencode = Program{
	Name: "opencode", Title: "opencode", Code: codeImport, Refuses: "does not start with",
	WithoutFrontMatter: "every permission",
	Files:              format.ProjectFiles, Order: format.ProjectFiles, Dirs: []string{format.Dir},
	Home: []Home{{Dir: ".config/opencode", Files: []string{"config.json", format.ConfigFile, format.ConfigFile + "c"}}},
	File: format.ConfigFile, BuiltIn: format.BuiltIn, Read: format.ReadConfig, Nulls: format.WithoutNulls,
	Reserved: map[string]string{"compaction": byItself, "summary": byItself, "title": byItself},
}

const byItself = "an agent that opencode runs by itself"

// Import reads settings and agents.
func Import(src contract.Source) (contract.Imported, diag.List) { return opencode.Import(src) }

// importer collects what opencode's files say.
type importer struct {
	by      *Program
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	servers map[string]*ir.Server
	role    *ir.Role
	modes   map[string]ir.Mode
	tree    memfs.FS // what the model reads
	file    string   // the settings that were read, as a build names them
	joined  []string // others of the program's, whose permission is read with theirs
}

// Import reads settings and agents.
func (p *Program) Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := &importer{by: p, src: src, servers: map[string]*ir.Server{}, modes: map[string]ir.Mode{}, tree: memfs.FS{},
		out: contract.Imported{Comments: map[diag.Pos]string{}, Reference: format.Refs}}
	for _, in := range im.inputs() {
		data, ok := im.out.Read(in.fsys, in.name, in.at, p.Code, &im.diags)
		switch {
		case !ok:
		case path.Ext(in.name) == ".md":
			im.markdown(in, data)
		default:
			im.settings(in, data)
		}
	}
	if im.out.Empty() {
		return contract.Imported{}, im.diags
	}
	im.finish()
	im.diags.Sort()
	return im.out, im.diags
}

// input is a file to read if it is there.
type input struct {
	fsys fs.FS
	name string
	at   string // its name in places
	file string // its name in a project
}

// inputs are the files to read: settings first, and the user's own behind those of the project, which win.
func (im *importer) inputs() (out []input) {
	if im.src.Files != nil {
		return im.named()
	}
	for _, f := range im.by.Files {
		out = append(out, input{im.src.Root, f, f, f})
	}
	for _, dir := range im.by.Dirs {
		for _, f := range below(im.src.Root, dir) {
			if im.by.agentAt(f) != "" {
				out = append(out, input{im.src.Root, f, f, f})
			}
		}
	}
	if im.src.Home == nil {
		return out
	}
	for _, h := range im.by.Home {
		for _, f := range h.Files {
			name := h.Dir + "/" + f
			out = append(out, input{im.src.Home, name, "~/" + name, im.by.File})
		}
	}
	for _, h := range im.by.Home {
		for _, f := range below(im.src.Home, h.Dir) {
			if own := im.by.Dirs[0] + strings.TrimPrefix(f, h.Dir); im.by.agentAt(own) != "" {
				out = append(out, input{im.src.Home, f, "~/" + f, own})
			}
		}
	}
	return out
}

// below returns the agents in a folder.
func below(fsys fs.FS, dir string) (files []string) {
	_ = contract.EachFile(fsys, dir, func(file string) {
		if path.Ext(file) == ".md" {
			files = append(files, file)
		}
	})
	return files
}

// named sorts the files that the caller names. Without a format it takes those that are opencode's by their names.
func (im *importer) named() (out []input) {
	for _, name := range im.src.Files {
		name = path.Clean(name)
		base := path.Base(name)
		settings := im.by.isSettings(base)
		file, agent := name, path.Ext(base) == ".md"
		if agent {
			file = im.by.inProject(name)
		}
		switch {
		case settings && slices.Contains(im.by.Files, name), agent && im.by.agentAt(file) != "":
		case im.src.Format == "" && !settings:
			continue
		case settings:
			file = im.by.File
		case agent:
			file = im.by.Dirs[0] + "/" + format.AgentFolders[0].Name + "/" + base
		case path.Ext(base) == ".json" || path.Ext(base) == ".jsonc":
			file = im.by.File
		default:
			im.diags.Errorf(im.by.Code, diag.Pos{File: name},
				"got a file of no name that %s knows, want %s or an agent (.md)", im.by.Title, im.by.File)
			continue
		}
		out = append(out, input{im.src.Root, name, name, file})
	}
	agents := func(in input) bool { return path.Ext(in.name) == ".md" }
	return append(slices.DeleteFunc(slices.Clone(out), agents),
		slices.DeleteFunc(out, func(in input) bool { return !agents(in) })...)
}

// settings reads a file of settings.
func (im *importer) settings(in input, data []byte) {
	c, found := im.by.Read(in.at, data)
	if c == nil || len(found) > 0 {
		im.out.Refuse(in.at)
		for _, d := range found {
			im.diags.Errorf(im.by.Code, d.Pos, "%s", d.Message)
		}
		return
	}
	root := c.Root
	if !root.Is(located.Object) {
		im.out.Refuse(in.at)
		im.diags.Errorf(im.by.Code, root.Pos, "%s %s this file: want an object", im.by.Title, im.by.Refuses)
		return
	}
	if im.file != "" {
		why := im.by.Title + " reads it beside " + im.file + ": it stays in force"
		if slices.Contains(im.joined, in.file) {
			why += ", and what it permits is in the source, which is written into " + im.file
		}
		im.out.Note(contract.Left, root.Pos, "", in.at, why)
		return
	}
	if im.by.Floor != nil && im.by.Floor(root) && im.beside(in) {
		im.out.Note(contract.Left, root.Pos, "", in.at,
			"it denies everything until "+im.by.Title+" reads the other settings: it stays in force")
		return
	}
	im.file = in.file
	for _, m := range root.Get("mcp").Fields() {
		if root.Get("mcp").Get(m.Key) == m.Value {
			im.server(m)
		}
	}
	left := map[string]bool{}
	for _, slugs := range []bool{true, false} { // whose name is a slug has it, whatever another one is called
		for _, m := range root.Get("agent").Fields() {
			if root.Get("agent").Get(m.Key) == m.Value && (contract.Slug(m.Key) == m.Key) == slugs {
				a := agent{name: m.Key, at: m.Pos, v: m.Value}
				left[m.Key] = !m.Value.Is(located.Object) || !im.agent(a)
			}
		}
	}
	im.role = im.permission(in, root)
	im.others(root)
	permits := !takesBack(root.Get("permission"))
	im.tree[in.file] = data
	if in.at != in.file { // a build writes another file, which has nothing of what stays in this one
		im.tree[in.file] = reduced(root, left, permits)
	}
}

// beside reports whether the project has settings that the program reads beside these.
func (im *importer) beside(in input) bool {
	return im.src.Files == nil && slices.ContainsFunc(im.by.Files, func(f string) bool {
		info, err := fs.Stat(im.src.Root, f)
		return f != in.file && err == nil && info.Mode().IsRegular()
	})
}

// permission makes the role of the settings, nil where they permit nothing.
func (im *importer) permission(in input, root *located.Value) *ir.Role {
	if v := root.Get("permission"); takesBack(v) {
		im.out.Note(contract.Left, v.Pos, "", "permission",
			"a null in it takes back what another file says: it stays as it is, and in force")
		return nil
	}
	rules := im.among(in, root, format.WithTools(root.Get("tools"), im.permissionOf(root)))
	if len(rules) == 0 {
		return nil
	}
	at := root.Pos
	r := &ir.Role{Name: im.by.Name, Pos: at}
	own := map[string]any{}
	r.Native = im.rules(rules, "role "+r.Name, "permission", own)
	r.Targets = im.out.Keep(im.by.Name, contract.DeniesAny(r.Native), at, "role "+r.Name)
	if len(own) > 0 {
		r.Extra = map[string]ir.Extra{im.by.Name: {Fields: own, Pos: at}}
	}
	if c := root.Get("permission"); c != nil && c.Comment != "" {
		im.out.Comments[at] = c.Comment
	}
	return r
}

// among returns the rules of settings together with those of all that the program reads beside them, in the order in
// which it does. What several say of one key, one list says.
func (im *importer) among(in input, root *located.Value, rules []format.Rule) []format.Rule {
	if im.src.Files != nil || in.at != in.file {
		return rules
	}
	at := root.Pos
	if len(rules) > 0 {
		at = rules[0].At
	}
	var all *format.Config
	for _, file := range im.by.Order {
		if file == in.file {
			all = format.Merged(all, &format.Config{Permission: rules})
			continue
		}
		data, err := contract.ReadImport(im.src.Root, file)
		if err != nil {
			continue
		}
		other, found := im.by.Read(file, data)
		if other == nil || len(found) > 0 || takesBack(other.Root.Get("permission")) ||
			im.by.Floor != nil && im.by.Floor(other.Root) {
			continue
		}
		all = format.Merged(all, &format.Config{Permission: other.Permission})
		if im.tree[file] = data; slices.Contains(im.by.Files, file) && len(other.Permission) > 0 {
			im.joined = append(im.joined, file)
		}
	}
	rules = slices.Clone(all.Permission)
	for i := range rules {
		if r := &rules[i]; r.At.File != in.at { // a build writes it here
			r.At, r.Place = at, diag.Pos{}
		}
	}
	return rules
}

// stays are the settings of which no role has a word, and why each stays where it is.
var stays = map[string]string{
	"instructions":  "instructions for every session, which no mode owns; no permissions",
	"command":       "prompts, no permissions",
	"default_agent": "the agent with which a session begins: it stays where it is",
	"experimental":  "no permission of a role",
	"mode":          "an older name for agent: its agents stay in force; name it agent to import them",
	"formatter":     "programs that run after an edit: they stay in force",
	"lsp":           "programs that read the files of the project: they stay in force",
}

// others notes what else is in the settings.
func (im *importer) others(root *located.Value) {
	for _, m := range root.Fields() {
		switch m.Key {
		case "mcp", "$schema", "permission", "tools", "agent":
			continue
		}
		why := stays[m.Key]
		if m.Key == "plugin" {
			why = im.by.plugins()
		}
		if why == "" {
			why = "no permission of a role"
		}
		im.out.Note(contract.Left, m.Pos, "", m.Key, why)
	}
}

// reduced returns settings without the agents that stay where they are.
func reduced(root *located.Value, left map[string]bool, permits bool) []byte {
	o := contract.Object{}
	for _, key := range []string{"tools", "permission"} {
		if v := root.Get(key); v != nil && permits {
			o = append(o, key, plain(v))
		}
	}
	agents := contract.Object{}
	for _, m := range root.Get("agent").Fields() {
		if !left[m.Key] && !has(agents, m.Key) {
			agents = append(agents, m.Key, plain(root.Get("agent").Get(m.Key)))
		}
	}
	return contract.JSON(append(o, "agent", agents))
}

func has(o contract.Object, key string) bool {
	for i := 0; i < len(o); i += 2 {
		if o[i] == key {
			return true
		}
	}
	return false
}

// plain returns a value with its members in their order.
func plain(v *located.Value) any {
	if !v.Is(located.Object) {
		return v.Any()
	}
	o, seen := contract.Object{}, map[string]bool{}
	for _, m := range v.Fields() {
		if !seen[m.Key] { // the first one has the place, and the last one the value
			o = append(o, m.Key, plain(v.Get(m.Key)))
		}
		seen[m.Key] = true
	}
	return o
}

// finish makes a project of what was collected.
func (im *importer) finish() {
	p := contract.ProjectOf(im.servers, im.modes)
	options := map[string]any{}
	im.out.Options = map[string]any{}
	if im.file != "" && im.file != im.by.File {
		im.out.Options["file"], options["file"] = im.file, im.file
	}
	if im.role != nil {
		p.Roles = append(p.Roles, *im.role)
		role := im.role.Name
		im.out.Baseline = role
		im.out.Options["subject"], options["subject"] = "role:"+role, role
		im.out.Originals = append(im.out.Originals, contract.Original{File: im.role.Pos.File, Files: im.tree,
			Subjects: []ir.SubjectRef{{Role: role}}, Options: options})
	}
	im.out.Project = p
	for _, m := range p.Modes {
		im.out.Originals = append(im.out.Originals, contract.Original{File: m.Pos.File, Files: im.tree,
			Subjects: []ir.SubjectRef{{Mode: m.Slug}}, Options: options})
	}
}
