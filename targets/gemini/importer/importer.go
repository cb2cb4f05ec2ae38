// Package importer turns Gemini CLI's files into a source: the settings of a project, and its agents.
//
// [Import] reads .gemini/settings.json and .gemini/agents/*.md, below the root and, where it is given, the home folder,
// and the policies of the latter or that somebody names.
// The settings become one role, the agents a mode each. What the lists of the settings decide stays as it is written
// there, for Gemini CLI alone ([format.Setting]): they mean prefixes of lines, and names of tools, that no other agent
// has. A mode leaves to Gemini CLI what its list of tools has, and denies the rest. Of policies, prefixes of commands,
// servers and whole tools become what the source says; any other expression that allows is left out, and one that holds
// back decides about its whole tool.
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
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/gemini/format"
)

const codeImport diag.Code = "gemini-import"

// Codes documents the codes that Import reports.
func Codes() []diag.Doc {
	return []diag.Doc{{Code: codeImport, Text: "Gemini CLI itself does not take a file to import: it does not start " +
		"with such settings, and goes on without such an agent or policy. Mend the file first."}}
}

// role is what the settings of a project become.
const role = "gemini"

const subject = "role " + role

// importer collects what Gemini CLI's files say.
type importer struct {
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	servers map[string]*ir.Server
	role    *ir.Role
	modes   map[string]ir.Mode
	rules   []format.Rule // of policies
	noted   map[diag.Pos]bool
	tree    memfs.FS // what the model reads
	read    []string // the agents' files, as places name them
}

// Import reads settings and agents.
func Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := &importer{src: src, servers: map[string]*ir.Server{}, modes: map[string]ir.Mode{}, tree: memfs.FS{},
		noted: map[diag.Pos]bool{},
		out:   contract.Imported{Comments: map[diag.Pos]string{}}}
	for _, in := range im.inputs() {
		data, ok := im.out.Read(in.fsys, in.name, in.at, codeImport, &im.diags)
		switch {
		case !ok:
		case path.Base(in.name) == path.Base(format.SettingsFile):
			im.settings(in, data)
		case isPolicy(in.name):
			im.policyFile(in, data)
		default:
			im.agent(in, data)
		}
	}
	if im.out.Empty() {
		return contract.Imported{}, im.diags
	}
	im.finish()
	im.diags.Sort()
	return im.out, im.diags
}

// policiesDir is where Gemini CLI keeps the policies of a user.
const policiesDir = format.Dir + "/policies"

// input is a file to read if it is there.
type input struct {
	fsys fs.FS
	name string
	at   string // its name in places
}

// inputs are the files to read: settings first, and the user's own behind those of the project, which win.
func (im *importer) inputs() (out []input) {
	if im.src.Files != nil {
		return im.named()
	}
	add := func(fsys fs.FS, prefix string) {
		out = append(out, input{fsys, format.SettingsFile, prefix + format.SettingsFile})
		files, _ := fs.Glob(fsys, format.AgentsDir+"/*.md")
		for _, f := range files {
			if !strings.HasPrefix(path.Base(f), "_") {
				out = append(out, input{fsys, f, prefix + f})
			}
		}
	}
	add(im.src.Root, "")
	if im.src.Home != nil {
		add(im.src.Home, "~/")
		files, _ := fs.Glob(im.src.Home, policiesDir+"/*.toml")
		for _, f := range files {
			out = append(out, input{im.src.Home, f, "~/" + f})
		}
	}
	return out
}

// named sorts the files that the caller names. Without a format it takes those that are Gemini CLI's by their folder.
func (im *importer) named() (out []input) {
	for _, name := range im.src.Files {
		name = path.Clean(name)
		base, dir := path.Base(name), path.Base(path.Dir(name))
		known := base == path.Base(format.SettingsFile) && dir == format.Dir ||
			path.Ext(base) == ".md" && strings.HasSuffix("/"+path.Dir(name), "/"+format.AgentsDir) ||
			isPolicy(base) && strings.HasSuffix("/"+path.Dir(name), "/"+policiesDir)
		fits := base == path.Base(format.SettingsFile) || path.Ext(base) == ".md" || isPolicy(base)
		switch {
		case known, im.src.Format != "" && fits:
			out = append(out, input{im.src.Root, name, name})
		case im.src.Format != "":
			im.diags.Errorf(codeImport, diag.Pos{File: name}, "got a file of no name that Gemini CLI knows, "+
				"want settings.json, an agent (.md) or a policy (.toml)")
		}
	}
	slices.SortStableFunc(out, func(a, b input) int { return strings.Compare(path.Ext(a.name), path.Ext(b.name)) })
	return out
}

// settings reads a file of settings.
func (im *importer) settings(in input, data []byte) {
	root, err := located.JSONC(in.at, data)
	if err == nil && !root.Is(located.Object) {
		err = errors.New("want an object")
	}
	if err != nil {
		im.out.Refuse(in.at)
		im.diags.Errorf(codeImport, located.PlaceOf(in.at, err), "Gemini CLI does not start with this file: %s",
			strings.TrimPrefix(located.Reason(err), in.at+": "))
		return
	}
	if im.tree[format.SettingsFile] != nil {
		im.out.Note(contract.Left, root.Pos, "", in.at,
			"the settings of the project stand beside these and mostly before them: import these by themselves")
		return
	}
	im.tree[format.SettingsFile] = data
	for _, m := range root.Get("mcpServers").Fields() {
		if root.Get("mcpServers").Get(m.Key) == m.Value {
			im.server(m)
		}
	}
	im.lists(root)
	im.others(root)
}

// lists keeps what the lists of tools and servers decide.
func (im *importer) lists(root *located.Value) {
	for _, s := range format.ReadSettings(root) {
		im.owner(root)
		im.role.Native = append(im.role.Native,
			ir.NativeRule{Target: "gemini", Decision: s.Decision, Text: s.Text, Pos: s.At, Own: true})
		what := s.Decision.String() + " " + s.Text
		why := cmp.Or(format.LimitMeaning(s.Text, s.Decision),
			"no other agent has its prefixes of lines and its names of tools")
		im.out.NoteRule(contract.Kept, s.At, subject, what, "it stays as it is written, for Gemini CLI alone: "+why)
	}
	for _, l := range format.SettingLists {
		list := format.ListOf(root, l.Name)
		for _, item := range list.List() {
			if item.Comment != "" {
				im.out.Comments[item.Pos] = item.Comment
			}
			switch text, ok := item.Str(); {
			case !ok:
				im.out.NoteRule(contract.Left, item.Pos, subject, l.Name, "Gemini CLI takes texts only")
			case text == "":
				im.out.NoteRule(contract.Left, item.Pos, subject, l.Name+` ""`, "Gemini CLI matches nothing by it")
			}
		}
		if list != nil && !list.Is(located.List) {
			im.out.NoteRule(contract.Left, list.Pos, subject, l.Name, "Gemini CLI takes a list only")
		}
	}
}

// owner begins the role of the settings.
func (im *importer) owner(root *located.Value) {
	if im.role == nil {
		im.role = &ir.Role{Name: role, Pos: root.Pos}
	}
}

// stays are the settings of which no role has a word, and why each stays where it is.
var stays = map[string]string{
	"adminPolicyPaths": "policies that hold in every session of the project: they stay in force",
	"policyPaths":      "policies that hold in every session of the project: they stay in force",
	"hooks":            "programs decide, which the source cannot say: they stay in force",
	"hooksConfig":      "it says which hooks run: it stays in force",
	"admin":            "it limits every session: it stays in force",
	"security":         "it limits every session: it stays in force",
	"general":          "no permission of a role; defaultApprovalMode approves edits in every session",
	"experimental":     "no permission of a role",
	"context":          "instructions for every session; includeDirectories opens folders beside the project",
}

// others notes what else is in the settings.
func (im *importer) others(root *located.Value) {
	for _, m := range root.Fields() {
		switch m.Key {
		case "mcpServers", "$schema":
			continue
		case "tools", "mcp":
			for _, f := range m.Value.Fields() {
				if !slices.ContainsFunc(format.SettingLists, func(l struct {
					Name     string
					Decision ir.Decision
				}) bool {
					return l.Name == m.Key+"."+f.Key
				}) {
					im.out.Note(contract.Left, f.Pos, "", m.Key+"."+f.Key,
						"no permission of a role: it stays where it is")
				}
			}
			continue
		case "adminPolicyPaths":
			own := func(v *located.Value) bool {
				s, ok := v.Str()
				return ok && path.Dir(path.Clean(s)) == format.PoliciesDir
			}
			if !slices.ContainsFunc(m.Value.List(), func(v *located.Value) bool { return !own(v) }) {
				continue // a build wrote them
			}
		}
		why := stays[m.Key]
		if why == "" {
			why = "no permission of a role"
		}
		im.out.Note(contract.Left, m.Pos, "", m.Key, why)
	}
}

// finish makes a project of what was collected.
func (im *importer) finish() {
	im.policies()
	p := contract.ProjectOf(im.servers, im.modes)
	var refs []ir.SubjectRef
	if im.role != nil {
		im.role.Targets = im.out.Keep("gemini", contract.DeniesAny(im.role.Native), im.role.Pos, subject)
		p.Roles = append(p.Roles, *im.role)
		im.out.Baseline = role
		im.out.Options = map[string]any{"subject": "role:" + role}
		refs = append(refs, ir.SubjectRef{Role: role})
	}
	im.out.Project = p
	options := map[string]any{"subject": role}
	if len(refs) > 0 {
		im.out.Originals = append(im.out.Originals, contract.Original{File: im.role.Pos.File, Files: im.tree,
			Subjects: refs, Options: options})
	}
	for _, m := range p.Modes {
		ref := ir.SubjectRef{Mode: m.Slug}
		im.out.Originals = append(im.out.Originals, contract.Original{File: m.Pos.File, Files: im.tree,
			Subjects: []ir.SubjectRef{ref}, Options: options})
	}
}
