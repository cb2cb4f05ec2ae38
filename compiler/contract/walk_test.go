package contract_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"modec.dev/modec/compiler/contract"
)

// A link to a folder is gone through like the folder, one that leads back a few times.
func TestEachFileFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"agents/a.md", "agents/deep/b.md", "other/free.md"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"agents/back": "..", "agents/free.md": "../other/free.md",
		"agents/linked": "../other", "agents/nowhere": "../none"} {
		if err := os.Symlink(filepath.FromSlash(to), filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Skip(err)
		}
	}
	var files []string
	if err := contract.EachFile(os.DirFS(dir), "agents", func(file string) { files = append(files, file) }); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"agents/a.md", "agents/deep/b.md", "agents/free.md", "agents/linked/free.md"} {
		if !slices.Contains(files, want) {
			t.Errorf("%s is not among %q", want, files)
		}
	}
	if len(files) > 100 {
		t.Errorf("got %d files", len(files))
	}
	if err := contract.EachFile(os.DirFS(dir), "none", nil); !os.IsNotExist(err) {
		t.Errorf("got %v, want that there is no such folder", err)
	}
}
