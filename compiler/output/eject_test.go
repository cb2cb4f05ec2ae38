package output

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/diag"
)

// hooked is a build with a file of a hook, and what it is without it.
func hooked() (with, without Build) {
	with, without = built("claude", "a", "rules hook", "hooks", "hook"), built("claude", "a", "rules")
	return with, without
}

// What modec alone reads goes, with the lock; the rest is as the build without it, and a person's.
func TestEject(t *testing.T) {
	with, without := hooked()
	opt := Options{Dir: t.TempDir(), Version: "v1"}
	mustWrite(t, with, opt)
	put(t, opt.Dir, "mine", "mine")
	before := tree(t, opt.Dir)
	dry := opt
	dry.DryRun = true
	changes, diags := Eject(t.Context(), without, dry)
	want := map[string]Action{"a": Update, "hooks": Remove, LockFile: Remove}
	if diff := cmp.Diff(want, actions(changes)); diff != "" || len(diags) > 0 {
		t.Errorf("%v\n%s", diags, diff)
	}
	if diff := cmp.Diff(before, tree(t, opt.Dir)); diff != "" {
		t.Errorf("a dry run changed something: %s", diff)
	}
	if _, diags := Eject(t.Context(), without, opt); len(diags) > 0 {
		t.Fatal(diags)
	}
	if diff := cmp.Diff(map[string]string{"a": "rules", "mine": "mine"}, tree(t, opt.Dir)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{LockFile, ".modec"} {
		if _, err := os.Stat(filepath.Join(opt.Dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, diags := Write(t.Context(), with, opt); !diags.HasErrors() || diags[0].Code != diag.NotOurs {
		t.Errorf("got %v, want that the file is a person's", diags)
	}
}

// What somebody edited stops it, and nothing is changed.
func TestEjectEdited(t *testing.T) {
	with, without := hooked()
	opt := Options{Dir: t.TempDir(), Version: "v1"}
	mustWrite(t, with, opt)
	put(t, opt.Dir, "a", "edited")
	before := tree(t, opt.Dir)
	if _, diags := Eject(t.Context(), without, opt); !diags.HasErrors() || diags[0].Code != diag.Edited {
		t.Errorf("got %v", diags)
	}
	if diff := cmp.Diff(before, tree(t, opt.Dir)); diff != "" {
		t.Error(diff)
	}
}

// Wherever it is killed, the next build finds its own files, and the next eject ends it.
func TestEjectKilled(t *testing.T) {
	with, without := hooked()
	for n := 0; ; n++ {
		opt := Options{Dir: t.TempDir(), Version: "v1"}
		mustWrite(t, with, opt)
		eject := func(opt Options) diag.List {
			_, diags := Eject(t.Context(), without, opt)
			return diags
		}
		if !killed(t, n, opt, eject) {
			if n < 3 {
				t.Errorf("got %d steps", n)
			}
			return
		}
		if _, err := os.Stat(filepath.Join(opt.Dir, LockFile)); os.IsNotExist(err) {
			continue // it had ended
		}
		if diags := write(t, with)(opt); diags.HasErrors() {
			t.Fatalf("step %d: %v", n, diags)
		}
		if diags := eject(opt); diags.HasErrors() {
			t.Fatalf("step %d: %v", n, diags)
		}
		if diff := cmp.Diff(map[string]string{"a": "rules"}, tree(t, opt.Dir)); diff != "" {
			t.Errorf("step %d: %s", n, diff)
		}
	}
}
