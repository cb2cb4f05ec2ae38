package pause

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var now = time.Date(2026, 11, 23, 14, 0, 0, 0, time.UTC)

// A record is one project's, it ends by itself, and nobody writes it without the key.
func TestRecord(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	off := func(root string, at time.Time) bool {
		_, off := Load(root).Until(at)
		return off
	}
	if off(root, now) {
		t.Fatal("off without a record")
	}
	r := Load(root)
	if _, err := r.Off(now, time.Hour, "ada", "trying"); err != nil {
		t.Fatal(err)
	}
	if !off(root, now) || !off(root, now.Add(59*time.Minute)) || off(root, now.Add(time.Hour)) {
		t.Error("it is not off for the hour")
	}
	if off(root, now.Add(-time.Minute)) {
		t.Error("it is off before")
	}
	if off(t.TempDir(), now) {
		t.Error("another project is off too")
	}
	if info, err := os.Stat(r.place); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v (%v), want a file for the user alone", info.Mode(), err)
	}
	if err := Load(root).On(now.Add(time.Minute), "ada"); err != nil {
		t.Fatal(err)
	}
	if off(root, now.Add(2*time.Minute)) {
		t.Error("it is off after being turned on")
	}
	if got := Load(root).Entries; len(got) != 2 || got[0].Reason != "trying" || got[1].By != "ada" {
		t.Errorf("got %+v", got)
	}
}

func TestForged(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	if _, err := Load(root).Off(now, time.Hour, "ada", ""); err != nil {
		t.Fatal(err)
	}
	place := Load(root).place
	data, err := os.ReadFile(place)
	if err != nil {
		t.Fatal(err)
	}
	longer := bytes.ReplaceAll(data, []byte("15:00:00"), []byte("21:00:00"))
	for _, forged := range [][]byte{longer, []byte("{}"), []byte("x")} {
		if err := os.WriteFile(place, forged, 0o600); err != nil {
			t.Fatal(err)
		}
		r := Load(root)
		if _, off := r.Until(now); off || !r.Broken {
			t.Errorf("%s counts", forged)
		}
	}
	if err := os.WriteFile(place, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(place, 0o666); err != nil {
		t.Fatal(err)
	}
	if r := Load(root); len(r.Entries) > 0 || !r.Broken {
		t.Error("a record that others may write counts")
	}
	if err := os.Remove(keyPlace()); err != nil {
		t.Fatal(err)
	}
	if _, off := Load(root).Until(now); off {
		t.Error("a record without its key counts")
	}
}

// A repository cannot bring a record along, not even one with a key beside it.
func TestInTheProject(t *testing.T) {
	root := t.TempDir()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if _, err := Load(root).Off(now, time.Hour, "", ""); err != nil {
		t.Fatal(err)
	}
	within := filepath.Join(root, "state")
	if err := os.Rename(os.Getenv("XDG_STATE_HOME"), within); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", within)
	if _, off := Load(root).Until(now); off {
		t.Error("a record in the project counts")
	}
}

func TestLongest(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r := Load(t.TempDir())
	for _, long := range []time.Duration{0, -time.Hour, Longest + time.Second} {
		if _, err := r.Off(now, long, "", ""); err == nil {
			t.Errorf("%s is accepted", long)
		}
	}
	for range most + 5 {
		if err := r.On(now, ""); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.Entries) != most {
		t.Errorf("got %d entries", len(r.Entries))
	}
}

func TestWithoutAHome(t *testing.T) {
	for _, name := range []string{"XDG_STATE_HOME", "HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, "")
	}
	if _, err := Load(t.TempDir()).Off(now, time.Hour, "", ""); err == nil {
		t.Error("it was put on record nowhere")
	}
}
