package main

import (
	"fmt"
	"os"
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
}

func (verifyCmd) Help() string {
	return `Compiles in memory and asks, for each subject and thousands of actions, what the source decides and what each agent would do with the artifacts. Both halves of a decision are compared, each where the artifact governs it: access (may it happen) and approval (without a question). Targets with a hook are asked a second time as if the hook were gone.

Exits 0 when nothing is wider than the source, 1 when something is. What modec.toml accepts in [[exceptions]] is listed; so are the agents' own holes.

Examples:
  modec verify
  modec verify --target claude --json
  modec verify --disk`
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
	req := e.request()
	req.Only = c.Target
	res, diags := compiler.Compile(req)
	if diags.HasErrors() {
		return e.ui.fail("verify", diags)
	}
	report, diags, err := e.verify(res, e.dir, c.Disk, c.Seed)
	switch {
	case err != nil:
		return err
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

// verify runs with progress on a terminal: over what was compiled, or over the
// files below dir.
func (e *env) verify(res *compiler.Result, dir string, disk bool, seed uint64) (*verify.Report, diag.List, error) {
	progress, end := e.ui.progress("verifying")
	defer end()
	if !disk {
		report, diags := res.Verify(seed, progress)
		return report, diags, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	report, diags := res.VerifyDisk(root.FS(), seed, progress)
	return report, diags, nil
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
		u.findings("accepted", s.Accepted, s.Counts.Accepted)
		u.findings("hole    ", s.Holes, s.Counts.Holes)
		if u.verbose {
			u.findings("by hook ", s.HookOnly, s.Counts.HookOnly)
			u.findings("assumed ", s.Assumed, len(s.Assumed))
		} else if s.Counts.HookOnly > 0 {
			u.printf("  held by the hook only: %s\n", count(s.Counts.HookOnly, "refusal"))
		}
		if s.Counts.Assumed > 0 {
			u.printf("  assumed: %s on what a closed inventory says does not exist\n", count(s.Counts.Assumed, "decision"))
		}
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
	u.printf("  %-26s %7d compared %7d equal %6d narrower %4d wider\n", half, t.Compared, t.Equal, t.Narrower, t.Wider)
}

// mostFindings is how many findings of a kind are printed without -v.
const mostFindings = 10

func (u *ui) findings(word string, list []verify.Finding, total int) {
	for i, f := range list {
		if i == mostFindings && !u.verbose {
			break
		}
		without := ""
		if f.Without {
			without = ", without the hook"
		}
		u.printf("  %s %s, %s %s: %s%s: %s by the source, %s by the artifact\n", word, diag.Clean(f.Subject), f.Group, diag.Clean(fmt.Sprintf("%q", f.Action)), f.Half, without, f.Source, f.Artifact)
		u.printf("      %s%s\n", diag.Clean(f.Rule), at(f.Pos))
		u.printf("      %s%s\n", diag.Clean(f.By), at(f.At))
	}
	shown := len(list)
	if !u.verbose {
		shown = min(shown, mostFindings)
	}
	if more := total - shown; more > 0 && shown > 0 {
		u.printf("  %s … and %d more like these\n", word, more)
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
