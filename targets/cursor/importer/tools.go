package importer

import (
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

const (
	badServerName = "the source does not accept this server name"
	badToolName   = "the source does not accept this tool name"
)

// tool adds an entry SERVER:TOOL.
func (im *importer) tool(r *ir.Role, text string, d ir.Decision, at diag.Pos) (why string) {
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
	rules := []ir.Rule{{Decision: d, Pattern: ir.Pattern{Text: tool}, Pos: at}}
	if server == "*" {
		return addTools(r.Can.MCP, server, rules)
	}
	if lower := strings.ToLower(tool); d == ir.Deny && lower != tool { // Cursor compares without case
		rules = append(rules, ir.Rule{Decision: d, Pattern: ir.Pattern{Text: lower}, Pos: at})
	}
	s := im.server(server, at, r)
	switch {
	case s == nil && d == ir.Deny:
		return addTools(r.Can.MCP, "*", rules)
	case s == nil:
		return badServerName
	case !strings.Contains(tool, "*"):
		for _, rule := range rules {
			if !contract.ToolName(rule.Pattern.Text) {
				return badToolName
			}
			s.AddTool(ir.Tool{Name: rule.Pattern.Text, Pos: at})
		}
	}
	return addTools(r.Can.MCP, s.Name, rules)
}

// deniedTool replaces what the source cannot write in a denied tool by any text, which
// may match more.
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

// addTools adds rules about the tools of a server.
func addTools(t *ir.MCPTable, server string, rules []ir.Rule) (why string) {
	for _, r := range rules {
		if policy.CheckToolGlob(r.Pattern.Text) != nil {
			return badToolName
		}
		if r.Decision == ir.Deny && r.Pattern.Text == "*" {
			r.Pattern = ir.Pattern{Kind: ir.All}
		}
		named := func(e ir.MCPEntry) bool { return e.Key == server }
		i := slices.IndexFunc(t.Entries, named)
		if i < 0 {
			e := ir.MCPEntry{Key: server, Literal: server != "*", Pos: r.Pos, Default: t.Default}
			t.Entries = append(t.Entries, e)
			slices.SortFunc(t.Entries, func(a, b ir.MCPEntry) int { return strings.Compare(a.Key, b.Key) })
			i = slices.IndexFunc(t.Entries, named)
		}
		t.Entries[i].Rules = append(t.Entries[i].Rules, r)
	}
	return ""
}

// server returns the server of a name, whatever its case; one of the user's own
// settings where no file has it; nil for a name that the source does not accept. The IDE
// puts user- or project-0-FOLDER- before a name, the CLI nothing.
func (im *importer) server(name string, at diag.Pos, r *ir.Role) *ir.Server {
	for _, known := range slices.Sorted(maps.Keys(im.servers)) {
		s := im.servers[known]
		if strings.EqualFold(s.Name, name) || r.Name == ideRole && im.prefixed(name, s.Name) {
			return s
		}
	}
	if !contract.ServerName(strings.ToLower(name)) {
		return nil
	}
	s := contract.NamedServer(name, at)
	im.servers[name] = s
	return s
}

// prefixed reports whether an id is a server's name behind a prefix of the IDE. The
// first id with a folder names that of the workspace.
func (im *importer) prefixed(id, name string) bool {
	if strings.EqualFold("user-"+name, id) {
		return true
	}
	folder, project := strings.CutPrefix(strings.ToLower(id), "project-0-")
	folder, named := strings.CutSuffix(folder, "-"+strings.ToLower(name))
	if !project || !named || im.folder != "" && im.folder != folder {
		return false
	}
	im.folder = folder
	return true
}
