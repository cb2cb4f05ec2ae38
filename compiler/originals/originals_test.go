package originals

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A record is one project's, and only the user can have written it.
func TestRecord(t *testing.T) {
	state, root := t.TempDir(), t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	r := Load(root)
	r.Files["a.md"] = File{Data: []byte("mine\x00\xff"), Taken: []string{"allow Bash(ls)"}}
	if err := r.Save(); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{root, link, root + "/"} {
		if f, ok := Load(dir).Original("a.md"); !ok || string(f.Data) != "mine\x00\xff" || len(f.Taken) != 1 {
			t.Errorf("%s: got %q", dir, f.Data)
		}
	}
	if _, ok := Load(t.TempDir()).Original("a.md"); ok {
		t.Error("another project has the record")
	}
	if info, err := os.Stat(r.place); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v (%v), want a file for the user alone", info.Mode(), err)
	}
	if err := os.Chmod(r.place, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, ok := Load(root).Original("a.md"); ok {
		t.Error("a record that others may write counts")
	}
}

func TestWithoutAHome(t *testing.T) {
	for _, name := range []string{"XDG_STATE_HOME", "HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, "")
	}
	if err := Load(t.TempDir()).Save(); err == nil {
		t.Error("a record was kept nowhere")
	}
	if _, err := Backup(t.TempDir(), map[string][]byte{"a": nil}, time.Now()); err == nil {
		t.Error("a copy was kept nowhere")
	}
}

// Copies of one moment lie in folders of their own, and none outside of them.
func TestBackup(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root, now := t.TempDir(), time.Now()
	seen := map[string]bool{}
	for range 2 {
		dir, err := Backup(root, map[string][]byte{".claude/settings.json": []byte("x")}, now)
		if err != nil || seen[dir] {
			t.Fatalf("got %q, %v", dir, err)
		}
		seen[dir] = true
		if text, err := os.ReadFile(filepath.Join(dir, ".claude/settings.json")); string(text) != "x" {
			t.Errorf("got %q, %v", text, err)
		}
	}
	if _, err := Backup(root, map[string][]byte{"../out": nil}, now); err == nil {
		t.Error("a copy was written outside of its folder")
	}
}

// What a user's builds wrote is known by project, and a moved project is found by its bytes.
func TestWritten(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a, b := t.TempDir(), t.TempDir()
	if err := LoadWritten(a).Add(map[string]string{"x": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := LoadWritten(a).Add(map[string]string{"x": "2"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		root, path, digest string
		has, anywhere      bool
	}{
		{a, "x", "1", true, true}, {a, "x", "2", true, true}, {a, "x", "3", false, false}, {a, "y", "1", false, false},
		{b, "x", "1", false, true}, {b, "x", "3", false, false},
	} {
		w := LoadWritten(c.root)
		if has, any := w.Has(c.path, c.digest), w.Anywhere(c.path, c.digest); has != c.has || any != c.anywhere {
			t.Errorf("%+v: got %v and %v", c, has, any)
		}
	}
}
