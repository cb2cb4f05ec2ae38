package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"modec.dev/modec/targets"
)

// TestAdoptedRepositories lives a first day with each repository of fixtures/import/repositories:
// import, build, check, lint, verify and the review's diff are clean at once, what changed in
// people's files is what NAME.diff says, and clean leaves every byte as it was. The comment of an
// archive names the projects in it ("projects: . services/api").
func TestAdoptedRepositories(t *testing.T) {
	names, err := filepath.Glob("../../fixtures/import/repositories/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Setenv("XDG_STATE_HOME", t.TempDir())
			t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			for _, f := range archive.Files {
				mustWrite(t, filepath.Join(dir, f.Name), f.Data)
			}
			git := func(args ...string) string {
				t.Helper()
				out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@x"}, args...)...).
					CombinedOutput()
				if err != nil {
					t.Fatalf("git %s: %v\n%s", args, err, out)
				}
				return string(out)
			}
			git("init", "-q")
			git("add", "-A")
			git("commit", "-qm", "before modec")
			before := files(t, dir)
			projects := []string{"."}
			if _, list, ok := strings.Cut(string(archive.Comment), "projects: "); ok {
				projects = strings.Fields(list)
			}
			for _, p := range projects {
				firstDay(t, filepath.Join(dir, p))
			}
			git("add", "-AN")
			reviewed(t, strings.TrimSuffix(name, ".txtar")+".diff",
				git("diff", "--diff-filter=A", "--name-only")+"\n"+git("diff", "--diff-filter=a", "-U1"))
			for _, p := range projects {
				leave(t, filepath.Join(dir, p))
			}
			if diff := cmp.Diff(before, files(t, dir)); diff != "" {
				t.Errorf("after modec clean (-before +after):\n%s", diff)
			}
		})
	}
}

// firstDay runs what a team runs in a project that it imports.
func firstDay(t *testing.T, dir string) {
	t.Helper()
	for _, args := range []string{
		"migrate", "build", "build --check", "lint --fail-on warning", "verify --disk", "diff --fail-on change", "migrate",
		"doctor", "build --check",
	} {
		var out, err bytes.Buffer
		line := append([]string{"-C", dir}, strings.Fields(args)...)
		if code := run(t.Context(), targets.All(), line, nil, &out, &err); code != 0 {
			t.Errorf("modec %s: exit %d\n%s%s", args, code, &out, &err)
		}
		if _, next, ok := strings.Cut(out.String(), "\nnext: "); ok && strings.Contains(next, "--force") {
			t.Errorf("modec %s asks for force:\n%s", args, &out)
		}
	}
}

// leave takes modec out of a project, and the source with it.
func leave(t *testing.T, dir string) {
	t.Helper()
	answer(t, "-C", dir, "clean")
	for _, name := range []string{"modec", "modec.toml"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// files reads the files of a folder but git's own.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".git":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		found[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// reviewed compares a text with the one that was reviewed.
func reviewed(t *testing.T, name, got string) {
	t.Helper()
	got = strings.Join(slices.Collect(func(yield func(string) bool) {
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, "index ") && !yield(line) {
				return
			}
		}
	}), "")
	if *update {
		mustWrite(t, name, []byte(got))
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
