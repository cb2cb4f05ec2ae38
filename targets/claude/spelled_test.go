package claude

import "testing"

// A deny and an ask of every line is weaker than one of the tool: only an allow stands for it.
func TestSpelledBash(t *testing.T) {
	for place, want := range map[string]string{
		"/permissions/allow": "Bash",
		"/permissions/ask":   "",
		"/permissions/deny":  "",
	} {
		if got := spelled(place, "Bash(*)"); got != want {
			t.Errorf("%s: got %q, want %q", place, got, want)
		}
	}
	if got := spelled("/permissions/deny", "mcp__docs__*"); got != "mcp__docs" {
		t.Errorf("got %q", got)
	}
}
