package output

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"modec.dev/modec/compiler/contract"
)

// What a session is started from lies in the home folder, readable for its owner alone, and
// stays as long as sessions are started from it.
func TestSession(t *testing.T) {
	home := t.TempDir()
	start := func(text string) (copied, settings string) {
		t.Helper()
		s := NewSession(home, "", "/project")
		c := s.Copies()
		copied = c.Put(contract.File{Path: "session:claude/dev.servers.json", Data: []byte(text)})
		settings = c.Put(contract.File{Path: "session:claude/dev.settings.json", Data: []byte(copied)})
		if err := s.Write([]string{"--settings=" + settings}); err != nil {
			t.Fatal(err)
		}
		return copied, settings
	}
	first, settings := start("one")
	if filepath.Dir(first) != filepath.Join(home, ".cache", "modec", "sessions") {
		t.Errorf("got %s", first)
	}
	for file, want := range map[string]string{first: "one", settings: first} {
		data, err := os.ReadFile(file)
		info, _ := os.Stat(file)
		if err != nil || string(data) != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %q with %v, %v", file, data, info.Mode(), err)
		}
	}
	if err := os.WriteFile(first, []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, _ := start("one"); again != first {
		t.Errorf("the copy of the same file lies at %s, and then at %s", first, again)
	}
	if data, _ := os.ReadFile(first); string(data) != "one" {
		t.Errorf("an edited copy stays: %q", data)
	}

	for file, age := range map[string]time.Duration{first: keptFor + time.Hour, settings: keptFor - time.Hour} {
		if err := os.Chtimes(file, time.Now(), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	second, _ := start("two")
	if _, err := os.Stat(first); err == nil {
		t.Error("an old copy stays")
	}
	for _, file := range []string{second, settings} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}

// A folder of a session stays what an agent wrote in it, and has the copies of the last session.
func TestSessionFolder(t *testing.T) {
	home := t.TempDir()
	start := func(text string, files ...string) string {
		t.Helper()
		s := NewSession(home, "", "/project")
		c := s.Copies()
		copied := c.Put(contract.File{Path: "session:agent/dev.json", Data: []byte(text)})
		f := contract.Folder{Name: "agent-dev", Only: []string{"agents", "none"}}
		for _, name := range files {
			f.Files = append(f.Files, contract.File{Path: name, Data: []byte(name + " " + copied)})
		}
		dir := c.Folder(f)
		if err := s.Write([]string{"HOME=" + dir}); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(copied); err != nil {
			t.Errorf("what a file of the folder names: %v", err)
		}
		return dir
	}
	dir := start("one", "hooks/a.json", "agents/a.md", "agents/b.md")
	for name, want := range map[string]bool{"state": true, "hooks/own.json": true, "agents/own.md": false} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if again := start("two", "hooks/a.json", "agents/a.md"); again != dir {
			t.Fatalf("got the folder %s, and then %s", dir, again)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s stays: got %v, want %t", name, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "agents/b.md")); err == nil {
		t.Error("a copy of an earlier session stays")
	}
	if other := NewSession(home, "", "/other").Copies().Folder(contract.Folder{Name: "agent-dev"}); other == dir {
		t.Error("two projects have one folder")
	}
	old := time.Now().Add(-keptFor - time.Hour)
	if err := os.Chtimes(dir, old, old); err != nil {
		t.Fatal(err)
	}
	s := NewSession(home, "", "/project")
	if err := s.Write([]string{s.Copies().Put(contract.File{Path: "three", Data: []byte("three")})}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("an old folder stays")
	}
}
