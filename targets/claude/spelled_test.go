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

// A folder's contents have one rule, however a person writes them.
func TestSpelledFolders(t *testing.T) {
	for _, c := range []struct{ place, text, want string }{
		{"/permissions/deny", "Edit(/docs/**)", "Edit(docs/*)"},
		{"/permissions/deny", "Edit(src/**)", "Edit(**/src/*)"},
		{"/permissions/ask", "Read(./secrets/**)", "Read(**/secrets/*)"},
		{"/permissions/deny", "Read(a/b/**)", "Read(a/b/*)"},
		{"/permissions/allow", "Edit(/docs/**)", "Edit(docs/**)"},
	} {
		if got := spelled(c.place, c.text); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.place, c.text, got, c.want)
		}
	}
}

func TestSpelledType(t *testing.T) {
	for text, want := range map[string]string{"streamable-http": "http", "sse": "", "http": ""} {
		if got := spelledType("/mcpServers/docs/type", text); got != want {
			t.Errorf("type %s: got %q, want %q", text, got, want)
		}
	}
	if got := spelledType("/mcpServers/docs/url", "streamable-http"); got != "" {
		t.Errorf("another member: got %q", got)
	}
}
