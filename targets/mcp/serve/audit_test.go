package serve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/audit"
)

// What was answered about a call, and what a policy refused, is written down; other calls are not.
func TestAudit(t *testing.T) {
	for _, era := range eras {
		var got []string
		var last audit.Event
		s := serve(t, Options{Audit: func(e audit.Event) {
			got = append(got, fmt.Sprintf("%s %s %s %s %s %s", e.Outcome, e.Tool, e.Group, e.Decision, e.Role+"/"+e.Mode,
				e.About))
			last = e
		}})
		cs := connect(t, s, "", era, nil)
		call[validateOutput](t, cs, "validate_tool_use", map[string]any{"mode": "architect", "calls": []any{
			map[string]any{"tool_name": "edit", "file_path": "a.md"}, map[string]any{"tool_name": "edit", "file_path": "a.go"}}})
		if last.Via != audit.ViaServe || len(last.Policy) != 16 || !strings.Contains(string(last.Input), "a.go") ||
			!strings.HasPrefix(last.Place, "modec/a.cue:") || last.Rule == "" {
			t.Errorf("%s: got %+v", era, last)
		}
		call[validateOutput](t, cs, "validate_tool_use", map[string]any{"role": "dev", "tool_name": "Bash", "command": "make"})
		task, _ := call[createTaskOutput](t, cs, "create_task", map[string]any{"mode_slug": "locked"})
		call[switchModeOutput](t, cs, "switch_mode", map[string]any{"session_id": task.SessionID, "new_mode_slug": "code"})
		want := []string{"allowed edit edit allow /architect a.md", "refused edit edit deny /architect a.go",
			"asked Bash command ask dev/ make", "refused switch_mode modes deny / "}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", era, got, want)
		}
	}
}
