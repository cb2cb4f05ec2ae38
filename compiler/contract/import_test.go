package contract

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadImport(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("most", strings.Repeat("a", MaxImport))
	write("more", strings.Repeat("a", MaxImport+1))
	write("latin1", "\xe9")
	write("empty", "")
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "outside")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("empty", filepath.Join(dir, "inside")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]string{
		"most": "", "empty": "", "inside": "",
		"more":   "got more than 4 MiB, want a smaller file",
		"latin1": "got bytes that are not UTF-8, want UTF-8",
		"outside": "outside is a symbolic link that leads out of the project: " +
			"put the file or the folder itself in the place of the link",
		".":    "it is a folder, want a file",
		"none": fs.ErrNotExist.Error(),
	} {
		got := ""
		if _, err := ReadImport(root.FS(), name); err != nil {
			got = err.Error()
		}
		if name == "none" && strings.Contains(got, "no such file") {
			got = want
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
