package output

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// fake is a target in name only.
type fake struct{ name string }

func (f fake) Name() string                                   { return f.name }
func (fake) Summary() string                                  { return "a test" }
func (fake) Options() []contract.Option                       { return nil }
func (fake) Codes() []diag.Doc                                { return nil }
func (fake) Owns() []string                                   { return []string{"**"} }
func (fake) Governs(string, ir.Group) contract.Halves         { return contract.Neither }
func (fake) Emit(contract.Input) ([]contract.File, diag.List) { return nil, nil }

// built is a build that emits for one target, from path and content.
func built(name string, files ...string) Build {
	a := contract.Artifacts{Target: fake{name}}
	for i := 0; i < len(files); i += 2 {
		a.Files = append(a.Files, contract.File{Path: files[i], Data: []byte(files[i+1])})
	}
	return Build{Schema: "sha256:schema", Outputs: []contract.Artifacts{a}}
}

func actions(changes []Change) map[string]Action {
	m := map[string]Action{}
	for _, c := range changes {
		m[c.Path] = c.Action
	}
	return m
}

// tree reads a folder, the lock aside.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() || info.Mode()&os.ModeSymlink != 0 {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		if rel != LockFile {
			m[filepath.ToSlash(rel)] = string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t *testing.T, b Build, opt Options) map[string]Action {
	t.Helper()
	changes, diags := Write(t.Context(), b, opt)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return actions(changes)
}

// refuse expects a write to stop with a code and to leave the folder as it is.
func refuse(t *testing.T, b Build, opt Options, code string) {
	t.Helper()
	before := tree(t, opt.Dir)
	_, diags := Write(t.Context(), b, opt)
	if len(diags) == 0 || !diags.HasErrors() || string(diags[0].Code) != code {
		t.Errorf("got diagnostics %v, want %s", diags, code)
	}
	if diff := cmp.Diff(before, tree(t, opt.Dir)); diff != "" {
		t.Errorf("a refused build changed the folder:\n%s", diff)
	}
}

func TestWriteTwiceChangesNothing(t *testing.T) {
	opt := Options{Dir: filepath.Join(t.TempDir(), "new", "folder")}
	r := built("roo", ".roomodes", "a", ".roo/mcp.json", "b")
	created := map[string]Action{".roomodes": Create, ".roo/mcp.json": Create}
	if diff := cmp.Diff(created, mustWrite(t, r, opt)); diff != "" {
		t.Error(diff)
	}
	before, err := os.Stat(filepath.Join(opt.Dir, ".roomodes"))
	if err != nil {
		t.Fatal(err)
	}
	unchanged := map[string]Action{".roomodes": Unchanged, ".roo/mcp.json": Unchanged}
	if diff := cmp.Diff(unchanged, mustWrite(t, r, opt)); diff != "" {
		t.Error(diff)
	}
	after, err := os.Stat(filepath.Join(opt.Dir, ".roomodes"))
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("an unchanged file was written again (%v)", err)
	}
	if diff := cmp.Diff(map[string]string{".roomodes": "a", ".roo/mcp.json": "b"}, tree(t, opt.Dir)); diff != "" {
		t.Errorf("left over:\n%s", diff)
	}
}

func TestWriteUpdatesWhatItWrote(t *testing.T) {
	opt := Options{Dir: t.TempDir()}
	mustWrite(t, built("roo", "a", "1", "b", "1"), opt)
	got := mustWrite(t, built("roo", "a", "2", "b", "1"), opt)
	if want := (map[string]Action{"a": Update, "b": Unchanged}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestWriteLeavesForeignAndEditedFilesAlone(t *testing.T) {
	opt := Options{Dir: t.TempDir()}
	put(t, opt.Dir, "a", "somebody's")
	refuse(t, built("roo", "a", "1", "b", "1"), opt, "not-ours")

	opt.Force = true
	mustWrite(t, built("roo", "a", "1", "b", "1"), opt)
	opt.Force = false
	put(t, opt.Dir, "b", "edited")
	refuse(t, built("roo", "a", "2", "b", "2"), opt, "edited")
	// A file that says already what the build would write is nobody's loss.
	mustWrite(t, built("roo", "a", "2", "b", "edited"), opt)
	mustWrite(t, built("roo", "a", "2", "b", "3"), opt)
}

func TestWriteRemovesWhatIsNoLongerEmitted(t *testing.T) {
	opt := Options{Dir: t.TempDir()}
	mustWrite(t, built("roo", "a", "1", "dir/sub/b", "1"), opt)
	put(t, opt.Dir, "mine", "kept")
	got := mustWrite(t, built("roo", "a", "1"), opt)
	if want := (map[string]Action{"a": Unchanged, "dir/sub/b": Remove}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if _, err := os.Stat(filepath.Join(opt.Dir, "dir")); !os.IsNotExist(err) {
		t.Error("an empty folder stays")
	}
	mustWrite(t, built("roo", "a", "1", "b", "1"), opt)
	put(t, opt.Dir, "b", "edited")
	refuse(t, built("roo", "a", "1"), opt, "edited")
}

func TestWriteKeepsTheTargetsItDoesNotCompile(t *testing.T) {
	opt := Options{Dir: t.TempDir()}
	both := built("roo", "a", "1")
	both.Outputs = append(both.Outputs, built("claude", "b", "1").Outputs...)
	mustWrite(t, both, opt)
	mustWrite(t, built("claude", "b", "2"), opt)
	mustWrite(t, built("roo", "a", "2"), opt) // still modec's own
	if diff := cmp.Diff(map[string]string{"a": "2", "b": "2"}, tree(t, opt.Dir)); diff != "" {
		t.Error(diff)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "absent")
	got := mustWrite(t, built("roo", "a", "1"), Options{Dir: dir, DryRun: true})
	if got["a"] != Create {
		t.Errorf("got %v, want a planned creation", got)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Error("the output folder was created")
	}
}

func TestWriteStaysInsideTheRoot(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "a", "outside")
	for name, link := range map[string]func(dir string) error{
		"folder": func(dir string) error { return os.Symlink(outside, filepath.Join(dir, "sub")) },
		"file": func(dir string) error {
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(outside, "a"), filepath.Join(dir, "sub", "a"))
		},
		"temporary": func(dir string) error {
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
				return err
			}
			return os.Symlink(filepath.Join(outside, "a"), filepath.Join(dir, "sub", temp("a")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			opt := Options{Dir: t.TempDir()}
			if err := link(opt.Dir); err != nil {
				t.Fatal(err)
			}
			_, diags := Write(t.Context(), built("roo", "sub/a", "1"), opt)
			if name != "temporary" && !diags.HasErrors() {
				t.Error("a link was followed")
			}
			if b, err := os.ReadFile(filepath.Join(outside, "a")); err != nil || string(b) != "outside" {
				t.Errorf("a file outside the root is now %q (%v)", b, err)
			}
		})
	}
}

// A build that stops between two renames leaves files of two builds. The next
// one knows both and finishes.
func TestInterruptedBuildIsFinished(t *testing.T) {
	opt := Options{Dir: t.TempDir()}
	mustWrite(t, built("roo", "a", "1", "b", "1"), opt)
	next := built("roo", "a", "2", "b", "2")
	w, err := newWriter(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	w.readLocks()
	lock, err := w.nextLock(next, w.plan(next)).marshal()
	if err != nil {
		t.Fatal(err)
	}
	w.close()
	put(t, opt.Dir, PendingLock, string(lock))
	put(t, opt.Dir, "a", "2")
	put(t, opt.Dir, temp("b"), "2")

	mustWrite(t, built("roo", "a", "3", "b", "3"), opt)
	if diff := cmp.Diff(map[string]string{"a": "3", "b": "3"}, tree(t, opt.Dir)); diff != "" {
		t.Error(diff)
	}
}

func TestBadLockStopsTheBuild(t *testing.T) {
	for name, text := range map[string]string{
		"torn":    "version = 1\n[artif",
		"newer":   "version = 2\n",
		"unknown": "version = 1\nnovel = true\n",
	} {
		t.Run(name, func(t *testing.T) {
			opt := Options{Dir: t.TempDir()}
			put(t, opt.Dir, LockFile, text)
			_, diags := Write(t.Context(), built("roo", "a", "1"), opt)
			if len(diags) != 1 || diags[0].Code != "bad-lock" {
				t.Errorf("got %v, want bad-lock", diags)
			}
		})
	}
}

// owner is a target that owns one path.
type owner struct {
	fake
	path string
}

func (o owner) Owns() []string { return []string{o.path} }

// A lock that claims a file which no target owns does not make it modec's.
func TestALockClaimsNothing(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "README.md", "mine")
	put(t, dir, "old.txt", "made")
	lock, err := (&Lock{Version: lockVersion, Artifacts: map[string]string{
		"README.md": artifactLine("roo", Sum([]byte("mine"))),
		"old.txt":   artifactLine("roo", Sum([]byte("made"))),
	}}).marshal()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, LockFile, string(lock))
	r := built("roo")
	r.Outputs[0].Target = owner{fake{"roo"}, "old.txt"}
	opt := Options{Dir: dir, DryRun: true, Targets: []contract.Target{r.Outputs[0].Target}}
	changes, diags := Clean(t.Context(), opt)
	if want := (map[string]Action{"old.txt": Remove, LockFile: Remove}); len(diags) > 0 || !cmp.Equal(actions(changes), want) {
		t.Errorf("got %v, %v", changes, diags)
	}
	mustWrite(t, r, Options{Dir: dir})
	if got := tree(t, dir); got["README.md"] != "mine" || got["old.txt"] != "" {
		t.Errorf("got %v", got)
	}
}

// What the source no longer accepts goes from the lock; what was accepted for a target
// that this build does not compile stays.
func TestLockRemembersAcceptedLosses(t *testing.T) {
	opt := Options{Dir: t.TempDir()}
	loss := func(target string) Build {
		r := built(target, target+".txt", "1")
		r.Outputs[0].Losses = diag.List{
			{Target: target, Subject: "mode a", Message: "keeps x", Loss: diag.Widening},
			{Target: target, Subject: "mode a", Message: "narrowed", Loss: diag.Narrowing},
		}
		return r
	}
	mustWrite(t, loss("roo"), opt)
	mustWrite(t, loss("zoo"), opt)
	want := []string{"roo: mode a: keeps x", "zoo: mode a: keeps x"}
	for _, next := range [][]Build{nil, {built("roo", "roo.txt", "1")}} {
		for _, b := range next {
			mustWrite(t, b, opt)
			want = want[1:]
		}
		b, err := os.ReadFile(filepath.Join(opt.Dir, LockFile))
		if err != nil {
			t.Fatal(err)
		}
		l, err := parseLock(b)
		if err != nil || !cmp.Equal(l.Accepted, want) {
			t.Errorf("got %q, %v, want %q", l.Accepted, err, want)
		}
	}
}

// The lock is a line for each artifact, sorted, so that two branches merge.
func TestLockForm(t *testing.T) {
	opt := Options{Dir: t.TempDir(), Version: "v1"}
	mustWrite(t, built("roo", "b", "1", ".a/c d", "1"), opt)
	b, err := os.ReadFile(filepath.Join(opt.Dir, LockFile))
	if err != nil {
		t.Fatal(err)
	}
	sum := Sum([]byte("1"))
	want := strings.Join([]string{"version = 1", "modec = 'v1'", "schema = 'sha256:schema'",
		"unheld = []", "", "[artifacts]", "'.a/c d' = 'roo " + sum + "'", "b = 'roo " + sum + "'", ""}, "\n")
	if diff := cmp.Diff(lockHeader+want, string(b)); diff != "" {
		t.Error(diff)
	}
}
