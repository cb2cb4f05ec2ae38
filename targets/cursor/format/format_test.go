package format

import (
	"testing"
)

// The names are Cursor's own, and a build and a person both rely on them.
func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Dir: ".cursor", ProfilesDir: "session:cursor", PermissionsFile: "permissions.json", TokensFile: "cli.json",
		ConfigFile: "cli-config.json", HooksFile: "hooks.json", ServersFile: "mcp.json", StateFile: "state.vscdb",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{" GitHub\t": "github", "\ufeffx\u00a0": "x", "\u0085x": "\u0085x"} {
		if got := Fold(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
