package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/verify"
)

type verifyCmd struct {
	Target []string `placeholder:"NAME" help:"Verify this target only; may be repeated. Default: the targets of modec.toml."`
	Seed   uint64   `default:"1" help:"Seed of the random part of the universe: the same seed asks the same questions."`
	Disk   bool     `help:"Judge the files as they lie in the project folder, people's own entries included."`
	Staged bool     `help:"Take the source, and with --disk the files, from the index of git."`
}

func (verifyCmd) Help() string {
	return `Compiles in memory and asks, for each subject and thousands of actions, what the source decides and what each agent would do with the artifacts. Both halves of a decision are compared, each where the artifact governs it: access (may it happen) and approval (without a question). Targets with a hook are asked a second time as if the hook were gone.

Exits 0 when nothing is wider than the source, 1 when something is. What modec.toml accepts in [[exceptions]] is listed; so are the agents' own holes.

Examples:
  modec verify
  modec verify --target claude --json
  modec verify --disk
  modec verify --staged`
}

// verifyReport is the JSON of a verification.
type verifyReport struct {
	Version int    `json:"version"`
	Command string `json:"command"`
	Status  string `json:"status"` // ok, or failed where something is wider
	Disk    bool   `json:"disk,omitempty"`
	*verify.Report
}

func (c *verifyCmd) Run(e *env) error {
	start := time.Now()
	req, done, err := e.source(c.Staged)
	if err != nil {
		return err
	}
	defer done()
	req.Only = c.Target
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.fail("verify", diags)
	}
	var disk fs.FS // nil: what was compiled
	switch {
	case !c.Disk:
	case c.Staged:
		disk = req.FS
	default:
		root, err := os.OpenRoot(e.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		disk = root.FS()
	}
	report, diags := e.verify(res, disk, c.Seed)
	switch {
	case report == nil:
		return e.ui.fail("verify", diags)
	case len(report.Surfaces) == 0:
		return fmt.Errorf("got no artifacts of a target that can be verified, want one of them: `modec verify --target claude`")
	}
	status := "ok"
	if diags.HasErrors() {
		status = "failed"
	}
	if e.ui.json {
		if err := e.ui.emit(verifyReport{1, "verify", status, c.Disk, report}); err != nil {
			return err
		}
	} else {
		e.ui.verify(report)
		e.ui.diagnostics(diags)
		e.ui.note("%s compared in %.1f s: %s\n", count(report.Decisions, "distinct decision"), time.Since(start).Seconds(), outcomeOf(report))
	}
	if diags.HasErrors() {
		return exitCode(1)
	}
	return nil
}

// verify runs with progress on a terminal: over the files of a disk, or over what was
// compiled where disk is nil.
func (e *env) verify(res *compiler.Result, disk fs.FS, seed uint64) (*verify.Report, diag.List) {
	progress, end := e.ui.progress("verifying")
	defer end()
	if disk == nil {
		return res.Verify(e.ctx, seed, progress)
	}
	return res.VerifyDisk(e.ctx, disk, seed, progress)
}

func outcomeOf(r *verify.Report) string {
	if n := r.Wider(); n > 0 {
		return count(n, "decision") + " wider than the source"
	}
	return "nothing is wider than the source"
}

// verify prints a report: for each surface what was compared, and what differs.
func (u *ui) verify(r *verify.Report) {
	for i := range r.Surfaces {
		s := &r.Surfaces[i]
		name := s.Target
		if s.Surface != "" {
			name += " " + s.Surface
		}
		u.printf("%s: %s of %s\n", name, count(s.Compared, "decision"), count(s.Subjects, "subject"))
		u.tally("access", s.Access)
		u.tally("approval", s.Approval)
		if s.Bare != nil {
			u.tally("approval without the hook", *s.Bare)
		}
		if s.Utility.Allow.Of+s.Utility.Ask.Of > 0 {
			u.printf("  keeps %.1f %% of the allows and %.1f %% of the asks\n", s.Utility.Allow.Percent(), s.Utility.Ask.Percent())
		}
		if u.verbose { // the diagnostics hold the first of each surface
			for _, f := range s.Findings {
				u.printf("  wider: %s, %s %s: %s by the source, %s here%s\n", diag.Clean(f.Subject), f.Group, diag.Clean(fmt.Sprintf("%q", f.Action)), f.Source, f.Artifact, at(f.At))
			}
		}
		u.findings("accepted", s.Accepted)
		u.findings("hole", s.Holes)
		u.findings("held by the hook only", s.HookOnly)
		u.findings("assumed not to exist", s.Assumed)
		for _, a := range s.Assumes {
			u.printf("  assumed: %s\n", diag.Clean(a))
		}
		if len(s.Ungoverned) > 0 {
			u.printf("  held by nothing here: %s\n", strings.Join(s.Ungoverned, ", "))
		}
	}
}

func (u *ui) tally(half string, t verify.Tally) {
	if t.Compared == 0 {
		return
	}
	accepted := ""
	if t.Accepted > 0 {
		accepted = fmt.Sprintf(" %d accepted", t.Accepted)
	}
	if t.HookOnly > 0 {
		accepted += fmt.Sprintf(" %d by the hook only", t.HookOnly)
	}
	u.printf("  %-25s %7d compared %7d equal %6d narrower %4d wider%s\n", half, t.Compared, t.Equal, t.Narrower, t.Wider, accepted)
}

// findings prints what is no defect: one line for each reason, with an example;
// with -v each subject and line.
func (u *ui) findings(word string, list []verify.Finding) {
	type reason struct {
		by       string
		first    verify.Finding
		count    int
		subjects []string
	}
	var order []string
	reasons := map[string]*reason{}
	for _, f := range list {
		key := f.By
		if word == "held by the hook only" || word == "assumed not to exist" {
			key = string(f.Group)
		}
		if u.verbose {
			key += f.Subject + f.At.String()
		}
		r := reasons[key]
		if r == nil {
			r = &reason{by: f.By, first: f}
			reasons[key] = r
			order = append(order, key)
		}
		r.count += f.Count
		if !slices.Contains(r.subjects, f.Subject) {
			r.subjects = append(r.subjects, f.Subject)
		}
	}
	for _, key := range order {
		r := reasons[key]
		f := r.first
		of := f.Subject
		if len(r.subjects) > 1 {
			of = count(len(r.subjects), "subject")
		}
		u.printf("  %s: %s of %s, as %s %s: %s by the source, %s here\n", word, count(r.count, "decision"), diag.Clean(of), f.Group, diag.Clean(fmt.Sprintf("%q", f.Action)), f.Source, f.Artifact)
		if f.By != "" {
			u.printf("      %s%s\n", diag.Clean(f.By), at(f.At))
		}
	}
}

func at(p diag.Pos) string {
	if s := p.String(); s != "" {
		return "  (" + diag.Clean(s) + ")"
	}
	return ""
}

// progress returns what reports progress on a terminal, at most ten times a
// second, and what ends it. Elsewhere both do nothing.
func (u *ui) progress(what string) (step func(done, total int), end func()) {
	if u.quiet || u.json || !terminal(u.err) {
		return nil, func() {}
	}
	var last time.Time
	step = func(done, total int) {
		if now := time.Now(); now.Sub(last) > 100*time.Millisecond {
			last = now
			fmt.Fprintf(u.err, "\r%s %d %%\x1b[K", what, 100*done/max(total, 1))
		}
	}
	return step, func() { fmt.Fprint(u.err, "\r\x1b[K") }
}
