package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"modec.dev/modec/targets"
)

// TestPreCommitHooks runs each entry of .pre-commit-hooks.yaml as pre-commit does: in
// the repository, without file names. A good commit passes all of them, and each
// notices what it is for.
func TestPreCommitHooks(t *testing.T) {
	data, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Name, Description, Entry, Language string
		PassFilenames                          *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(data, &hooks); err != nil {
		t.Fatal(err)
	}
	bad := map[string]func(dir string){
		"modec-lint": func(dir string) {
			role := "package modec\n\nroles: b: permissionMode: \"bypassPermissions\"\n"
			mustWrite(t, filepath.Join(dir, "modec", "b.cue"), []byte(role))
		},
		"modec-check": func(dir string) { mustWrite(t, filepath.Join(dir, ".roomodes"), []byte("customModes: []\n")) },
		"modec-verify": func(dir string) {
			mustWrite(t, filepath.Join(dir, "modec", "b.cue"), []byte("package modec\n\nroles: b: {\n"))
		},
	}
	if len(hooks) != len(bad) {
		t.Fatalf("got %d hooks, want %d", len(hooks), len(bad))
	}
	for _, h := range hooks {
		whole := h.Language == "golang" && h.Name != "" && h.Description != ""
		if !whole || h.PassFilenames == nil || *h.PassFilenames || bad[h.ID] == nil {
			t.Errorf("got %+v", h)
			continue
		}
		entry := strings.Fields(h.Entry)
		if entry[0] != "modec" {
			t.Errorf("%s runs %s, and not the program that it installs", h.ID, entry[0])
		}
		dir := t.TempDir()
		for name, text := range cached {
			mustWrite(t, filepath.Join(dir, name), []byte(text))
		}
		git := func(args ...string) {
			cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
			cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v: %s", args, err, out)
			}
		}
		hook := func() (int, string) {
			var out bytes.Buffer
			args := append([]string{"-C", dir}, entry[1:]...)
			code := run(t.Context(), targets.All(), args, strings.NewReader(""), &out, &out)
			return code, out.String()
		}
		answer(t, "-C", dir, "build")
		git("init", "-q")
		git("add", "-A")
		if code, out := hook(); code != 0 {
			t.Errorf("%s: exit %d on a good commit: %s", h.ID, code, out)
		}
		bad[h.ID](dir)
		if code, out := hook(); code != 0 {
			t.Errorf("%s: exit %d by the working tree: %s", h.ID, code, out)
		}
		git("add", "-A")
		if code, out := hook(); code != 1 || out == "" {
			t.Errorf("%s: exit %d on a bad commit: %s", h.ID, code, out)
		}
	}
}
