package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest" // for its file system in memory; it links no test

	"modec.dev/modec/compiler/artifact"
	"modec.dev/modec/compiler/clauderule"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
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
	src     target.Source
	out     target.Imported
	diags   diag.List
	servers map[string]*ir.Server
	modes   map[string]ir.Mode
	roles   map[string]ir.Role
	agents  []agentFile
	tree    fstest.MapFS // the files as Open finds them
	shared  importedRules
	folder  string // that a path with a leading slash starts from: "" the project's, ~/.claude
}

type agentFile struct {
	name string // as places name it
	data []byte
}

func newImporter(src target.Source) *importer {
	return &importer{src: src, servers: map[string]*ir.Server{}, modes: map[string]ir.Mode{}, roles: map[string]ir.Role{}, tree: fstest.MapFS{},
		out: target.Imported{Comments: map[diag.Pos]string{}}}
}

// Import reads settings, subagents and servers, or a command line.
func (claude) Import(src target.Source) (target.Imported, diag.List) {
	if src.Args != nil {
		if src.Format != "claude-args" {
			return target.Imported{}, nil
		}
		return ImportArgs(src.Root, "claude-args", src.Args, diag.Pos{File: "command line"})
	}
	if src.Format == "claude-args" {
		return target.Imported{}, nil
	}
	im := newImporter(src)
	im.read()
	if len(im.out.Files) == 0 && len(im.out.Notes) == 0 {
		return target.Imported{}, im.diags
	}
	im.finish()
	im.diags.Sort()
	return im.out, im.diags
}

// file reads a file if it is there. at is its name in places.
func (im *importer) file(fsys fs.FS, name, at string) ([]byte, bool) {
	return im.out.Read(fsys, name, at, "claude-import", &im.diags)
}

// layer is a settings file in the order in which Claude Code lays them over each
// other.
type layer struct {
	at      string
	data    []byte
	project bool // of the project: auto does not count
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
			settings = append(settings, source{im.src.Home, ".claude/settings.json", "~/.claude/settings.json"})
			servers = append(servers, source{im.src.Home, ".claude.json", "~/.claude.json"})
			for _, name := range im.glob(im.src.Home, ".claude/agents") {
				agents = append(agents, source{im.src.Home, name, "~/" + name})
			}
		}
		settings = append(settings, root(".claude/settings.json"), root(".claude/settings.local.json"))
		servers = append([]source{root(".mcp.json")}, servers...)
		for _, name := range im.glob(im.src.Root, ".claude/agents") {
			agents = append(agents, root(name))
		}
	}
	for _, s := range servers {
		if data, ok := im.file(s.fsys, s.name, s.at); ok {
			im.serversFile(s.at, data)
		}
	}
	for _, s := range settings {
		if data, ok := im.file(s.fsys, s.name, s.at); ok && !im.written(s.at, data) {
			layers = append(layers, layer{s.at, data, !strings.HasPrefix(s.at, "~/")})
		}
	}
	im.settings(layers)
	for _, s := range agents {
		if data, ok := im.file(s.fsys, s.name, s.at); ok && !im.written(s.at, data) {
			im.agents = append(im.agents, agentFile{s.at, data})
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
	im.out.Note(target.Left, diag.Pos{File: at}, "", path.Base(at), "modec wrote it: its hook decides by a source that is there already")
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
		im.diags.Errorf(diag.Pos{File: dir}, "claude-import", "", "got a folder that cannot be read: %v", err)
	}
	return names
}

// profiles reads the settings that modec wrote for roles.
func (im *importer) profiles() {
	files, _ := fs.Glob(im.src.Root, ".claude/modec/*.settings.json")
	for _, name := range files {
		role, ok := subjectName(strings.TrimSuffix(path.Base(name), ".settings.json"))
		if data, there := im.file(im.src.Root, name, name); ok && there && !im.written(name, data) {
			r, rules := im.role(role, []layer{{name, data, false}})
			if rules != nil {
				im.roles[role] = r
				im.tree[".claude/modec/"+target.PathName(role)+".settings.json"] = &fstest.MapFile{Data: data}
			}
		}
	}
}

// settings joins the layers into one role, as Claude Code does.
func (im *importer) settings(layers []layer) {
	if len(layers) == 0 {
		return
	}
	r, rules := im.role(importedRole, layers)
	if rules == nil {
		return
	}
	im.roles[importedRole] = r
	im.shared = *rules
	for i, l := range layers {
		name := ".claude/settings.json"
		if i > 0 && i == len(layers)-1 {
			name = ".claude/settings.local.json"
		}
		if im.tree[name] == nil {
			im.tree[name] = &fstest.MapFile{Data: l.data}
		}
	}
	im.tree[".claude/modec/"+importedRole+".settings.json"] = &fstest.MapFile{Data: []byte("{}")}
}

func (im *importer) finish() {
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
	refs := map[string][]ir.SubjectRef{}
	for i := range p.Roles {
		refs[p.Roles[i].Pos.File] = append(refs[p.Roles[i].Pos.File], ir.SubjectRef{Role: p.Roles[i].Name})
	}
	for i := range p.Modes {
		refs[p.Modes[i].Pos.File] = append(refs[p.Modes[i].Pos.File], ir.SubjectRef{Mode: p.Modes[i].Slug})
	}
	for _, f := range im.out.Files {
		if len(refs[f]) > 0 {
			im.out.Originals = append(im.out.Originals, target.Original{File: f, Files: im.tree, Subjects: refs[f]})
		}
	}
}

// importedRules are rules on their way to a subject.
type importedRules struct {
	session *session // that decides with them
	mode    string
	modePos diag.Pos
	neutral []neutralRule
	kept    []ir.ClaudeRule
	outside bool // a deny speaks of files outside the project
}

type neutralRule struct {
	clauderule.Neutral
	decision ir.Decision
	pos      diag.Pos
}

// role reads settings files in the order in which they are laid over each other.
// The rules are nil where a file does not load.
func (im *importer) role(name string, layers []layer) (ir.Role, *importedRules) {
	subject := "role " + name
	role := ir.Role{Name: name, Pos: diag.Pos{File: layers[len(layers)-1].at, Line: 1, Col: 1}}
	rules := &importedRules{}
	o := &opener{fsys: fstest.MapFS{}, engines: map[string]*policy.Engine{}}
	s := &session{mode: "default", skills: map[string]bool{}, approval: target.Both}
	defer func() { im.folder = "" }()
	for _, l := range layers {
		if im.folder = ""; !l.project {
			im.folder = path.Dir(l.at)
		}
		v, err := artifact.JSON(l.at, l.data)
		if err == nil && !v.Is(artifact.Object) {
			err = errors.New("want an object")
		}
		if err != nil {
			im.diags.Errorf(artifact.PlaceOf(l.at, err), "claude-import", "", "got settings that Claude Code does not load: %s", strings.TrimPrefix(err.Error(), l.at+": "))
			return role, nil
		}
		p := v.Get("permissions")
		if mode := p.Get("defaultMode"); mode != nil {
			text, ok := mode.Str()
			switch {
			case !ok || !permissionModes[text]:
				im.diags.Errorf(mode.Line(), "claude-import", "permissions.defaultMode", "got the mode %q, for which Claude Code does not load the whole file, want one of default, plan, acceptEdits, dontAsk, auto, bypassPermissions", text)
				return role, nil
			case l.project && text == "auto":
				im.out.NoteRule(target.Refused, mode.Pos, subject, "defaultMode auto", "Claude Code does not take it from a file of the project")
			default:
				im.out.NoteRule(target.Understood, mode.Pos, subject, "defaultMode "+text, "")
				if text == "manual" || text == "delegate" {
					text = "default"
				}
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
		if layer := o.settings(l.at, l.data, root, l.project); layer != nil {
			layer.hooks = nil // somebody else's hooks hold nothing for sure
			s.add(layer)
		}
	}
	s.settle()
	if s.mode == "default" && rules.mode == "bypassPermissions" {
		rules.mode = "default" // switched off
	}
	rules.session = s
	rules.inMode()
	role.PermissionMode, role.PermissionModePos = rules.mode, rules.modePos
	rules.into(&role.Can, &role, "")
	role.ClaudeRules = rules.kept
	habits(&role)
	return role, rules
}

// inMode makes rules what the permission mode makes of them.
func (rules *importedRules) inMode() {
	switch rules.mode {
	case "dontAsk": // nobody is asked: what a rule asks about is refused
		for i := range rules.neutral {
			if rules.neutral[i].decision == ir.Ask {
				rules.neutral[i].decision = ir.Deny
			}
		}
	case "plan": // it asks about edits, whatever a rule allows
		rules.neutral = slices.DeleteFunc(rules.neutral, func(n neutralRule) bool { return n.Group == ir.Edit && n.decision == ir.Allow })
	}
}

// What Claude Code does by itself and a role of the source would not, as policies.
const (
	protectedPaths = "policy claude_protected"
	outsidePaths   = "policy claude_outside"
)

// habits writes down what Claude Code does by itself: it asks before it starts a
// subagent, about its own and other programs' settings at any depth, and about the
// paths outside the project of a command that it knows, whatever a rule allows.
func habits(role *ir.Role) {
	if role.PermissionMode == "bypassPermissions" {
		return
	}
	mode := role.PermissionMode
	if mode == "" {
		mode = "default"
	}
	if mode == "dontAsk" {
		role.Can.OutsideRead = &ir.Default{Decision: ir.Deny, Pos: role.Pos}
	}
	if role.Can.Modes == nil {
		role.Can.Modes = &ir.Table{Default: &ir.Default{Decision: policy.PermissionModeDefault(mode, ir.Modes), Pos: role.Pos}}
	}
	guardEdits(&role.Can, role.Pos, policy.PermissionModeDefault(mode, ir.Edit))
	guardCommands(&role.Can, role.Pos)
}

// guardEdits asks about the paths that are protected at any depth, where edits may
// go through without a question.
func guardEdits(can *ir.Can, at diag.Pos, unsaid ir.Decision) {
	t := can.Edit
	if t == nil {
		if unsaid < ir.Allow {
			return
		}
		t = &ir.Table{Default: &ir.Default{Decision: unsaid, Pos: at}}
		can.Edit = t
	}
	if (t.Default == nil || t.Default.Decision < ir.Allow) && !allows(t.Rules) {
		return
	}
	for _, glob := range []string{".git", ".vscode", ".claude", ".mcp.json"} {
		t.Rules = append(t.Rules, ir.Rule{Decision: ir.Ask, Pattern: ir.Pattern{Text: glob}, Pos: at, From: protectedPaths})
	}
}

func allows(rules []ir.Rule) bool {
	return slices.ContainsFunc(rules, func(r ir.Rule) bool { return r.Decision == ir.Allow })
}

// guardCommands asks about paths outside the project, where a program is allowed
// whose paths Claude Code looks at.
func guardCommands(can *ir.Can, at diag.Pos) {
	t := can.Command
	if t == nil || !reads(t.Rules) {
		return
	}
	for _, p := range []string{"* /*", "* ~*", "* ..", "* ../*", "*/..", "*/../*"} {
		t.Rules = append(t.Rules, ir.Rule{Decision: ir.Ask, Pattern: ir.Pattern{Text: p}, Pos: at, From: outsidePaths})
	}
}

// reads reports whether a program is allowed whose paths Claude Code looks at, or
// any program is.
func reads(rules []ir.Rule) bool {
	return slices.ContainsFunc(rules, func(r ir.Rule) bool {
		if r.Decision != ir.Allow {
			return false
		}
		words := strings.FieldsFunc(r.Pattern.Text, func(c rune) bool { return c == ' ' || c == ':' })
		if r.Pattern.Kind != ir.Plain || len(words) == 0 || words[0] == "*" {
			return true
		}
		c := newLine(words[0] + " x").simple
		return len(c) == 1 && (c[0].readsPaths() || c[0].edits())
	})
}

// rule translates one rule of a list.
func (im *importer) rule(rules *importedRules, subject string, d ir.Decision, item *artifact.Value, key string) {
	text, ok := item.Str()
	what := d.String() + " " + text
	if !ok {
		im.out.NoteRule(target.Refused, item.Pos, subject, key, "Claude Code takes texts only")
		return
	}
	if item.Comment != "" {
		im.out.Comments[item.Pos] = item.Comment
	}
	im.ruleText(rules, subject, d, text, item.Pos, what)
}

// ruleText translates a rule as it stands in a list or on a command line.
func (im *importer) ruleText(rules *importedRules, subject string, d ir.Decision, text string, at diag.Pos, what string) {
	var probe ruleSet
	if err := probe.add(d, text, at, root); err != nil {
		im.out.NoteRule(target.Refused, at, subject, what, "Claude Code leaves it out: "+err.Error())
		return
	}
	r, err := clauderule.Parse(text)
	if err != nil {
		im.out.NoteRule(target.Refused, at, subject, what, "Claude Code leaves it out: "+err.Error())
		return
	}
	if r.HasSpec && slices.Contains([]ir.Group{ir.Read, ir.Edit}, wholeTool(r.Tool)) {
		r.Spec = im.fromRoot(r.Spec)
	}
	if server, tool, mcp := r.MCP(); mcp && !im.knows(server, tool, at) {
		im.out.NoteRule(target.Refused, at, subject, what, "the source does not take this name of a server: what no rule names is asked about")
		return
	}
	if d == ir.Allow && !r.HasSpec {
		switch g := wholeTool(r.Tool); {
		case r.Tool == "Glob" || r.Tool == "Grep" || r.Tool == "LSP":
			im.out.NoteRule(target.Understood, at, subject, what, "reading in the project needs no rule")
			return
		case g != "" && r.Tool != "Edit" && r.Tool != "Read" && r.Tool != "Bash":
			im.out.NoteRule(target.Refused, at, subject, what, fmt.Sprintf("the source does not tell the tools of a group apart: what can.%s says holds", g))
			return
		case r.Tool == "Agent" || r.Tool == "Task":
			rules.neutral = append(rules.neutral, neutralRule{clauderule.Neutral{Group: ir.Modes, Pattern: ir.Pattern{Text: "*"}}, d, at})
			im.out.NoteRule(target.Understood, at, subject, what, "")
			return
		}
	}
	neutral, ok := clauderule.Translate(r, d, importInventory{im, at})
	if ok && d == ir.Allow && im.wider(r, neutral) {
		ok = false
	}
	if !ok {
		rules.kept = append(rules.kept, ir.ClaudeRule{Decision: d, Text: text, Pos: at})
		im.out.NoteRule(target.Kept, at, subject, what, rules.beside(r, d, at))
		return
	}
	for _, n := range neutral {
		if n.Pattern.Text == oddCase {
			n.Pattern = ir.Pattern{Kind: ir.Regex, Text: "[\u017F\u212A]"}
		}
		rules.neutral = append(rules.neutral, neutralRule{n, d, at})
	}
	im.out.NoteRule(target.Understood, at, subject, what, "")
}

// fromRoot writes a path with a leading slash, which starts from the folder of the
// file that it stands in, as one that starts from the project's.
func (im *importer) fromRoot(spec string) string {
	switch {
	case im.folder == "", !strings.HasPrefix(spec, "/"), strings.HasPrefix(spec, "//"):
		return spec
	case strings.HasPrefix(im.folder, "~"):
		return im.folder + spec
	}
	return strings.TrimSuffix(path.Join("/", im.folder), "/") + spec
}

// oddCase is a name with the long s or the Kelvin sign, which the source takes for
// an s and a k in a glob that asks or denies.
const oddCase = "*[\u017F\u212A]*"

// beside says of a rule that is kept for Claude Code what the neutral vocabulary
// can say of it, so that no other agent does more, and returns what that is.
func (rules *importedRules) beside(r clauderule.Rule, d ir.Decision, at diag.Pos) string {
	add := func(d ir.Decision, g ir.Group, p string) {
		rules.neutral = append(rules.neutral, neutralRule{clauderule.Neutral{Group: g, Pattern: ir.Pattern{Text: p}}, d, at})
	}
	switch g := map[string]ir.Group{"Read": ir.Read, "Edit": ir.Edit}[r.Tool]; {
	case d == ir.Allow:
	case g != "" && outsidePath(r.Spec):
		rules.outside = rules.outside || g == ir.Read // what lies outside is never edited
		if inner, ok := strings.CutPrefix(r.Spec, "//**/"); ok && policy.CheckGlob("**/"+inner) == nil {
			add(d, g, "**/"+inner)
			return "inside the project it holds for every agent, and outside nothing is read or edited"
		}
		return "outside the project nothing is read or edited, for every agent"
	case r.Tool == "Bash" && r.HasSpec:
		head := strings.TrimSpace(r.Spec[:strings.IndexAny(r.Spec+"|", "|;&<>\n")])
		if !strings.HasSuffix(head, "*") {
			head += " *"
		}
		if policy.CheckCommand(head) == nil {
			add(ir.Ask, ir.Command, head)
			return "only Claude Code compares a whole line: other agents ask about " + head
		}
	}
	return "only Claude Code can say it"
}

// wider reports an allow that would mean more in the source than to Claude Code.
func (im *importer) wider(r clauderule.Rule, neutral []clauderule.Neutral) bool {
	return slices.ContainsFunc(neutral, func(n clauderule.Neutral) bool {
		// A bare Bash is a rule for every line, whatever it holds.
		return n.Group == ir.Command && n.Pattern.Text == "*" && r.HasSpec
	})
}

func outsidePath(spec string) bool {
	return strings.HasPrefix(spec, "//") || strings.HasPrefix(spec, "~") || strings.HasPrefix(spec, "../")
}

// into adds rules to a subject's tables. A group that only rules speak of goes on
// deciding as the subject leaves it unsaid.
func (rules *importedRules) into(can *ir.Can, role *ir.Role, from string) {
	unsaid := func(g ir.Group, at diag.Pos) *ir.Default {
		d := ir.Deny
		if role != nil {
			mode := role.PermissionMode
			if mode == "" {
				mode = "default"
			}
			d = policy.PermissionModeDefault(mode, g)
		}
		return &ir.Default{Decision: d, Pos: at}
	}
	tables := map[ir.Group]**ir.Table{ir.Read: &can.Read, ir.Edit: &can.Edit, ir.Command: &can.Command, ir.Web: &can.Web, ir.Modes: &can.Modes}
	for _, n := range rules.neutral {
		rule := ir.Rule{Decision: n.decision, Pattern: n.Pattern, Pos: n.pos, From: from}
		if n.Group == ir.MCP {
			if can.MCP == nil {
				can.MCP = &ir.MCPTable{Default: unsaid(ir.MCP, n.pos)}
			}
			addTool(can.MCP, n.Server, rule, from)
			continue
		}
		t := tables[n.Group]
		if *t == nil {
			*t = &ir.Table{Default: unsaid(n.Group, n.pos)}
		}
		(*t).Rules = append((*t).Rules, rule)
	}
	// A deny of reading holds for editing and for the commands that read, too.
	for _, n := range rules.neutral {
		if n.Group != ir.Read || n.decision != ir.Deny || n.Pattern.Kind != ir.Plain {
			continue
		}
		if can.Edit == nil && role != nil {
			can.Edit = &ir.Table{Default: unsaid(ir.Edit, n.pos)}
		}
		if can.Edit != nil {
			can.Edit.Rules = append(can.Edit.Rules, ir.Rule{Decision: ir.Deny, Pattern: n.Pattern, Pos: n.pos, From: from})
		}
		if t := can.Command; t != nil && (t.Default != nil && t.Default.Decision == ir.Allow || reads(t.Rules)) {
			for _, p := range target.CommandsOn(n.Pattern.Text) {
				t.Rules = append(t.Rules, ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: p}, Pos: n.pos, From: from})
			}
		}
	}
	if rules.outside && role != nil {
		can.OutsideRead = &ir.Default{Decision: ir.Deny, Pos: role.Pos}
	}
}

// addTool adds a rule to the entry of a server, whose default is that of the
// table.
func addTool(t *ir.MCPTable, server string, rule ir.Rule, from string) {
	i := slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == server && e.From == from })
	if i < 0 {
		def := *t.Default
		def.From = from
		t.Entries = append(t.Entries, ir.MCPEntry{Key: server, Literal: !strings.ContainsAny(server, "*?"), Pos: rule.Pos, From: from, Default: &def})
		slices.SortStableFunc(t.Entries, func(a, b ir.MCPEntry) int { return strings.Compare(a.Key, b.Key) })
		i = slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == server && e.From == from })
	}
	t.Entries[i].Rules = append(t.Entries[i].Rules, rule)
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
	if s != nil && target.ToolName(name) {
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
	if !target.ServerName(server) {
		return false
	}
	im.servers[server] = &ir.Server{Name: server, Pos: at, Type: ir.External, DefaultEnabled: true, Tools: []ir.Tool{}}
	return true
}

// otherKeys reads what stands beside the rules.
func (im *importer) otherKeys(role *ir.Role, rules *importedRules, subject string, v *artifact.Value) {
	left := func(m artifact.Member, why string) { im.out.Note(target.Left, m.Pos, subject, m.Key, why) }
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
					im.out.Note(target.Refused, e.Pos, subject, "env "+e.Key, "the source takes texts only")
				}
			}
		case "disabledMcpjsonServers":
			for _, item := range m.Value.List() {
				if name, ok := item.Str(); ok && target.ServerName(name) && im.knows(name, "", item.Pos) {
					rules.neutral = append(rules.neutral, neutralRule{clauderule.Neutral{Group: ir.MCP, Server: name, Pattern: ir.Pattern{Kind: ir.All}}, ir.Deny, item.Pos})
					im.out.NoteRule(target.Understood, item.Pos, subject, m.Key+" "+name, "")
				}
			}
		case "enableAllProjectMcpServers", "enabledMcpjsonServers":
			left(m, "whether a server is started, not what it may do")
		case "hooks":
			if !ownHooks(m.Value) {
				left(m, "a program decides, which the source cannot say")
			}
		default:
			left(m, "no permission of a mode or role")
		}
	}
	for _, m := range v.Get("permissions").Fields() {
		switch m.Key {
		case "allow", "ask", "deny", "defaultMode", "disableBypassPermissionsMode", "disableAutoMode":
		case "additionalDirectories":
			left(m, "the source knows one project folder: what lies outside is asked about or denied")
		default:
			left(m, "Claude Code drops this key")
		}
	}
}

// ownHooks reports whether every hook is modec's own.
func ownHooks(v *artifact.Value) bool {
	for _, event := range v.Fields() {
		for _, entry := range event.Value.List() {
			for _, h := range entry.Get("hooks").List() {
				line, _ := h.Get("command").Str()
				if _, err := target.ParseHookLine(line); err != nil {
					return false
				}
			}
		}
	}
	return true
}
