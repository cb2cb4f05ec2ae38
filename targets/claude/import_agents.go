package claude

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
)

// subagents turns each subagent into a mode: its prompt, and what Claude Code lets
// it do in a session of the project's settings.
func (im *importer) subagents() {
	for _, f := range im.agents {
		v, body, err := frontMatter(f.name, f.data)
		if err != nil {
			im.noAgent(f, err)
			continue
		}
		name, _ := v.Get("name").Str()
		if name == "" {
			im.noAgent(f, errors.New("got a subagent without a name, which Claude Code does not load"))
			continue
		}
		if about, _ := v.Get("description").Str(); strings.TrimSpace(about) == "" {
			im.noAgent(f, errors.New("got a subagent without a description, which Claude Code does not load"))
			continue
		}
		im.subagent(f, v, name, body)
	}
}

// noAgent reports a file that is no subagent: prose beside agents does not stop a
// migration, unless somebody named it.
func (im *importer) noAgent(f agentFile, err error) {
	if im.src.Files != nil {
		im.diags.Errorf(codeImport, diag.Pos{File: f.name, Line: 1, Col: 1}, "%v", err)
		return
	}
	im.out.Note(contract.Refused, diag.Pos{File: f.name, Line: 1, Col: 1}, "", f.name, err.Error())
}

func (im *importer) subagent(f agentFile, v *located.Value, name, body string) {
	slug := contract.Slug(name)
	switch slug {
	case name:
	case "":
		im.noAgent(f, errors.New("got a name without a letter or digit"))
		return
	default:
		im.out.Note(contract.Repaired, v.Get("name").Line(), "mode "+slug, "name "+name, "a slug has letters, digits and dashes: it is "+slug)
	}
	subject := "mode " + slug
	for other, m := range im.modes {
		if strings.EqualFold(other, slug) {
			im.out.Note(contract.Refused, v.Pos, subject, name, "the subagent at "+m.Pos.String()+" has this name")
			return
		}
	}
	at := diag.Pos{File: f.name, Line: 1, Col: 1}
	about, _ := v.Get("description").Str()
	m := ir.Mode{Slug: slug, Pos: at, Name: name, WhenToUse: about, RoleDefinition: strings.Trim(body, "\n")}
	if strings.TrimSpace(m.RoleDefinition) == "" {
		m.RoleDefinition = about
		im.out.Note(contract.Repaired, at, subject, "prompt", "it is empty: the description stands there")
	}
	if v.Comment != "" {
		im.out.Comments[at] = v.Comment
	}
	im.agentFields(&m, v, subject)
	o := newOpener(memfs.FS{})
	a := o.agent(f.name, f.data)
	s := &session{mode: "default", skills: map[string]bool{}, approval: contract.Access}
	if im.shared.session != nil {
		s.rules, s.mode, s.noAuto, s.noPass = im.shared.session.rules, im.shared.session.mode, im.shared.session.noAuto, im.shared.session.noPass
	}
	s.enter(a)
	s.settle()
	im.agentCan(&m, v, s, subject)
	im.modes[slug] = m
	im.tree[".claude/agents/"+slug+".md"] = renamed(f.data, name, slug)
}

// renamed gives a subagent the slug for its name, so that it can be asked about
// by it.
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

// agentFields reads what is no permission.
func (im *importer) agentFields(m *ir.Mode, v *located.Value, subject string) {
	fields := map[string]any{}
	for _, f := range v.Fields() {
		text, isText := f.Value.Str()
		switch f.Key {
		case "name", "description", "tools", "disallowedTools", "permissionMode":
		case "model":
			if isText && (slices.Contains([]string{"sonnet", "opus", "haiku", "inherit"}, text) || strings.HasPrefix(text, "claude-")) {
				m.Model = text
			} else {
				im.out.Note(contract.Left, f.Pos, subject, "model "+f.Value.Text, "the source does not take this model")
			}
		case "color", "effort", "maxTurns":
			var value any = text
			if n, err := strconv.ParseFloat(f.Value.Text, 64); err == nil && f.Value.Is(located.Number) {
				value = n
			}
			if extras[f.Key](value) {
				fields[f.Key] = value
			} else {
				im.out.Note(contract.Left, f.Pos, subject, f.Key+" "+f.Value.Text, "a value that Claude Code does not document")
			}
		case "hooks":
			if !ownHooks(f.Value) {
				im.out.Note(contract.Left, f.Pos, subject, f.Key, "a program decides, which the source cannot say")
			}
		case "mcpServers", "skills", "memory", "background", "isolation", "initialPrompt":
			im.out.Note(contract.Left, f.Pos, subject, f.Key, "the source has no word for it")
		default:
			im.out.Note(contract.Left, f.Pos, subject, f.Key, "Claude Code ignores this key")
		}
	}
	if len(fields) > 0 {
		m.Extra = map[string]ir.Extra{"claude": {Fields: fields, Pos: m.Pos}}
	}
}

// agentCan says what the subagent may do: the groups of the tools that it has, at
// what its mode makes of them, and the rules of the project's settings.
func (im *importer) agentCan(m *ir.Mode, v *located.Value, s *session, subject string) {
	at := v.Get("tools").Line()
	if at.IsZero() {
		at = m.Pos
		im.out.NoteRule(contract.Understood, at, subject, "no tools", "it has all of the session's")
	}
	bypass, plan, never := s.mode == "bypassPermissions", s.mode == "plan", s.mode == "dontAsk"
	pick := func(usual ir.Decision) *ir.Default {
		switch {
		case bypass:
			usual = ir.Allow
		case never && usual == ir.Ask:
			usual = ir.Deny
		}
		return &ir.Default{Decision: usual, Pos: at}
	}
	any := func(names ...string) bool { return slices.ContainsFunc(names, s.offered) }
	deny := func() *ir.Table {
		return &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at}}}
	}
	c := &m.Can
	c.Read, c.Edit, c.Command, c.Web, c.Modes = deny(), deny(), deny(), deny(), deny()
	if any("Read", "Grep", "Glob", "LSP") {
		c.Read = &ir.Table{Default: pick(ir.Allow)}
	}
	if any("Edit", "Write", "NotebookEdit") && !plan {
		c.Edit = &ir.Table{Default: pick(ir.Ask)}
		if s.mode == "acceptEdits" {
			c.Edit.Default.Decision = ir.Allow
		}
	}
	switch {
	case any("Bash", "Monitor", "PowerShell") && plan:
		c.Command = &ir.Table{Default: &ir.Default{Decision: ir.Deny, Pos: at}, Rules: []ir.Rule{
			{Decision: ir.Allow, Pattern: ir.Pattern{Kind: ir.Builtin, Text: "git_read"}, Pos: at}, {Decision: ir.Allow, Pattern: ir.Pattern{Kind: ir.Builtin, Text: "readonly_filters"}, Pos: at}}}
	case any("Bash", "Monitor", "PowerShell"):
		c.Command = &ir.Table{Default: pick(ir.Ask)}
	}
	if any("WebFetch") { // a search names no host
		c.Web = &ir.Table{Default: pick(ir.Ask)}
	}
	if any("Agent") {
		c.Modes = &ir.Table{Default: pick(ir.Ask)}
	}
	c.MCP = im.agentServers(subject, v, s, pick(ir.Ask))
	for _, key := range []string{"tools", "disallowedTools"} {
		for _, name := range toolNames(v.Get(key)) {
			why := ""
			if strings.Contains(name, "(") {
				why = "what stands in parentheses limits nothing: the tool is there or not"
			}
			im.out.NoteRule(contract.Understood, v.Get(key).Line(), subject, key+" "+name, why)
		}
	}
	if mode := v.Get("permissionMode"); mode != nil {
		text, _ := mode.Str()
		if permissionModes[text] {
			im.out.NoteRule(contract.Understood, mode.Pos, subject, "permissionMode "+text, "")
		} else {
			im.out.NoteRule(contract.Refused, mode.Pos, subject, "permissionMode "+text, "Claude Code leaves it out")
		}
	}
	im.sharedInto(c, s.mode)
	if c.Edit != nil && !bypass {
		guardEdits(c, at, ir.Deny, s.mode)
	}
	if !bypass {
		guardCommands(c, at, s.mode)
	}
}

// agentServers says which tools of servers a subagent has.
func (im *importer) agentServers(subject string, v *located.Value, s *session, def *ir.Default) *ir.MCPTable {
	t := &ir.MCPTable{Default: def}
	if list := v.Get("tools"); list != nil && !list.Is(located.Null) {
		t.Default = &ir.Default{Decision: ir.Deny, Pos: list.Pos}
		for _, name := range toolNames(list) {
			rest, ok := strings.CutPrefix(name, "mcp__")
			if !ok {
				if name == "*" {
					t.Default = def
				}
				continue
			}
			server, tool, _ := strings.Cut(rest, "__")
			switch {
			case (server == "*" || server == "") && (tool == "" || tool == "*"):
				t.Default = def
			case strings.Contains(server, "*") || server == "": // several servers, of which the inventory need not tell all
				im.out.Note(contract.Left, list.Pos, subject, name, "a pattern over servers: none of them is permitted by it")
			case !im.knows(server, tool, list.Pos):
			default:
				im.grant(t, rest, def, list.Pos)
			}
		}
	}
	for _, name := range toolNames(v.Get("disallowedTools")) {
		rest, ok := strings.CutPrefix(name, "mcp__")
		if name == "*" {
			rest, ok = "*", true
		}
		if !ok {
			continue
		}
		at := v.Get("disallowedTools").Line()
		server, tool, _ := strings.Cut(rest, "__")
		all := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at}
		switch {
		case strings.Contains(server, "*") || server == "" || !im.knows(server, tool, at):
			t.Rules = append(t.Rules, all)
		default:
			im.grantRule(t, rest, func(tool string) ir.Rule {
				if tool == "" || tool == "*" {
					return all
				}
				return ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: tool}, Pos: at}
			}, at)
		}
	}
	if !s.offered("ReadMcpResourceTool") {
		withoutResources(t, def.Pos)
	}
	return t
}

// grant lets a subagent call what a name of its tools stands for: a server, or a
// tool of it.
func (im *importer) grant(t *ir.MCPTable, written string, def *ir.Default, at diag.Pos) {
	im.grantRule(t, written, func(tool string) ir.Rule {
		if tool == "" {
			tool = "*"
		}
		return ir.Rule{Decision: def.Decision, Pattern: ir.Pattern{Text: tool}, Pos: at}
	}, at)
}

// grantRule adds a rule for each server that a name may stand for.
func (im *importer) grantRule(t *ir.MCPTable, written string, rule func(tool string) ir.Rule, at diag.Pos) {
	for _, s := range (importInventory{im, at}).Servers() {
		as := toolWord(s.Name)
		tool, ok := strings.CutPrefix(written, as+"__")
		if !ok && written != as {
			continue
		}
		if !ok {
			tool = ""
		}
		if tool != "" && !strings.ContainsAny(tool, "*") && !contract.ToolName(tool) {
			continue
		}
		im.tool(im.servers[s.Name], tool, at)
		addTool(t, s.Name, rule(tool), "")
	}
}

// sharedInto lays the rules of the project's settings over a subagent's groups. A
// group that it does not have stays denied, whatever they allow; tools of servers
// are its own, since its list of tools limits them.
func (im *importer) sharedInto(c *ir.Can, mode string) {
	rules := importedRules{mode: mode, neutral: slices.Clone(im.shared.neutral)}
	for i := range rules.neutral {
		n := &rules.neutral[i]
		n.decision = min(n.decision, n.kept)
	}
	rules.inMode()
	tools := rules.neutral
	rules.neutral = slices.DeleteFunc(slices.Clone(tools), func(n neutralRule) bool { return n.Group == ir.MCP })
	rules.into(c, nil, sharedRules)
	toolsInto(c.MCP, tools)
	if len(c.MCP.Entries) == 0 && len(c.MCP.Rules) == 0 && c.MCP.Default.Decision == ir.Deny {
		c.MCP = nil
	}
	for _, t := range []**ir.Table{&c.Read, &c.Edit, &c.Command, &c.Web, &c.Modes} {
		if len((*t).Rules) == 1 && (*t).Rules[0].Pattern.Kind == ir.All && (*t).Rules[0].From == "" {
			*t = nil // not mentioned: no rule of the settings speaks of it either
		}
	}
}

// toolsInto lays the rules of a session for tools of servers over those that a list
// of tools leaves: what it does not hold stays denied, whatever they allow or ask
// about.
func toolsInto(t *ir.MCPTable, rules []neutralRule) {
	for _, n := range rules {
		if n.Group != ir.MCP {
			continue
		}
		rule := ir.Rule{Decision: n.decision, Pattern: n.Pattern, Pos: n.pos}
		if t.Default.Decision > ir.Deny || n.decision == ir.Deny && strings.ContainsAny(n.Server, "*?") {
			addTool(t, n.Server, rule, "")
			continue
		}
		for i := range t.Entries {
			e := &t.Entries[i]
			switch {
			case e.Key != n.Server && !policy.Wildcard(n.Server, e.Key), n.decision == ir.Allow:
			case n.decision == ir.Deny:
				e.Rules = append(e.Rules, rule)
			default: // of the tools that are there, those that the rule speaks of
				for _, has := range slices.Clone(e.Rules) {
					if all := n.Pattern.Kind == ir.All; has.Decision == ir.Allow && (all || policy.Wildcard(n.Pattern.Text, has.Pattern.Text)) {
						e.Rules = append(e.Rules, ir.Rule{Decision: ir.Ask, Pattern: has.Pattern, Pos: n.pos})
					} else if has.Decision == ir.Allow && policy.Wildcard(has.Pattern.Text, n.Pattern.Text) {
						e.Rules = append(e.Rules, rule)
					}
				}
			}
		}
	}
}
