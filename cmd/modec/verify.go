package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/record"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/compiler/verify"
)

type verifyCmd struct {
	findingForms
	Target []string `placeholder:"NAME" help:"Only for this target; may be repeated. Default: those of modec.toml."`
	Seed   uint64   `default:"1" help:"Seed of the random part of the actions: the same seed tries the same ones."`
	Disk   bool     `help:"Judge the files as they lie in the project, other people's entries included."`
	Staged bool     `help:"Take the source, and with --disk the files, from git's index."`
}

func (verifyCmd) reports() []any { return []any{report.VerifyReport{}, report.Outcome{}} }

func (c *verifyCmd) Run(e *env) error {
	start := time.Now()
	from := workTree
	if c.Staged {
		from = gitIndex
	}
	req, done, err := e.source(from)
	if err != nil {
		return err
	}
	defer done()
	req.Only = c.Target
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	disk, closeDisk, err := c.disk(e, req)
	if err != nil {
		return err
	}
	defer closeDisk()
	res, there, diags := c.present(e, res, disk)
	missing := paths(there.missing)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	subjects := len(res.Project.Modes) + len(res.Project.Roles)
	result := &verify.Report{}
	if len(missing) == 0 || len(res.Outputs) > 0 {
		result, diags = c.judge(e, res, there)
	}
	switch {
	case result == nil:
		return e.ui.Fail(diags)
	case len(result.Surfaces) == 0 && !result.Unchanged && len(missing) == 0 && subjects > 0:
		return notCompared(res)
	}
	status, failed := "ok", error(nil)
	if diags.HasErrors() || len(missing) > 0 || provesNothing(result, res.Project) {
		status, failed = "failed", report.ExitFindings
	}
	accepting := e.acceptances(res, result, diags)
	switch {
	case e.ui.JSON:
		out := report.VerifyReport{Envelope: e.ui.Envelope(), Status: status, Disk: c.Disk, Missing: missing,
			Exceptions: accepting, Report: result}
		return cmp.Or(e.ui.Emit(out), failed)
	case e.ui.Annotator != nil:
		list := slices.Concat(diags, report.Absent(there.missing), report.Narrower(res))
		list.Sort()
		return cmp.Or(e.ui.Annotator(list), failed)
	}
	rest := report.VerifyLines
	if !e.ui.Quiet || failed != nil {
		rest = e.ui.Verify(result)
	}
	e.ui.Findings(diags, rest-1-len(missing))
	e.ui.Own(diags)
	if len(missing) > 0 {
		e.ui.Missing(missing, e.nextStep(there.missing, c.Staged))
		return failed
	}
	switch {
	case subjects == 0:
		e.ui.Printf("the source has no mode and no role: there is nothing to compare\n")
		return failed
	case result.Halves() == 0 && !result.Unchanged && failed == nil:
		e.ui.Printf("the source leaves everything to the agents: there is nothing to compare\n")
		return failed
	}
	what := compared(result, start)
	e.ui.Printf("%s: %s\n", what, report.OutcomeOf(result, diags))
	e.ui.Acceptances(accepting)
	return failed
}

// disk opens the files that are judged: nil for what was compiled.
func (c *verifyCmd) disk(e *env, req compiler.Request) (fs.FS, func() error, error) {
	switch {
	case !c.Disk:
		return nil, func() error { return nil }, nil
	case c.Staged:
		return req.FS, func() error { return nil }, nil
	}
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return nil, nil, err
	}
	return contract.Plain(root.FS()), root.Close, nil
}

// compared returns in words how much was compared since a time.
func compared(r *verify.Report, since time.Time) string {
	if r.Unchanged {
		return "nothing changed since the last verification"
	}
	count := report.Count(r.Decisions, "distinct decision")
	return fmt.Sprintf("%s compared in %.1f s", count, time.Since(since).Seconds())
}

// provesNothing reports whether nothing was compared of a project that decides something.
func provesNothing(report *verify.Report, p *ir.Project) bool {
	return report.Halves() == 0 && !report.Unchanged && !leavesAll(p)
}

// leavesAll reports whether no mode and no role of a project decides anything: all is left to the agents.
func leavesAll(p *ir.Project) bool {
	leaves := func(c *ir.Can) bool {
		agent := func(d *ir.Default) bool { return d == nil || d.Decision == ir.Agent }
		return c.Default != nil && agent(c.Default) && agent(c.Unknown) &&
			agent(c.OutsideRead) && agent(c.OutsideEdit) && !slices.ContainsFunc(ir.Groups, c.Mentions)
	}
	return !slices.ContainsFunc(p.Modes, func(m ir.Mode) bool {
		return !leaves(&m.Can) || m.Restrictions != nil || len(m.Native) > 0
	}) && !slices.ContainsFunc(p.Roles, func(r ir.Role) bool { return !leaves(&r.Can) || len(r.Native) > 0 })
}

// judge compares with the source what was compiled, or what lies on a disk, and then reports the modes and roles
// there that are none of the source's.
func (c *verifyCmd) judge(e *env, res *compiler.Result, there onDisk) (*verify.Report, diag.List) {
	report, diags := e.verify(res, there, c.Seed)
	disk := there.files
	if disk == nil || report == nil {
		return report, diags
	}
	var ignored ignoring // an index has no file that git ignores
	if !c.Staged {
		ignored = e.ignored(e.dir, e.dir)
	}
	list := append(e.foreign(res, disk, ignored), e.personal(res, disk, ignored)...)
	for _, d := range there.edited {
		worse := func(x diag.Diagnostic) bool { return x.Severity == diag.Error && x.Pos.File == d.Pos.File }
		if !slices.ContainsFunc(diags, worse) { // of which more is known
			list = append(list, d)
		}
	}
	report.Diagnostics = append(report.Diagnostics, list...)
	return report, append(diags, list...)
}

// onDisk is what lies on a disk, by what a build would write.
type onDisk struct {
	files   fs.FS // nil: what was compiled is meant
	built   fs.FS // the same as a build leaves it; nil: as it is
	stale   []string
	missing []output.Change
	edited  diag.List // what those files permit more that people changed
}

// onDiskBy returns what lies on a disk, by what a build would do there.
func onDiskBy(files fs.FS, changes []output.Change) onDisk {
	there := onDisk{files: files, stale: staleOf(changes)}
	rest := memfs.FS{}
	for i := range changes {
		if changes[i].Action == output.Unchanged {
			continue
		}
		if _, data := changes[i].Texts(); data != nil {
			rest[changes[i].Path] = data
		}
	}
	if len(rest) > 0 && files != nil {
		there.built = source.Over(files, rest)
	}
	return there
}

// present returns the result with the targets to judge, and what lies on disk.
func (c *verifyCmd) present(
	e *env, res *compiler.Result, disk fs.FS,
) (of *compiler.Result, there onDisk, diags diag.List) {
	if disk == nil {
		return res, there, nil
	}
	opt := e.checking(e.dir)
	if c.Staged {
		opt = output.Options{FS: disk, Version: version(), Check: true}
	}
	changes, diags := res.Write(e.ctx, opt)
	there = onDiskBy(disk, changes)
	of, there.missing = present(res, changes)
	if !c.Staged {
		there.edited = e.judgeEdited(changes)
	}
	return of, there, diags
}

// verify runs with progress on a terminal: over the files of a disk, or over what was compiled where there is none.
// Where nothing changed since a verification that found nothing, it compares nothing, unless all is to be printed.
func (e *env) verify(res *compiler.Result, there onDisk, seed uint64) (*verify.Report, diag.List) {
	collectSeldom()
	place := proofAt(e.dir, res, there, seed)
	program := record.Program(version())
	if !e.ui.JSON && !e.ui.Verbose && res.Proved(record.Read(place), seed, there.files, program) {
		return &verify.Report{Unchanged: true}, nil
	}
	show, end := e.ui.Showing()
	defer end()
	how := compiler.Verification{Seed: seed, Built: there.built, Stale: there.stale}
	var disk *contract.Reads
	if there.files != nil {
		disk = contract.NewReads(there.files)
		how.Disk = disk
	}
	if show != nil {
		how.Progress = func(s verify.Step) {
			show(diag.Short(fmt.Sprintf("verifying %s, %s", s.Surface, s.Subject)), s.Done, s.Total)
		}
	}
	result, diags := res.VerifyBy(e.ctx, how)
	if result != nil && len(diags) == 0 && result.Halves() > 0 &&
		report.BySurface(result.Surfaces, report.Filled) == "" && program != "" {
		record.Write(place, res.Proof(seed, disk, program))
	}
	return result, diags
}

// proofAt returns the place of the proof that nothing was found; "" where there is none: a build would change the disk,
// or the user keeps no records.
func proofAt(dir string, res *compiler.Result, there onDisk, seed uint64) string {
	if there.built != nil || len(there.stale) > 0 {
		return ""
	}
	args := []string{dir, fmt.Sprint(there.files != nil, seed)}
	for _, o := range res.Outputs {
		args = append(args, o.Target.Name())
	}
	return record.PlaceIn("verified", ".json", args...)
}

// acceptedFor is how long an exception that verify writes accepts something.
const acceptedFor = 90 * 24 * time.Hour

// acceptances returns the tables of modec.toml that accept what is wider, where there is one.
func (e *env) acceptances(res *compiler.Result, report *verify.Report, diags diag.List) (tables []string) {
	until := e.request().Today.Add(acceptedFor)
	add := func(text string) {
		if text != "" && !slices.Contains(tables, text) {
			tables = append(tables, text)
		}
	}
	for i := range diags {
		for _, a := range diags[i].Accepts {
			add(config.TableOf(a, diags[i].Target, until, res.Project))
		}
	}
	for i := range report.Surfaces {
		s := &report.Surfaces[i]
		for _, f := range s.Findings {
			if f.Unloaded || f.Stale {
				continue // the file is to be mended, or built
			}
			a := config.Acceptance{Target: s.Target, Subject: f.Subject, Group: f.Group,
				Action: cmp.Or(f.Accept, f.Action), Whole: f.Accept == verify.Everything, Until: until}
			add(a.Table(res.Project))
		}
	}
	return tables
}

// notCompared says why nothing of a source was compared that has modes or roles.
func notCompared(res *compiler.Result) error {
	for _, o := range res.Outputs {
		if _, judged := o.Target.(contract.Judged); judged {
			return errors.New("nothing that a build writes decides about a mode or a role of the source: " +
				"`modec build` warns of what is missing")
		}
	}
	return errors.New("these targets have no model of their agent to verify with: " +
		"choose another one, as in `modec verify --target claude`")
}
