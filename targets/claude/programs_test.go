package claude

import (
	"slices"
	"testing"

	"modec.dev/modec/compiler/memfs"
)

// Settings that name a program, and a server's helper, are of somebody's own: Claude Code starts them by itself.
func TestPrograms(t *testing.T) {
	var got []string
	for _, l := range programs(memfs.FS{
		".claude/settings.json": []byte(`{"otelHeadersHelper": "./o.sh", "model": "m", "statusLine": {"command": "./s.sh"},
"subagentStatusLine": {"command": "./t.sh"}, "env": {"CLAUDE_ENV_FILE": "./e.sh", "GIT_CONFIG_COUNT": "1", "TERM": "x"}}`),
		".mcp.json": []byte(`{"mcpServers": {"a": {"url": "https://a", "headersHelper": "./h.sh"}, "b": {"command": "b"}}}`),
	}) {
		if !l.Runs() {
			t.Errorf("%s does not run", l.What())
		}
		got = append(got, l.What())
	}
	if want := []string{"setting otelHeadersHelper", "setting statusLine", "setting subagentStatusLine",
		"setting env.CLAUDE_ENV_FILE", "setting env.GIT_CONFIG_COUNT", "setting a.headersHelper"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Settings by which Claude Code asks less are of somebody's own; those that change nothing are not.
func TestLoose(t *testing.T) {
	for data, want := range map[string][]string{
		`{"enableAllProjectMcpServers": true, "skipDangerousModePermissionPrompt": true, "autoMode": {"allow": ["x"]}}`: {
			"setting enableAllProjectMcpServers", "setting skipDangerousModePermissionPrompt", "setting autoMode.allow"},
		`{"enableAllProjectMcpServers": false, "autoMode": {"allow": [], "soft_deny": ["x"]}}`: nil,
	} {
		var got []string
		for _, l := range programs(memfs.FS{".claude/settings.json": []byte(data)}) {
			got = append(got, l.What())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", data, got, want)
		}
	}
}
