package format

import (
	"path"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// The names are Cursor's own, and a build and a person both rely on them.
func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		Dir: ".cursor", ProfilesDir: ".cursor/modec", PermissionsFile: "permissions.json", TokensFile: "cli.json",
		ConfigFile: "cli-config.json", HooksFile: "hooks.json", ServersFile: "mcp.json", StateFile: "state.vscdb",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A profile's folder says whose it is, whatever the name.
func TestProfiles(t *testing.T) {
	for dir, ref := range map[string]ir.SubjectRef{
		".cursor/modec/dev":            {Role: "dev"},
		".cursor/modec/mode%3Adev":     {Mode: "dev"},
		".cursor/modec/a%2F%2Fb%20c":   {Role: "a//b c"},
		".cursor/modec/%2E%2E":         {Role: ".."},
		".cursor/modec/mode%3Amode%3A": {Mode: "mode:"},
	} {
		got, ok := ProfileSubject(path.Base(dir))
		if !ok || got != ref {
			t.Errorf("%s: got %v, %v, want %v", dir, got, ok, ref)
		}
		if back := ProfileDir(ref); path.Base(dir) != "%2E%2E" && back != dir {
			t.Errorf("%v: got %s, want %s", ref, back, dir)
		}
	}
	if ref, ok := ProfileSubject("%zz"); ok {
		t.Errorf("got %v for a folder that is not escaped", ref)
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{" GitHub\t": "github", "\ufeffx\u00a0": "x", "\u0085x": "\u0085x"} {
		if got := Fold(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
