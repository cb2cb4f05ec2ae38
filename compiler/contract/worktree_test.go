package contract

import (
	"os"
	"path/filepath"
	"testing"
)

// A work tree is one that the repository notes too: a .git file alone makes none.
func TestFindWorktree(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	main, tree, forged := filepath.Join(top, "main"), filepath.Join(top, "tree"), filepath.Join(top, "forged")
	noted := filepath.Join(main, ".git", "worktrees", "tree")
	for file, text := range map[string]string{
		filepath.Join(noted, "gitdir"):           filepath.Join(tree, ".git") + "\n",
		filepath.Join(tree, ".git"):              "gitdir: " + noted + "\n",
		filepath.Join(tree, "app", "src", "a"):   "",
		filepath.Join(forged, ".git"):            "gitdir: " + noted + "\n",
		filepath.Join(main, "app", "modec.toml"): "",
		filepath.Join(main, "module", ".git"):    "gitdir: ../.git/modules/module\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if w, ok := FindWorktree(filepath.Join(tree, "app", "src")); !ok || w != (Worktree{tree, main}) {
		t.Errorf("got %v %v, want the tree of %s", w, ok, main)
	}
	for _, dir := range []string{main, forged, filepath.Join(main, "app"), filepath.Join(main, "module"), top} {
		if w, ok := FindWorktree(dir); ok {
			t.Errorf("%s: got %v, want none", dir, w)
		}
	}
	root, ok := ProjectIn(filepath.Join(main, "app"), filepath.Join(tree, "app", "src"))
	if want := filepath.Join(tree, "app"); !ok || root != want {
		t.Errorf("got %s %v, want %s", root, ok, want)
	}
	for _, c := range [][2]string{{tree, filepath.Join(tree, "app")}, {top, tree}, {main, main}, {main, forged}} {
		if root, ok := ProjectIn(c[0], c[1]); ok {
			t.Errorf("project %s, folder %s: got %s, want none", c[0], c[1], root)
		}
	}
}
