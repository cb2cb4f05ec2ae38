package claude_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude"
)

// model compiles a source of one file that has no errors.
func model(t *testing.T, text string) *ir.Project {
	t.Helper()
	res, diags := compiler.Open(t.Context(), compiler.Request{
		FS:      memfs.FS{config.File: nil, "modec/a.cue": []byte("package modec\n" + text)},
		Targets: []contract.Target{claude.New()},
	})
	if res == nil {
		t.Fatal(diags)
	}
	return res.Project
}

// decisions are wanted for "SUBJECT GROUP ARG".
type decisions map[string]ir.Decision

// decide answers "SUBJECT GROUP ARG".
func decide(t *testing.T, p *ir.Project, ask string) ir.Decision {
	t.Helper()
	name, ask, _ := strings.Cut(ask, " ")
	group, arg, _ := strings.Cut(ask, " ")
	a := policy.Action{Group: ir.Group(group), Arg: arg}
	if a.Group == ir.MCP {
		a.Server, a.Arg, _ = strings.Cut(arg, ":")
	}
	ref := ir.SubjectRef{Role: name}
	if p.Role(name) == nil {
		ref = ir.SubjectRef{Mode: name}
	}
	s, err := policy.New(p).Subject(ref)
	if err != nil {
		t.Fatal(err)
	}
	return s.Decide(a).Decision
}

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

// A Claude rule decides about what it matches and leaves the rest as the role
// would have decided without it: to the agent, where the role says nothing.
func TestClaudeRules(t *testing.T) {
	for _, c := range []struct {
		role string // the body of role r
		want decisions
	}{
		{`allowedTools: ["Bash(git log *)", "Bash(npm test)"], disallowedTools: ["Bash(git log --output*)"]`, decisions{
			"r command git log -1":         ir.Allow,
			"r command npm test":           ir.Allow,
			"r command git log --output=x": ir.Deny,
			"r command git push":           ir.Agent,
		}},
		{`permissionMode: "dontAsk", allowedTools: ["Bash(git log *)"]`, decisions{
			"r command git log -1": ir.Allow,
			"r command git push":   ir.Agent,
		}},
		{`disallowedTools: ["Bash"]`, decisions{"r command ls": ir.Deny, "r read a.go": ir.Agent}},
		{`permissionMode: "dontAsk", allowedTools: ["Bash"]`, decisions{"r command ls": ir.Allow}},
		{`askTools: ["Read"], allowedTools: ["Edit(./**)"]`, decisions{
			"r read a.go": ir.Ask, "r edit a.go": ir.Allow,
		}},

		// Paths are gitignore patterns; "dir/**" holds at any depth in a deny only.
		{`permissionMode: "dontAsk", allowedTools: ["Edit(docs/**)", "Edit(./README.md)", "Edit(*.txt)"]`, decisions{
			"r edit docs/a.md":     ir.Allow,
			"r edit src/docs/a.md": ir.Agent,
			"r edit README.md":     ir.Allow,
			"r edit src/README.md": ir.Agent,
			"r edit src/a.txt":     ir.Allow,
		}},
		{`permissionMode: "acceptEdits", disallowedTools: ["Read(gen/**)", "Edit(/secret)", "Write(*.pem)"]`, decisions{
			"r read gen/a":     ir.Deny,
			"r read src/gen/a": ir.Deny,
			"r edit secret/a":  ir.Deny,
			"r edit a/secret":  ir.Agent,
			"r edit a/b.pem":   ir.Deny,
		}},

		{`permissionMode: "dontAsk", allowedTools: ["WebFetch(domain:*.example.com)"]`, decisions{
			"r web docs.example.com": ir.Allow, "r web example.com": ir.Agent,
		}},
		{`disallowedTools: ["WebFetch", "Agent(code)"]`, decisions{
			"r web example.com": ir.Deny, "r modes code": ir.Deny,
		}},

		// MCP: a server, a tool, a glob over tools, and over servers in a deny.
		{`allowedTools: ["mcp__github__list_*"], disallowedTools: ["mcp__github__delete_repo"]`, decisions{
			"r mcp github:list_issues": ir.Allow,
			"r mcp github:delete_repo": ir.Deny,
			"r mcp my docs:search":     ir.Agent,
		}},
		{`permissionMode: "dontAsk", allowedTools: ["mcp__github"]`, decisions{
			"r mcp github:delete_repo": ir.Allow, "r mcp my docs:search": ir.Agent,
		}},
		{`allowedTools: ["mcp__my_docs__get_page"]`, decisions{
			"r mcp my docs:get.page": ir.Allow, "r mcp my docs:search": ir.Agent,
		}},
		{`disallowedTools: ["mcp__my_*"]`, decisions{
			"r mcp my docs:get.page": ir.Deny, "r mcp github:list_issues": ir.Agent,
		}},
		{`disallowedTools: ["mcp__*__delete_*"]`, decisions{
			"r mcp github:delete_repo": ir.Deny, "r mcp github:list_issues": ir.Agent,
		}},
		{`disallowedTools: ["mcp__*_repo"]`, decisions{
			"r mcp github:delete_repo": ir.Deny, "r mcp github:list_issues": ir.Agent,
		}},
		{`permissionMode: "bypassPermissions", disallowedTools: ["mcp__*"]`, decisions{
			"r mcp github:list_issues": ir.Deny,
		}},

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
			p := model(t, inventory+"roles: r: {"+c.role+"}\n")
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

// What the neutral vocabulary cannot say stays a rule for Claude Code alone,
// verbatim.
func TestClaudeRulesThatStay(t *testing.T) {
	rules := []string{
		"WebSearch", "WebFetch", "Write", "Skill(deploy)", "Agent(Explore)", "Bash(@git_read)", "Monitor(tail *)",
		"Read(//etc/**)", "Read(~/.ssh/**)", "Edit(!docs/**)", "Edit(#notes)", `Edit(a\ b)`,
		"Edit( x)", "mcp__github__a?",
	}
	p := model(t, inventory+fmt.Sprintf("roles: r: askTools: %s\n", cueList(rules)))
	var got []string
	for _, r := range p.Role("r").Native {
		if r.Decision != ir.Ask || r.Pos.Line == 0 {
			t.Errorf("got %+v, want an ask with a place", r)
		}
		got = append(got, r.Text)
	}
	if diff := cmp.Diff(rules, got); diff != "" {
		t.Error(diff)
	}
	if c := p.Role("r").Can; c.Read != nil || c.Edit != nil || c.Command != nil || c.Web != nil || c.MCP != nil {
		t.Errorf("the neutral side got %+v, want nothing", c)
	}
}

func cueList(items []string) string {
	q := make([]string, len(items))
	for i, s := range items {
		q[i] = fmt.Sprintf("%q", s)
	}
	return "[" + strings.Join(q, ", ") + "]"
}

// Two servers that Claude Code writes alike: an allow names neither, a deny
// both.
func TestClaudeRulesForNamesThatCollide(t *testing.T) {
	p := model(t, `servers: {"a b": {command: "x", tools: t: {}}, "a.b": {command: "y", tools: t: {}}}
roles: r: {permissionMode: "dontAsk", allowedTools: ["mcp__a_b__t"]}
roles: s: {permissionMode: "bypassPermissions", disallowedTools: ["mcp__a_b__t"]}
`)
	for ask, want := range (decisions{
		"r mcp a b:t": ir.Agent, "r mcp a.b:t": ir.Agent,
		"s mcp a b:t": ir.Deny, "s mcp a.b:t": ir.Deny,
	}) {
		if got := decide(t, p, ask); got != want {
			t.Errorf("%s: got %s, want %s", ask, got, want)
		}
	}
	if got := p.Role("r").Native; len(got) != 1 {
		t.Errorf("got %v, want the allow to stay with Claude Code", got)
	}
}
