package thurbox

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets/claude"
)

// Formats is the one that Thurbox has.
func (thurbox) Formats() []string { return []string{"thurbox"} }

// importer collects the roles of calls of set_roles, of answers of list_roles, and
// of databases.
type importer struct {
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	roles   map[string]ir.Role
	servers map[string]ir.Server
	read    map[string][]importedRole // by file, as Thurbox has them
	beside  memfs.FS                  // the project's settings and servers, which hold in its sessions
}

// importedRole is a role as Thurbox keeps it.
type importedRole struct {
	roleInput
	at diag.Pos
}

// Import reads set_roles and list_roles as JSON, and databases up to schema v22.
func (thurbox) Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := &importer{src: src, roles: map[string]ir.Role{}, servers: map[string]ir.Server{}, read: map[string][]importedRole{}, beside: memfs.FS{}, out: contract.Imported{Comments: map[diag.Pos]string{}}}
	switch {
	case src.Files != nil:
		for _, name := range src.Files {
			name = path.Clean(name)
			switch base := path.Base(name); {
			case strings.HasSuffix(base, ".db"):
				im.database(src.Root, name, name)
			case src.Format != "" || base == path.Base(rolesPath) || base == "list_roles.json":
				im.file(src.Root, name, name)
			}
		}
	default:
		im.file(src.Root, rolesPath, rolesPath)
		if src.Home != nil {
			for _, dir := range []string{"thurbox", "thurbox-dev"} {
				name := ".local/share/" + dir + "/thurbox.db"
				im.database(src.Home, name, "~/"+name)
			}
		}
	}
	if len(im.out.Files) == 0 {
		return contract.Imported{}, im.diags
	}
	im.finish()
	im.diags.Sort()
	return im.out, im.diags
}

// file reads the arguments of set_roles or the answer of list_roles.
func (im *importer) file(fsys fs.FS, name, at string) {
	data, ok := im.out.Read(fsys, name, at, codeImport, &im.diags)
	if !ok {
		return
	}
	v, err := located.JSON(at, data)
	if err != nil {
		im.diags.Errorf(codeImport, diag.Pos{File: at}, "got no JSON: %s", strings.TrimPrefix(err.Error(), at+": "))
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
		im.diags.Errorf(codeImport, v.Pos, "got no list of roles, want the arguments of set_roles or the answer of list_roles")
		return
	}
	for _, item := range list.Items {
		im.item(at, item)
	}
}

// item reads a role of JSON. Names and descriptions are required by set_roles.
func (im *importer) item(file string, v *located.Value) {
	r := importedRole{at: v.Pos}
	var ok bool
	if r.Name, ok = v.Get("name").Str(); !ok {
		im.diags.Errorf(codeImport, v.Line(), "got a role without a name, which set_roles refuses")
		return
	}
	subject := "role " + r.Name
	for _, m := range v.Fields() {
		text, isText := m.Value.Str()
		switch m.Key {
		case "name":
		case "description":
			r.Description = text
		case "permission_mode":
			r.PermissionMode = text
		case "allowed_tools":
			r.AllowedTools = m.Value.Strings()
		case "disallowed_tools":
			r.DisallowedTools = m.Value.Strings()
		case "tools":
			if isText {
				r.Tools = &text
			}
		case "append_system_prompt":
			r.AppendSystemPrompt = text
		case "env":
			for _, e := range m.Value.Fields() {
				if s, ok := e.Value.Str(); ok {
					if r.Env == nil {
						r.Env = map[string]string{}
					}
					r.Env[e.Key] = s
				}
			}
		default:
			im.out.Note(contract.Left, m.Pos, subject, m.Key, "Thurbox ignores this key")
		}
	}
	im.role(file, r)
}

// role turns a role into the flags that Thurbox builds of it, and these into a role
// of the source.
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
	mode := cmp.Or(r.PermissionMode, "default")
	args := []string{"--permission-mode", mode}
	for _, l := range []struct {
		flag  string
		rules *[]string
	}{{"--allowed-tools", &r.AllowedTools}, {"--disallowed-tools", &r.DisallowedTools}} {
		torn := stored(*l.rules)
		if !slices.Equal(torn, trimmedAll(*l.rules)) {
			im.out.Note(contract.Repaired, r.at, subject, strings.Join(*l.rules, " "), "Thurbox tears a rule at every comma: what it passes on is imported")
		}
		if len(torn) > 0 {
			args = append(args, l.flag, strings.Join(torn, " "))
		}
	}
	if r.Tools != nil {
		args = append(args, "--tools", *r.Tools)
	}
	got, diags := claude.ImportArgs(im.src, name, args, r.at)
	for i := range diags {
		diags[i].Code = codeImport
	}
	im.diags = append(im.diags, diags...)
	joined := map[string]bool{}
	for _, n := range got.Notes {
		switch {
		case n.Pos.File == r.at.File:
			im.out.Notes = append(im.out.Notes, n)
		case !joined[n.Pos.File] && n.Rule: // told rule by rule where the file is imported by itself
			joined[n.Pos.File] = true
			im.out.Note(contract.Understood, r.at, subject, n.Pos.File, "its rules hold in every session of the project: they are part of the role")
		}
	}
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
	im.read[file] = append(im.read[file], r)
}

func (im *importer) has(name string) bool {
	for n := range im.roles {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

func trimmedAll(list []string) []string {
	var out []string
	for _, s := range list {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// server keeps a server with all tools that somebody names.
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
		inputs := []roleInput{}
		for _, r := range im.read[file] {
			name := strings.TrimSpace(r.Name)
			r.Name = name
			inputs = append(inputs, r.roleInput)
			refs = append(refs, ir.SubjectRef{Role: name})
		}
		if len(refs) == 0 {
			continue
		}
		data, err := json.Marshal(map[string]any{"roles": inputs})
		if err != nil {
			continue
		}
		tree := maps.Clone(im.beside)
		tree[rolesPath] = data
		im.out.Originals = append(im.out.Originals, contract.Original{File: file, Files: tree, Subjects: refs, Surface: "set_roles"})
	}
}
