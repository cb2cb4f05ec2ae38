package output

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/originals"
)

// adopting returns options for a folder whose files were read by a migration, with the names of
// what the source says of each.
func adopting(t *testing.T, taken map[string][]string, files ...string) Options {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	opt := Options{Dir: t.TempDir(), Targets: []contract.Target{fake{"claude"}}}
	opt.Originals = func() *originals.Record { return originals.Load(opt.Dir) }
	record := opt.Originals()
	for i := 0; i < len(files); i += 2 {
		put(t, opt.Dir, files[i], files[i+1])
		record.Files[files[i]] = originals.File{Data: []byte(files[i+1]), Taken: taken[files[i]]}
	}
	if err := record.Save(); err != nil {
		t.Fatal(err)
	}
	return opt
}

func merged(name, path, text string, places ...string) Build {
	b := built(name, path, text)
	b.Outputs[0].Files[0].Places = places
	return b
}

func mustClean(t *testing.T, opt Options) diag.List {
	t.Helper()
	_, diags := Clean(t.Context(), opt)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return diags
}

func sameTree(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, tree(t, dir)); diff != "" {
		t.Errorf("the folder differs (-want +got):\n%s", diff)
	}
}

// What a migration read is taken over without force, and clean gives it back.
func TestAdoptedFilesComeBack(t *testing.T) {
	opt := adopting(t, nil, "a.md", "mine", "b.md", "other")
	mustWrite(t, built("claude", "a.md", "modec's", "b.md", "modec's"), opt)
	sameTree(t, opt.Dir, map[string]string{"a.md": "modec's", "b.md": "modec's"})
	mustWrite(t, built("claude", "a.md", "newer"), opt) // the source drops b.md
	sameTree(t, opt.Dir, map[string]string{"a.md": "newer"})
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"a.md": "mine", "b.md": "other"})
	mustWrite(t, built("claude", "a.md", "again"), opt)
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"a.md": "mine", "b.md": "other"})
}

// A file that changed after the migration is a person's, and so is one of another project.
func TestOnlyWhatWasReadIsTakenOver(t *testing.T) {
	opt := adopting(t, nil, "a.md", "mine")
	put(t, opt.Dir, "a.md", "changed")
	refuse(t, built("claude", "a.md", "modec's"), opt, "not-ours")
	put(t, opt.Dir, "a.md", "mine")
	elsewhere := opt
	elsewhere.Dir = t.TempDir()
	elsewhere.Originals = func() *originals.Record { return originals.Load(elsewhere.Dir) }
	put(t, elsewhere.Dir, "a.md", "mine")
	refuse(t, built("claude", "a.md", "modec's"), elsewhere, "not-ours")
	mustWrite(t, built("claude", "a.md", "modec's"), opt)
	put(t, opt.Dir, "a.md", "mine") // a person put it back: an edit
	refuse(t, built("claude", "a.md", "modec's"), opt, "edited")
}

// A lock that a repository brings along opens nothing.
func TestALockAdoptsNothing(t *testing.T) {
	opt := adopting(t, nil)
	put(t, opt.Dir, "a.md", "mine")
	put(t, opt.Dir, LockFile, "version = 1\nmodec = 'x'\nschema = ''\nsource = ''\n[artifacts]\n"+
		"[adopted.'a.md']\noriginal = '"+Sum([]byte("mine"))+"'\nblob = 'x'\n")
	refuse(t, built("claude", "a.md", "modec's"), opt, "not-ours")
	if err := os.Remove(filepath.Join(opt.Dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	opt.Blob = func(string) ([]byte, error) { return []byte("mine"), nil }
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{})
}

// Of a file that people write too, the entries that the source says from now on are modec's: what
// leaves the source leaves the file. The others stay.
func TestAdoptedEntries(t *testing.T) {
	const file = ".claude/settings.json"
	const mine = "{\n  // ours\n  \"permissions\": {\"allow\": [\"Bash(git *)\", \"Bash(odd\"]},\n  \"model\": \"opus\"\n}\n"
	opt := adopting(t, map[string][]string{file: {"allow Bash(git *)"}}, file, mine)
	allow := "/permissions/allow/-"
	if got := mustWrite(t, merged("claude", file, `{"permissions": {"allow": ["Bash(git *)"]}}`, allow), opt); got[file] != Unchanged {
		t.Errorf("the same entries: got %s, want %s", got[file], Unchanged)
	}
	mustWrite(t, merged("claude", file, `{"permissions": {"allow": ["Bash(git status)"]}}`, allow), opt)
	sameTree(t, opt.Dir, map[string]string{file: "{\n  // ours\n  \"permissions\": {\"allow\": [\"Bash(odd\", \"Bash(git status)\"]},\n  \"model\": \"opus\"\n}\n"})
	clean := opt
	clean.DryRun = true
	mustClean(t, clean)
	put(t, opt.Dir, file, "{\n  // ours\n  \"permissions\": {\"allow\": [\"Bash(odd\", \"Bash(git status)\"]},\n  \"model\": \"sonnet\"\n}\n")
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{file: "{\n  // ours\n  \"permissions\": {\"allow\": [\"Bash(odd\", \"Bash(git *)\"]},\n  \"model\": \"sonnet\"\n}\n"})
}

func TestAdoptedEntriesComeBackToTheByte(t *testing.T) {
	const mine = "{\"permissions\":{\"allow\":[\"Bash(git *)\"]}}"
	opt := adopting(t, map[string][]string{"s.json": {"allow Bash(git *)"}}, "s.json", mine)
	mustWrite(t, merged("claude", "s.json", `{"permissions": {"allow": ["Bash(ls)"]}}`, "/permissions/allow/-"), opt)
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"s.json": mine})
}

// Force keeps what it overwrites, and clean gives it back.
func TestOwnEntriesOutliveClean(t *testing.T) {
	const place = "/a/*"
	opt := adopting(t, nil, "a.json", `{"a": {"old": 1}}`)
	b := merged("claude", "a.json", `{"a": {"x": 1}}`, place)
	mustWrite(t, b, opt)
	data, err := os.ReadFile(filepath.Join(opt.Dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, opt.Dir, "a.json", strings.Replace(string(data), `"old": 1`, `"old": 1, "own": 2`, 1))
	check := opt
	check.Check = true
	if changes, _ := Write(t.Context(), b, check); len(changes) != 1 || changes[0].State != Touched {
		t.Errorf("got %+v, want the file named", changes)
	}
	mustWrite(t, b, opt) // notes the change
	mustWrite(t, b, opt)
	mustClean(t, opt)
	if text := tree(t, opt.Dir)["a.json"]; !strings.Contains(text, `"own": 2`) || !strings.Contains(text, `"old": 1`) ||
		strings.Contains(text, `"x"`) {
		t.Errorf("got %s, want what is a person's", text)
	}
}

func TestForceKeepsWhatWasThere(t *testing.T) {
	opt := adopting(t, nil)
	put(t, opt.Dir, "a.md", "mine")
	force := opt
	force.Force = true
	_, diags := Write(t.Context(), built("claude", "a.md", "modec's"), force)
	if len(diags) != 1 || diags[0].Code != diag.Kept {
		t.Errorf("got %v, want where the file is kept", diags)
	}
	put(t, opt.Dir, "a.md", "edited")
	mustWrite(t, built("claude", "a.md", "modec's"), force)
	found := map[string]bool{}
	err := filepath.WalkDir(filepath.Join(os.Getenv("XDG_STATE_HOME"), "modec", "backups"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(p)
			found[string(text)] = true
		}
		return err
	})
	if err != nil || !found["mine"] || !found["edited"] {
		t.Errorf("got copies of %v (%v), want both texts", found, err)
	}
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"a.md": "mine"})
}

// Somebody who did not migrate has the original from git, or is told where it is.
func TestAnOriginalOfSomebodyElse(t *testing.T) {
	opt := adopting(t, nil, "a.md", "mine")
	mustWrite(t, built("claude", "a.md", "modec's"), opt)
	opt.Originals = func() *originals.Record { return originals.Load(t.TempDir()) }
	without := opt
	without.DryRun = true
	if diags := mustClean(t, without); len(diags) != 1 || diags[0].Code != diag.NoOriginal {
		t.Errorf("got %v, want a warning", diags)
	}
	opt.Blob = func(name string) ([]byte, error) {
		if name != gitBlob([]byte("mine")) {
			return nil, errors.New("no such object")
		}
		return []byte("mine"), nil
	}
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"a.md": "mine"})
}
