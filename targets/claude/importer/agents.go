package importer

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
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
	noSlug        = "the subagent's name has no letter and no digit"
)

// agentOf is a subagent, and the subject in whose notes it is.
type agentOf struct {
	*format.Agent
	subject string
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
		im.refuseAgent(f, noSlug)
		return
	}
	of := agentOf{a, "mode " + slug}
	if slug != a.Name {
		im.out.Note(contract.Repaired, a.Root.Get("name").Line(), of.subject, "name "+a.Name,
			"a slug has letters, digits and dashes: it is "+slug)
	}
	for other, m := range im.modes {
		if strings.EqualFold(other, slug) {
			im.out.Note(contract.Refused, a.Root.Pos, of.subject, a.Name,
				"the subagent at "+m.Pos.String()+" has this name")
			return
		}
	}
	im.modes[slug] = im.mode(f, of, slug, about)
	im.tree[format.AgentsFolder+"/"+slug+".md"] = renamed(f.data, a.Name, slug)
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
		im.out.Note(contract.Repaired, at, a.subject, "prompt", "it is empty: the description takes its place")
	}
	if a.Root.Comment != "" {
		im.out.Comments[at] = a.Root.Comment
	}
	im.agentFields(&m, a)
	s := im.shared.state
	s.lists = nil
	s.enter(a.Agent)
	s.settle()
	im.agentCan(&m, a, &s)
	return m
}

// renamed returns a subagent's file with the slug for its name, under which it is asked
// about.
func renamed(data []byte, name, slug string) []byte {
	if name == slug {
		return data
	}
	lines := strings.Split(string(data), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "name:") {
			lines[i] = "name: " + strconv.Quote(slug)
			break
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// agentFields reads what does not concern permissions.
func (im *importer) agentFields(m *ir.Mode, a agentOf) {
	fields := map[string]any{}
	left := func(f located.Member, what, why string) { im.out.Note(contract.Left, f.Pos, a.subject, what, why) }
	for _, f := range a.Root.Fields() {
		text, isText := f.Value.Str()
		if known, _ := format.AgentExtra(f.Key, nil); known {
			var value any = text
			if n, err := strconv.ParseFloat(f.Value.Text, 64); err == nil && f.Value.Is(located.Number) {
				value = n
			}
			if _, valid := format.AgentExtra(f.Key, value); valid {
				fields[f.Key] = value
			} else {
				left(f, f.Key+" "+f.Value.Text, "a value that Claude Code does not document")
			}
			continue
		}
		switch f.Key {
		case "name", "description", "tools", "disallowedTools", "permissionMode":
		case "model":
			if isText && isModel(text) {
				m.Model = text
			} else {
				left(f, "model "+f.Value.Text, "the source does not take this model")
			}
		case "hooks":
			if !onlyModecs(f.Value) {
				left(f, f.Key, "a program decides, which the source cannot say")
			}
		case "mcpServers", "skills", "memory", "background", "isolation", "initialPrompt":
			left(f, f.Key, "the source has no word for it")
		default:
			left(f, f.Key, "Claude Code ignores this key")
		}
	}
	if len(fields) > 0 {
		m.Extra = map[string]ir.Extra{"claude": {Fields: fields, Pos: m.Pos}}
	}
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
	c.MCP = im.agentServers(a, s, usually(s.mode, at))
	if a.Tools() == nil {
		c.Unknown = usually(s.mode, at)
	}
	im.agentNotes(a)
	im.sharedInto(c, s.mode)
	if s.mode != format.Bypass {
		guardCommands(c, at, s.mode)
	}
	if leavesAll(c) {
		*c = ir.Can{Default: c.Read.Default}
	}
}

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

// usually returns the decision of a tool that a subagent has: its session's, unless the
// subagent's own mode decides.
func usually(mode string, at diag.Pos) *ir.Default {
	d := ir.Agent
	switch mode {
	case format.Bypass:
		d = ir.Allow
	case format.DontAsk:
		d = ir.Deny
	}
	return &ir.Default{Decision: d, Pos: at}
}

// groups fills in the tables of a subagent by the tools that it has. A group without a tool
// is denied.
func groups(c *ir.Can, s *state, at diag.Pos) {
	c.Read, c.Edit, c.Command, c.Web, c.Modes = denied(at), denied(at), denied(at), denied(at), denied(at)
	plan := s.mode == format.Plan
	if s.hasAny(format.Tools[ir.Read]...) {
		c.Read = &ir.Table{Default: usually(s.mode, at)}
		if s.mode == format.DontAsk {
			c.Read.Default.Decision = ir.Allow
		}
	}
	if s.hasAny(format.Tools[ir.Edit]...) && !plan {
		c.Edit = &ir.Table{Default: usually(s.mode, at)}
		if s.mode == format.AcceptEdits {
			c.Edit.Default.Decision = ir.Allow
		}
	}
	if s.hasAny(format.Tools[ir.Command]...) {
		c.Command = &ir.Table{Default: usually(s.mode, at)}
		if plan {
			c.Command = onlyReading(at)
		}
	}
	if s.has("WebFetch") { // a search names no host
		c.Web = &ir.Table{Default: usually(s.mode, at)}
	}
	if s.has("Agent") {
		c.Modes = &ir.Table{Default: usually(s.mode, at)}
	}
}

// onlyReading is the table of the commands that only read.
func onlyReading(at diag.Pos) *ir.Table {
	t := &ir.Table{Default: &ir.Default{Decision: ir.Deny, Pos: at}}
	for _, name := range []string{"git_read", "readonly_filters"} {
		p := ir.Pattern{Kind: ir.Builtin, Text: name}
		t.Rules = append(t.Rules, ir.Rule{Decision: ir.Allow, Pattern: p, Pos: at})
	}
	return t
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
	for i := range rules.neutral {
		n := &rules.neutral[i]
		n.decision = min(n.decision, n.beside)
	}
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
