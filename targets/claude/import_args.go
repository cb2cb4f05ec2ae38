package claude

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// ImportArgs turns a command line of claude into a role: its flags, the files that
// they name below the source's root, and the settings and servers of the project
// in which it starts. at is where the command line stands. The original holds the
// files that were read, and the decider of the session.
func ImportArgs(src contract.Source, name string, args []string, at diag.Pos) (contract.Imported, diag.List) {
	im := newImporter(src)
	im.out.Files = []string{at.File}
	im.arguments(name, args, at)
	im.diags.Sort()
	return im.out, im.diags
}

func (im *importer) arguments(name string, args []string, at diag.Pos) {
	bad := func(format string, args ...any) { im.diags.Errorf(codeImport, at, format, args...) }
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		args = args[1:] // the program
	}
	c, err := readFlags(args)
	if err != nil {
		bad("%v", err)
		return
	}
	for _, flag := range c.unknown {
		bad("got the flag %q, which modec does not know: it may permit something", flag)
	}
	own := []string{} // servers
	for _, v := range c.servers {
		if isJSON(v) {
			own = append(own, im.serversFile(at.File, []byte(v))...)
		} else if data, ok := im.projectFile(path.Clean(v)); ok {
			own = append(own, im.serversFile(path.Clean(v), data)...)
		} else {
			bad("got the servers file %q, which is not there: claude does not start", v)
		}
	}
	slices.Sort(own)
	if own = slices.Compact(own); !c.strict {
		own = nil
		if data, ok := im.projectFile(".mcp.json"); ok {
			im.serversFile(".mcp.json", data)
		}
	}
	var layers []layer
	if data, ok := im.homeFile(userSettings); ok && c.reads("user") {
		layers = append(layers, newLayer("~/"+userSettings, data))
	}
	for _, f := range projectSettings {
		if data, ok := im.projectFile(f.name); ok && c.reads(f.source) {
			layers = append(layers, newLayer(f.name, data))
		}
	}
	shared := layers
	switch {
	case c.settings == "":
	case isJSON(c.settings):
		layers = append(layers, layer{at.File, []byte(c.settings), false, ""})
	default:
		file := path.Clean(c.settings)
		data, ok := im.projectFile(file)
		if !ok {
			bad("got the settings file %q, which is not there: claude does not start", c.settings)
			return
		}
		layers = append(layers, layer{file, data, false, path.Dir(file)})
	}
	role, rules := im.role(name, at, layers, &c, own)
	if rules == nil {
		return
	}
	role.AppendSystemPrompt = c.prompt
	if c.promptFile != "" {
		data, err := contract.ReadImport(im.src.Root, path.Clean(c.promptFile))
		if err != nil {
			bad("got the prompt file %q: %v", c.promptFile, err)
		}
		// Observed on 2.1.329: the file's text stands first, wherever its flag does.
		role.AppendSystemPrompt = strings.TrimSpace(string(data) + "\n\n" + c.prompt)
	}
	for _, o := range c.others {
		im.out.Note(contract.Left, at, "role "+name, o.text, o.why)
	}
	im.roles[name] = role
	im.joined()
	o := im.opener(shared)
	s, err := o.started(&c, at)
	if err != nil {
		bad("%v", err)
		return
	}
	s.hooks = nil // somebody else's hooks hold nothing for sure
	ref := ir.SubjectRef{Role: name}
	im.out.Originals = []contract.Original{{File: at.File, Files: im.tree, Subjects: []ir.SubjectRef{ref},
		Opened: []contract.Decider{&decider{open: o, all: map[ir.SubjectRef]*session{ref: s}}}}}
}

// projectFile reads a file of the project into the tree of the originals.
func (im *importer) projectFile(name string) ([]byte, bool) {
	data, ok := im.file(im.src.Root, name, name)
	if ok {
		im.tree[name] = data
	}
	return data, ok
}

func (im *importer) homeFile(name string) ([]byte, bool) {
	if im.src.Home == nil {
		return nil, false
	}
	return im.file(im.src.Home, name, "~/"+name)
}

// flags adds to rules what the flags of a command line say.
func (im *importer) flags(c *commandLine, rules *importedRules, role *ir.Role, subject string, at diag.Pos) {
	if c.mode != "" {
		rules.mode, rules.modePos = c.mode, at
		rules.session.mode = c.mode
		im.out.NoteRule(contract.Understood, at, subject, c.modeWritten, "")
	}
	for _, l := range []struct {
		flag  string
		d     ir.Decision
		rules []string
	}{{"--allowedTools", ir.Allow, c.allowed}, {"--disallowedTools", ir.Deny, c.disallowed}} {
		for _, text := range l.rules {
			im.ruleText(rules, subject, l.d, text, at, l.flag+" "+text)
			// A rule that is left out is noted by then.
			_ = rules.session.rules[l.d].add(l.d, text, at, root)
		}
	}
	if c.tools != nil {
		if names := c.builtins(); names != nil {
			role.Tools = names
			rules.session.tools = append(rules.session.tools, newToolList(*names, false, true))
		}
		im.out.NoteRule(contract.Understood, at, subject, "--tools "+strings.Join(*c.tools, ","), "")
	}
	if c.strict {
		im.out.NoteRule(contract.Understood, at, subject, "--strict-mcp-config", "")
	}
}

// limit denies the groups of which a session has no tool: other agents know no
// list of tools.
func limit(role *ir.Role, s *session, at diag.Pos, def *ir.Default) {
	if len(s.tools) == 0 {
		return
	}
	for g, t := range map[ir.Group]**ir.Table{ir.Read: &role.Can.Read, ir.Edit: &role.Can.Edit, ir.Command: &role.Can.Command, ir.Web: &role.Can.Web, ir.Modes: &role.Can.Modes} {
		names := tools[g]
		switch g {
		case ir.Modes:
			names = []string{"Agent"}
		case ir.Web:
			names = []string{"WebFetch"} // a search names no host
		}
		if !slices.ContainsFunc(names, s.offered) {
			*t = &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at}}}
		}
	}
	role.Can.Unknown = &ir.Default{Decision: ir.Deny, Pos: at}
	if !s.offered("ReadMcpResourceTool") {
		if role.Can.MCP == nil {
			role.Can.MCP = &ir.MCPTable{Default: def}
		}
		withoutResources(role.Can.MCP, at)
	}
}

// withoutResources denies the resources of every server.
func withoutResources(t *ir.MCPTable, at diag.Pos) {
	none := &ir.Default{Decision: ir.Deny, Pos: at}
	for i := range t.Entries {
		t.Entries[i].Resources = none
	}
	if t.Default.Decision > ir.Deny {
		def := *t.Default
		t.Entries = append([]ir.MCPEntry{{Key: "*", Pos: at, Default: &def, Resources: none}}, t.Entries...)
	}
}

// strictly leaves a role the servers of its own list alone.
func strictly(can *ir.Can, names []string, def *ir.Default) {
	t := can.MCP
	if t == nil {
		t = &ir.MCPTable{Default: def}
	}
	own := &ir.MCPTable{Default: &ir.Default{Decision: ir.Deny, Pos: def.Pos}, Rules: t.Rules}
	for _, name := range names {
		e := ir.MCPEntry{Key: name, Literal: true, Pos: def.Pos, Default: t.Default}
		for _, of := range t.Entries {
			if of.Key == name || !of.Literal && policy.Wildcard(of.Key, name) {
				e.Rules = append(e.Rules, of.Rules...)
				if of.Literal {
					e.Default, e.Pos = of.Default, of.Pos
				}
			}
		}
		own.Entries = append(own.Entries, e)
	}
	can.MCP = own
}

// asAgent limits a role to the tools of the subagent as which its session runs.
// known is false where no file of the project or of the user describes it.
func (im *importer) asAgent(role *ir.Role, rules *importedRules, name, subject string, at diag.Pos, def *ir.Default) (known bool) {
	for _, f := range im.agentFiles() {
		v, _, err := frontMatter(f.name, f.data)
		if err != nil {
			continue
		}
		if n, _ := v.Get("name").Str(); n != name {
			continue
		}
		im.file(f.fsys, strings.TrimPrefix(f.name, "~/"), f.name)
		im.tree[".claude/agents/modec-agent.md"] = f.data
		a := newOpener(memfs.FS{}).agent(f.name, f.data)
		rules.session.tools = append(rules.session.tools, a.tools...)
		if v.Get("tools") != nil || v.Get("disallowedTools") != nil {
			t := im.agentServers(subject, v, rules.session, def)
			toolsInto(t, rules.neutral)
			role.Can.MCP = t
		}
		im.out.NoteRule(contract.Understood, at, subject, "agent "+name, "its tools limit the session; its prompt is its own mode's")
		return true
	}
	return false
}

// agentFiles lists the subagents' files, those of the project first: of two with a
// name Claude Code takes the project's. Observed on 2.1.329.
func (im *importer) agentFiles() (files []agentFile) {
	for _, at := range []struct {
		fsys   fs.FS
		prefix string
	}{{im.src.Root, ""}, {im.src.Home, "~/"}} {
		if at.fsys == nil {
			continue
		}
		for _, name := range im.glob(at.fsys, ".claude/agents") {
			if data, err := contract.ReadImport(at.fsys, name); err == nil {
				files = append(files, agentFile{at.prefix + name, data, at.fsys})
			}
		}
	}
	return files
}
