package migrate_test

import (
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// What the source does not take costs itself alone: a name, a variable, a text.
func TestOddNamesCostThemselves(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		note  string
	}{
		"a server's name": {map[string]string{
			".mcp.json": `{"mcpServers": {"a\tb": {"command": "x"}, "ok": {"command": "y"}}}`}, "server a\tb"},
		"a variable of a server": {map[string]string{
			".mcp.json": `{"mcpServers": {"odd": {"command": "x", "env": {"A=B": "x"}}, "ok": {"command": "y"}}}`}, "server odd"},
		"a variable without a name": {map[string]string{
			".roo/mcp.json": `{"mcpServers": {"odd": {"command": "x", "env": {"": "x"}}, "ok": {"command": "y"}}}`}, "server odd"},
		"a NUL": {map[string]string{
			".cursor/mcp.json": `{"mcpServers": {"odd": {"command": "x\u0000"}, "ok": {"command": "y"}}}`}, "server odd"},
		"a variable of a session": {map[string]string{
			".claude/settings.json": `{"env": {"A=B": "x", "OK": "1"}, "permissions": {"allow": ["mcp__ok__t"]}}`}, "role claude"},
		"a subagent's name": {map[string]string{
			".claude/agents/x.md": "---\nname: \" a\"\ndescription: d\n---\np\n",
			".mcp.json":           `{"mcpServers": {"ok": {"command": "y"}}}`}, "mode a"},
		"a subagent's text": {map[string]string{
			".claude/agents/x.md": "---\nname: a\ndescription: d\n---\np\x00\n",
			".mcp.json":           `{"mcpServers": {"ok": {"command": "y"}}}`}, "mode a"},
	} {
		res, diags := run(t, c.files, nil)
		if res == nil {
			t.Errorf("%s: %v", name, diags)
			continue
		}
		if !slices.ContainsFunc(res.Project.Servers, func(s ir.Server) bool { return s.Name == "ok" }) {
			t.Errorf("%s: the rest is not imported: %v", name, res.Project.Servers)
		}
		refused := func(n contract.Note) bool {
			return n.Kind == contract.Refused && n.Subject == c.note && !strings.HasPrefix(n.Pos.File, "modec/")
		}
		if !slices.ContainsFunc(res.Report.Notes, refused) {
			t.Errorf("%s: no note says so: %v", name, res.Report.Notes)
		}
		for _, f := range res.Compiled.Files() {
			if strings.Contains(string(f.Data), "A=B") || strings.HasSuffix(f.Path, "agents/x.md") {
				t.Errorf("%s: a build writes it: %s", name, f.Data)
			}
		}
	}

	res, diags := run(t, map[string]string{".claude/agents/x.md": "---\nname: a\ndescription: d\n---\np\x00\n"}, nil)
	if res != nil || !strings.Contains(diags.Error(), "found no file of an agent") {
		t.Errorf("nothing else: got %v, %v", res, diags)
	}
}
