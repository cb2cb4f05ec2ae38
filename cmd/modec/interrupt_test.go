package main

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/targets"
)

// interrupter is a target during which a person presses ^C: while it writes its files,
// or while its agent is asked.
type interrupter struct {
	robot
	emit, open context.CancelFunc
}

func (t interrupter) Emit(in contract.Input) ([]contract.File, diag.List) {
	t.emit()
	return t.robot.Emit(in)
}

func (t interrupter) Open(fsys fs.FS, opt contract.Options) ([]contract.Decider, diag.List) {
	t.open()
	return t.robot.Open(fsys, opt)
}

// TestInterrupted presses ^C in the middle of commands: each says one line, ends with
// 130, and leaves every file as it was.
func TestInterrupted(t *testing.T) {
	t.Setenv("MODEC_CACHE", "off")
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("verify = true\n[targets.roo]\n[targets.robot]\n"))
	mustWrite(t, filepath.Join(dir, "modec", "a.yaml"),
		[]byte("modes: {plan: {name: Plan, roleDefinition: You plan., can: {read: allow}}}\n"))
	answerOf := func(t *testing.T, ctx context.Context, all []contract.Target, args ...string) (int, string, string) {
		t.Helper()
		var stdout, stderr bytes.Buffer
		code := run(ctx, all, append([]string{"-C", dir}, args...), strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	nothing := func() {}
	all := append(targets.All(), interrupter{emit: nothing, open: nothing})
	if code, stdout, stderr := answerOf(t, t.Context(), all, "build"); code != 0 {
		t.Fatalf("got exit %d\n%s%s", code, stdout, stderr)
	}
	before := treeOf(t, dir)
	for _, when := range []string{"at the start", "while files are made", "while agents are asked"} {
		for _, line := range []string{
			"build", "build --dry-run", "build --check", "verify", "verify --disk", "verify --json",
			"explain plan read x", "lint --fix", "install plan", "run plan -- robot", "doctor", "diff",
		} {
			inAgent := strings.HasPrefix(line, "verify") || line == "build" || line == "build --check"
			if when == "while agents are asked" && !inAgent || when == "while files are made" && !inAgent {
				continue // they read and write less than that, and may end as ever
			}
			t.Run(line+" "+when, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				target := interrupter{emit: nothing, open: nothing}
				switch when {
				case "at the start":
					stop()
				case "while files are made":
					target.emit = stop
				default:
					target.open = stop
				}
				code, stdout, stderr := answerOf(t, ctx, append(targets.All(), target), strings.Fields(line)...)
				if code != int(exitInterrupted) {
					t.Errorf("got exit %d, want %d\n%s%s", code, exitInterrupted, stdout, stderr)
				}
				want := "modec: interrupted: no file was changed\n"
				if strings.Contains(line, "--json") {
					want = ""
					if !strings.Contains(stdout, `"code": "interrupted"`) {
						t.Errorf("got %s", stdout)
					}
				} else if stdout != "" {
					t.Errorf("standard output: got %q", stdout)
				}
				if stderr != want {
					t.Errorf("standard error: got %q, want %q", stderr, want)
				}
				if d := cmp.Diff(before, treeOf(t, dir)); d != "" {
					t.Errorf("the files (-before +after)\n%s", d)
				}
			})
		}
	}
}
