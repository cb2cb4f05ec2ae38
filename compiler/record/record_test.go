package record

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, dir, name, to string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestPlace: a record lies in the user's cache folder, one for each run of its own kind,
// or nowhere.
func TestPlace(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("HOME", cache)
	t.Setenv("CI", "")
	t.Setenv("MODEC_CACHE", "")
	place := func(args ...string) string { return PlaceIn("verified", ".bin", args...) }
	first := place("/project", "claude")
	if !strings.HasPrefix(first, cache) || filepath.Ext(first) != ".bin" || place("/project", "claude") != first {
		t.Errorf("got %q below %q", first, cache)
	}
	for _, args := range [][]string{
		{"/other", "claude"}, {"/project", "roo"}, {"/project/claude"}, {"/project", "claude", ""},
	} {
		if place(args...) == first {
			t.Errorf("%q has the place of another run", args)
		}
	}
	for name, value := range map[string]string{"CI": "true", "MODEC_CACHE": "off"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if p := place("/project"); p != "" {
				t.Errorf("got %q, want none", p)
			}
		})
	}
}

func TestProgram(t *testing.T) {
	if p := Program("v1"); p == "" || p != Program("v1") || p == Program("v2") {
		t.Errorf("got %q", p)
	}
}

// TestPrune: a record that nobody used for long goes when another one is written.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{"old": 2 * kept, "young": 0} {
		put(t, dir, name, "{}")
		then := time.Now().Add(-age)
		if err := os.Chtimes(filepath.Join(dir, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	Write(filepath.Join(dir, "x"), nil)
	var names []string
	left, err := os.ReadDir(dir)
	for _, e := range left {
		names = append(names, e.Name())
	}
	if want := []string{"x", "young"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %v, %v, want %v", names, err, want)
	}
	put(t, dir, "file", "x")
	if Keep(filepath.Join(dir, "file", "below", "x"), nil) == nil || Keep("", nil) == nil {
		t.Error("something is kept where there is no folder")
	}
}

// TestReadOwn: only a file of the user's own that nobody else may write is read.
func TestReadOwn(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "modec", "x.bin")
	if Read("") != nil || Read(place) != nil || Read(dir) != nil {
		t.Error("something is read where there is no record")
	}
	Write(place, []byte("a"))
	Write(place, []byte("b"))
	if got := Read(place); string(got) != "b" {
		t.Errorf("got %q", got)
	}
	link(t, dir, "link", place)
	if Read(filepath.Join(dir, "link")) != nil {
		t.Error("a link is read")
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(place, 0o620); err != nil {
		t.Fatal(err)
	}
	if Read(place) != nil {
		t.Error("a file that others may write is read")
	}
}
