package compiler_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/verify"
	"modec.dev/modec/targets"
)

var acme = compiler.Request{
	Root:    "../fixtures/acme",
	Targets: targets.All(),
	Today:   time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC),
}

// interrupted reports anything but one error that says why a run was stopped.
func interrupted(t *testing.T, what string, diags diag.List) {
	t.Helper()
	if len(diags) != 1 || diags[0].Code != diag.Interrupted || diags[0].Severity != diag.Error ||
		!strings.Contains(diags[0].Message, errStopped.Error()) {
		t.Errorf("%s: got %v, want one error interrupted that says why", what, diags)
	}
}

var errStopped = errors.New("somebody pressed ^C")

// TestInterrupted: a context that has ended stops every stage with one error, and nothing
// is written.
func TestInterrupted(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), acme)
	if res == nil {
		t.Fatal(diags)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)

	opened, diags := compiler.Open(ctx, acme)
	if interrupted(t, "Open", diags); opened != nil {
		t.Error("Open: got a result")
	}
	compiled, diags := compiler.Compile(ctx, acme)
	if interrupted(t, "Compile", diags); compiled != nil {
		t.Error("Compile: got a result")
	}
	never := func(s verify.Step) { t.Errorf("verified %s, %d of %d", s.Subject, s.Done, s.Total) }
	report, diags := res.Verify(ctx, 1, never)
	if interrupted(t, "Verify", diags); report != nil {
		t.Error("Verify: got a report")
	}
	report, diags = res.VerifyBy(ctx, compiler.Verification{Seed: 1, Disk: res.FS(), Progress: never})
	if interrupted(t, "VerifyDisk", diags); report != nil {
		t.Error("VerifyDisk: got a report")
	}
	dir := t.TempDir()
	_, diags = res.Write(ctx, output.Options{Dir: dir})
	interrupted(t, "Write", diags)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v, want nothing written", left, err)
	}
}

// TestInterruptedVerify: a verification ends with the subjects that are on their way, two
// for each processor at most.
func TestInterruptedVerify(t *testing.T) {
	res, diags := compiler.Compile(t.Context(), acme)
	if res == nil {
		t.Fatal(diags)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	calls, all := 0, 0
	report, diags := res.Verify(ctx, 1, func(s verify.Step) {
		calls, all = calls+1, s.Total
		cancel(errStopped)
	})
	if interrupted(t, "Verify", diags); report != nil {
		t.Error("got a report")
	}
	if most := 2 * runtime.GOMAXPROCS(0); calls > most || all <= most {
		t.Errorf("got %d of %d subjects, want at most %d", calls, all, most)
	}
}
