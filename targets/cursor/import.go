package cursor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// Formats is the one that Cursor has.
func (cursor) Formats() []string { return []string{"cursor"} }

// The roles that Cursor's files become: the IDE and the CLI decide by files of
// their own.
const (
	ideRole = "cursor"
	cliRole = "cursor-cli"
)

// importer collects what Cursor's files say.
type importer struct {
	src     contract.Source
	out     contract.Imported
	diags   diag.List
	servers map[string]*ir.Server
	roles   map[string]*ir.Role
	tokens  [2][]string // of the CLI's files: allow, deny
	// replaced are the lists of the IDE's settings that a permissions.json has.
	replaced map[string]bool
	// pinned is the run mode that a permissions.json makes the IDE's: its
	// approvalMode, or that of a list with entries; "" where the settings have it.
	pinned RunMode
	// folder is the workspace's, as the entries of the IDE name it.
	folder string
}

// Import reads the IDE's lists, the CLI's tokens and the servers.
func (cursor) Import(src contract.Source) (contract.Imported, diag.List) {
	if src.Args != nil {
		return contract.Imported{}, nil
	}
	im := &importer{src: src, servers: map[string]*ir.Server{}, roles: map[string]*ir.Role{}, replaced: map[string]bool{}, out: contract.Imported{Comments: map[diag.Pos]string{}}}
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

func (im *importer) read() {
	type source struct {
		fsys     fs.FS
		name, at string
	}
	var servers, ide, cli, states []source
	root := func(name string) source { return source{im.src.Root, name, name} }
	switch {
	case im.src.Files != nil:
		for _, name := range im.src.Files {
			name = path.Clean(name)
			if im.src.Format == "" && path.Base(path.Dir(name)) != ".cursor" && path.Base(name) != "state.vscdb" {
				continue
			}
			switch path.Base(name) {
			case "mcp.json":
				servers = append(servers, root(name))
			case "permissions.json":
				ide = append(ide, root(name))
			case "cli.json", "cli-config.json":
				cli = append(cli, root(name))
			case "state.vscdb":
				states = append(states, root(name))
			default:
				if im.src.Format != "" {
					im.diags.Errorf(codeImport, diag.Pos{File: name}, "got a file of no name that Cursor knows, want permissions.json, cli.json, cli-config.json or mcp.json")
				}
			}
		}
	default:
		servers, ide, cli = []source{root(".cursor/mcp.json")}, []source{root(".cursor/permissions.json")}, []source{root(".cursor/cli-config.json"), root(".cursor/cli.json")}
		if im.src.Home != nil {
			home := func(name string) source { return source{im.src.Home, name, "~/" + name} }
			servers = append(servers, home(".cursor/mcp.json"))
			ide = append([]source{home(".cursor/permissions.json")}, ide...)
			for _, name := range stateFiles {
				states = append(states, home(name))
			}
			cli = append([]source{home(".config/cursor/cli-config.json"), home(".cursor/cli-config.json")}, cli...)
		}
		im.left()
	}
	for _, s := range servers {
		if data, ok := im.file(s.fsys, s.name, s.at); ok {
			im.serversFile(s.at, data)
		}
	}
	for _, s := range ide {
		if data, ok := im.file(s.fsys, s.name, s.at); ok {
			im.permissionsFile(s.at, data)
		}
	}
	if im.src.Files == nil {
		im.profiles()
	}
	for _, s := range states {
		im.stateFile(s.fsys, s.name, s.at)
	}
	for _, s := range cli {
		if data, ok := im.file(s.fsys, s.name, s.at); ok {
			im.tokensFile(s.at, data)
		}
	}
}

// profiles reads the files that modec wrote for roles: one of the lists alone may
// permit more than both together, so that an allow counts where both have it.
func (im *importer) profiles() {
	dirs, _ := fs.ReadDir(im.src.Root, ".cursor/modec")
	for _, d := range dirs {
		dir := ".cursor/modec/" + d.Name()
		name, err := url.PathUnescape(d.Name())
		if err != nil || strings.HasPrefix(name, "mode:") {
			im.out.Note(contract.Left, diag.Pos{File: dir}, "", d.Name(), "modec wrote it for a mode: its source says what it may do")
			continue
		}
		if data, err := contract.ReadImport(im.src.Root, dir+"/hooks.json"); err == nil && strings.Contains(string(data), "modec hook cursor") {
			im.out.Note(contract.Left, diag.Pos{File: dir}, "", d.Name(), "modec wrote it: its hook decides by a source that is there already")
			continue
		}
		cli, hasCLI := im.file(im.src.Root, dir+"/cli.json", dir+"/cli.json")
		ide, hasIDE := im.file(im.src.Root, dir+"/permissions.json", dir+"/permissions.json")
		if hasCLI != hasIDE {
			im.out.Note(contract.Left, diag.Pos{File: dir}, "role "+name, d.Name(), "modec writes cli.json and permissions.json for a role: one alone tells half of it")
		}
		if !hasCLI || !hasIDE || im.roles[name] != nil {
			continue
		}
		one := func(read func(*importer)) *ir.Role {
			own := &importer{src: contract.Source{Root: im.src.Root}, servers: im.servers, roles: map[string]*ir.Role{}, replaced: map[string]bool{}, out: contract.Imported{Comments: im.out.Comments}}
			read(own)
			im.diags = append(im.diags, own.diags...)
			for _, n := range own.out.Notes {
				if n.Rule {
					n.Subject = "role " + name
					im.out.Notes = append(im.out.Notes, n)
				}
			}
			for _, r := range own.roles {
				return r
			}
			return nil
		}
		r := one(func(own *importer) { own.tokensFile(dir+"/cli.json", cli) })
		lists := one(func(own *importer) { own.permissionsFile(dir+"/permissions.json", ide) })
		if r == nil || lists == nil {
			continue
		}
		r.Name = name
		both(r, lists)
		im.roles[name] = r
		im.out.Originals = append(im.out.Originals, contract.Original{File: dir + "/cli.json", Subjects: []ir.SubjectRef{{Role: name}},
			Files: memfs.FS{".cursor/modec/" + d.Name() + "/cli.json": cli, ".cursor/modec/" + d.Name() + "/permissions.json": ide}})
	}
}

// both takes out what a role is allowed and the lists of the IDE do not hold.
func both(r, lists *ir.Role) {
	keep := func(own, other []ir.Rule) []ir.Rule {
		return slices.DeleteFunc(own, func(x ir.Rule) bool {
			return x.Decision == ir.Allow && !slices.ContainsFunc(other, func(y ir.Rule) bool { return y.Decision == ir.Allow && y.Pattern == x.Pattern })
		})
	}
	r.Can.Command.Rules = keep(r.Can.Command.Rules, lists.Can.Command.Rules)
	for i := range r.Can.MCP.Entries {
		e := &r.Can.MCP.Entries[i]
		var other []ir.Rule
		for _, x := range lists.Can.MCP.Entries {
			if x.Key == e.Key {
				other = x.Rules
			}
		}
		e.Rules = keep(e.Rules, other)
	}
}

// left notes what lies beside and is not imported.
func (im *importer) left() {
	for name, why := range map[string]string{
		".cursor/hooks.json":   "programs decide, which the source cannot say",
		".cursor/sandbox.json": "what a sandbox confines is no permission of a role",
		".cursor/modes.json":   "Cursor does not read it",
		".cursor/agents":       "a subagent of Cursor has all of the session's tools",
		".cursor/rules":        "instructions for every session, which no mode owns",
		".cursorignore":        "it hides files from Cursor's own tools: deny them in can.read",
	} {
		info, err := fs.Stat(im.src.Root, name)
		if err != nil {
			continue
		}
		if data, _ := fs.ReadFile(im.src.Root, name); !info.IsDir() && strings.Contains(string(data), "modec hook cursor") {
			continue // modec's own
		}
		im.out.Note(contract.Left, diag.Pos{File: name}, "", path.Base(name), why)
	}
}

// role returns a role with what Cursor does by itself: it reads and edits in the
// workspace and starts subagents without a question, and asks about commands, tools
// and hosts.
func (im *importer) role(name string, at diag.Pos) *ir.Role {
	if r := im.roles[name]; r != nil {
		return r
	}
	allow, ask := &ir.Default{Decision: ir.Allow, Pos: at}, &ir.Default{Decision: ir.Ask, Pos: at}
	r := &ir.Role{Name: name, Pos: at, Can: ir.Can{
		Read: &ir.Table{Default: allow}, Edit: &ir.Table{Default: allow}, Command: &ir.Table{Default: ask}, Web: &ir.Table{Default: ask}, Modes: &ir.Table{Default: allow}, MCP: &ir.MCPTable{Default: ask}}}
	im.roles[name] = r
	return r
}

// unrestricted makes a role one that is asked about nothing.
func unrestricted(r *ir.Role, at diag.Pos) {
	r.PermissionMode, r.PermissionModePos = "bypassPermissions", at
	for _, t := range []*ir.Table{r.Can.Command, r.Can.Web} {
		t.Default = &ir.Default{Decision: ir.Allow, Pos: at}
	}
	r.Can.MCP.Default = &ir.Default{Decision: ir.Allow, Pos: at}
}

// permissionsFile reads the IDE's lists.
func (im *importer) permissionsFile(file string, data []byte) {
	v, err := located.JSONC(file, data)
	if err == nil && !v.Is(located.Object) {
		err = errors.New("want an object")
	}
	if err != nil {
		im.diags.Errorf(codeImport, located.PlaceOf(file, err), "got a file that Cursor cannot read: %s", strings.TrimPrefix(err.Error(), file+": "))
		return
	}
	at := diag.Pos{File: file, Line: 1, Col: 1}
	if im.roles[ideRole] != nil {
		im.out.Note(contract.Refused, at, "role "+ideRole, path.Base(file), "the user's own file holds for the IDE; its lists are imported")
		return
	}
	r := im.role(ideRole, at)
	subject := "role " + ideRole
	mode, _ := v.Get("approvalMode").Str()
	manual := mode == string(AskEveryTime)
	if len(v.Get("mcpAllowlist").List())+len(v.Get("terminalAllowlist").List()) > 0 {
		im.pinned = UseAllowlist
	}
	if m := RunMode(mode); m == RunEverything || m == AskEveryTime || m == UseAllowlist {
		im.pinned = m
	}
	switch RunMode(mode) {
	case RunEverything:
		im.out.NoteRule(contract.Understood, v.Get("approvalMode").Pos, subject, "approvalMode "+mode, "")
		unrestricted(r, v.Get("approvalMode").Pos)
	case AskEveryTime, UseAllowlist:
		im.out.NoteRule(contract.Understood, v.Get("approvalMode").Pos, subject, "approvalMode "+mode, "")
	default:
		im.out.Note(contract.NeedsDecision, at, subject, "approvalMode", "the run mode is a setting of each user (Auto-review may approve what no list holds): what no list holds is asked about")
	}
	if !strings.HasPrefix(file, "~/") {
		im.out.Note(contract.Left, at, subject, path.Base(file), "up to 3.20.17 Cursor did not apply the lists of a repository; the documentation says that it does")
	}
	for _, l := range []struct {
		key string
		add func(*ir.Role, string, ir.Decision, diag.Pos) string
	}{{"mcpAllowlist", im.tool}, {"terminalAllowlist", im.command}} {
		im.replaced[l.key] = im.replaced[l.key] || v.Get(l.key) != nil
		if list := v.Get(l.key); list != nil && !list.Is(located.List) {
			im.out.NoteRule(contract.Refused, list.Line(), subject, l.key, "Cursor takes a list only")
		}
		for _, item := range v.Get(l.key).List() {
			text, ok := item.Str()
			switch {
			case !ok:
				im.out.NoteRule(contract.Refused, item.Pos, subject, l.key, "Cursor drops what is no text")
			case manual:
				im.out.NoteRule(contract.Left, item.Pos, subject, l.key+" "+text, "the run mode asks every time")
			default:
				im.entry(r, l.add, text, ir.Allow, item, subject, l.key+" "+text)
			}
		}
	}
	for _, m := range v.Members {
		switch m.Key {
		case "mcpAllowlist", "terminalAllowlist", "approvalMode", "$schema":
		case "autoRun", "autoReview":
			im.out.Note(contract.Left, m.Pos, subject, m.Key, "sentences for a classifier, which hold nothing for sure")
		default:
			im.out.Note(contract.Left, m.Pos, subject, m.Key, "Cursor drops this key")
		}
	}
	im.original(file, data, ideRole, "permissions.json", "ide")
}

// entry adds what an entry says and notes what became of it: add returns why it
// is not imported.
func (im *importer) entry(r *ir.Role, add func(*ir.Role, string, ir.Decision, diag.Pos) string, text string, d ir.Decision, item *located.Value, subject, what string) {
	if item.Comment != "" {
		im.out.Comments[item.Pos] = item.Comment
	}
	if why := add(r, text, d, item.Pos); why != "" {
		im.out.NoteRule(contract.Refused, item.Pos, subject, what, why)
		return
	}
	im.out.NoteRule(contract.Understood, item.Pos, subject, what, "")
}

func (im *importer) original(file string, data []byte, role, name, surface string) {
	var options map[string]any
	if im.folder != "" {
		options = map[string]any{"folder": im.folder}
	}
	im.out.Originals = append(im.out.Originals, contract.Original{File: file, Files: memfs.FS{".cursor/modec/" + contract.PathName(role) + "/" + name: data}, Subjects: []ir.SubjectRef{{Role: role}}, Surface: surface, Options: options})
}

// tokensFile reads the CLI's tokens. Of a project's file only permissions counts.
func (im *importer) tokensFile(file string, data []byte) {
	v, err := located.JSON(file, data)
	if err == nil && !v.Is(located.Object) {
		err = errors.New("want an object")
	}
	if err != nil {
		im.diags.Errorf(codeImport, located.PlaceOf(file, err), "got a file that Cursor's CLI cannot read: %s", strings.TrimPrefix(err.Error(), file+": "))
		return
	}
	at := diag.Pos{File: file, Line: 1, Col: 1}
	r := im.role(cliRole, at)
	subject := "role " + cliRole
	global := path.Base(file) == "cli-config.json"
	for _, m := range v.Members {
		switch {
		case m.Key == "permissions", m.Key == "version", m.Key == "$schema":
		case m.Key == "approvalMode" && global:
			mode, _ := m.Value.Str()
			if mode == "auto-review" {
				im.out.NoteRule(contract.NeedsDecision, m.Pos, subject, "approvalMode "+mode, "a classifier approves what no list holds: it is asked about")
				continue
			}
			if mode == "unrestricted" {
				unrestricted(r, m.Pos)
			}
			im.out.NoteRule(contract.Understood, m.Pos, subject, "approvalMode "+mode, "")
		case global:
			im.out.Note(contract.Left, m.Pos, subject, m.Key, "no permission of a role")
		default:
			im.out.Note(contract.Left, m.Pos, subject, m.Key, "of a project's file the CLI takes permissions only")
		}
	}
	for i, l := range []struct {
		key string
		d   ir.Decision
	}{{"allow", ir.Allow}, {"deny", ir.Deny}} {
		for _, item := range v.Get("permissions").Get(l.key).List() {
			text, ok := item.Str()
			tok, read := newToken(text, item.Pos)
			if !ok || !read {
				im.out.NoteRule(contract.Refused, item.Pos, subject, l.key+" "+text, "Cursor matches nothing by it")
				continue
			}
			im.tokens[i] = append(im.tokens[i], text)
			im.entry(r, func(r *ir.Role, _ string, d ir.Decision, at diag.Pos) string { return im.token(r, &tok, d, at) }, text, l.d, item, subject, l.key+" "+text)
		}
	}
}

func (im *importer) finish() {
	p := &ir.Project{Version: ir.Version}
	for _, s := range im.servers {
		p.Servers = append(p.Servers, *s)
	}
	for _, r := range im.roles {
		heldBack(r.Can.Command)
		implied(r.Can.Read, true)
		implied(r.Can.Edit, true)
		implied(r.Can.Command, false)
		p.Roles = append(p.Roles, *r)
	}
	slices.SortFunc(p.Servers, func(a, b ir.Server) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Roles, func(a, b ir.Role) int { return strings.Compare(a.Name, b.Name) })
	im.out.Project = p
	if r := im.roles[cliRole]; r != nil { // the files together are what the CLI goes by
		data, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": orEmpty(im.tokens[0]), "deny": orEmpty(im.tokens[1])}})
		if err == nil && r.PermissionMode == "" {
			im.original(r.Pos.File, data, cliRole, "cli.json", "cli")
		}
	}
	switch {
	case im.roles[ideRole] != nil:
		im.out.Options = map[string]any{"subject": "role:" + ideRole}
	case im.roles[cliRole] != nil:
		im.out.Options = map[string]any{"subject": "role:" + cliRole}
	}
}

// implied takes out the denies that another one says already: one of a path holds
// below what it matches, with dot files, for which Cursor needs tokens of their own.
func implied(t *ir.Table, paths bool) {
	deny := func(r ir.Rule) bool { return r.Decision == ir.Deny && r.Pattern.Kind == ir.Plain }
	if i := slices.IndexFunc(t.Rules, func(r ir.Rule) bool { return deny(r) && (r.Pattern.Text == "*" || r.Pattern.Text == "**") }); i >= 0 {
		t.Rules = []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: t.Rules[i].Pos}}
		return
	}
	rules := slices.Clone(t.Rules)
	seen := map[ir.Pattern]bool{}
	t.Rules = slices.DeleteFunc(t.Rules, func(r ir.Rule) bool {
		if !deny(r) {
			return false
		}
		twice := seen[r.Pattern]
		seen[r.Pattern] = true
		return twice || slices.ContainsFunc(rules, func(o ir.Rule) bool { return paths && deny(o) && strings.HasPrefix(r.Pattern.Text, o.Pattern.Text+"/") })
	})
}

// token adds a token of the CLI.
func (im *importer) token(r *ir.Role, t *token, d ir.Decision, at diag.Pos) string {
	switch t.keyword {
	case "Shell":
		return im.command(r, t.full, d, at)
	case "Mcp":
		return im.tool(r, t.full, d, at)
	case "WebFetch":
		return im.hosts(r, t.full, d, at)
	}
	if d == ir.Deny { // in the workspace it needs no token, and what lies outside is asked about or denied
		im.files(r, t.keyword, t.full, at)
	}
	return ""
}

// tool adds an entry SERVER:TOOL.
func (im *importer) tool(r *ir.Role, text string, d ir.Decision, at diag.Pos) string {
	server, tool, pair := strings.Cut(strings.TrimSpace(text), ":")
	server, tool = strings.TrimSpace(server), strings.TrimSpace(tool)
	switch {
	case !pair || server == "" || tool == "":
		return "Cursor matches nothing by it: want SERVER:TOOL"
	case d == ir.Deny:
		server, tool = deniedTool(server, tool)
	case strings.ContainsAny(tool, special) || server != "*" && strings.ContainsAny(server, special+"*"):
		return "a pattern that Cursor's settings and its engine read in two ways: it is asked about"
	}
	spellings := []string{tool}
	if server != "*" {
		s := im.server(server, at, r.Name == ideRole)
		switch {
		case s == nil && d == ir.Deny:
			server = "*"
		case s == nil:
			return "the source does not take this name of a server"
		default:
			server = s.Name
		}
		if lower := strings.ToLower(tool); d == ir.Deny && lower != tool {
			spellings = append(spellings, lower) // Cursor compares without case
		}
		for _, tool := range spellings {
			if s == nil || strings.Contains(tool, "*") {
				break
			}
			if !contract.ToolName(tool) {
				return "the source does not take this name of a tool"
			}
			s.AddTool(ir.Tool{Name: tool, Pos: at})
		}
	}
	for _, tool := range spellings {
		if why := addTool(r.Can.MCP, server, tool, d, at); why != "" {
			return why
		}
	}
	return ""
}

// deniedTool writes what the source has no word for in a denied tool as any text,
// which may match more.
func deniedTool(server, tool string) (string, string) {
	if i := strings.IndexAny(tool, special); i >= 0 {
		tool = tool[:i] + "*"
	}
	tool = strings.Map(func(c rune) rune {
		if c != '*' && !contract.ToolName(string(c)) {
			return '*'
		}
		return c
	}, tool)
	if strings.ContainsAny(server, special+"*") {
		server = "*"
	}
	return server, collapsed(tool)
}

// addTool adds a rule about the tools of a server.
func addTool(t *ir.MCPTable, server, tool string, d ir.Decision, at diag.Pos) string {
	if policy.CheckToolGlob(tool) != nil {
		return "the source does not take this name of a tool"
	}
	p := ir.Pattern{Text: tool}
	if d == ir.Deny && tool == "*" {
		p = ir.Pattern{Kind: ir.All}
	}
	i := slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == server })
	if i < 0 {
		t.Entries = append(t.Entries, ir.MCPEntry{Key: server, Literal: server != "*", Pos: at, Default: t.Default})
		slices.SortFunc(t.Entries, func(a, b ir.MCPEntry) int { return strings.Compare(a.Key, b.Key) })
		i = slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == server })
	}
	t.Entries[i].Rules = append(t.Entries[i].Rules, ir.Rule{Decision: d, Pattern: p, Pos: at})
	return ""
}

// server returns the server of a name, whatever its case; one of the user's own
// settings where no file has it. The IDE puts user- or project-0-FOLDER- before it,
// the CLI nothing.
func (im *importer) server(name string, at diag.Pos, ide bool) *ir.Server {
	for _, known := range slices.Sorted(maps.Keys(im.servers)) {
		s := im.servers[known]
		if strings.EqualFold(s.Name, name) || ide && strings.EqualFold("user-"+s.Name, name) {
			return s
		}
		folder, ok := strings.CutPrefix(strings.ToLower(name), "project-0-")
		if !ok || !ide {
			continue
		}
		if folder, ok = strings.CutSuffix(folder, "-"+strings.ToLower(s.Name)); ok && (im.folder == "" || im.folder == folder) {
			im.folder = folder
			return s
		}
	}
	if !contract.ServerName(strings.ToLower(name)) {
		return nil
	}
	s := &ir.Server{Name: name, Pos: at, Type: ir.External, DefaultEnabled: true, Tools: []ir.Tool{}}
	im.servers[name] = s
	return s
}

var (
	envRef   = regexp.MustCompile(`\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}`)
	otherRef = regexp.MustCompile(`\$\{(?:userHome|workspaceFolder|workspaceFolderBasename|pathSeparator|/)\}`)
)

// serversFile reads mcp.json.
func (im *importer) serversFile(file string, data []byte) {
	v, err := located.JSONC(file, data)
	if err != nil {
		im.diags.Errorf(codeImport, located.PlaceOf(file, err), "got a file that Cursor cannot read: %s", strings.TrimPrefix(err.Error(), file+": "))
		return
	}
	all := v.Get("mcpServers")
	for _, m := range all.Fields() {
		if all.Get(m.Key) == m.Value {
			im.mcpServer(m)
		}
	}
	for _, m := range v.Fields() {
		if m.Key != "mcpServers" {
			im.out.Note(contract.Left, m.Pos, "", m.Key, "Cursor drops this key")
		}
	}
}

func (im *importer) mcpServer(m located.Member) {
	subject := "server " + m.Key
	v := m.Value
	for name, old := range im.servers {
		if strings.EqualFold(name, m.Key) {
			im.out.Note(contract.Refused, m.Pos, subject, m.Key, "the one at "+old.Pos.String()+" holds")
			return
		}
	}
	if !contract.ServerName(m.Key) {
		im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key, "the source does not take this name of a server")
		return
	}
	ref := func(s string, at diag.Pos) string {
		s = envRef.ReplaceAllString(s, "$${$1}")
		if x := otherRef.FindString(s); x != "" {
			im.out.Note(contract.Kept, at, subject, x, "the source takes it for text: other agents do not replace it")
		}
		return s
	}
	text := func(key string) string { s, _ := v.Get(key).Str(); return ref(s, v.Get(key).Line()) }
	textMap := func(key string) map[string]string {
		var out map[string]string
		for _, x := range v.Get(key).Fields() {
			if s, ok := x.Value.Str(); ok {
				if out == nil {
					out = map[string]string{}
				}
				out[x.Key] = ref(s, x.Pos)
			}
		}
		return out
	}
	s := &ir.Server{Name: m.Key, Pos: m.Pos, DefaultEnabled: true, Tools: []ir.Tool{}}
	switch command, url := text("command"), text("url"); {
	case command != "":
		s.Type, s.Command, s.Env = "stdio", command, textMap("env")
		for _, a := range v.Get("args").List() {
			if arg, ok := a.Str(); ok {
				s.Args = append(s.Args, ref(arg, a.Pos))
			}
		}
	case strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://"):
		s.Type, s.URL, s.Headers = "http", url, textMap("headers")
		if kind, _ := v.Get("type").Str(); kind == "sse" {
			s.Type = "sse"
		}
	default:
		s.Type = ir.External
		im.out.NoteRule(contract.Refused, m.Pos, subject, m.Key, "it has neither a command nor an http address: the server is known by its name alone")
	}
	if v.Comment != "" {
		im.out.Comments[m.Pos] = v.Comment
	}
	for _, x := range v.Fields() {
		if !slices.Contains([]string{"type", "command", "args", "env", "url", "headers"}, x.Key) {
			im.out.Note(contract.Left, x.Pos, subject, x.Key, "the source has no word for it")
		}
	}
	im.servers[m.Key] = s
}
