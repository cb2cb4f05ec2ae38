package textdiff

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	for _, c := range []struct{ name, a, b, want string }{
		{"nothing", "a\nb\n", "a\nb\n", ""},
		{"a line", "a\nb\nc\n", "a\nB\nc\n", "--- x\n+++ y\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"two hunks", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n", "--- x\n+++ y\n@@ -1 +1,2 @@\n+0\n 1\n@@ -8,2 +9 @@\n 8\n-9\n"},
		{"a new file", "", "a\nb\n", "--- x\n+++ y\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a file that goes", "a\n", "", "--- x\n+++ y\n@@ -1 +0,0 @@\n-a\n"},
	} {
		if d := cmp.Diff(c.want, Unified("x", "y", c.a, c.b, 1)); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
	}
}

func TestPatch(t *testing.T) {
	for _, c := range []struct {
		before, after []byte
		want          string
	}{
		{nil, []byte("a\n"), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"},
		{[]byte("a\n"), nil, "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"},
		{[]byte("a\n"), []byte("b\n"), "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"},
		{[]byte("a\n"), []byte("a\n"), ""},
	} {
		if d := cmp.Diff(c.want, Patch("x", c.before, c.after)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
	}
}

// TestPatchApplies: the patch of two made-up texts turns one into the other.
func TestPatchApplies(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("git applies the patches:", err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	text := func() string {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(string(rune('a'+r.IntN(4))) + "\n")
		}
		return b.String()
	}
	for range 40 {
		a, b := text(), text()
		if a == b || a == "" || b == "" {
			continue
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(a), 0o644); err != nil {
			t.Fatal(err)
		}
		patch := Unified("a/f", "b/f", a, b, 2)
		cmd := exec.Command("git", "apply", "--unidiff-zero", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%q → %q\n%s", err, out, a, b, patch)
		}
		if got, _ := os.ReadFile(file); string(got) != b {
			t.Fatalf("got %q, want %q", got, b)
		}
	}
}
