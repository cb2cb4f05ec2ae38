package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"modec.dev/modec/compiler/config"
)

func TestFind(t *testing.T) {
	top := t.TempDir()
	write := func(name string) {
		t.Helper()
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"modec.toml",
		"home/modec.toml", "home/shop/modec.toml", "home/shop/src/deep/a", "home/notes/a",
		"home/shop/vendor/lib/.git/HEAD", "home/shop/vendor/lib/src/a", // a repository of its own
		"home/shop/tree/.git", "home/shop/tree/src/a", // a work tree or a submodule
		"home/shop/odd/modec.toml/a",
		"elsewhere/.git/HEAD", "elsewhere/modec.toml", "elsewhere/src/a",
	} {
		write(name)
	}
	home := filepath.Join(top, "home")
	for dir, want := range map[string]string{
		"home/shop":                "home/shop",
		"home/shop/src":            "home/shop",
		"home/shop/src/deep":       "home/shop",
		"home/shop/odd":            "home/shop", // a folder of that name is no project
		"home/notes":               "home",
		"home/shop/vendor/lib":     "",
		"home/shop/vendor/lib/src": "",
		"home/shop/tree/src":       "",
		"elsewhere/src":            "elsewhere",
		"home/nowhere":             "",
	} {
		got, ok := config.Find(filepath.Join(top, filepath.FromSlash(dir)), home)
		full := filepath.Join(top, filepath.FromSlash(want))
		if want == "" {
			full = ""
		}
		if got != full || ok != (want != "") {
			t.Errorf("Find(%q) = %q, %t, want %q", dir, got, ok, full)
		}
	}
	if err := os.Remove(filepath.Join(home, "modec.toml")); err != nil {
		t.Fatal(err)
	}
	if got, ok := config.Find(filepath.Join(home, "notes"), home); ok {
		t.Errorf("got the project %q above the home folder, want none", got)
	}
}

func TestFindOfAnotherOwner(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "mine")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(top, "modec.toml")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, ok := config.Find(dir, ""); !ok {
		t.Fatal("got no project, want the folder above")
	}
	if err := os.Lchown(file, 65534, -1); err != nil {
		t.Skipf("only root gives files away: %v", err)
	}
	if got, ok := config.Find(dir, ""); ok {
		t.Errorf("got the project %q of somebody else, want none", got)
	}
}
