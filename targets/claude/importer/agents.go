package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

const (
	noName        = "Claude Code does not load a subagent without a name"
	noDescription = "Claude Code does not load a subagent without a description"
)

// agentOf is a subagent, and the subject in whose notes it is.
type agentOf struct {
	*format.Agent
	subject string
}

// rank puts subagents whose name is a slug before others, which do not get that slug.
func (f agentFile) rank() int {
	if a, err := format.ReadAgent(f.at, f.data); err == nil && contract.Slug(a.Name) != a.Name {
		return 1
	}
	return 0
}

// agent makes a mode of a subagent: its prompt, and what Claude Code lets it do in a
// session with the project's settings.
func (im *importer) agent(f agentFile) {
	a, err := format.ReadAgent(f.at, f.data)
	if err != nil {
		im.refuseAgent(f, err.Error())
		return
	}
	description := a.Root.Get("description")
	about, _ := description.Str()
	slug := contract.Slug(a.Name)
	switch {
	case a.Name == "":
		im.refuseAgent(f, noName)
		return
	case description != nil && !description.Is(located.String) && !description.Is(located.Null):
		im.refuseAgent(f, fmt.Sprintf("Claude Code does not load a subagent whose description is %s: it has to be text",
			description.Kind))
		return
	case strings.TrimSpace(about) == "":
		im.refuseAgent(f, noDescription)
		return
	case slug == "":
		im.refuseAgent(f, contract.NoSlug)
		return
	}
	of := agentOf{a, "mode " + slug}
	if slug != a.Name {
		im.out.Note(contract.Kept, a.Root.Get("name").Line(), of.subject, "name "+a.Name,
			"a slug has letters, digits and dashes: it is "+slug)
	}
	for other, m := range im.modes {
		if strings.EqualFold(other, slug) {
			im.out.Note(contract.Refused, a.Root.Pos, of.subject, a.Name,
				"the subagent at "+m.Pos.String()+" has this name")
			return
		}
	}
	if i := slices.IndexFunc(a.Root.Fields(), starts); i >= 0 && !im.src.Ours {
		f := a.Root.Fields()[i]
		why, _ := contract.RefusedSetting("claude", f.Key, false)
		im.out.Note(contract.Left, f.Pos, "", a.Name, f.Key+": "+why+": the subagent stays where it is, and in force")
		return
	}
	im.modes[slug] = im.mode(f, of, slug, about)
	name := f.name
	if !strings.HasPrefix(name, format.AgentsFolder+"/") || f.at != f.name {
		name = format.AgentsFolder + "/" + slug + ".md"
	}
	im.tree[name] = f.data
}

// refuseAgent reports a file that is not a subagent. Prose beside subagents does not stop
// an import, unless somebody named the file.
func (im *importer) refuseAgent(f agentFile, reason string) {
	at := diag.Pos{File: f.at, Line: 1, Col: 1}
	if im.src.Files != nil {
		im.diags.Errorf(CodeImport, at, "%s", reason)
		return
	}
	im.out.Note(contract.Refused, at, "", f.at, reason)
}

func (im *importer) mode(f agentFile, a agentOf, slug, about string) ir.Mode {
	at := diag.Pos{File: f.at, Line: 1, Col: 1}
	m := ir.Mode{Slug: slug, Pos: at, Name: a.Name, WhenToUse: about, RoleDefinition: strings.Trim(a.Prompt, "\n")}
	if strings.TrimSpace(m.RoleDefinition) == "" {
		m.RoleDefinition = about
		im.out.Note(contract.Kept, at, a.subject, "prompt", "it is empty: elsewhere the description takes its place")
	}
	if a.Root.Comment != "" {
		im.out.Comments[at] = a.Root.Comment
	}
	im.agentFields(&m, f, a)
	if own := format.AgentMode(&m); own == format.Plan || own == format.DontAsk || im.shared.alone {
		m.Targets = []string{"claude"} // no other agent holds back what the mode or the session does
	}
	s := im.shared.state
	s.lists = nil
	s.enter(a.Agent)
	s.settle()
	im.agentCan(&m, a, &s)
	return m
}

// agentFields reads what the mode says in words of its own, and keeps every other key for Claude
// Code.
func (im *importer) agentFields(m *ir.Mode, f agentFile, a agentOf) {
	fields := map[string]any{}
	if file, ok := strings.CutPrefix(f.name, format.AgentsFolder+"/"); ok && file != m.Slug+".md" &&
		format.IsAgentFile(file) {
		fields["file"] = file
	}
	if a.Name != m.Slug {
		fields["name"] = a.Name
	}
	if a.Prompt == "" || strings.TrimSpace(a.Prompt) == "" {
		fields["prompt"] = ""
	}
	for _, field := range a.Root.Fields() {
		if a.Root.Get(field.Key) != field.Value { // a key that is there again
			continue
		}
		switch text, isText := field.Value.Str(); {
		case field.Key == "name", field.Key == "description":
		case !slices.Contains(format.AgentKeys, field.Key):
			im.out.Note(contract.Left, field.Pos, a.subject, field.Key,
				"Claude Code ignores this key: it stays in the file")
		case field.Key == "model" && isText && isModel(text):
			m.Model = text
		case field.Key == "tools" && a.Tools() == nil, field.Key == "hooks" && onlyModecs(field.Value):
		case field.Key == "tools", field.Key == "disallowedTools":
			if names := format.ToolNames(field.Value); field.Key != "tools" || !modecs(names) {
				fields[field.Key] = listOf(names)
			}
		default:
			im.agentExtra(fields, field, a)
		}
	}
	if len(fields) > 0 {
		m.Extra = map[string]ir.Extra{"claude": {Fields: fields, Pos: m.Pos}}
	}
}

// agentExtra keeps a key of the front matter for Claude Code, unless Claude Code does not take it.
func (im *importer) agentExtra(fields map[string]any, f located.Member, a agentOf) {
	value := f.Value.Any()
	if f.Key == "hooks" {
		value = withoutModecs(f.Value)
	}
	one := &ir.Mode{Extra: map[string]ir.Extra{"claude": {Fields: map[string]any{f.Key: value}}}}
	if _, errs := format.ReadAgentExtras(one); len(errs) > 0 && !starts(f) {
		if f.Key != "permissionMode" { // which has a note of its own
			im.out.Note(contract.Left, f.Pos, a.subject, f.Key+" "+f.Value.Text,
				"a value that Claude Code does not document")
		}
		return
	}
	fields[f.Key] = value
	if !slices.Contains([]string{"color", "effort", "maxTurns", "permissionMode"}, f.Key) {
		im.out.Note(contract.Kept, f.Pos, a.subject, f.Key, "")
	}
}

// starts reports whether a key of a subagent is one that no source has, and that Claude Code reads: it starts programs
// or servers.
func starts(f located.Member) bool {
	if f.Key == "mcpServers" {
		_, names := contract.Texts(f.Value.Any())
		return !names
	}
	return slices.Contains(format.AgentKeys, f.Key) && f.Key != "description" &&
		!contract.TakesSetting("claude", f.Key) && (f.Key != "hooks" || !onlyModecs(f.Value))
}

func listOf(names []string) []any {
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	return list
}

// modecs reports whether modec wrote a list of tools from the groups of a mode: it begins with
// the tools that touch nothing, and has the others of a group together.
func modecs(names []string) bool {
	harmless := []string{"AskUserQuestion", "TodoWrite", "ToolSearch"}
	if len(names) < len(harmless) || !slices.Equal(names[:len(harmless)], harmless) {
		return false
	}
	rest := names[len(harmless):]
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
		if n := len(format.Tools[g]); len(rest) >= n && slices.Equal(rest[:n], format.Tools[g]) {
			rest = rest[n:]
		}
	}
	return !slices.ContainsFunc(rest, func(name string) bool {
		return !strings.HasPrefix(name, "mcp__") && name != "Agent" && !slices.Contains(format.ResourceTools, name)
	})
}

// isModel reports whether the source takes a model.
func isModel(name string) bool {
	return slices.Contains([]string{"sonnet", "opus", "haiku", "inherit"}, name) || strings.HasPrefix(name, "claude-")
}

// agentCan says what the subagent may do: the groups of the tools that it has, at what its
// mode makes of them, and the rules of the project's settings.
func (im *importer) agentCan(m *ir.Mode, a agentOf, s *state) {
	at := a.Root.Get("tools").Line()
	if at.IsZero() {
		at = m.Pos
		im.out.NoteRule(contract.Understood, at, a.subject, "no tools", "it has all of the session's")
	}
	c := &m.Can
	groups(c, s, at)
	c.MCP = im.agentServers(a, s, left(at))
	im.restrict(m, a)
	if slices.ContainsFunc(append(format.UnknownTools, unlistedTools(a)...), s.leaves) {
		c.Unknown = left(at)
	}
	im.agentNotes(a)
	im.sharedInto(c, s.mode)
	withoutAllows(c, s)
	if s.mode != format.Bypass {
		guardCommands(c, at, s.mode)
	}
	if leavesAll(c) {
		*c = ir.Can{Default: c.Read.Default}
	}
}

// withoutAllows drops what the rules of a session allow of the groups whose tools a subagent only
// seems to have: Grep and Glob are not there beside Bash.
func withoutAllows(c *ir.Can, s *state) {
	for g, t := range tablesOf(c) {
		tools := format.Tools[g]
		if g == ir.Web {
			tools = []string{"WebFetch"} // a search names no host
		}
		if *t != nil && !s.hasAny(tools...) {
			(*t).Rules = slices.DeleteFunc(slices.Clone((*t).Rules), allows)
		}
	}
}

func allows(r ir.Rule) bool { return r.Decision == ir.Allow }

// leavesAll reports whether a mode leaves every group to its agent.
func leavesAll(c *ir.Can) bool {
	left := func(d *ir.Default) bool { return d != nil && d.Decision == ir.Agent }
	for _, t := range tablesOf(c) {
		if *t == nil || !left((*t).Default) || len((*t).Rules) > 0 {
			return false
		}
	}
	return left(c.Unknown) && c.MCP != nil && left(c.MCP.Default) && len(c.MCP.Entries)+len(c.MCP.Rules) == 0
}

// unlistedTools returns the names in a subagent's list of tools that Claude Code does not have.
func unlistedTools(a agentOf) (names []string) {
	for _, item := range format.ToolNames(a.Tools()) {
		name := format.ToolName(item)
		if name != "" && !strings.HasPrefix(name, "mcp__") && !strings.Contains(name, "*") && !format.KnownTool(name) {
			names = append(names, name)
		}
	}
	return names
}

// left is what a subagent has: whether a person is asked is its session's matter, or that of the
// subagent's own permission mode.
func left(at diag.Pos) *ir.Default { return &ir.Default{Decision: ir.Agent, Pos: at} }

// groups fills in the tables of a subagent by the tools that its lists leave. A group without a
// tool is denied.
func groups(c *ir.Can, s *state, at diag.Pos) {
	starters := append(slices.Clone(format.Starters), format.Tools[ir.Modes]...)
	for g, t := range tablesOf(c) {
		tools := format.Tools[g]
		if g == ir.Modes {
			tools = starters
		}
		*t = denied(at)
		if slices.ContainsFunc(tools, s.leaves) {
			*t = &ir.Table{Default: left(at)}
		}
	}
}

// agentNotes notes what became of the lists of tools and of the permission mode.
func (im *importer) agentNotes(a agentOf) {
	for _, key := range []string{"tools", "disallowedTools"} {
		for _, name := range format.ToolNames(a.Root.Get(key)) {
			why := ""
			if strings.Contains(name, "(") {
				why = "the content of the parentheses limits nothing: the tool is there or not"
			}
			im.out.NoteRule(contract.Understood, a.Root.Get(key).Line(), a.subject, key+" "+name, why)
		}
	}
	if v := a.Root.Get("permissionMode"); v != nil {
		mode, ok := format.ModeOf(v)
		if ok {
			im.out.NoteRule(contract.Understood, v.Pos, a.subject, "permissionMode "+mode, "")
		} else {
			im.out.NoteRule(contract.Refused, v.Pos, a.subject, "permissionMode "+mode, "Claude Code ignores it")
		}
	}
}

// agentServers says which tools of servers a subagent has. usual is the decision for those
// that its lists do not limit.
func (im *importer) agentServers(a agentOf, s *state, usual *ir.Default) *ir.MCPTable {
	t := &ir.MCPTable{Default: usual}
	if list := a.Tools(); list != nil {
		t.Default = &ir.Default{Decision: ir.Deny, Pos: list.Pos}
		for _, name := range format.ToolNames(list) {
			im.granted(t, a, name, usual)
		}
	}
	withheld := a.Root.Get("disallowedTools")
	for _, name := range format.ToolNames(withheld) {
		im.withheld(t, name, withheld.Line())
	}
	if !s.has("ReadMcpResourceTool") {
		withoutResources(t, usual.Pos)
	}
	return t
}

// restrict leaves to the agent the tools of servers that a subagent's list of tools names, and
// denies the others: no rule leaves one tool to the agent.
func (im *importer) restrict(m *ir.Mode, a agentOf) {
	t := m.Can.MCP
	if t == nil || t.Default == nil || t.Default.Decision > ir.Deny || len(t.Entries) == 0 {
		return
	}
	r := &ir.MCPRestrictions{Pos: t.Default.Pos, AllowedServers: &[]ir.Item{}}
	tools, whole := []ir.ToolRef{}, true
	kept := []ir.MCPEntry{}
	for _, e := range t.Entries {
		if !slices.ContainsFunc(e.Rules, named) {
			kept = append(kept, e)
			continue
		}
		*r.AllowedServers = append(*r.AllowedServers, ir.Item{Name: e.Key, Pos: e.Pos})
		for _, rule := range e.Rules {
			if named(rule) {
				tools = append(tools, ir.ToolRef{Server: e.Key, Tool: rule.Pattern.Text, Pos: rule.Pos})
				whole = whole && rule.Pattern.Text == "*"
			}
		}
		e.Rules = slices.DeleteFunc(slices.Clone(e.Rules), named)
		if e.Default = nil; len(e.Rules) > 0 {
			kept = append(kept, e)
		}
	}
	if len(*r.AllowedServers) == 0 {
		return
	}
	if !whole {
		r.AllowedTools = &tools
	}
	t.Default, t.Entries, m.Restrictions = left(t.Default.Pos), kept, r
	if a.offers("ReadMcpResourceTool") {
		return
	}
	withoutResources(t, t.Default.Pos)
}

// named reports whether a rule is what a list of tools names.
func named(r ir.Rule) bool { return r.Decision > ir.Deny }

// offers reports whether a subagent's lists leave a tool.
func (a agentOf) offers(tool string) bool { return (&state{lists: a.ToolLists()}).leaves(tool) }

// granted adds what a name in a subagent's list of tools stands for: a server, or a tool of
// it.
func (im *importer) granted(t *ir.MCPTable, a agentOf, name string, usual *ir.Default) {
	at := a.Tools().Pos
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		if name == "*" {
			t.Default = usual
		}
		return
	}
	server, tool, _ := strings.Cut(rest, "__")
	several := strings.Contains(server, "*") || server == ""
	switch {
	case (server == "*" || server == "") && (tool == "" || tool == "*"):
		t.Default = usual
	case several: // of which the inventory need not have all
		im.out.Note(contract.Left, at, a.subject, name, "a pattern over servers: none of them is permitted by it")
	case im.knows(server, tool, at):
		im.eachServer(t, rest, at, func(tool string) ir.Rule {
			r := ir.Rule{Decision: usual.Decision, Pattern: ir.Pattern{Text: cmp.Or(tool, "*")}, Pos: at}
			if r.Decision == ir.Agent { // which no rule says
				r.Decision = ir.Ask
			}
			return r
		})
	}
}

// withheld takes away what a name in disallowedTools stands for.
func (im *importer) withheld(t *ir.MCPTable, name string, at diag.Pos) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok && name != "*" {
		return
	}
	server, tool, _ := strings.Cut(rest, "__")
	all := ir.Rule{Decision: ir.Deny, Pattern: everything, Pos: at}
	if strings.Contains(server, "*") || server == "" || !im.knows(server, tool, at) {
		t.Rules = append(t.Rules, all)
		return
	}
	im.eachServer(t, rest, at, func(tool string) ir.Rule {
		if tool == "" || tool == "*" {
			return all
		}
		return ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: tool}, Pos: at}
	})
}

// eachServer adds a rule for each server that a name may stand for.
func (im *importer) eachServer(t *ir.MCPTable, name string, at diag.Pos, of func(tool string) ir.Rule) {
	for _, s := range (inventory{im, at}).Servers() {
		as := rule.Name(s.Name)
		tool, ok := strings.CutPrefix(name, as+"__")
		switch {
		case name == as:
			tool = ""
		case !ok, tool != "" && !strings.Contains(tool, "*") && !contract.ToolName(tool):
			continue
		}
		im.tool(im.servers[s.Name], tool, at)
		addTool(t, s.Name, of(tool))
	}
}

// sharedInto lays the rules of the project's settings over a subagent's groups. A group
// that the subagent does not have stays denied, whatever they allow. Tools of servers are
// the subagent's own, since its list of tools limits them.
func (im *importer) sharedInto(c *ir.Can, mode string) {
	rules := importedRules{state: state{mode: mode}, neutral: slices.Clone(im.shared.neutral)}
	rules.inMode()
	all := rules.neutral
	rules.neutral = slices.DeleteFunc(slices.Clone(all), func(n neutralRule) bool { return n.Group == ir.MCP })
	rules.into(c, nil, sharedRules)
	toolsInto(c.MCP, all)
	if len(c.MCP.Entries) == 0 && len(c.MCP.Rules) == 0 && c.MCP.Default.Decision == ir.Deny {
		c.MCP = nil
	}
	for _, t := range tablesOf(c) {
		if len((*t).Rules) == 1 && (*t).Rules[0].Pattern.Kind == ir.All && (*t).Rules[0].From == "" {
			*t = nil // not mentioned: no rule of the settings is about it either
		}
	}
}
