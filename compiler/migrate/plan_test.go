package migrate_test

import (
	"strings"
	"testing"
)

// TestPlanStaysOpen: in a session that plans, rules stay as they are written, and a build does not close the plan.
func TestPlanStaysOpen(t *testing.T) {
	for _, rules := range []string{
		`"allow": ["Bash(npm test:*)"]`,
		`"deny": ["Bash(rm:*)"], "ask": ["Bash(git push:*)"]`,
		`"allow": ["WebFetch(domain:x.com)", "mcp__docs__get"], "deny": ["mcp__docs__drop", "Edit(x/**)"]`,
	} {
		res, diags := run(t, map[string]string{
			".claude/settings.json": `{"permissions": {"defaultMode": "plan", ` + rules + `}}`,
			".claude/agents/rev.md": "---\nname: rev\ndescription: Reviews.\ntools: Read, Bash\npermissionMode: acceptEdits\n---\nReview.\n",
			".mcp.json":             `{"mcpServers": {"docs": {"command": "docs-mcp"}}}`,
		}, nil)
		if res == nil {
			t.Fatal(diags)
		}
		if source, built := res.Report.Total(); source.Narrower+built.Narrower+source.Wider+built.Wider > 0 {
			t.Errorf("%s: got %+v and %+v, want no decision to change", rules, source, built)
		}
		for _, f := range res.Compiled.Files() {
			if strings.Contains(string(f.Data), "disableAutoMode") {
				t.Errorf("%s: %s closes the plan:\n%s", rules, f.Path, f.Data)
			}
		}
	}
}
