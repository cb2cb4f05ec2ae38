package gemini_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/targets"
)

const hooked = `{"roles": {"dev": {"can": {"edit": "deny"}}, "guest": {"can": {"edit": "ask"}}, "quiet": {}},
	"modes": {"m": {"name": "M", "roleDefinition": "x", "can": {"read": "allow"}}}}`

// TestProjectHook: the settings of the project run modec for the role of every session, and nothing without hooks.
func TestProjectHook(t *testing.T) {
	const end = ` || { echo 'modec did not decide: the call is refused' >\u00262; exit 2; }`
	for head, want := range map[string]string{
		"hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.gemini]\n":                      `"modec hook gemini` + end,
		"hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.gemini]\nsubject = \"guest\"\n": `"modec hook gemini --subject role:guest` + end,
		"hooks = \"enforce\"\n[targets.gemini]\n":                                          "",
		"baseline = \"dev\"\n[targets.gemini]\n":                                           "",
	} {
		res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
			config.File: []byte(head), "modec/a.json": []byte(hooked)}})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		settings := strings.ReplaceAll(string(res.FS()[".gemini/settings.json"]), ">&2", `>\u00262`)
		if found := strings.Contains(settings, want); !found || want == "" && strings.Contains(settings, "hooks") {
			t.Errorf("%q: got %s, want %s", head, settings, want)
		}
	}
}

// TestEnvironment: a session that is started has the hook of its subject in a folder of its own, unless the project
// turns hooks off.
func TestEnvironment(t *testing.T) {
	l := launcher(t).(contract.EnvironmentLauncher)
	res, diags := compiler.Compile(t.Context(), compiler.Request{Targets: targets.All(), FS: memfs.FS{
		config.File: []byte("hooks = \"enforce\"\nbaseline = \"dev\"\n[targets.gemini]\n"), "modec/a.json": []byte(hooked)}})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	home, root := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("GEMINI_CLI_TRUSTED_FOLDERS_PATH", "")
	write := func(dir, text string) {
		file := filepath.Join(dir, ".gemini/settings.json")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(home, `{"security": {"auth": {"selectedType": "oauth-personal"}}, "tools": {"allowed": ["*"]}}`)
	var folder contract.Folder
	opt := contract.ArgsOptions{Root: root, Copies: &contract.Copies{
		Put:    func(f contract.File) string { return "/run/" + f.Path },
		Folder: func(f contract.Folder) string { folder = f; return "/run/" + f.Name }}}
	in := res.Input(l)
	in.Root = root
	for _, c := range []struct {
		ref      ir.SubjectRef
		settings string // of the project
		want     string
	}{
		{ir.SubjectRef{Role: "guest"}, `{}`, "--subject role:guest"},
		{ir.SubjectRef{Mode: "m"}, `{"hooksConfig": {"disabled": ["x"]}}`, "--subject mode:m"},
		{ir.SubjectRef{Role: "quiet"}, `{}`, ""},
		{ir.SubjectRef{Role: "guest"}, `{"hooksConfig": {"enabled": false}}`, "off"},
		{ir.SubjectRef{Role: "guest"}, `{"hooksConfig": {"disabled": ["${X}"]}}`, "off"},
	} {
		write(root, c.settings)
		folder = contract.Folder{}
		env, list := l.Environment(in, c.ref, opt)
		switch {
		case c.want == "off":
			if len(list) != 1 || list[0].Code != "gemini-hooks-off" || env != nil {
				t.Errorf("%s, %s: got %v %v", c.ref, c.settings, env, list)
			}
			continue
		case c.want == "":
			if len(env)+len(list) > 0 {
				t.Errorf("%s: got %v %v, want nothing", c.ref, env, list)
			}
			continue
		}
		want := "GEMINI_CLI_HOME=/run/gemini-" + contract.SubjectName(c.ref) +
			" GEMINI_CLI_TRUSTED_FOLDERS_PATH=" + filepath.Join(home, ".gemini/trustedFolders.json")
		if got := strings.Join(env, " "); got != want || len(list) > 0 {
			t.Errorf("%s: got %q %v, want %q", c.ref, got, list, want)
		}
		text := string(folder.Files[0].Data)
		for _, part := range []string{c.want, "--root " + root, `"selectedType": "oauth-personal"`, `"disabled": [`} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: got %s, want %s", c.ref, text, part)
			}
		}
		if len(folder.Files) != 1 || strings.Contains(text, "allowed") {
			t.Errorf("%s: got %d files, %s", c.ref, len(folder.Files), text)
		}
	}
}
