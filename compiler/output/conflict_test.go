package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/originals"
)

func hookItem(subject string) string {
	return `{"hooks": [{"type": "command", "command": "modec hook claude --subject ` + subject + `"}]}`
}

// A hook of a build goes with that build, whoever's lock is there, and one of a person's own stays.
func TestHookOfAnotherBuildGoes(t *testing.T) {
	mine := `{"hooks": [{"type": "command", "command": "./mine.sh"}, ` +
		`{"type": "command", "command": "modec hook claude --subject s"}]}`
	opt := Options{Dir: t.TempDir()}
	put(t, opt.Dir, "s.json", `{"hooks": [`+hookItem("0")+", "+mine+"]}\n")
	mustWrite(t, merged("claude", "s.json", `{"hooks": [`+hookItem("1")+"]}\n", "/hooks/-"), opt)
	want := `{"hooks": [` + mine + ", " + hookItem("1") + "]}\n"
	if got := tree(t, opt.Dir)["s.json"]; !sameJSON([]byte(got), []byte(want)) {
		t.Errorf("got other hooks:\n%s", cmp.Diff(want, got))
	}
}

// Where the lock is gone a file that is as the source makes it is taken as built, and any other is a person's.
func TestLostLock(t *testing.T) {
	opt := Options{Dir: t.TempDir()}
	lose := func() {
		t.Helper()
		if err := os.Remove(filepath.Join(opt.Dir, LockFile)); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, built("claude", "a", "1", "b", "1"), opt)
	lose()
	refuse(t, built("claude", "a", "1", "b", "2"), opt, "not-ours")
	mustWrite(t, built("claude", "a", "1", "b", "1"), opt)
	mustWrite(t, built("claude", "a", "2", "b", "2"), opt)
	if d := cmp.Diff(map[string]string{"a": "2", "b": "2"}, tree(t, opt.Dir)); d != "" {
		t.Error(d)
	}
}

// inConflict returns what git leaves of two texts.
func inConflict(ours, theirs string) string {
	return "<<<<<<< HEAD\n" + ours + "=======\n" + theirs + ">>>>>>> other\n"
}

// A lock in conflict is built again: what either side wrote is modec's, and only that.
func TestLockInConflict(t *testing.T) {
	opt := Options{Dir: t.TempDir(), Targets: []contract.Target{fake{"claude"}}}
	lock := func(b Build) string {
		t.Helper()
		mustWrite(t, b, opt)
		text, err := os.ReadFile(filepath.Join(opt.Dir, LockFile))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	theirs := lock(built("claude", "a", "1\n", "b", "2\n"))
	ours := lock(built("claude", "a", "2\n", "b", "1\n"))
	put(t, opt.Dir, "b", "2\n") // as git takes it of the other side
	put(t, opt.Dir, LockFile, inConflict(ours, theirs))
	merge := built("claude", "a", "2\n", "b", "2\n")

	check := opt
	check.Check = true
	changes, diags := Write(t.Context(), merge, check)
	if len(diags) > 0 || len(changes) != 3 || changes[2].Path != LockFile || changes[2].State != Stale {
		t.Errorf("got %v, %v, want a lock to build again", changes, diags)
	}
	if !WroteFor([]byte(inConflict(ours, theirs)), func(target string) bool { return target == "claude" }) {
		t.Error("a lock in conflict says nothing of its targets")
	}
	if got := lock(merge); strings.Contains(got, "<<<<<<<") {
		t.Errorf("got %s", got)
	}
	if changes, diags = Write(t.Context(), merge, check); len(diags) > 0 || len(changes) != 2 {
		t.Errorf("got %v, %v, want nothing to build", changes, diags)
	}

	put(t, opt.Dir, LockFile, inConflict(ours, theirs))
	put(t, opt.Dir, "b", "mine")
	refuse(t, merge, opt, "edited")
	put(t, opt.Dir, "b", "2\n")
	put(t, opt.Dir, LockFile, inConflict("version = 1\n", "version = 2\n"))
	refuse(t, merge, opt, "bad-lock")
}

// A file that modec builds is built again where a merge left a conflict in it, with a copy of what people may have
// written there. One that people write too is left alone.
func TestFileInConflict(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	opt := Options{Dir: t.TempDir()}
	opt.Originals = func() *originals.Record { return originals.Load(opt.Dir) }
	b := merged("claude", "s.json", `{"allow": ["x"]}`, "/allow/-")
	b.Outputs[0].Files = append(b.Outputs[0].Files, contract.File{Path: "agent.md", Data: []byte("You write.\n")})
	put(t, opt.Dir, "agent.md", inConflict("a\n", "b\n"))
	refuse(t, b, opt, "not-ours") // modec never wrote it
	if err := os.Remove(filepath.Join(opt.Dir, "agent.md")); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, b, opt)
	for _, dry := range []bool{true, false} {
		put(t, opt.Dir, "agent.md", inConflict("You write well.\n", "You write best.\n"))
		o := opt
		o.Check = dry
		changes, diags := Write(t.Context(), b, o)
		if diags.HasErrors() || changes[1].Path != "agent.md" || changes[1].State != Stale {
			t.Errorf("got %v, %v", changes, diags)
		}
		if kept := len(diags) == 1 && diags[0].Code == diag.Kept; kept == dry {
			t.Errorf("got %v, want a copy of a build, and none of a check", diags)
		}
	}
	if got := tree(t, opt.Dir)["agent.md"]; got != "You write.\n" {
		t.Errorf("got %q", got)
	}
	text := inConflict(`{"allow": ["x"]}`+"\n", `{"allow": ["y"]}`+"\n")
	put(t, opt.Dir, "s.json", text)
	for _, o := range []Options{opt, {Dir: opt.Dir, Force: true}} {
		changes, diags := Write(t.Context(), b, o)
		if len(diags) != 1 || diags[0].Code != diag.CannotMerge || diags[0].Pos.Line != 1 {
			t.Errorf("got %v, %v", changes, diags)
		}
		if got := tree(t, opt.Dir)["s.json"]; got != text {
			t.Errorf("it was written: %s", got)
		}
	}
}
