package resolve_test

import (
	"testing"

	"modec.dev/modec/compiler/ir"
)

// inventory is what the rules of these tests speak of. Claude Code writes
// "my docs" as my_docs and "get.page" as get_page.
const inventory = `
servers: {
	github: {command: "github-mcp", tools: {list_issues: {}, delete_repo: {}}}
	admin: {command: "admin-mcp", defaultEnabled: false, tools: {drop_table: {}, status: {}}}
	"my docs": {command: "docs-mcp", tools: {"get.page": {}, search: {}}}
}
modes: code: {name: "Code", roleDefinition: "You write code.", can: default: "allow"}
`

// decisions are wanted for "SUBJECT GROUP ARG".
type decisions map[string]ir.Decision

// A rule of an agent's own grammar decides about what it matches, and leaves the rest as
// the role would have decided without it. What each rule means is tested in
// targets/claude.
func TestNativeRulesLeaveTheRest(t *testing.T) {
	for _, c := range []struct {
		role string // the body of role r
		want decisions
	}{
		{`allowedTools: ["Bash(npm test)"]`, decisions{"r command npm test": ir.Allow, "r command git push": ir.Agent}},
		{`permissionMode: "dontAsk", allowedTools: ["Bash(npm test)"]`, decisions{"r command git push": ir.Agent}},
		{`permissionMode: "acceptEdits", disallowedTools: ["Edit(/secret)"]`, decisions{
			"r edit secret": ir.Deny, "r edit a": ir.Agent,
		}},
		{`can: default: "deny", askTools: ["Bash(ls)"]`, decisions{"r command ls": ir.Ask, "r command rm": ir.Deny}},
		{`disallowedTools: ["Agent(code)"]`, decisions{"r modes code": ir.Deny, "r modes other": ir.Agent}},

		// A server that is off by default stays off for what no allow names.
		{`disallowedTools: ["mcp__admin__drop_table"]`, decisions{
			"r mcp admin:drop_table": ir.Deny, "r mcp admin:status": ir.Deny,
		}},
		{`permissionMode: "bypassPermissions", allowedTools: ["mcp__admin__status"]`, decisions{
			"r mcp admin:drop_table": ir.Deny, "r mcp admin:status": ir.Allow,
		}},

		// What `can` says of other servers goes on holding.
		{`can: mcp: "*": "allow", disallowedTools: ["mcp__github__delete_repo"]`, decisions{
			"r mcp github:delete_repo": ir.Deny, "r mcp github:list_issues": ir.Allow, "r mcp my docs:search": ir.Allow,
		}},
		{`can: mcp: github: "allow", disallowedTools: ["mcp__github__delete_repo"]`, decisions{
			"r mcp github:list_issues": ir.Allow,
		}},
		{`can: mcp: github: {default: "deny"}, allowedTools: ["mcp__github__list_issues"]`, decisions{
			"r mcp github:list_issues": ir.Allow, "r mcp github:delete_repo": ir.Deny,
		}},
	} {
		t.Run(c.role, func(t *testing.T) {
			p := model(t, map[string]string{"a.cue": "package modec\n" + inventory + "roles: r: {" + c.role + "}\n"})
			if rules := p.Roles[0].Native; len(rules) > 0 {
				t.Errorf("left to Claude Code alone: %v", rules)
			}
			for ask, want := range c.want {
				if got := decide(t, p, ask); got != want {
					t.Errorf("%s: got %s, want %s", ask, got, want)
				}
			}
		})
	}
}

// A Claude rule that a role inherits does not bring along what the parent
// decides about the rest.
func TestClaudeRulesAreInheritedAlone(t *testing.T) {
	p := model(t, map[string]string{"a.cue": "package modec\n" + inventory + `
roles: {
	free: {permissionMode: "bypassPermissions", allowedTools: ["Bash(ls)", "mcp__github__list_*"]}
	strict: {permissionMode: "dontAsk", extends: ["free"]}
	opened: {permissionMode: "dontAsk", extends: ["free"], can: command: "allow"}
	closed: {extends: ["free"], can: {command: "deny", mcp: github: default: "deny"}}
}
`})
	for ask, want := range map[string]ir.Decision{
		"free command rm x":           ir.Agent,
		"strict command ls":           ir.Allow,
		"strict command rm x":         ir.Agent,
		"strict mcp my docs:search":   ir.Agent,
		"opened command rm x":         ir.Allow,
		"closed command ls":           ir.Deny,
		"closed mcp github:list_x":    ir.Allow,
		"closed mcp github:delete_x":  ir.Deny,
		"strict mcp github:delete_x":  ir.Agent,
		"strict mcp github:list_open": ir.Allow,
	} {
		if got := decide(t, p, ask); got != want {
			t.Errorf("%s: got %s, want %s", ask, got, want)
		}
	}
	for _, r := range p.Role("strict").Can.Command.Rules {
		if r.From != "role free" {
			t.Errorf("got a rule from %q, want it from role free", r.From)
		}
	}
}
