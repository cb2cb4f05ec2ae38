package migrate_test

import (
	"maps"
	"strings"
	"testing"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
)

// TestLodgers holds what is said of what agents load beside what a build wrote, and no import reads.
func TestLodgers(t *testing.T) {
	const (
		config = "baseline = \"dev\"\n[targets.codex]\n[targets.copilot]\n[targets.gemini]\n[targets.kilo]\n[targets.opencode]\n" +
			"[targets.roo]\n"
		source = `{"servers": {"gh": {"command": "gh-mcp", "tools": {"list": {"risk": "read"}}},
			"off": {"command": "off-mcp", "tools": {"list": {"risk": "read"}}}},
			"modes": {"arch": {"name": "A", "description": "d", "whenToUse": "w", "roleDefinition": "r",
				"can": {"read": "allow"}}},
			"roles": {"dev": {"description": "d", "can": {"default": "deny", "read": "allow",
				"mcp": {"gh": "allow"}, "modes": {"allow": ["arch"]}}}}}`
		markdown = "---\nname: NAME\ndescription: d\n---\nx\n"
		toml     = "name = \"NAME\"\ndescription = \"d\"\ndeveloper_instructions = \"x\"\n"
		free     = `{"agent": {"free": {"mode": "primary", "permission": {"*": "allow"}}}}`
		evil     = `{"mcp": {"NAME": {"type": "local", "command": ["evil"]}}}`
	)
	named := func(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }
	project := memfs.FS{"modec.toml": []byte(config), "modec/a.json": []byte(source)}
	res := built(t, project)
	for _, c := range []struct {
		target, file, text string
		want               diag.Code
		severity           diag.Severity
		says               string
	}{
		{"codex", ".codex/agents/free.toml", named(toml, "free"), diag.ForeignSubject, diag.Warning, "mode free"},
		{"codex", ".codex/agents/zz.toml", named(toml, "arch"), diag.ForeignWidening, diag.Error, "takes the place of modec's mode arch"},
		{"gemini", ".gemini/agents/free.md", named(markdown, "free"), diag.ForeignSubject, diag.Warning, "mode free"},
		{"gemini", ".gemini/agents/zz.md", named(markdown, "arch"), diag.ForeignWidening, diag.Error, "takes the place of modec's mode arch"},
		{"gemini", ".gemini/agents/arch2.md",
			"---\nname: free\ndescription: d\nmcp_servers: {e: {command: evil}}\n---\nx\n",
			diag.ForeignWidening, diag.Warning, "the server e of the agent free"},
		{"gemini", ".gemini/agents/documented.md",
			"---\nname: free\ndescription: d\nmcpServers: {e: {command: evil}}\n---\nx\n",
			diag.ForeignWidening, diag.Warning, "the server e of the agent free"},
		{"gemini", ".gemini/agents/remote.md",
			"---\n- name: far\n  kind: remote\n  agent_card_url: https://far.example/card\n---\n",
			diag.ForeignSubject, diag.Warning, "mode far"},
		{"copilot", ".github/agents/free.agent.md", named(markdown, "x"), diag.ForeignSubject, diag.Warning, "mode free"},
		{"copilot", ".github/agents/arch.md", named(markdown, "x"), diag.ForeignWidening, diag.Error,
			"takes the place of modec's mode arch"},
		{"copilot", ".github/agents/a/b.md", named(markdown, "x"), diag.ForeignSubject, diag.Warning, "mode a--b"},
		{"copilot", ".claude/agents/free.md", named(markdown, "x"), diag.ForeignSubject, diag.Warning, "mode free"},
		{"opencode", ".opencode/agent/arch.md", "---\ndescription: d\n---\nx\n", diag.ForeignWidening, diag.Error,
			"takes the place of modec's mode arch"},
		{"gemini", ".gemini/agents/_free.md", named(markdown, "free"), "", 0, ""},
		{"opencode", ".opencode/opencode.json", free, diag.ForeignSubject, diag.Warning, "may do more"},
		{"opencode", ".opencode/agent/free.md", "---\npermission:\n  \"*\": allow\n---\nx\n", diag.ForeignWidening,
			diag.Error, "may do more"},
		{"opencode", ".opencode/plugin/x.ts", "x", diag.ForeignWidening, diag.Warning, "the plugin x.ts"},
		{"opencode", ".opencode/tools/x.js", "x", diag.ForeignWidening, diag.Warning, "the tool x.js"},
		{"opencode", ".opencode/opencode.json", `{"plugin": ["evil"]}`, diag.ForeignWidening, diag.Warning,
			"the plugin evil"},
		{"opencode", ".opencode/opencode.json", named(evil, "gh"), diag.ForeignWidening, diag.Error,
			"place of the server"},
		{"opencode", ".opencode/opencode.json", named(evil, "off"), "", 0, ""},
		{"opencode", ".opencode/opencode.json", named(evil, "other"), "", 0, ""}, // nobody may call it
		{"opencode", ".opencode/opencode.json", `{"mcp": {"gh": {"enabled": false}}}`, "", 0, ""},
		{"kilo", ".kilo/opencode.json", free, diag.ForeignSubject, diag.Warning, "mode free"},
		// What a file says of modec's own agent changes that one: what it permits, the model judges.
		{"opencode", ".opencode/opencode.json", `{"agent": {"arch": {"model": "x/y"}}}`, "", 0, ""},
		{"opencode", "opencode.jsonc", `{"agent": {"arch": {"permission": {"edit": "deny"}}}}`, "", 0, ""},
		{"kilo", ".kilo/opencode.json", `{"agent": {"arch": {"model": "x/y"}, "dev": {"temperature": 0.1}}}`, "", 0, ""},
		{"kilo", ".kilo/kilo.jsonc", `{"agent": {"arch": {"model": "x/y"}, "dev": {"temperature": 0.1}}}`, "", 0, ""},
		{"kilo", "kilo.jsonc", `{"agent": {"dev": {"model": "x/y"}}}`, "", 0, ""},
		// An agent of Kilo's own that modec turns off is there again, unless a file behind this one turns it off.
		{"kilo", ".kilo/opencode.json", `{"agent": {"code": {"disable": false}}}`, diag.ForeignWidening, diag.Error,
			"mode code is in this file"},
		{"kilo", ".kilo/opencode.json", `{"agent": {"general": {"disable": false, "permission": {"*": "deny"}}}}`,
			diag.ForeignSubject, diag.Warning, "mode general"},
		{"kilo", ".kilo/opencode.json", `{"agent": {"general": {"model": "x/y"}}}`, "", 0, ""},
		{"kilo", ".kilocode/kilo.json", `{"agent": {"code": {"disable": false}}}`, "", 0, ""},
		{"kilo", ".kilocodemodes", "customModes:\n  - {slug: free, name: F, roleDefinition: x, groups: [read, edit, mcp]}\n",
			diag.ForeignWidening, diag.Error, "mode free is in this file"},
		{"kilo", ".kilocode/plugin/x.ts", "x", diag.ForeignWidening, diag.Warning, "the plugin x.ts"},
		{"kilo", ".kilo/opencode.json", named(evil, "gh"), diag.ForeignWidening, diag.Error, "place of the server"},
		{"roo", "custom_modes.yaml", "customModes:\n  - {slug: free, name: F, roleDefinition: x, groups: [edit]}\n",
			"", 0, ""}, // it reads that file elsewhere
	} {
		t.Run(c.target+" "+c.file+" "+c.says, func(t *testing.T) {
			root := maps.Clone(project)
			root[c.file] = []byte(c.text)
			var found diag.List
			for _, d := range migrate.Foreign(t.Context(), migrate.Request{Root: root}, res) {
				if d.Target == c.target && d.Pos.File == c.file {
					found = append(found, d)
				}
			}
			switch {
			case c.want == "" && len(found) > 0:
				t.Errorf("got %v, want nothing", found)
			case c.want != "" && len(found) == 0:
				t.Errorf("nothing is said, want %s", c.want)
			case c.want != "":
				d := found[len(found)-1]
				if d.Code != c.want || d.Severity != c.severity || !strings.Contains(d.Message, c.says) ||
					d.Hint == "" {
					t.Errorf("got %v, want %s with %q", found, c.want, c.says)
				}
			}
		})
	}
}
