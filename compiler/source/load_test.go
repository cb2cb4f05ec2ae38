package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modec.dev/modec/compiler/diag"
)

// A link that leaves the project is told from a file that cannot be read. Package os does
// not export the error for it: this test fails when Go returns another one.
func TestLinkOutside(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "modec"), 0o755); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "x.cue")
	if err := os.WriteFile(outside, []byte("package modec\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "modec", "x.cue")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("none.cue", filepath.Join(dir, "modec", "y.cue")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, diags := Load(root.FS(), "modec")
	codes := map[string]diag.Code{}
	for _, d := range diags {
		name, _, _ := strings.Cut(d.Message, " ")
		codes[name] = d.Code
	}
	if len(diags) != 2 || codes["modec/x.cue"] != diag.PathOutside || codes["modec/y.cue"] != diag.UnreadableFile {
		t.Errorf("got %v", diags)
	}
}
