package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/cmd/modec/internal/report"
	schema "modec.dev/modec/cue"
	"modec.dev/modec/targets"
)

// Every template is a project that builds, with nothing to say but how its formats
// are narrower, that is proved, and that is then up to date.
func TestTemplates(t *testing.T) {
	if len(schema.Templates()) < 9 {
		t.Fatalf("got %v", schema.Templates())
	}
	for _, template := range schema.Templates() {
		t.Run(template.Name, func(t *testing.T) {
			dir := t.TempDir()
			modec := func(args ...string) (string, string) {
				t.Helper()
				var stdout, stderr bytes.Buffer
				args = append([]string{"-C", dir}, args...)
				if code := run(t.Context(), targets.All(), args, strings.NewReader(""), &stdout, &stderr); code != 0 {
					t.Fatalf("modec %v: exit %d\n%s%s", args, code, stdout.String(), stderr.String())
				}
				return stdout.String(), stderr.String()
			}
			modec("init", "--template", template.Name)
			out, stderr := modec("build")
			if stderr != "" {
				t.Errorf("build says %s", stderr)
			}
			atMost(t, report.BuildLines, out)
			modec("lint")
			out, stderr = modec("verify")
			atMost(t, report.VerifyLines, out+stderr)
			out, _ = modec("verify", "--json")
			var report struct {
				Surfaces []struct {
					Wider []any `json:"wider"`
				} `json:"surfaces"`
			}
			if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Surfaces) == 0 {
				t.Fatal(err, out)
			}
			for _, s := range report.Surfaces {
				if len(s.Wider) > 0 {
					t.Errorf("wider: %v", s.Wider)
				}
			}
			modec("build", "--check")
			if _, err := os.Stat(dir + "/modec/schema.cue"); err != nil {
				t.Error(err)
			}
		})
	}
}

// atMost holds that a command prints no more lines than it promises.
func atMost(t *testing.T, lines int, out string) {
	t.Helper()
	if n := strings.Count(out, "\n"); n > lines {
		t.Errorf("got %d lines, want at most %d\n%s", n, lines, out)
	}
}

// TestLines: what is printed of large projects, with their losses and warnings, is no more
// than a person reads.
func TestLines(t *testing.T) {
	t.Setenv("MODEC_CACHE", "off")
	for _, fixture := range []string{"acme", "unsaid"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(repository, "fixtures", fixture))); err != nil {
			t.Fatal(err)
		}
		atMost(t, 1+report.BuildLines, answer(t, "-C", dir, "build")) // the first line has the exit code
		if fixture == "acme" && testing.Short() {
			continue
		}
		out := answer(t, "-C", dir, "verify")
		atMost(t, 1+report.LinesFor(strings.Count(out, " decisions of ")), out)
	}
}

// TestNewProjectIsShort: what a new project writes into the agents' files is short.
func TestNewProjectIsShort(t *testing.T) {
	dir := t.TempDir()
	answer(t, "-C", dir, "init")
	answer(t, "-C", dir, "build")
	lines := 0
	for name, text := range treeOf(t, dir) {
		name = filepath.ToSlash(name)
		if name == ".claude/settings.json" || name == ".roomodes" || strings.HasPrefix(name, ".cursor/") {
			lines += strings.Count(text, "\n")
		}
	}
	const most = 120
	if lines == 0 || lines > most {
		t.Errorf("got %d lines, want at most %d", lines, most)
	}
}

// TestInitIsWhole: a new project that cannot be written to the end is not there at all, and
// the next attempt succeeds.
func TestInitIsWhole(t *testing.T) {
	dir := t.TempDir()
	obstacle := filepath.Join(dir, "modec", "schema.cue.modec-tmp")
	mustWrite(t, filepath.Join(obstacle, "x"), []byte("in the way"))
	initialise := func() int {
		var out bytes.Buffer
		return run(t.Context(), targets.All(), []string{"-C", dir, "init"}, strings.NewReader(""), &out, &out)
	}
	before := treeOf(t, dir)
	if code := initialise(); code != int(report.ExitUsage) {
		t.Errorf("got exit %d, want %d", code, report.ExitUsage)
	}
	if d := cmp.Diff(before, treeOf(t, dir)); d != "" {
		t.Errorf("(-before +after)\n%s", d)
	}
	if err := os.RemoveAll(filepath.Join(dir, "modec")); err != nil {
		t.Fatal(err)
	}
	if code := initialise(); code != 0 {
		t.Errorf("got exit %d the second time", code)
	}
}
