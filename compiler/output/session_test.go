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
	start := func(policy string) (copied contract.PolicyCopy, settings string) {
		t.Helper()
		s := NewSession(home, "/project", []byte(policy))
		c := s.Copies()
		settings = c.Put(contract.File{
			Path: ".claude/modec/dev.settings.json", Data: []byte(`{"hook": "` + c.Policy.Flags() + `"}`),
		})
		if err := s.Write([]string{"--settings=" + settings}); err != nil {
			t.Fatal(err)
		}
		return c.Policy, settings
	}
	first, settings := start("one")
	if first.Root != "/project" || filepath.Dir(first.File) != filepath.Join(home, ".local", "state", "modec", "run") {
		t.Errorf("got %+v", first)
	}
	for file, want := range map[string]string{first.File: "one", settings: `{"hook": "` + first.Flags() + `"}`} {
		data, err := os.ReadFile(file)
		info, _ := os.Stat(file)
		if err != nil || string(data) != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: got %q with %v, %v", file, data, info.Mode(), err)
		}
	}
	if err := os.WriteFile(first.File, []byte("edited"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, _ := start("one"); again != first {
		t.Errorf("the copy of the same policy lies at %s, and then at %s", first.File, again.File)
	}
	if data, _ := os.ReadFile(first.File); string(data) != "one" {
		t.Errorf("an edited copy stays: %q", data)
	}

	for file, age := range map[string]time.Duration{first.File: keptFor + time.Hour, settings: keptFor - time.Hour} {
		if err := os.Chtimes(file, time.Now(), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	second, _ := start("two")
	if _, err := os.Stat(first.File); err == nil {
		t.Error("an old copy stays")
	}
	for _, file := range []string{second.File, settings} {
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}
