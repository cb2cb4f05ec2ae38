package output

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
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
	put(t, opt.Dir, LockFile, "version = 1\nmodec = 'x'\nschema = ''\n[artifacts]\n"+
		"[adopted.'a.md']\noriginal = '"+Sum([]byte("mine"))+"'\nblob = 'x'\n")
	refuse(t, built("claude", "a.md", "modec's"), opt, "not-ours")
	if err := os.Remove(filepath.Join(opt.Dir, "a.md")); err != nil {
		t.Fatal(err)
	}
	opt.Blob = func(_, _ string) ([]byte, error) { return []byte("mine"), nil }
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
	data, err = os.ReadFile(filepath.Join(opt.Dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	put(t, opt.Dir, "a.json", strings.ReplaceAll(string(data), ": ", ":   "))
	if changes := differing(t, b, check); len(changes) > 0 {
		t.Errorf("in another layout: got %+v, want nothing", changes)
	}
	put(t, opt.Dir, "a.json", string(data))
	mustClean(t, opt)
	if text := tree(t, opt.Dir)["a.json"]; !strings.Contains(text, `"own": 2`) || !strings.Contains(text, `"old": 1`) ||
		strings.Contains(text, `"x"`) {
		t.Errorf("got %s, want what is a person's", text)
	}
}

// What people add to a file that modec began is noticed as in one that they began, until a build notes it.
func TestEntriesBesideThoseOfABuild(t *testing.T) {
	opt := adopting(t, nil)
	check := opt
	check.Check = true
	b := merged("claude", "a.json", `{"a": {"x": 1}}`, "/a/*")
	state := func() State {
		for _, c := range differing(t, b, check) {
			return c.State
		}
		return ""
	}
	mustWrite(t, b, opt)
	put(t, opt.Dir, "a.json", `{"a": {"x": 1, "own": 2}}`)
	if got := state(); got != Touched {
		t.Errorf("got %q, want %q", got, Touched)
	}
	mustWrite(t, b, opt)
	put(t, opt.Dir, "a.json", "{\"a\":\n{\"own\": 2,\"x\":1}}") // as an agent may lay it out
	if got := state(); got != "" {
		t.Errorf("after a build: got %q, want nothing", got)
	}
}

// differing returns what a build would change.
func differing(t *testing.T, b Build, opt Options) []Change {
	t.Helper()
	changes, diags := Write(t.Context(), b, opt)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return slices.DeleteFunc(changes, func(c Change) bool { return c.Action == Unchanged })
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
	if found := backups(t); !found["mine"] || !found["edited"] {
		t.Errorf("got copies of %v, want both texts", found)
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
	if _, diags := Clean(t.Context(), without); !diags.HasErrors() || diags[0].Code != diag.NoOriginal {
		t.Errorf("got %v, want a refusal", diags)
	}
	opt.Blob = func(_, name string) ([]byte, error) {
		if name != gitBlob([]byte("mine")) {
			return nil, errors.New("no such object")
		}
		return []byte("mine"), nil
	}
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"a.md": "mine"})
}

// Without an original nothing is removed but by force, which keeps a copy.
func TestNoOriginal(t *testing.T) {
	const file = "s.json"
	opt := adopting(t, map[string][]string{file: {"allow ls"}},
		"a.md", "mine", "dropped.md", "mine", "same.md", "same", file, `{"permissions": {"allow": ["ls"]}}`)
	b := merged("claude", file, `{"permissions": {"allow": ["pwd"]}}`, "/permissions/allow/-")
	b.Outputs[0].Files = append(b.Outputs[0].Files,
		built("claude", "a.md", "modec's", "same.md", "same", "own.md", "modec's").Outputs[0].Files...)
	first := b
	first.Outputs = []contract.Artifacts{b.Outputs[0]}
	first.Outputs[0].Files = append(slices.Clone(b.Outputs[0].Files), contract.File{Path: "dropped.md", Data: []byte("modec's")})
	mustWrite(t, first, opt)
	mustWrite(t, b, opt)
	before := everything(t, opt.Dir)
	opt.Originals = func() *originals.Record { return originals.Load(t.TempDir()) }
	_, diags := Clean(t.Context(), opt)
	var files []string
	for _, d := range diags {
		if d.Code == diag.NoOriginal && d.Severity == diag.Error && strings.Contains(d.Hint, opt.Dir) {
			files = append(files, d.Pos.File)
		}
	}
	if diff := cmp.Diff([]string{"a.md", "dropped.md", file}, files); diff != "" || len(diags) != len(files) {
		t.Errorf("got %v", diags)
	}
	if diff := cmp.Diff(before, everything(t, opt.Dir)); diff != "" {
		t.Error(diff)
	}
	opt.Force = true
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"same.md": "same", file: `{"permissions": {"allow": []}}`})
	if kept := backups(t); !kept["modec's"] || !kept[before[file]] {
		t.Errorf("got copies of %v", kept)
	}
}

// A project whose folder somebody moved is cleaned from the record of the old one.
func TestAMovedProject(t *testing.T) {
	opt := adopting(t, nil, "a.md", "mine", "b.md", "mine too")
	mustWrite(t, built("claude", "a.md", "modec's", "b.md", "modec's"), opt)
	mustWrite(t, built("claude", "a.md", "modec's"), opt)
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(opt.Dir, moved); err != nil {
		t.Fatal(err)
	}
	old := opt.Dir
	opt.Dir = moved
	opt.Originals = func() *originals.Record { return originals.Load(moved) }
	if err := os.Mkdir(old, 0o755); err != nil { // another project may be there by now
		t.Fatal(err)
	}
	if _, diags := Clean(t.Context(), opt); !diags.HasErrors() {
		t.Error("got no refusal while the old folder is there")
	}
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	mustClean(t, opt)
	sameTree(t, moved, map[string]string{"a.md": "mine", "b.md": "mine too"})
}

// Whatever of a person's goes from a file that people write too is kept: an entry that force
// overwrites or removes, comments under an original, and an original that fits no more.
func TestCopiesOfEntries(t *testing.T) {
	const place, mine = "/a/*", `{"a": {"x": 1, "old": 1}}`
	b := merged("claude", "a.json", `{"a": {"x": 2}}`, place)
	for name, c := range map[string]struct {
		edit  string
		end   func(opt Options) diag.List
		kept  string
		after string
	}{
		"build": {edit: `{"a": {"x": 3, "old": 1}}`, end: func(opt Options) diag.List {
			opt.Force = true
			_, diags := Write(t.Context(), b, opt)
			return diags
		}},
		"clean": {edit: `{"a": {"x": 3, "old": 1}}`, after: mine, end: func(opt Options) diag.List {
			opt.Force = true
			return mustClean(t, opt)
		}},
		"comments": {edit: "{\"a\": {\"x\": 2, \"old\": 1}} // mine\n", after: mine, end: func(opt Options) diag.List {
			return mustClean(t, opt)
		}},
		"an original that does not fit": {
			edit: `{"a": {"x": 2, "old": 2}}`, kept: mine, after: `{"a": {"old": 2}}`,
			end: func(opt Options) diag.List { return mustClean(t, opt) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			opt := adopting(t, map[string][]string{"a.json": {"x"}}, "a.json", mine)
			mustWrite(t, b, opt)
			put(t, opt.Dir, "a.json", c.edit)
			diags := c.end(opt)
			if !slices.ContainsFunc(diags, func(d diag.Diagnostic) bool { return d.Code == diag.Kept }) {
				t.Errorf("got %v, want where the copy is", diags)
			}
			wanted := c.edit
			if c.kept != "" {
				wanted = c.kept
			}
			if kept := backups(t); !kept[wanted] {
				t.Errorf("got copies of %v", kept)
			}
			if c.after != "" {
				sameTree(t, opt.Dir, map[string]string{"a.json": c.after})
			}
		})
	}
}

// An entry of a person's in modec's way that force overwrites comes back with clean.
func TestForcedEntriesComeBack(t *testing.T) {
	const mine = `{"a": {"x": 1}}`
	opt := adopting(t, nil)
	put(t, opt.Dir, "a.json", mine)
	b := merged("claude", "a.json", `{"a": {"x": 2}}`, "/a/*")
	refuse(t, b, opt, "not-ours")
	opt.Force = true
	mustWrite(t, b, opt)
	opt.Force = false
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"a.json": mine})
}

// A file that force takes over for the second time does not replace the first original.
func TestForceKeepsTheFirstOriginal(t *testing.T) {
	opt := adopting(t, nil, "a.md", "mine", "b.md", "mine")
	mustWrite(t, built("claude", "a.md", "modec's", "b.md", "modec's"), opt)
	mustWrite(t, built("claude", "b.md", "modec's"), opt)
	put(t, opt.Dir, "a.md", "later")
	b := built("claude", "a.md", "modec's", "b.md", "modec's")
	refuse(t, b, opt, "not-ours")
	opt.Force = true
	mustWrite(t, b, opt)
	opt.Force = false
	mustClean(t, opt)
	sameTree(t, opt.Dir, map[string]string{"a.md": "mine", "b.md": "mine"})
	if !backups(t)["later"] {
		t.Error("got no copy of the later file")
	}
}

// backups returns the texts of all copies.
func backups(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, text := range tree(t, filepath.Join(os.Getenv("XDG_STATE_HOME"), "modec", "backups")) {
		found[text] = true
	}
	return found
}
