// Package shop is the project for which Cursor's tests decide, and what they build others
// from. Only tests import it.
package shop

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Project returns a shop with one role, "dev", and the servers admin, docs and github.
func Project() *ir.Project {
	github := Server("github", 10, "list_issues", "create_issue", "delete_repo")
	github.Args = []string{"stdio"}
	docs := ir.Server{Name: "docs", Pos: At(20), Type: "http", URL: "https://docs.example/mcp", DefaultEnabled: true,
		Tools: []ir.Tool{{Name: "get"}}}
	admin := Server("admin", 30, "drop")
	admin.DefaultEnabled = false
	p := Role(ir.Can{
		Read:    Table(ir.Allow, Rule(ir.Deny, "secrets/", 1), Rule(ir.Ask, "contracts/", 2)),
		Edit:    Table(ir.Deny, Rule(ir.Allow, "src/**", 3)),
		Command: Table(ir.Ask, Rule(ir.Allow, "git log *", 4), Rule(ir.Deny, "git push *", 5)),
		Web:     Table(ir.Deny, Rule(ir.Allow, "docs.example", 6), Rule(ir.Ask, "maybe.example", 7)),
		Modes:   Table(ir.Deny, Rule(ir.Allow, "explore", 8)),
		MCP: MCP(ir.Deny, Entry("docs", ir.Allow),
			Entry("github", ir.Ask, Rule(ir.Allow, "list_*", 9), Rule(ir.Deny, "delete_*", 10))),
	}, admin, docs, github)
	return p
}

// Role returns a project with one role, "dev", and its inventory.
func Role(can ir.Can, servers ...ir.Server) *ir.Project {
	return &ir.Project{Version: ir.Version, Name: "shop", ClosedInventory: true, Baseline: "dev",
		Roles: []ir.Role{{Name: "dev", Pos: At(1), Can: can}}, Servers: servers}
}

// At returns a place in the source.
func At(line int) diag.Pos { return diag.Pos{File: "modec/a.cue", Line: line, Col: 1} }

// Rule returns a rule with a plain pattern.
func Rule(d ir.Decision, text string, line int) ir.Rule {
	return ir.Rule{Decision: d, Pattern: ir.Pattern{Text: text}, Pos: At(line)}
}

// Table returns the rules of a group.
func Table(def ir.Decision, rules ...ir.Rule) *ir.Table {
	return &ir.Table{Default: &ir.Default{Decision: def, Pos: At(90)}, Rules: rules}
}

// MCP returns the rules for servers.
func MCP(def ir.Decision, entries ...ir.MCPEntry) *ir.MCPTable {
	return &ir.MCPTable{Default: &ir.Default{Decision: def, Pos: At(91)}, Entries: entries}
}

// Entry returns the rules for a server.
func Entry(key string, def ir.Decision, rules ...ir.Rule) ir.MCPEntry {
	return ir.MCPEntry{Key: key, Literal: true, Default: &ir.Default{Decision: def, Pos: At(92)}, Rules: rules,
		Pos: At(93)}
}

// Server returns a server that is on by default, each tool on a line of its own.
func Server(name string, line int, tools ...string) ir.Server {
	s := ir.Server{Name: name, Pos: At(line), Type: "stdio", Command: name + "-mcp", DefaultEnabled: true}
	for i, t := range tools {
		s.Tools = append(s.Tools, ir.Tool{Name: t, Pos: At(line + 1 + i)})
	}
	return s
}
