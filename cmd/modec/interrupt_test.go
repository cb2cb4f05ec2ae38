package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
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
	if code, _, stderr := answerOf(t, t.Context(), all, "build"); code != 0 {
		t.Fatal(stderr)
	}
	before := treeOf(t, dir)
	for _, when := range []string{"at the start", "while files are made", "while agents are asked"} {
		for _, line := range []string{
			"build", "build --dry-run", "build --check", "verify", "verify --disk", "verify --json",
			"explain plan read x", "lint --fix", "run plan -- robot", "doctor", "diff",
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
				if code != int(report.ExitInterrupted) {
					t.Errorf("got exit %d, want %d\n%s%s", code, report.ExitInterrupted, stdout, stderr)
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

// untilChanged is a context that ends once a file is no longer what it was.
type untilChanged struct {
	context.Context
	file, was string
}

func (c untilChanged) Err() error {
	if data, err := os.ReadFile(c.file); err == nil && string(data) != c.was {
		return context.Canceled
	}
	return nil
}

// TestInterruptedAfterAChange: a command that has changed a file before ^C names it.
func TestInterruptedAfterAChange(t *testing.T) {
	const narrow = `package modec

servers: {
	docs: {url: "https://docs.example.com/mcp", tools: search: risk: "read"}
	mail: {command: "mail-mcp", tools: send: risk: "write"}
}

modes: writer: {
	name:           "Writer"
	roleDefinition: "You write, and look things up in docs."
	can: {
		edit: allow: ["docs/**", "docs/**"]
		command: "allow"
		mcp:     "ask"
	}
}
`
	const want = "1 file was changed before: modec/a.cue"
	for _, form := range []string{"text", "json"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "modec", "a.cue")
		mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("[targets.roo]\n"))
		mustWrite(t, file, []byte(narrow))
		var stdout, stderr bytes.Buffer
		ctx := untilChanged{context.Background(), file, narrow}
		args := []string{"-C", dir, "lint", "--fix", "--suggest", "--format", form}
		code := run(ctx, targets.All(), args, strings.NewReader(""), &stdout, &stderr)
		if code != int(report.ExitInterrupted) || ctx.Err() == nil {
			t.Errorf("%s: got exit %d, want %d", form, code, report.ExitInterrupted)
		}
		if form == "text" && stderr.String() != "modec: interrupted: "+want+"\n" {
			t.Errorf("got %q", stderr.String())
		}
		if form == "json" && !strings.Contains(stdout.String(), want) {
			t.Errorf("got %s", stdout.String())
		}
	}
}

// stuck is a target whose agent never answers.
type stuck struct {
	robot
	asked context.CancelFunc
}

func (t stuck) Open(fs.FS, contract.Options) ([]contract.Decider, diag.List) {
	return []contract.Decider{stuckDecider{asked: t.asked}}, nil
}

type stuckDecider struct {
	robotDecider
	asked context.CancelFunc
}

func (d stuckDecider) Decide(ir.SubjectRef, policy.Action) contract.Verdict {
	d.asked()
	select {}
}

// TestInterruptedExplanation: ^C ends an explanation whose expressions take for ever.
func TestInterruptedExplanation(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("[targets.robot]\n"))
	mustWrite(t, filepath.Join(dir, "modec", "a.yaml"),
		[]byte("modes: {plan: {name: Plan, roleDefinition: You plan., can: {read: deny}}}\n"))
	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	args := []string{"-C", dir, "explain", "plan", "read", "x"}
	code := run(ctx, []contract.Target{stuck{asked: stop}}, args, strings.NewReader(""), &stdout, &stderr)
	if code != int(report.ExitInterrupted) || stdout.Len() > 0 || stderr.String() != "modec: interrupted: no file was changed\n" {
		t.Errorf("got exit %d, %q, %q", code, stdout.String(), stderr.String())
	}
}

// TestInterruptedWatch: ^C is how a watch ends, also in the middle of a build.
func TestInterruptedWatch(t *testing.T) {
	t.Setenv("MODEC_CACHE", "off")
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "modec.toml"), []byte("[targets.robot]\n"))
	mustWrite(t, filepath.Join(dir, "modec", "a.yaml"),
		[]byte("modes: {plan: {name: Plan, roleDefinition: You plan., can: {read: allow}}}\n"))
	ctx, stop := context.WithCancel(t.Context())
	var stdout, stderr bytes.Buffer
	all := []contract.Target{interrupter{emit: stop, open: stop}}
	code := run(ctx, all, []string{"-C", dir, "build", "--watch"}, strings.NewReader(""), &stdout, &stderr)
	if code != 0 || stdout.String() != "stopped\n" || stderr.Len() > 0 {
		t.Errorf("got exit %d, %q, %q", code, stdout.String(), stderr.String())
	}
}

// TestInterruptedAnyway: a command that does not look at ^C says all the same that it came.
func TestInterruptedAnyway(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	dir := t.TempDir()
	for _, line := range []string{"targets", "clean", "schema", "init", "cursor add a:b --create --file DIR/x/y.json"} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"-C", dir}, strings.Fields(strings.ReplaceAll(line, "DIR", dir))...)
		if code := run(ctx, targets.All(), args, strings.NewReader(""), &stdout, &stderr); code != int(report.ExitInterrupted) {
			t.Errorf("%s: got exit %d, want %d\n%s", line, code, report.ExitInterrupted, stderr.String())
		}
	}
	if got := treeOf(t, dir); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}
