package accepted

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// What was accepted is asked about once, for one project and by its own user; what changes is new.
func TestRecord(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := t.TempDir()
	points := []Point{{Allows, "role dev", "command: allow npm *"}, {Starts, "", "server git: npx git"}}
	r := Load(root)
	if got := r.New(points); !slices.Equal(got, points) {
		t.Fatalf("got %v, want all", got)
	}
	if err := r.Accept(points[:1]); err != nil {
		t.Fatal(err)
	}
	if got := Load(root).New(points); !slices.Equal(got, points[1:]) {
		t.Errorf("got %v, want what was not accepted", got)
	}
	other := slices.Clone(points[:1])
	other[0].Of = "role other"
	if got := Load(root).New(other); len(got) != 1 {
		t.Error("what another subject says was taken for accepted")
	}
	if got := Load(t.TempDir()).New(points); len(got) != 2 {
		t.Error("another project has the record")
	}
	if err := os.Chmod(r.place, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := Load(root).New(points); len(got) != 2 {
		t.Error("a record that others may write counts")
	}
}

// A record that lies in the project is the repository's.
func TestRecordInTheProject(t *testing.T) {
	root := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(root, "state"))
	points := []Point{{Allows, "role dev", "edit: allow"}}
	if err := Load(root).Accept(points); err != nil {
		t.Fatal(err)
	}
	if got := Load(root).New(points); len(got) != 1 {
		t.Error("a repository's own record counts")
	}
}
