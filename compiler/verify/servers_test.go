package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"modec.dev/modec/compiler/diag"
)

// A server whose name has two underscores is held by a rule with a wildcard: without one Claude Code takes the end of the
// name for a tool's.
func TestServersWithUnderscores(t *testing.T) {
	for _, name := range []string{"my__srv", "srv_", "a.b..c"} {
		res := compileSource(t, "baseline = \"dev\"\n[targets.claude]\n", fmt.Sprintf(`{
			"servers": {%q: {"command": "x", "tools": {"t": {}}}, "free": {"command": "f"}},
			"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"read": "allow", "mcp": {%[1]q: "allow"}}}},
			"roles": {"dev": {"description": "Does", "can": {"mcp": {%[1]q: "deny", "free": "allow", "default": "ask"}}},
				"ops": {"description": "Does", "can": {"mcp": {%[1]q: "allow", "default": "ask"}}}}}`, name))
		report, diags := res.Verify(t.Context(), 1, nil)
		if report.Wider() > 0 || diags.HasErrors() {
			t.Errorf("%s: %v", name, diags)
		}
		rule := fmt.Sprintf(`"mcp__%s__*"`, strings.ReplaceAll(name, ".", "_"))
		for _, file := range []string{".claude/settings.json", "session:claude/ops.settings.json"} {
			if !strings.Contains(string(res.FS()[file]), rule) {
				t.Errorf("%s: %s has no %s: %s", name, file, rule, res.FS()[file])
			}
		}
	}
}

// What a rule of the source for one agent permits beyond its table is no defect of modec: the error is at the rule.
func TestOwnRuleWidens(t *testing.T) {
	res := compileSource(t, "baseline = \"dev\"\n[targets.claude]\n", `{"roles": {"dev": {"description": "Does",
		"agents": {"claude": {"native": {"allow": ["Bash(rm *)"]}}},
		"can": {"command": {"allow": ["npm test *"], "default": "ask"}}}}}`)
	_, diags := res.Verify(t.Context(), 1, nil)
	errors := 0
	for _, d := range diags {
		if d.Severity != diag.Error || d.Pos.IsZero() {
			continue
		}
		if errors++; d.Code != diag.Wider || d.Pos.Line != 2 || strings.Contains(d.Hint, "defect") || len(d.Related) != 2 {
			t.Errorf("got %+v", d)
		}
	}
	if errors == 0 {
		t.Error("nothing is wider")
	}
}
