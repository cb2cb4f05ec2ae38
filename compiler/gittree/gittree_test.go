package gittree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// repository is one with a commit of some files, in a folder of a repository.
func repository(t *testing.T, files map[string]string) (dir string, git func(args ...string)) {
	t.Helper()
	top := t.TempDir()
	git = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", top, "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	dir = filepath.Join(top, "sub dir")
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	write(t, filepath.Join(top, "outside"), "x")
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	return dir, git
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, dir, rev string) *Tree {
	t.Helper()
	tree, err := Open(context.Background(), dir, rev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

func TestARevision(t *testing.T) {
	files := map[string]string{"modec.toml": "a = 1\n", "modec/é x.cue": "package modec\n", "modec/deep/er/y": "", "bin": "\x00\n\n"}
	dir, git := repository(t, files)
	write(t, filepath.Join(dir, "modec.toml"), "changed")
	write(t, filepath.Join(dir, "new"), "new")
	tree := open(t, dir, "HEAD")
	if err := fstest.TestFS(struct{ fs.FS }{tree}, "modec.toml", "modec/é x.cue", "modec/deep/er/y", "bin"); err != nil {
		t.Error(err)
	}
	for name, want := range files {
		if got, err := fs.ReadFile(tree, name); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := fs.Stat(tree, "new"); err == nil {
		t.Error("a file of the working tree is in the revision")
	}
	if _, err := fs.Stat(tree, "outside"); err == nil {
		t.Error("a file above the folder is in the tree")
	}
	if len(tree.Commit) < 40 {
		t.Errorf("got commit %q", tree.Commit)
	}
	// The index holds what is added, and not what is not.
	git("add", "sub dir/modec.toml")
	index := open(t, dir, Index)
	if got, _ := fs.ReadFile(index, "modec.toml"); string(got) != "changed" {
		t.Errorf("got %q of the index", got)
	}
	if _, err := fs.Stat(index, "new"); err == nil {
		t.Error("a file that was not added is in the index")
	}
}

func TestIgnored(t *testing.T) {
	dir, _ := repository(t, map[string]string{".gitignore": "/out\n*.log\n!keep.log\n", "src/x": "", "kept.log/x": ""})
	write(t, filepath.Join(dir, "out/x"), "")
	write(t, filepath.Join(dir, "a\nb.log"), "")
	got, err := Ignored(t.Context(), dir, []string{"out", "src", "a\nb.log", "keep.log", "none"})
	if want := []string{"out", "a\nb.log"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := os.Symlink("src", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	got, err = Ignored(t.Context(), dir, []string{"a.log", "link/x", "b.log", "link/y", "src", "out/x", "link/z"})
	if want := []string{"a.log", "b.log", "out/x"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("beside paths behind a link: got %q, %v, want %q", got, err, want)
	}
	if got, err := Ignored(t.Context(), dir, []string{"src"}); err != nil || len(got) > 0 {
		t.Errorf("got %q, %v, want none", got, err)
	}
	if _, err := Ignored(t.Context(), t.TempDir(), []string{"src"}); err == nil {
		t.Error("got no error outside of a repository")
	}
}

func TestLinksAreNoFiles(t *testing.T) {
	dir, git := repository(t, map[string]string{"modec.toml": "x"})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	git("add", "-A")
	git("commit", "-q", "-m", "two")
	for _, rev := range []string{"HEAD", Index} {
		if _, err := fs.Stat(open(t, dir, rev), "link"); err == nil {
			t.Errorf("%s: a link is a file", rev)
		}
	}
}

// Git is run a fixed number of times, whatever the number of files.
func TestGitIsNotRunForEachFile(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("modec/%d.cue", i)] = "package modec\n"
	}
	dir, _ := repository(t, files)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin, log := t.TempDir(), filepath.Join(t.TempDir(), "log")
	write(t, filepath.Join(bin, "git"), "#!/bin/sh\necho \"$@\" >> '"+log+"'\nexec '"+real+"' \"$@\"\n")
	if err := os.Chmod(filepath.Join(bin, "git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	tree := open(t, dir, "HEAD")
	for name := range files {
		if _, err := fs.ReadFile(tree, name); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(log)
	if n := strings.Count(string(data), "\n"); err != nil || n != 4 {
		t.Errorf("git was run %d times, want 4 (%v):\n%s", n, err, data)
	}
}

func TestWhatIsNoRevision(t *testing.T) {
	dir, _ := repository(t, map[string]string{"modec.toml": "x"})
	for _, rev := range []string{"nope", "--help", "-x", "HEAD:modec.toml"} {
		_, err := Open(context.Background(), dir, rev)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is neither a folder", rev)) {
			t.Errorf("%s: got %v", rev, err)
		}
	}
	if _, err := Open(context.Background(), t.TempDir(), "HEAD"); err == nil {
		t.Error("outside a repository: got no error")
	}
}

// An object counts as a file's only where the history has it at the file's path.
func TestHeldInTheHistory(t *testing.T) {
	dir, git := repository(t, map[string]string{"a.json": "first\n", "b.json": "other\n"})
	of := func(name string) string { return At(context.Background(), dir, name) }
	first, other := of("a.json"), of("b.json")
	git("checkout", "-q", "-b", "side")
	write(t, filepath.Join(dir, "a.json"), "aside\n")
	git("commit", "-q", "-am", "side")
	aside := of("a.json")
	git("checkout", "-q", "-")
	write(t, filepath.Join(dir, "a.json"), "second\n")
	git("commit", "-q", "-am", "second")
	second := of("a.json")
	git("rm", "-q", "sub dir/a.json")
	git("commit", "-q", "-m", "gone")
	for object, want := range map[string]bool{first: true, second: true, other: false, aside: false, "": false} {
		if got := Held(context.Background(), dir, "a.json", object); got != want {
			t.Errorf("%q: got %v, want %v", object, got, want)
		}
	}
	if got := of("a.json"); got != "" || of("b.json") != other || first == second {
		t.Errorf("got %q for a file that is gone, %q and %q", got, first, second)
	}
}

// What a file contained comes newest first, also where a merge made it and where the file is gone.
func TestVersions(t *testing.T) {
	dir, git := repository(t, map[string]string{"a.json": "first\n", "b.json": "other\n"})
	commit := func(text string) {
		write(t, filepath.Join(dir, "a.json"), text)
		git("commit", "-q", "-am", "c")
	}
	commit("second\n")
	git("checkout", "-q", "-b", "side")
	write(t, filepath.Join(dir, "b.json"), "aside\n")
	git("commit", "-q", "-am", "side")
	git("checkout", "-q", "-")
	commit("third\n")
	git("merge", "-q", "--no-commit", "--no-ff", "side")
	commit("merged\n")
	commit("last\n")
	git("rm", "-q", "sub dir/a.json")
	git("commit", "-q", "-m", "gone")
	versions := func(most int) (list []string) {
		if err := Versions(t.Context(), dir, "a.json", func(data []byte) bool {
			list = append(list, strings.TrimSpace(string(data)))
			return len(list) < most
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	if got, want := versions(9), []string{"last", "merged", "third", "second", "first"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := versions(2); !slices.Equal(got, []string{"last", "merged"}) {
		t.Errorf("got %q of two", got)
	}
	if err := Versions(t.Context(), t.TempDir(), "a.json", func([]byte) bool { return true }); err == nil {
		t.Error("outside a repository: got no error")
	}
}

func TestAConflictInTheIndex(t *testing.T) {
	dir, git := repository(t, map[string]string{"modec.toml": "base\n"})
	git("checkout", "-q", "-b", "other")
	write(t, filepath.Join(dir, "modec.toml"), "theirs\n")
	git("commit", "-q", "-am", "theirs")
	git("checkout", "-q", "-")
	write(t, filepath.Join(dir, "modec.toml"), "ours\n")
	git("commit", "-q", "-am", "ours")
	cmd := exec.Command("git", "-C", dir, "-c", "user.name=n", "-c", "user.email=e", "merge", "other")
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("no conflict: %s", out)
	}
	if _, err := Open(context.Background(), dir, Index); err == nil || !strings.Contains(err.Error(), "conflict") {
		t.Errorf("got %v", err)
	}
}

func TestAFileThatIsTooLarge(t *testing.T) {
	dir, _ := repository(t, map[string]string{"large": strings.Repeat("x", most+1), "fits": strings.Repeat("x", most), "after": "y"})
	tree := open(t, dir, "HEAD")
	if _, err := fs.ReadFile(tree, "large"); err == nil || !strings.Contains(err.Error(), "16 MiB at most") {
		t.Errorf("got %v", err)
	}
	if data, err := fs.ReadFile(tree, "fits"); err != nil || len(data) != most {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
	if data, err := fs.ReadFile(tree, "after"); err != nil || !slices.Equal(data, []byte("y")) {
		t.Errorf("got %q, %v", data, err)
	}
}

// Several agents read their files of a tree at once, and folders beside them.
func TestReadAtOnce(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("a/%d.txt", i)] = fmt.Sprint("text ", i, "\n")
	}
	dir, _ := repository(t, files)
	tree := open(t, dir, "HEAD")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for name, want := range files {
				if data, err := fs.ReadFile(tree, name); err != nil || string(data) != want {
					t.Errorf("%s: got %q, %v", name, data, err)
				}
				if list, err := fs.ReadDir(tree, "a"); err != nil || len(list) != len(files) {
					t.Errorf("got %d files, %v", len(list), err)
				}
			}
		})
	}
	wg.Wait()
}
