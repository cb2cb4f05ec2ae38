package importer

import (
	"errors"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/targets/gemini/format"
)

// agent makes a mode of an agent.
func (im *importer) agent(in input, data []byte) {
	at := diag.Pos{File: in.at, Line: 1, Col: 1}
	a, err := format.ReadAgent(in.at, data)
	if err != nil {
		switch {
		case errors.Is(err, format.ErrRemote):
			im.out.Note(contract.Left, at, "", in.at,
				"an agent that runs elsewhere: what it may do is not decided here")
		case im.src.Files != nil:
			im.diags.Errorf(codeImport, at, "Gemini CLI does not load this agent: %v", err)
		default:
			im.out.Note(contract.Refused, at, "", in.at, "Gemini CLI does not load this agent: "+err.Error())
		}
		return
	}
	slug := contract.Slug(a.Name)
	of := "mode " + slug
	if slug == "" {
		im.out.Note(contract.Refused, at, "", in.at, contract.NoSlug)
		return
	}
	for other, m := range im.modes {
		if strings.EqualFold(other, slug) {
			im.out.Note(contract.Refused, at, of, a.Name, "the agent at "+m.Pos.String()+" has this name")
			return
		}
	}
	starts := func(key string) bool { return a.Root.Get(key) != nil }
	if slices.ContainsFunc(format.ServersKeys, starts) && !im.src.Ours {
		im.out.Note(contract.Left, at, "", in.at, "it starts servers: it stays where it is, and in force")
		return
	}
	m := ir.Mode{Slug: slug, Pos: at, Name: a.Name, WhenToUse: a.Description,
		RoleDefinition: strings.TrimSpace(a.Prompt)}
	if slug != a.Name {
		im.out.Note(contract.Kept, a.Root.Get("name").Line(), of, "name "+a.Name,
			"a slug has letters, digits and dashes: it is "+slug+", and keeps its name in Gemini CLI")
	}
	if m.RoleDefinition == "" {
		m.RoleDefinition = a.Description
		im.out.Note(contract.Kept, at, of, "prompt", "it is empty: the description takes its place")
	}
	if a.Root.Comment != "" {
		im.out.Comments[at] = a.Root.Comment
	}
	im.fields(&m, in, a)
	im.can(&m, a, of)
	im.modes[slug] = m
	im.read = append(im.read, in.at)
	im.tree[format.AgentsDir+"/"+path.Base(in.name)] = data
}

// ownKeys are the keys of the front matter that stay for Gemini CLI alone, by their names in the source.
var ownKeys = map[string]string{"kind": "kind", "max_turns": "maxTurns", "mcp_servers": "mcpServers", "model": "model",
	"temperature": "temperature", "timeout_mins": "timeoutMins", "tools": "tools"}

// fields reads what the agent says beside its name, its description and its prompt.
func (im *importer) fields(m *ir.Mode, in input, a *format.Agent) {
	own := map[string]any{}
	if base := path.Base(in.name); base != a.Name+".md" {
		own["file"] = base
	}
	if a.Name != m.Slug {
		own["name"] = a.Name
	}
	if display, ok := a.Root.Get("display_name").Str(); ok {
		m.Name = display
	}
	for _, f := range a.Root.Fields() {
		key := ownKeys[f.Key]
		if key == "" {
			continue
		}
		own[key] = f.Value.Any()
	}
	if len(own) > 0 {
		m.Extra = map[string]ir.Extra{"gemini": {Fields: own, Pos: m.Pos}}
	}
}

// left is what an agent has: whether a person is asked is its session's matter.
func left(at diag.Pos) *ir.Default { return &ir.Default{Decision: ir.Agent, Pos: at} }

// groups are the tools of each group.
var groups = map[ir.Group][]string{
	ir.Read: append([]string{format.ReadFile, format.OldGrep}, format.Searches...), ir.Edit: format.Edits,
	ir.Command: {format.Shell}, ir.Web: {format.WebFetch, format.WebSearch},
}

// can says what the agent may do: the groups of the tools that it has, at what its session makes of them.
func (im *importer) can(m *ir.Mode, a *format.Agent, of string) {
	c := &m.Can
	list := a.Root.Get("tools")
	if list == nil {
		im.out.NoteRule(contract.Understood, m.Pos, of, "no tools", "it has all of the session's")
		c.Default, c.Modes = left(m.Pos), noModes(m.Pos)
		return
	}
	at := list.Line()
	tools := list.Strings()
	for _, name := range tools {
		im.out.NoteRule(contract.Understood, at, of, "tools "+name, "")
	}
	if slices.Contains(tools, format.Every) {
		c.Default, c.Modes = left(at), noModes(at)
		return
	}
	tables := map[ir.Group]**ir.Table{ir.Read: &c.Read, ir.Edit: &c.Edit, ir.Command: &c.Command, ir.Web: &c.Web}
	for g, t := range tables {
		if slices.ContainsFunc(groups[g], func(name string) bool { return slices.Contains(tools, name) }) {
			*t = &ir.Table{Default: left(at)}
		}
	}
	known := slices.Concat(groups[ir.Read], groups[ir.Edit], groups[ir.Command], groups[ir.Web], format.Harmless,
		format.Resources, []string{format.Invoke, format.Skill})
	unknown := func(t string) bool { return !slices.Contains(known, t) && !strings.HasPrefix(t, "mcp_") }
	if slices.ContainsFunc(tools, unknown) {
		c.Unknown = left(at)
	}
	c.MCP = im.tools(list)
	restrict(m)
}

// noModes denies the tool that hands work to agents: no agent has it.
func noModes(at diag.Pos) *ir.Table {
	return &ir.Table{Rules: []ir.Rule{{Decision: ir.Deny, Pattern: ir.Pattern{Kind: ir.All}, Pos: at}}}
}

// restrict leaves to the agent the tools of servers that a list names, and denies the others: no rule leaves one tool
// to the agent.
func restrict(m *ir.Mode) {
	t := m.Can.MCP
	if t == nil || t.Default.Decision > ir.Deny || len(t.Entries) == 0 {
		return
	}
	r := &ir.MCPRestrictions{Pos: t.Default.Pos, AllowedServers: &[]ir.Item{}}
	tools, whole := []ir.ToolRef{}, true
	for _, e := range t.Entries {
		*r.AllowedServers = append(*r.AllowedServers, ir.Item{Name: e.Key, Pos: e.Pos})
		if e.Default != nil {
			tools = append(tools, ir.ToolRef{Server: e.Key, Tool: "*", Pos: e.Pos})
			continue
		}
		for _, rule := range e.Rules {
			tools, whole = append(tools, ir.ToolRef{Server: e.Key, Tool: rule.Pattern.Text, Pos: rule.Pos}), false
		}
	}
	if !whole {
		r.AllowedTools = &tools
	}
	t.Default, t.Entries, m.Restrictions = left(t.Default.Pos), nil, r
}

// tools says which tools of servers an agent has.
func (im *importer) tools(list *located.Value) *ir.MCPTable {
	var t *ir.MCPTable
	for _, item := range list.List() {
		text, _ := item.Str()
		rest, ok := strings.CutPrefix(text, "mcp_")
		switch {
		case !ok:
			continue
		case t == nil:
			t = &ir.MCPTable{Default: &ir.Default{Decision: ir.Deny, Pos: list.Pos}}
		}
		server, tool, _ := strings.Cut(rest, "_")
		if rest == "*" {
			t.Default = left(item.Pos)
			continue
		}
		s := im.servers[server]
		if s == nil {
			s = contract.NamedServer(server, item.Pos)
			im.servers[server] = s
			im.out.Note(contract.Left, item.Pos, "server "+server, server,
				"no file says how it is started: the server is known by its name alone")
		}
		i := slices.IndexFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == server })
		if i < 0 {
			i = len(t.Entries)
			t.Entries = append(t.Entries, ir.MCPEntry{Key: server, Literal: true, Pos: item.Pos})
		}
		switch e := &t.Entries[i]; {
		case tool == "*":
			e.Default = left(item.Pos)
		case contract.ToolName(tool): // as Gemini CLI asks about it by itself
			e.Rules = append(e.Rules, ir.Rule{Decision: ir.Ask, Pattern: ir.Pattern{Text: tool}, Pos: item.Pos})
			s.AddTool(ir.Tool{Name: tool, Pos: item.Pos})
		}
	}
	return t
}
