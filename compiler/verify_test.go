package compiler

import (
	"context"
	"fmt"
	"io/fs"
	"testing"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/verify"
)

// lax is a target whose agent allows whatever its file x.txt names, and asks
// about everything else where there is no such file.
type lax struct{ fake }

func (lax) Open(fsys fs.FS, _ contract.Options) ([]contract.Decider, diag.List) {
	b, err := fs.ReadFile(fsys, "x.txt")
	if err != nil {
		return nil, nil
	}
	return []contract.Decider{laxDecider(b)}, nil
}

type laxDecider string

func (laxDecider) Surface() string               { return "" }
func (lax) Alone(*ir.Project) []contract.Decider { return nil }
func (laxDecider) Assumes() []string             { return nil }
func (d laxDecider) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict {
	v := contract.Verdict{
		Answer: contract.Answer{Governs: contract.Both, Rule: string(d), At: diag.Pos{File: "x.txt", Line: 1}},
	}
	if string(a.Group) == string(d) {
		v.Decision = ir.Allow
	}
	return v
}

// laxly is a project that denies everything, compiled to a file that allows a
// group.
func laxly(group string) *Result {
	r := &Result{
		Project: &ir.Project{Version: ir.Version, ClosedInventory: true,
			Modes: []ir.Mode{{Slug: "m", Pos: diag.Pos{File: "modec/m.cue", Line: 3}}}},
		Outputs: []contract.Artifacts{
			{Target: lax{fake{"lax"}}, Files: []contract.File{{Path: "x.txt", Data: []byte(group)}}},
		},
	}
	r.Policy = policy.New(r.Project)
	r.policy = func() []byte { return policyJSON(r.Project) }
	return r
}

func TestVerify(t *testing.T) {
	report, diags := laxly("web").Verify(t.Context(), 1, nil)
	if report.Wider() <= mostWider || diags.Count(diag.Error) != mostWider+1 {
		t.Errorf("got %d wider decisions and %d errors, want many and %d",
			report.Wider(), diags.Count(diag.Error), mostWider+1)
	}
	d := diags[0]
	const want = `got allow for web "docs.python.org" of mode m (access), want deny: web is not mentioned`
	if d.Code != "wider" || d.Message != want || d.Pos.File != "modec/m.cue" ||
		len(d.Related) != 1 || d.Related[0].Pos.File != "x.txt" {
		t.Errorf("got %+v, want %s", d, want)
	}
	report, diags = laxly("nothing").Verify(t.Context(), 1, nil)
	if report.Wider() != 0 || len(diags) != 0 || report.Decisions < 100 {
		t.Errorf("got %d decisions, %d wider, %v", report.Decisions, report.Wider(), diags)
	}
}

// Progress counts every subject of every surface once.
func TestVerifyProgress(t *testing.T) {
	var got []string
	laxly("web").Verify(t.Context(), 1, func(s verify.Step) {
		got = append(got, fmt.Sprintf("%d/%d %s, %s", s.Done, s.Total, s.Surface, s.Subject))
	})
	if len(got) != 1 || got[0] != "1/1 lax, mode m" {
		t.Errorf("got %q", got)
	}
}

func TestVerifyDisk(t *testing.T) {
	// The file lies there as it was compiled: the widening is modec's own.
	_, diags := laxly("web").VerifyBy(t.Context(), Verification{Seed: 1, Disk: memfs.FS{"x.txt": []byte("web")}})
	if !diags.HasErrors() || diags[0].Code != "wider" {
		t.Errorf("got %v, want wider", diags)
	}
	// Somebody changed it.
	_, diags = laxly("nothing").VerifyBy(t.Context(), Verification{Seed: 1, Disk: memfs.FS{"x.txt": []byte("web")}})
	if !diags.HasErrors() || diags[0].Code != "foreign-widening" || diags[0].Pos.File != "x.txt" {
		t.Errorf("got %v, want foreign-widening at x.txt", diags)
	}
	// It is gone: nothing holds the subject any more.
	report, diags := laxly("nothing").VerifyBy(t.Context(), Verification{Seed: 1, Disk: memfs.FS{}})
	if !diags.HasErrors() || diags[0].Code != "foreign-widening" ||
		report.Surfaces[0].Findings[0].By != "nothing: no artifact restricts it any more" {
		t.Errorf("nothing on disk: got %v", diags)
	}
}

// A verification that is stopped says what it found.
func TestInterruptedVerifySaysWhatItFound(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	report, diags := laxly("web").Verify(ctx, 1, func(verify.Step) { cancel() })
	last := len(diags) - 1
	if report != nil || last < 1 || diags[0].Code != diag.Wider || diags[last].Code != diag.Interrupted {
		t.Errorf("got %v, %v, want what is wider, and why it stopped", report, diags)
	}
}
