package record

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var today = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// project reads a project as a build does, and saves its record.
func project(t *testing.T) (dir, place string) {
	t.Helper()
	dir = t.TempDir()
	write(t, filepath.Join(dir, "modec.toml"), "a")
	write(t, filepath.Join(dir, "modec", "a.cue"), "b")
	write(t, filepath.Join(dir, "out.json"), "c")
	reads := NewReads(os.DirFS(dir))
	if _, err := fs.ReadFile(reads, "modec.toml"); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadDir(reads, "modec"); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(reads, "modec/a.cue"); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.ReadFile(reads, "modec/none.md"); err == nil {
		t.Fatal("got a file that does not exist")
	}
	r := New("modec 1", today)
	var ok bool
	if r.Project, ok = reads.States(); !ok {
		t.Fatal("not everything that was read is known")
	}
	r.File("out.json", []byte("c"))
	r.Missing("other.json")
	r.Summary.Files = 1
	place = filepath.Join(t.TempDir(), "builds", "x.json")
	r.Save(place)
	return dir, place
}

// A record is valid until something changes that the build depends on.
func TestLoad(t *testing.T) {
	dir, place := project(t)
	if r := Load(place, "modec 1", today, dir, dir); r == nil || r.Summary.Files != 1 {
		t.Fatalf("got %+v for a project without changes", r)
	}
	for _, c := range []struct{ name, program, place string }{
		{"another program", "modec 2", place},
		{"no program", "", place},
		{"no place", "modec 1", ""},
		{"another place", "modec 1", place + "x"},
	} {
		if Load(c.place, c.program, today, dir, dir) != nil {
			t.Errorf("%s: got a record", c.name)
		}
	}
	if Load(place, "modec 1", today.AddDate(0, 0, 1), dir, dir) != nil {
		t.Error("the next day: got a record")
	}
}

func TestLoadAfterAChange(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"a file that was read":                   func(t *testing.T, dir string) { write(t, filepath.Join(dir, "modec.toml"), "x") },
		"a new name in a folder that was listed": func(t *testing.T, dir string) { write(t, filepath.Join(dir, "modec", "b.cue"), "b") },
		"a file that was not there":              func(t *testing.T, dir string) { write(t, filepath.Join(dir, "modec", "none.md"), "") },
		"an artifact":                            func(t *testing.T, dir string) { write(t, filepath.Join(dir, "out.json"), "d") },
		"a new artifact":                         func(t *testing.T, dir string) { write(t, filepath.Join(dir, "other.json"), "") },
		"a file that became a link": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "copy"), "a")
			if err := os.Remove(filepath.Join(dir, "modec.toml")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("copy", filepath.Join(dir, "modec.toml")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		dir, place := project(t)
		change(t, dir)
		if Load(place, "modec 1", today, dir, dir) != nil {
			t.Errorf("%s: the record is still valid", name)
		}
	}
}

// A file that changes while it is read twice has no state.
func TestReadsOfAChangingFile(t *testing.T) {
	dir := t.TempDir()
	reads := NewReads(os.DirFS(dir))
	for _, text := range []string{"a", "a", "b"} {
		if _, ok := reads.States(); !ok {
			t.Fatal("the states are unknown before the change")
		}
		write(t, filepath.Join(dir, "f"), text)
		if _, err := fs.ReadFile(reads, "f"); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := reads.States(); ok {
		t.Error("the states are known after the change")
	}
}

func TestPlace(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("MODEC_CACHE", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	a, b := Place("check", "/p"), Place("build", "/p")
	if a == "" || a == b || a != Place("check", "/p") {
		t.Errorf("got %q and %q", a, b)
	}
	t.Setenv("MODEC_CACHE", "off")
	if got := Place("check", "/p"); got != "" {
		t.Errorf("switched off: got %q", got)
	}
}
