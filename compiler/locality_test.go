package compiler_test

import (
	"bytes"
	"maps"
	"os"
	"strings"
	"testing"

	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/textdiff"
)

// TestLocality makes one small change in the source of the showcase, builds before and after, each into
// an empty folder, and compares what changes with the limits in testdata/locality.txt, which only go
// down: files, lines that a diff shows (both those that go and those that come), and the lines of
// modec.lock, which is not among the files. A rule is a duplicate in its own list, and repeated where a
// mode has what a policy that it extends has too.
func TestLocality(t *testing.T) {
	before := built(t, showcase(t))
	got := map[string]int{}
	for _, change := range []struct{ name, file, old, new string }{
		{"comment", "modec/policies/house.cue", "policies: {\n", "// A comment.\npolicies: {\n"},
		{"duplicate", "modec/policies/house.cue", `"rm -rf *",`, "\"rm -rf *\",\n\t\t\t\"rm -rf *\","},
		{"repeated", "modec/modes/code.cue", "\t\tcommand: {\n", "\t\tcommand: {\n\t\t\tdeny: [\"rm -rf *\"]\n"},
		{"deny", "modec/policies/house.cue", `"rm -rf *",`, "\"rm -rf *\",\n\t\t\t\"git clean *\","},
		{"target-more", "modec.toml", "[targets.codex]\n", "[targets.codex]\n\n[targets.vscode]\n"},
		{"target-less", "modec.toml", "[targets.codex]\n", ""},
	} {
		source := showcase(t)
		text := string(source[change.file])
		if strings.Count(text, change.old) != 1 {
			t.Fatalf("%s does not contain %q once", change.file, change.old)
		}
		source[change.file] = []byte(strings.Replace(text, change.old, change.new, 1))
		after := built(t, source)
		paths := maps.Clone(before)
		maps.Copy(paths, after)
		for p := range paths {
			have, was := before[p]
			want, is := after[p]
			switch {
			case bytes.Equal(have, want):
			case p == output.LockFile:
				got[change.name+"-lock-lines"] = changedLines(have, want)
			case was && is || !strings.HasPrefix(change.name, "target-"): // a target's own files come and go
				got[change.name+"-files"]++
				got[change.name+"-lines"] += changedLines(have, want)
			}
		}
	}
	ratchet(t, "locality.txt", got)
}

// built writes what a project compiles to into an empty folder, and returns the files there.
func built(t *testing.T, source memfs.FS) memfs.FS {
	t.Helper()
	dir := t.TempDir()
	if _, diags := compiled(t, source).Write(t.Context(), output.Options{Dir: dir}); diags.HasErrors() {
		t.Fatal(diags)
	}
	return read(t, os.DirFS(dir))
}

// changedLines counts the lines that a diff of two texts shows as removed or added.
func changedLines(a, b []byte) (n int) {
	for _, l := range textdiff.Lines(string(a), string(b)) {
		if l.Op != textdiff.Same {
			n++
		}
	}
	return n
}
