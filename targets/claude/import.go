package claude

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
	"modec.dev/modec/compiler/policy"
)

// Formats: claude-args is a command line.
func (claude) Formats() []string { return []string{"claude", "claude-args"} }

// importedRole is the role that the settings of a project become: the session
// that names no other.
const importedRole = "claude"

// sharedRules is the policy that the subagents share: what the project's settings
// say holds for them too.
const sharedRules = "policy claude_settings"

// importer collects what Claude Code's files say.
type importer struct {
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	servers map[string]*ir.Server
	modes   map[string]ir.Mode
	roles   map[string]ir.Role
	agents  []agentFile
	tree    memfs.FS // the files as Open finds them
	shared  importedRules
	layers  []layer         // of the session that names no role
	noted   map[string]bool // the settings files whose rules are in the notes
	folder  string          // that a path with a leading slash starts from: "" the project's, ~/.claude
}

// newLayer is a settings file of the project, or of the user by its name in places.
func newLayer(at string, data []byte) layer {
	if strings.HasPrefix(at, "~/") {
		return layer{at, data, false, path.Dir(at)}
	}
	return layer{at, data, true, ""}
}

// userSettings are the user's own, below the home folder.
const userSettings = ".claude/settings.json"

type agentFile struct {
	name string // as places name it
	data []byte
	fsys fs.FS
}

func newImporter(src contract.Source) *importer {
	return &importer{src: src, servers: map[string]*ir.Server{}, modes: map[string]ir.Mode{}, roles: map[string]ir.Role{}, tree: memfs.FS{}, noted: map[string]bool{},
		out: contract.Imported{Comments: map[diag.Pos]string{}}}
}

// Import reads settings, subagents and servers, or a command line.
func (claude) Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		if src.Format != "claude-args" {
			return contract.Imported{}, nil
		}
		return ImportArgs(src, "claude-args", src.Args, diag.Pos{File: "command line"})
	}
	if src.Format == "claude-args" {
		return contract.Imported{}, nil
	}
	im := newImporter(src)
	im.read()
	if len(im.out.Files) == 0 && len(im.out.Notes) == 0 {
		return contract.Imported{}, im.diags
	}
	im.finish()
	im.diags.Sort()
	return im.out, im.diags
}

// file reads a file if it is there. at is its name in places.
func (im *importer) file(fsys fs.FS, name, at string) ([]byte, bool) {
	return im.out.Read(fsys, name, at, codeImport, &im.diags)
}

// layer is a settings file in the order in which Claude Code lays them over each
// other.
type layer struct {
	at      string
	data    []byte
	project bool   // of the project: auto does not count
	folder  string // that a path with a leading slash starts from: "" the project's
}

func (im *importer) read() {
	var layers []layer
	type source struct {
		fsys fs.FS
		name string
		at   string
	}
	var settings, agents, servers []source
	root := func(name string) source { return source{im.src.Root, name, name} }
	switch {
	case im.src.Files != nil:
		for _, name := range im.src.Files {
			name = path.Clean(name)
			base, dir := path.Base(name), path.Base(path.Dir(name))
			switch {
			case base == ".mcp.json", strings.HasSuffix(base, ".mcp.json"), base == ".claude.json":
				servers = append(servers, root(name))
			case strings.HasSuffix(base, ".md") && (dir == "agents" || im.src.Format != ""):
				agents = append(agents, root(name))
			case strings.HasSuffix(base, ".json") && (dir == ".claude" || im.src.Format != ""):
				settings = append(settings, root(name))
			}
		}
	default:
		if im.src.Home != nil {
			settings = append(settings, source{im.src.Home, userSettings, "~/" + userSettings})
			servers = append(servers, source{im.src.Home, ".claude.json", "~/.claude.json"})
		}
		settings = append(settings, root(".claude/settings.json"), root(".claude/settings.local.json"))
		servers = append([]source{root(".mcp.json")}, servers...)
		for _, name := range im.glob(im.src.Root, ".claude/agents") {
			agents = append(agents, root(name))
		}
		if im.src.Home != nil { // of two with a name the project's holds; observed on 2.1.329
			for _, name := range im.glob(im.src.Home, ".claude/agents") {
				agents = append(agents, source{im.src.Home, name, "~/" + name})
			}
		}
	}
	for _, s := range servers {
		if data, ok := im.file(s.fsys, s.name, s.at); ok {
			im.serversFile(s.at, data)
		}
	}
	for _, s := range settings {
		if data, ok := im.file(s.fsys, s.name, s.at); ok && !im.written(s.at, data) {
			layers = append(layers, newLayer(s.at, data))
		}
	}
	im.settings(layers)
	for _, s := range agents {
		if data, ok := im.file(s.fsys, s.name, s.at); ok && !im.written(s.at, data) {
			im.agents = append(im.agents, agentFile{s.at, data, s.fsys})
		}
	}
	im.subagents()
	if im.src.Files == nil {
		im.profiles()
	}
}

// written reports, with a note, a file that modec wrote and whose hook holds more
// than its rules: what its source says is in the source.
func (im *importer) written(at string, data []byte) bool {
	if !strings.Contains(string(data), "modec hook claude --model") {
		return false
	}
	im.out.Note(contract.Left, diag.Pos{File: at}, "", path.Base(at), "modec wrote it: its hook decides by a source that is there already")
	return true
}

// glob lists the Markdown files below a folder, sorted.
func (im *importer) glob(fsys fs.FS, dir string) []string {
	var names []string
	err := fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(name, ".md") {
			names = append(names, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		im.diags.Errorf(codeImport, diag.Pos{File: dir}, "got a folder that cannot be read: %v", err)
	}
	return names
}

// profiles reads the settings that modec wrote for roles.
func (im *importer) profiles() {
	files, _ := fs.Glob(im.src.Root, ".claude/modec/*.settings.json")
	for _, name := range files {
		role, ok := subjectName(strings.TrimSuffix(path.Base(name), ".settings.json"))
		if data, there := im.file(im.src.Root, name, name); ok && there && !im.written(name, data) {
			var own []string
			servers := strings.TrimSuffix(name, ".settings.json") + ".mcp.json"
			if list, ok := im.projectFile(servers); ok {
				own = append([]string{}, im.serversFile(servers, list)...)
			}
			r, rules := im.role(role, diag.Pos{File: name, Line: 1, Col: 1}, append(slices.Clip(im.layers), layer{name, data, false, path.Dir(name)}), nil, own)
			if rules != nil {
				im.roles[role] = r
				im.tree[".claude/modec/"+contract.PathName(role)+".settings.json"] = data
			}
		}
	}
}

// settings joins the layers into one role, as Claude Code does.
func (im *importer) settings(layers []layer) {
	if len(layers) == 0 {
		return
	}
	r, rules := im.role(importedRole, diag.Pos{File: layers[len(layers)-1].at, Line: 1, Col: 1}, layers, nil, nil)
	if rules == nil {
		return
	}
	im.roles[importedRole] = r
	im.out.Baseline = importedRole
	im.shared, im.layers = *rules, layers
	im.tree[".claude/modec/"+importedRole+".settings.json"] = []byte("{}")
}

// finish makes the project, and the originals of it that files are.
func (im *importer) finish() {
	p := im.joined()
	refs := map[string][]ir.SubjectRef{}
	for i := range p.Roles {
		refs[p.Roles[i].Pos.File] = append(refs[p.Roles[i].Pos.File], ir.SubjectRef{Role: p.Roles[i].Name})
	}
	for i := range p.Modes {
		refs[p.Modes[i].Pos.File] = append(refs[p.Modes[i].Pos.File], ir.SubjectRef{Mode: p.Modes[i].Slug})
	}
	var opened []contract.Decider
	for _, f := range im.out.Files {
		if len(refs[f]) > 0 {
			if opened == nil {
				opened = []contract.Decider{im.opener(im.layers).decider()}
			}
			im.out.Originals = append(im.out.Originals, contract.Original{File: f, Files: im.tree, Subjects: refs[f], Opened: opened})
		}
	}
}

// joined makes the project of what was read.
func (im *importer) joined() *ir.Project {
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
	return p
}

// opener opens what was read, with settings files under those of each role.
func (im *importer) opener(layers []layer) *opener {
	o := newOpener(im.tree)
	for _, l := range layers {
		base := root
		if !l.project {
			base = path.Join(home, ".claude")
		}
		if s := o.settings(l.at, l.data, base, l.project); s != nil {
			s.hooks = nil // somebody else's hooks hold nothing for sure
			o.shared = append(o.shared, s)
		}
	}
	return o
}

// role reads settings files in the order in which they are laid over each other,
// and the flags that hold over them, if any. own are the servers of a session that
// has no others, nil for one that has those of the project. The rules are nil where a
// file does not load.
func (im *importer) role(name string, at diag.Pos, layers []layer, flags *commandLine, own []string) (ir.Role, *importedRules) {
	subject := "role " + name
	role := ir.Role{Name: name, Pos: at}
	s := &session{mode: "default", skills: map[string]bool{}, approval: contract.Both}
	rules := &importedRules{session: s}
	o := newOpener(memfs.FS{})
	defer func() { im.folder = "" }()
	agent, agentPos := "", diag.Pos{}
	for _, l := range layers {
		im.folder = l.folder
		before := len(im.out.Notes)
		v, err := located.JSON(l.at, l.data)
		if err == nil && !v.Is(located.Object) {
			err = errors.New("want an object")
		}
		if err != nil {
			im.diags.Errorf(codeImport, located.PlaceOf(l.at, err), "got settings that Claude Code does not load: %s", strings.TrimPrefix(err.Error(), l.at+": "))
			return role, nil
		}
		p := v.Get("permissions")
		if mode := p.Get("defaultMode"); mode != nil {
			text, ok := mode.Str()
			switch {
			case !ok || !permissionModes[text]:
				im.diags.Errorf(codeImport, mode.Line(), "got the mode %q, for which Claude Code does not load the whole file, want one of default, plan, acceptEdits, dontAsk, auto, bypassPermissions", text).
					Path("permissions.defaultMode")
				return role, nil
			case l.project && text == "auto":
				im.out.NoteRule(contract.Refused, mode.Pos, subject, "defaultMode auto", "Claude Code does not take it from a file of the project")
			default:
				im.out.NoteRule(contract.Understood, mode.Pos, subject, "defaultMode "+text, "")
				rules.mode, rules.modePos = text, mode.Pos
			}
		}
		for _, list := range []struct {
			key string
			d   ir.Decision
		}{{"deny", ir.Deny}, {"ask", ir.Ask}, {"allow", ir.Allow}} {
			for _, item := range p.Get(list.key).List() {
				im.rule(rules, subject, list.d, item, list.key)
			}
		}
		im.otherKeys(&role, rules, subject, v)
		if im.noted[l.at] {
			im.out.Notes = im.out.Notes[:before]
		}
		im.noted[l.at] = true
		if layer := o.settings(l.at, l.data, root, l.project); layer != nil {
			layer.hooks = nil // somebody else's hooks hold nothing for sure
			s.add(layer)
			if layer.agent != "" {
				agent, agentPos = layer.agent, v.Get("agent").Line()
			}
		}
	}
	im.folder = ""
	if flags != nil {
		im.flags(flags, rules, &role, subject, at)
		if flags.agent != "" {
			agent, agentPos = flags.agent, at
		}
	}
	s.settle()
	if s.mode == "default" && rules.mode != "" {
		rules.mode = "default" // switched off
	}
	rules.inMode()
	role.PermissionMode, role.PermissionModePos = rules.mode, rules.modePos
	rules.into(&role.Can, &role, "")
	role.Native = rules.kept
	unlisted := &ir.Default{Decision: policy.PermissionModeDefault(cmp.Or(rules.mode, "default"), ir.MCP), Pos: at}
	if agent != "" && !im.asAgent(&role, rules, agent, subject, agentPos, unlisted) {
		if flags != nil && flags.agent != "" {
			im.diags.Errorf(codeImport, at, "got the agent %q, of which no file of the project tells what it may do", agent)
			return role, nil
		}
		im.out.Note(contract.Refused, agentPos, subject, "agent "+agent, "no file describes it: Claude Code then runs the session as usual")
	}
	habits(&role)
	if own != nil {
		strictly(&role.Can, own, unlisted)
	}
	limit(&role, s, at, unlisted)
	return role, rules
}

// importInventory answers from what the import knows, and learns what rules name.
type importInventory struct {
	*importer
	at diag.Pos
}

func (i importInventory) Servers() []ir.Server {
	var out []ir.Server
	for _, s := range i.servers {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b ir.Server) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Mode: agents are read after the settings, so that none is known by its name
// yet.
func (i importInventory) Mode(string) bool { return false }

func (i importInventory) UnknownServer(string, []string) bool { return false }

func (i importInventory) Tool(server, tool string) { i.tool(i.servers[server], tool, i.at) }

func (im *importer) tool(s *ir.Server, name string, at diag.Pos) {
	if s != nil && contract.ToolName(name) {
		s.AddTool(ir.Tool{Name: name, Pos: at})
	}
}

// knows makes sure that the inventory has the server of a rule: one that no file
// of the project starts is the user's own.
func (im *importer) knows(server, tool string, at diag.Pos) bool {
	if strings.Contains(server, "*") {
		return true
	}
	written := server
	if tool != "" {
		written += "__" + tool
	}
	for name := range im.servers {
		if as := toolWord(name); written == as || strings.HasPrefix(written, as+"__") {
			return true
		}
	}
	if !contract.ServerName(server) {
		return false
	}
	im.servers[server] = &ir.Server{Name: server, Pos: at, Type: ir.External, DefaultEnabled: true, Tools: []ir.Tool{}}
	return true
}

// otherKeys reads what stands beside the rules.
func (im *importer) otherKeys(role *ir.Role, rules *importedRules, subject string, v *located.Value) {
	left := func(m located.Member, why string) { im.out.Note(contract.Left, m.Pos, subject, m.Key, why) }
	for _, m := range v.Fields() {
		switch m.Key {
		case "permissions", "$schema":
		case "env":
			for _, e := range m.Value.Fields() {
				if text, ok := e.Value.Str(); ok {
					if role.Env == nil {
						role.Env = map[string]string{}
					}
					role.Env[e.Key] = text
				} else {
					im.out.Note(contract.Refused, e.Pos, subject, "env "+e.Key, "the source takes texts only")
				}
			}
		case "disabledMcpjsonServers":
			for _, item := range m.Value.List() {
				if name, ok := item.Str(); !ok || !contract.ServerName(name) || !im.knows(name, "", item.Pos) {
					im.out.NoteRule(contract.Refused, item.Pos, subject, m.Key+" "+item.Text, "the source does not take this name of a server")
				} else {
					rules.neutral = append(rules.neutral, neutralRule{contract.NeutralRule{Group: ir.MCP, Server: name, Pattern: ir.Pattern{Kind: ir.All}}, ir.Deny, item.Pos, ir.Deny})
					im.out.NoteRule(contract.Understood, item.Pos, subject, m.Key+" "+name, "")
				}
			}
		case "enableAllProjectMcpServers", "enabledMcpjsonServers":
			left(m, "whether a server is started, not what it may do")
		case "hooks":
			if !ownHooks(m.Value) {
				left(m, "a program decides, which the source cannot say")
			}
		case "agent":
		default:
			left(m, "no permission of a mode or role")
		}
	}
	for _, m := range v.Get("permissions").Fields() {
		switch m.Key {
		case "allow", "ask", "deny":
			if !m.Value.Is(located.List) {
				im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key, "Claude Code takes a list only")
			}
		case "defaultMode":
		case "disableBypassPermissionsMode", "disableAutoMode":
			if text, _ := m.Value.Str(); text == "disable" {
				im.out.NoteRule(contract.Understood, m.Pos, subject, m.Key, "the mode that it switches off is not the role's")
			} else {
				left(m, "only \"disable\" means something")
			}
		case "blockReadsOutsideWorkingDirectories":
			if m.Value.True() {
				rules.outside = true
				im.out.NoteRule(contract.Understood, m.Pos, subject, m.Key, "")
			} else {
				left(m, "only true means something")
			}
		case "additionalDirectories":
			left(m, "the source knows one project folder: what lies outside is asked about or denied")
		default:
			left(m, "Claude Code drops this key")
		}
	}
}

// ownHooks reports whether every hook is modec's own.
func ownHooks(v *located.Value) bool {
	for _, event := range v.Fields() {
		for _, entry := range event.Value.List() {
			for _, h := range entry.Get("hooks").List() {
				line, _ := h.Get("command").Str()
				if _, err := contract.ParseHookLine(line); err != nil {
					return false
				}
			}
		}
	}
	return true
}
