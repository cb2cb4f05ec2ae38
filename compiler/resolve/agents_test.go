package resolve_test

import (
	"maps"
	"slices"
	"testing"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/resolve"
)

// agents.NAME.can is as if it stood in can, for that target: its rules are added, and its own decision for the rest
// comes before the common one, which comes before those of parents.
func TestAgentsCan(t *testing.T) {
	p, diags := resolved(map[string]string{"a.cue": "package modec\n" + inventory + `
policies: base: can: {read: deny: [".env"], web: "ask"}
roles: {
	a: {
		extends: ["base"]
		can: {read: "allow", command: {allow: ["make"], default: "ask"}, edit: "deny"}
		can: mcp: github: {allow: ["list_*"], default: "ask"}
		agents: claude: {
			can: {read: allow: ["**"], command: {deny: ["curl:*"], default: "allow"}, web: "allow", edit: "allow"
				mcp: github: {deny: ["delete_*"], default: "allow"}}
		}
		agents: opencode: settings: order: ["bash"]
		agents: cursor: can: mcp: admin: "allow"
	}
	b: {extends: ["a"], can: web: "deny", agents: codex: {native: {}, can: command: "deny"}}
	c: {extends: ["a"], can: command: "ask"}
	d: {extends: ["a"], disallowedTools: ["Bash(make)"]}
}
`}, resolve.Settings{Known: []string{"claude", "codex", "cursor", "opencode", "thurbox"},
		Starts: map[string]string{"thurbox": "claude"}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for target, want := range map[string]decisions{
		"": {
			"a command ls": ir.Ask, "a command curl x": ir.Ask, "a web x.org": ir.Ask,
			"a mcp github:delete_repo": ir.Ask,
			"a mcp admin:status":       ir.Deny, "b command ls": ir.Ask, "d command make": ir.Deny,
		},
		"claude": {
			"a command ls": ir.Allow, "a command curl x": ir.Deny, "a command make": ir.Allow, "a web x.org": ir.Allow,
			"a read .env": ir.Deny, "a edit x": ir.Deny, "a mcp github:delete_repo": ir.Deny,
			"a mcp github:list_issues": ir.Allow, "a mcp github:other": ir.Allow, "a mcp admin:status": ir.Deny,
			"b web x.org": ir.Deny, "b command ls": ir.Allow, "b command curl x": ir.Deny,
			"c command ls": ir.Ask, "c command curl x": ir.Deny, "d command make": ir.Deny,
		},
		"thurbox": {"a command ls": ir.Allow, "a command curl x": ir.Deny},
		"cursor":  {"a command ls": ir.Ask, "a mcp admin:status": ir.Allow, "b mcp admin:status": ir.Allow},
		"codex":   {"a command ls": ir.Ask, "b command make": ir.Deny, "b read x": ir.Allow},
	} {
		for ask, want := range want {
			if got := decide(t, p.For(target), ask); got != want {
				t.Errorf("for %q: %s: got %s, want %s", target, ask, got, want)
			}
		}
	}
	if got := slices.Sorted(maps.Keys(p.Role("b").Extra)); !slices.Equal(got, []string{"opencode"}) {
		t.Errorf("got settings for %q, want those for opencode, which role a has", got)
	}
}
