// Package importer reads the roles of Thurbox as roles of a source.
//
// [Import] reads calls of set_roles, answers of list_roles, and databases. A role becomes
// the flags that Thurbox builds of it, and these become a role of the source as any command
// line of Claude Code does.
package importer

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	claude "modec.dev/modec/targets/claude/importer"
	"modec.dev/modec/targets/thurbox/format"
)

const codeImport diag.Code = "thurbox-import"

// importer collects the roles of files and databases.
type importer struct {
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	roles   map[string]ir.Role
	servers map[string]ir.Server
	read    map[string][]format.Role // by file, as Thurbox has them
	beside  memfs.FS                 // the project's settings and servers, which hold in its sessions
}

// importedRole is a role as Thurbox keeps it.
type importedRole struct {
	format.Role
	at diag.Pos
}

// Import reads set_roles and list_roles as JSON, and databases up to schema v22.
func Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := &importer{
		src: src, roles: map[string]ir.Role{}, servers: map[string]ir.Server{}, read: map[string][]format.Role{},
		beside: memfs.FS{}, out: contract.Imported{Comments: map[diag.Pos]string{}},
	}
	if src.Files != nil {
		im.named()
	} else {
		im.known()
	}
	if len(im.out.Files) == 0 {
		return contract.Imported{}, im.diags
	}
	im.finish()
	im.diags.Sort()
	return im.out, im.diags
}

// named reads the files that were asked for.
func (im *importer) named() {
	for _, name := range im.src.Files {
		name = path.Clean(name)
		switch base := path.Base(name); {
		case strings.HasSuffix(base, ".db"):
			im.database(im.src.Root, name, name)
		case im.src.Format != "" || base == path.Base(format.RolesPath) || base == "list_roles.json":
			im.file(name)
		}
	}
}

// known reads the files of the project and of the user.
func (im *importer) known() {
	im.file(format.RolesPath)
	if im.src.Home == nil {
		return
	}
	for _, dir := range []string{"thurbox", "thurbox-dev"} {
		name := ".local/share/" + dir + "/thurbox.db"
		im.database(im.src.Home, name, "~/"+name)
	}
}

func (im *importer) errorf(at diag.Pos, text string, args ...any) {
	im.diags.Errorf(codeImport, at, text, args...)
}

// file reads the arguments of set_roles or the answer of list_roles.
func (im *importer) file(name string) {
	data, ok := im.out.Read(im.src.Root, name, name, codeImport, &im.diags)
	if !ok {
		return
	}
	v, err := located.JSON(name, data)
	if err != nil {
		im.out.Refuse(name)
		im.errorf(diag.Pos{File: name}, "the file is not JSON: %s", strings.TrimPrefix(err.Error(), name+": "))
		return
	}
	list := v
	if v.Is(located.Object) {
		list = v.Get("roles")
		for _, m := range v.Members {
			if m.Key != "roles" && m.Key != "project" {
				im.out.Note(contract.Left, m.Pos, "", m.Key, "Thurbox ignores this key")
			}
		}
	}
	if !list.Is(located.List) {
		im.out.Refuse(name)
		im.errorf(v.Pos, "got no list of roles, want the arguments of set_roles or the answer of list_roles")
		return
	}
	for _, item := range list.Items {
		im.item(name, item)
	}
}

// item reads a role of JSON.
func (im *importer) item(file string, v *located.Value) {
	r, ok := format.ReadRole(v)
	if !ok {
		im.errorf(v.Line(), "set_roles refuses a role without a name")
		return
	}
	for _, m := range v.Fields() {
		if !slices.Contains(format.RoleKeys, m.Key) {
			im.out.Note(contract.Left, m.Pos, "role "+r.Name, m.Key, "Thurbox ignores this key")
		}
	}
	im.role(file, importedRole{r, v.Pos})
}

// role turns a role into the flags that Thurbox builds of it, and these into a role of the
// source.
func (im *importer) role(file string, r importedRole) {
	subject := "role " + r.Name
	name := strings.TrimSpace(r.Name)
	switch {
	case name == "" || len([]rune(name)) > 64:
		im.out.NoteRule(contract.Refused, r.at, subject, r.Name, "a role's name has 1 to 64 characters")
		return
	case im.has(name):
		im.out.NoteRule(contract.Refused, r.at, subject, r.Name, "a role of this name is imported already")
		return
	}
	for _, rules := range [][]string{r.AllowedTools, r.DisallowedTools} {
		if !slices.Equal(format.Stored(rules), trimmed(rules)) {
			im.out.Note(contract.Repaired, r.at, subject, strings.Join(rules, " "),
				"Thurbox tears a rule at every comma: what it passes on is imported")
		}
	}
	got, diags := claude.Args(im.src, name, r.Args(), r.at)
	for i := range diags {
		diags[i].Code = codeImport
	}
	im.diags = append(im.diags, diags...)
	im.notes(r, subject, got.Notes)
	for _, o := range got.Originals {
		if tree, ok := o.Files.(memfs.FS); ok {
			maps.Copy(im.beside, tree)
		}
	}
	if got.Project == nil || len(got.Project.Roles) == 0 {
		return
	}
	out := got.Project.Roles[0]
	out.Description, out.AppendSystemPrompt, out.Env, out.Pos = r.Description, r.AppendSystemPrompt, r.Env, r.at
	im.roles[name] = out
	for _, s := range got.Project.Servers {
		im.server(s)
	}
	im.read[file] = append(im.read[file], r.Role)
}

// notes keeps the notes on a role's own flags. Of the project's settings one note a file is
// enough: they are told rule by rule where the file is imported by itself.
func (im *importer) notes(r importedRole, subject string, notes []contract.Note) {
	joined := map[string]bool{}
	for _, n := range notes {
		switch {
		case n.Pos.File == r.at.File:
			im.out.Notes = append(im.out.Notes, n)
		case !joined[n.Pos.File] && n.Rule:
			joined[n.Pos.File] = true
			im.out.Note(contract.Understood, r.at, subject, n.Pos.File,
				"its rules hold in every session of the project: they are part of the role")
		}
	}
}

// has reports whether a role of a name is imported already.
func (im *importer) has(name string) bool {
	for n := range im.roles {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

func trimmed(list []string) []string {
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// server keeps a server, with the tools that any role names.
func (im *importer) server(s ir.Server) {
	old, ok := im.servers[s.Name]
	if !ok {
		im.servers[s.Name] = s
		return
	}
	if old.Type == ir.External && s.Type != ir.External {
		old, s = s, old
	}
	for _, t := range s.Tools {
		old.AddTool(t)
	}
	im.servers[s.Name] = old
}

// finish makes the project and the originals, which contain the roles as set_roles takes
// them.
func (im *importer) finish() {
	p := &ir.Project{Version: ir.Version}
	for _, name := range slices.Sorted(maps.Keys(im.roles)) {
		p.Roles = append(p.Roles, im.roles[name])
	}
	for _, name := range slices.Sorted(maps.Keys(im.servers)) {
		p.Servers = append(p.Servers, im.servers[name])
	}
	im.out.Project = p
	for _, file := range im.out.Files {
		var refs []ir.SubjectRef
		roles := im.read[file]
		for i := range roles {
			roles[i].Name = strings.TrimSpace(roles[i].Name)
			refs = append(refs, ir.SubjectRef{Role: roles[i].Name})
		}
		if len(refs) == 0 {
			continue
		}
		data, err := json.Marshal(map[string]any{"roles": roles})
		if err != nil {
			continue
		}
		tree := maps.Clone(im.beside)
		tree[format.RolesPath] = data
		im.out.Originals = append(im.out.Originals,
			contract.Original{File: file, Files: tree, Subjects: refs, Surface: "set_roles"})
	}
}
