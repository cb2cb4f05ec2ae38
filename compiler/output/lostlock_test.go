package output

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/originals"
)

// losing returns options for a folder whose last commit has what a first build wrote, and removes the lock.
func losing(t *testing.T, b Build, inGit bool) Options {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	opt := Options{Dir: t.TempDir(), Targets: []contract.Target{fake{"claude"}}}
	opt.Originals = func() *originals.Record { return originals.Load(opt.Dir) }
	opt.Written = func() *originals.Written { return originals.LoadWritten(opt.Dir) }
	mustWrite(t, b, opt)
	lock, err := os.ReadFile(filepath.Join(opt.Dir, LockFile))
	if err != nil {
		t.Fatal(err)
	}
	if inGit {
		opt.Committed = func(path string) []byte {
			if path == LockFile {
				return lock
			}
			return nil
		}
	}
	return opt
}

func loseLock(t *testing.T, opt Options) {
	t.Helper()
	if err := os.Remove(filepath.Join(opt.Dir, LockFile)); err != nil {
		t.Fatal(err)
	}
}

func hookItem(digest string) string {
	return `{"hooks": [{"type": "command", "command": "modec hook claude --model .modec/policy.json --subject s --digest ` +
		digest + `"}]}`
}

// What a build wrote stays modec's where somebody removes the lock: by the lock of the last commit, or by what the
// user's own builds wrote.
func TestBuildKnowsItsOwnWithoutALock(t *testing.T) {
	places := []string{"/allow/-", "/deny/-", "/hooks/-"}
	text := func(allow, digest string) string {
		return `{"allow": ["` + allow + `"], "deny": ["secret"], "hooks": [` + hookItem(digest) + "]}\n"
	}
	next := func(allow, digest string) Build {
		b := merged("claude", "s.json", text(allow, digest), places...)
		b.Outputs[0].Files = append(b.Outputs[0].Files, contract.File{Path: "agent.md", Data: []byte(allow)})
		return b
	}
	for name, inGit := range map[string]bool{"of the last commit": true, "of the last build": false} {
		t.Run(name, func(t *testing.T) {
			opt := losing(t, next("one", "0"), inGit)
			loseLock(t, opt)
			want := map[string]string{"s.json": text("two", "1"), "agent.md": "two"}
			mustWrite(t, next("one", "0"), opt) // nothing to write but the lock
			loseLock(t, opt)
			mustWrite(t, next("two", "1"), opt)
			got := tree(t, opt.Dir)
			if !sameJSON([]byte(got["s.json"]), []byte(want["s.json"])) || got["agent.md"] != "two" {
				t.Errorf("got %v, want what the source says alone", got)
			}
		})
	}
}

// Of two locks that of the build stands for the one that is gone which wrote what is there.
func TestLockOfWhatIsThere(t *testing.T) {
	opt := losing(t, built("claude", "a", "1", "b", "1"), true)
	mustWrite(t, built("claude", "a", "2", "b", "2"), opt)
	loseLock(t, opt)
	mustWrite(t, built("claude", "a", "3", "b", "3"), opt)
	loseLock(t, opt)
	put(t, opt.Dir, "a", "1")
	put(t, opt.Dir, "b", "1") // of another branch
	mustWrite(t, built("claude", "a", "4", "b", "4"), opt)
	loseLock(t, opt)
	put(t, opt.Dir, "a", "mine") // and what no lock says is a person's
	refuse(t, built("claude", "a", "5", "b", "5"), opt, "not-ours")
	put(t, opt.Dir, "b", "mine")
	if opt.LockText() != nil {
		t.Error("a lock stands for files of which it says nothing")
	}
}

// A lock that clean or eject took away is not read of git again.
func TestRetiredLockIsGone(t *testing.T) {
	b := built("claude", "a", "rules")
	opt := losing(t, b, true)
	if _, diags := Eject(t.Context(), b, opt); diags.HasErrors() {
		t.Fatal(diags)
	}
	if opt.LockText() != nil {
		t.Error("got the lock that an eject took away")
	}
	refuse(t, built("claude", "a", "others"), opt, "not-ours")
}

// A hook of a build goes with that build, whoever's lock is there, and one of a person's own stays.
func TestHookOfAnotherBuildGoes(t *testing.T) {
	mine := `{"hooks": [{"type": "command", "command": "./mine.sh"}, ` +
		`{"type": "command", "command": "modec hook claude --model m --subject s --digest 0"}]}`
	own := `{"hooks": [{"type": "command", "command": "modec hook claude --model m --subject s"}]}`
	opt := Options{Dir: t.TempDir()}
	put(t, opt.Dir, "s.json", `{"hooks": [`+hookItem("0")+", "+mine+", "+own+"]}\n")
	mustWrite(t, merged("claude", "s.json", `{"hooks": [`+hookItem("1")+"]}\n", "/hooks/-"), opt)
	want := `{"hooks": [` + mine + ", " + own + ", " + hookItem("1") + "]}\n"
	if got := tree(t, opt.Dir)["s.json"]; !sameJSON([]byte(got), []byte(want)) {
		t.Errorf("got other hooks:\n%s", cmp.Diff(want, got))
	}
}
