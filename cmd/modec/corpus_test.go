package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/targets"
)

// places are the kinds of real files, and where a repository has such a file.
var places = []struct{ glob, as string }{
	{"roomodes/*.roomodes", ".roomodes"},
	{"roomodes/*.kilocodemodes", ".kilocodemodes"},
	{"roomodes/*.yaml", ".roomodes"},
	{"roo_mcp/*.json", ".roo/mcp.json"},
	{"claude/settings/*.json", ".claude/settings.json"},
	{"claude/agents/*.md", ".claude/agents/a.md"},
	{"claude/mcp/*.json", ".mcp.json"},
	{"cursor/agents/*.md", ".cursor/agents/a.md"},
	{"cursor/cli/*.json", ".cursor/cli.json"},
	{"cursor/cli-config/*.json", ".cursor/cli-config.json"},
	{"cursor/hooks/*.json", ".cursor/hooks.json"},
	{"cursor/mcp/*.json", ".cursor/mcp.json"},
	{"cursor/modes/*.json", ".cursor/modes.json"},
	{"cursor/permissions/*.json", ".cursor/permissions.json"},
	{"cursor/sandbox/*.json", ".cursor/sandbox.json"},
}

// steps are what a team runs in the repository that it adopts, and what the figures call them. What lint and doctor
// say of a file is a finding about it.
var steps = []struct{ name, line string }{
	{"built", "build"},
	{"checked", "build --check"},
	{"verified", "verify --disk"},
	{"without a difference", "diff --fail-on widen HEAD"},
	{"imported again without a change", "migrate"},
	{"linted", "lint --fail-on warning"},
	{"examined", "doctor"},
}

// figures count in how many repositories something holds.
type figures struct {
	count map[string]int
	text  bytes.Buffer
}

// TestCorpusAdopted lives a first day with each real file, in a repository of its own: import, build
// without --force, what checks, and clean, which leaves every byte as it was. Only lint and doctor may find
// something. How many keep their bytes and their decisions is golden, with what is not as before.
func TestCorpusAdopted(t *testing.T) {
	dir := os.Getenv("MODEC_CORPUS")
	if dir == "" || testing.Short() {
		t.Skip("MODEC_CORPUS names no folder of real files, or the run is short")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	total := figures{count: map[string]int{}}
	for _, p := range places {
		names, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(p.glob)))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			t.Run(path.Dir(p.glob)+"/"+filepath.Base(name), func(t *testing.T) { total.adopt(t, name, p.as) })
		}
	}
	for _, name := range slices.Sorted(maps.Keys(total.count)) {
		fmt.Fprintf(&total.text, "%s: %d\n", name, total.count[name])
	}
	reviewed(t, filepath.Join("testdata", "adopted.txt"), total.text.String())
}

func (f *figures) adopt(t *testing.T, name, as string) {
	f.count["files"]++
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, as), data)
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-qm", "before modec"}} {
		args = append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@x"}, args...)
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git: %v\n%s", err, out)
		}
	}
	modec := func(line string) (int, []byte, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), targets.All(), append([]string{"-C", dir}, strings.Fields(line)...), nil, &out, &errs)
		return code, out.Bytes(), errs.String()
	}
	by := "migrate --json"
	if as == ".kilocodemodes" {
		by += " --from kilo" // for Kilo
	}
	code, out, errs := modec(by)
	var report struct {
		Status string `json:"status"`
		migrate.Report
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("migrate: exit %d, %v\n%s%s", code, err, out, errs)
	}
	if code != 0 || report.Status != "ok" {
		f.count["not imported"]++
		return
	}
	f.count["imported"]++
	says := func(format string, args ...any) {
		fmt.Fprintf(&f.text, "%s: "+format+"\n", append([]any{t.Name()[len("TestCorpusAdopted/"):]}, args...)...)
	}
	for _, step := range steps {
		if step.name == "without a difference" && strings.Contains(by, "--from") {
			continue // the modes are new to the agent that they are imported for
		}
		code, out, errs := modec(step.line)
		switch {
		case code == 0 && strings.Contains(errs, ": warning: ") &&
			(step.name == "checked" || step.name == "verified"):
			t.Errorf("modec %s warns on the first day:\n%s", step.line, errs)
		case code == 0:
			f.count[step.name]++
		case step.name == "linted", step.name == "examined":
			for line := range strings.Lines(string(out) + errs) {
				if strings.Contains(line, ": warning: ") || strings.Contains(line, ": error: ") || strings.HasPrefix(line, "wrong ") {
					says("not %s: %s", step.name, strings.Join(strings.Fields(line), " "))
				}
			}
		default:
			t.Errorf("modec %s: exit %d\n%s%s", step.line, code, out, errs)
		}
	}
	built, err := os.ReadFile(filepath.Join(dir, as))
	switch {
	case err != nil:
		t.Error(err)
	case bytes.Equal(built, data):
		f.count["every byte kept"]++
	default:
		before, after := strings.Split(string(data), "\n"), strings.Split(string(built), "\n")
		says("bytes: %s", changedLines(before, after))
	}
	equal := true
	for _, n := range report.Narrower {
		if n.Form != migrate.LineBreak {
			equal = false
			says("narrower: %s %q %s, %s became %s: %s", n.Group, n.Example, n.Form, n.Was, n.Is, n.Rule)
		}
	}
	if equal {
		f.count["deciding as before"]++
	}
	code, out, errs = modec("clean")
	for _, name := range []string{"modec", "modec.toml"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	diff := cmp.Diff(map[string]string{as: string(data)}, files(t, dir))
	if code != 0 || diff != "" {
		t.Errorf("modec clean: exit %d (-before +after)\n%s%s%s", code, diff, out, errs)
		return
	}
	f.count["restored"]++
}

// changedLines counts the lines that one text has and another has not.
func changedLines(before, after []string) string {
	without := func(a, b []string) (n int) {
		has := map[string]int{}
		for _, line := range b {
			has[line]++
		}
		for _, line := range a {
			if has[line]--; has[line] < 0 {
				n++
			}
		}
		return n
	}
	return fmt.Sprintf("%d lines of %d become %d", without(before, after), len(before), without(after, before))
}
