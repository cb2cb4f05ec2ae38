package migrate_test

import (
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/migrate"
)

// goodFiles are files of several agents.
func goodFiles() map[string]string {
	return map[string]string{
		".mcp.json":                `{"mcpServers": {"docs": {"command": "docs-mcp"}}}`,
		".claude/settings.json":    `{"permissions": {"allow": ["Bash(npm test)"], "deny": ["Bash(rm *)"]}}`,
		".claude/agents/rev.md":    "---\nname: rev\ndescription: Reviews.\ntools: Read\n---\nYou review.\n",
		".roomodes":                oneMode,
		".roo/mcp.json":            `{"mcpServers": {"roos": {"command": "roo-mcp"}}}`,
		".cursor/mcp.json":         `{"mcpServers": {"curs": {"command": "cursor-mcp"}}}`,
		".cursor/cli.json":         `{"permissions": {"allow": ["Shell(ls)"], "deny": []}}`,
		".cursor/permissions.json": `{"terminalAllowlist": ["git status"]}`,
	}
}

// TestDoesWithout: a file that its agent refuses is named, and the others are imported.
func TestDoesWithout(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{".mcp.json", "{\n  // ours\n  \"mcpServers\": {}\n}", "2:3: Claude Code does not load the servers: got comments"},
		{".mcp.json", `{"mcpServers": {"docs": {"command": "docs-mcp"},}}`, "comments or trailing commas"},
		{".mcp.json", `{"mcpServers": []}`, "1:16: got a list, want an object"},
		{".claude/settings.json", `{"permissions": {"allow": ["a"],, }`, "Claude Code does not load the settings"},
		{".claude/settings.json", `{"permissions": {"defaultMode": "yolo"}}`, `1:33: got the mode "yolo"`},
		{".roomodes", "customModes:\n\t- slug: a\n", "the agent loads nothing of the file"},
		{".roomodes", "customModes:\n  - {slug: a_b, name: A, roleDefinition: a, groups: []}\n", "slug"},
		{".roo/mcp.json", `{"mcpServers": {"roos": {`, "the agent loads nothing of the file"},
		{".cursor/mcp.json", `{"mcpServers": `, "got a file that Cursor cannot read"},
		{".cursor/cli.json", `{"permissions": {}} // no`, "got a file that Cursor's CLI cannot read"},
		{".cursor/permissions.json", `[]`, "got a file that Cursor cannot read: want an object"},
	} {
		files := goodFiles()
		files[c.file] = c.text
		var req migrate.Request
		res, diags := run(t, files, func(r *migrate.Request) { req = *r })
		if res == nil {
			t.Errorf("%s: got %v, want the other files", c.file, diags)
			continue
		}
		i := slices.IndexFunc(res.Report.Seen, func(s migrate.Seen) bool { return s.Path == c.file })
		switch {
		case i < 0, res.Report.Seen[i].Reason != contract.NotLoaded, !strings.Contains(res.Report.Seen[i].Why, c.want):
			t.Errorf("%s: got %+v, want it named with %q", c.file, res.Report.Seen, c.want)
		case slices.Contains(res.Report.Files, c.file):
			t.Errorf("%s is among the files that were read", c.file)
		}
		for name := range files {
			if name != c.file && !slices.Contains(res.Report.Files, name) {
				t.Errorf("%s: %s was not read: %q", c.file, name, res.Report.Files)
			}
		}
		if source, built := res.Report.Total(); source.Wider+built.Wider > 0 {
			t.Errorf("%s: the new source permits more", c.file)
		}
		if importable := migrate.Importable(t.Context(), req); !slices.Contains(importable, c.file) {
			t.Errorf("%s: got %q, want it among what an import reads or names", c.file, importable)
		}
	}
}

// TestDoesNotDoWithout: what nothing can be imported without stops the import.
func TestDoesNotDoWithout(t *testing.T) {
	broken := func(name, text string) map[string]string {
		files := goodFiles()
		files[name] = text
		return files
	}
	zoo := broken(".zoomodes", "customModes:\n\t- slug: a\n") // Zoo reads no .roomodes beside it
	built := broken(".claude/settings.json", "{oops")
	built["modec.toml"] = "baseline = \"dev\"\n[targets.claude]\n"
	built["modec/dev.yaml"] = "roles: {dev: {can: {command: {deny: [rm]}}}}\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		set   func(*migrate.Request)
		want  string
	}{
		{"a file that somebody named", broken(".mcp.json", "{"), func(r *migrate.Request) {
			r.Files = []string{".mcp.json", ".roomodes"}
		}, ".mcp.json:1:2: error: claude: Claude Code does not load the servers"},
		{"a file that has to load", broken(".mcp.json", "{"), func(r *migrate.Request) {
			r.Must = func(name string) bool { return name == ".mcp.json" }
		}, ".mcp.json:1:2: error: claude: Claude Code does not load the servers"},
		{"a file in whose place another is read", zoo, func(r *migrate.Request) { r.From = "zoo" },
			".zoomodes:2:1: error: "},
		{"a file that a build writes into", built, nil, "oops; a build would write into the file"},
		{"nothing else", map[string]string{".mcp.json": "{"}, nil, "Claude Code does not load the servers"},
	} {
		res, diags := run(t, c.files, c.set)
		if res != nil || !strings.Contains(diags.Error(), c.want) || strings.Contains(diags.Error(), "nothing-to-migrate") {
			t.Errorf("%s: got %v, want %q alone", c.name, diags, c.want)
		}
	}
}
