package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
)

type buildCmd struct {
	findingForms
	acceptFlag
	Target []string `placeholder:"NAME" help:"Only for this target; may be repeated. Default: those of modec.toml."`
	Out    string   `placeholder:"DIR" help:"Write into this folder, with a lock of its own. Default: the project."`
	Check  bool     `help:"Write nothing; exit 1 where a file is not what the source makes, or permits more."`
	DryRun bool     `help:"Write nothing; list what would be written."`
	Diff   bool     `help:"Write nothing; print what would change, line by line."`
	Watch  bool     `help:"Build again after each change of the source, until you press ^C."`
	Staged bool     `help:"With --check: check what git's index holds instead of the working tree."`
	Force  bool     `help:"Overwrite files that modec did not write or that were edited since."`
}

func (buildCmd) reports() []any { return []any{report.BuildReport{}, report.Outcome{}} }

func (c *buildCmd) Run(e *env) error {
	switch {
	case c.Watch && (c.Check || c.DryRun || c.Diff || c.Staged || e.ui.JSON):
		return errors.New("--watch builds again and again: leave out --check, --dry-run, --diff, --staged and --json")
	case e.ui.Annotator != nil && !c.Check:
		return errors.New("--format sarif and --format github print what a check finds: add --check")
	case c.Staged && (!c.Check || c.Out != ""):
		return errors.New("--staged reads git's index and writes nothing: add --check, and leave out --out")
	case c.Watch:
		return c.watch(e)
	case c.Staged:
		return c.staged(e)
	}
	report, err := c.build(e)
	if e.ui.JSON && report != nil {
		err = cmp.Or(e.ui.Emit(report), err)
	}
	e.tellOff()
	return err
}

// build compiles the working tree, and writes or checks. It returns no report where it failed.
func (c *buildCmd) build(e *env) (*report.BuildReport, error) {
	start := time.Now()
	req := e.request()
	req.Only = c.Target
	out := e.output(c.Out)
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return nil, e.ui.Fail(diags)
	}
	if c.Check {
		return c.check(e, checked{res: res, opt: e.outputs(out), diags: diags})
	}
	if res.Config.Verify {
		_, list := e.verify(res, onDisk{}, compiler.Seed)
		if diags = append(diags, list...); diags.HasErrors() {
			return nil, e.ui.Fail(diags)
		}
	}
	opt := e.outputs(out)
	opt.Force, opt.DryRun, opt.Check = c.Force, c.DryRun || c.Diff, c.Diff
	if c.Out == "" {
		opt.Unheld = func() []string { return e.unheld(res) }
		opt.Known = func() []string { return e.known(res) }
		opt.Lodged = func() map[string][]string { return e.lodged(res) }
	}
	if err := c.acceptDropped(e, res, opt); err != nil {
		return nil, err
	}
	left, word := e.keptBeside(res), asWritten(res, &opt)
	changes, list := res.Write(e.ctx, opt)
	e.offerImport(list)
	if diags = append(diags, list...); diags.HasErrors() {
		return nil, e.ui.Fail(diags)
	}
	unchanged := !slices.ContainsFunc(changes, func(c output.Change) bool { return c.Action != output.Unchanged })
	result := c.report(e, "ok", targetReports(res, changes), diags)
	result.DryRun = opt.DryRun
	switch {
	case e.ui.JSON:
	case c.Diff:
		e.ui.Diagnostics(diags)
		e.ui.Diffs(changes, func(output.Change) bool { return true })
	case unchanged && !e.ui.Verbose && !c.DryRun:
		e.ui.UpToDate(result.Targets, changes, diags, word, start)
	default:
		summary := fmt.Sprintf("%s in %d ms", report.BuildSummary(res, changes, opt), time.Since(start).Milliseconds())
		e.ui.Build(result.Targets, diags, summary)
	}
	if !e.ui.JSON {
		c.tellRest(e, res, changes, diags, left)
	}
	return result, nil
}

// tellRest prints what becomes of what people wrote.
func (c *buildCmd) tellRest(
	e *env, res *compiler.Result, changes []output.Change, diags diag.List, left []keptEntry,
) {
	if !c.Diff {
		e.ui.Kept(diags)
		verb := "put back"
		if c.DryRun {
			verb = "would put back"
		}
		e.ui.PutBack(verb, changes)
		e.tellDropped(res, changes, c.DryRun)
	}
	e.tellKept(left, changes)
}

// asWritten returns what a build says where it writes no file.
func asWritten(res *compiler.Result, opt *output.Options) string {
	if opt.LockText() == nil && len(res.Files()) > 0 {
		return report.TookOver
	}
	return report.UpToDate
}

// subjectsIn returns every role and every mode of a project; a session without either where there is none.
func subjectsIn(p *ir.Project) (list []ir.SubjectRef) {
	for i := range p.Roles {
		list = append(list, ir.SubjectRef{Role: p.Roles[i].Name})
	}
	for i := range p.Modes {
		list = append(list, ir.SubjectRef{Mode: p.Modes[i].Slug})
	}
	if len(list) == 0 {
		list = append(list, ir.SubjectRef{})
	}
	return list
}

// offerImport gives the refusals of files that people wrote the command that makes a source of them.
func (e *env) offerImport(list diag.List) {
	if !report.Has(list, diag.NotOurs) {
		return
	}
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return
	}
	defer root.Close()
	theirs := migrate.Importable(e.ctx, migrate.Request{
		Root: contract.Plain(root.FS()), Targets: e.targets, Ignored: e.ignored(e.dir, e.dir)})
	left := originals.Load(e.dir).Left
	for i := range list {
		d := &list[i]
		if d.Code == diag.NotOurs && d.Pos.Line == 0 && left[d.Pos.File] == "" && slices.Contains(theirs, d.Pos.File) {
			d.Hint = "`modec migrate` imports it into the source, and the next build takes it over; " +
				"`modec build --force` overwrites it, and keeps a copy"
		}
	}
}

// report returns the JSON of a build.
func (c *buildCmd) report(e *env, status string, targets []report.TargetReport, diags diag.List) *report.BuildReport {
	return &report.BuildReport{Envelope: e.ui.Envelope(), Status: status, HooksOff: disarmed(e.dir),
		Targets: targets, Diagnostics: diags}
}

// staged checks what the next commit would hold.
func (c *buildCmd) staged(e *env) error {
	req, done, err := e.source(gitIndex)
	if err != nil {
		return err
	}
	defer done()
	req.Only = c.Target
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	report, err := c.check(e, checked{
		res: res, opt: output.Options{FS: req.FS, Targets: e.targets}, diags: diags})
	if e.ui.JSON && report != nil {
		return cmp.Or(e.ui.Emit(report), err)
	}
	return err
}

// checked is what a check looks at.
type checked struct {
	res   *compiler.Result
	opt   output.Options // where the files are: a folder, or the file system of an index
	diags diag.List      // of the compilation
}

// files returns the files to judge; nil where there is no output root.
func (x *checked) files() (disk fs.FS, end func() error, err error) {
	nothing := func() error { return nil }
	if x.opt.FS != nil {
		return x.opt.FS, nothing, nil
	}
	if _, err := os.Stat(x.opt.Dir); err != nil {
		return nil, nothing, nil
	}
	root, err := os.OpenRoot(x.opt.Dir)
	if err != nil {
		return nil, nothing, err
	}
	return contract.Plain(root.FS()), root.Close, nil
}

// ignored returns what says which files git ignores; nil for an index, which holds none of them.
func (x *checked) ignored(e *env) ignoring {
	if x.opt.FS != nil {
		return nil
	}
	return e.ignored(x.opt.Dir, e.dir)
}

// found is what a check finds.
type found struct {
	changes, drift []output.Change
	diags          diag.List
	filled         string // what entries of people's own allow
}

// find looks at the files, once more where another run wrote them meanwhile.
func (x *checked) find(e *env) (f found, err error) {
	if x.opt.FS != nil {
		return x.look(e) // nobody writes into it
	}
	const most = 3
	for range most {
		mark, stopped := x.opt.Quiet(e.ctx)
		if stopped != nil {
			return f, stopped
		}
		if f, err = x.look(e); err != nil || !x.opt.Disturbed(mark) {
			break
		}
	}
	return f, err
}

// look compares the files with what a build would write, and judges them as the agents would.
func (x *checked) look(e *env) (f found, err error) {
	disk, end, err := x.files()
	if err != nil {
		return f, err
	}
	defer end()
	changes, list := x.res.Write(e.ctx, x.opt)
	f.changes, f.diags = changes, slices.Concat(x.diags, list)
	f.drift = slices.DeleteFunc(slices.Clone(changes),
		func(c output.Change) bool { return c.Action == output.Unchanged })
	there, _ := present(x.res, changes)
	if disk == nil || len(there.Outputs) == 0 {
		return f, nil
	}
	var foreign diag.List
	var beside sync.WaitGroup
	beside.Go(func() { foreign = e.foreign(there, disk, x.ignored(e)) })
	result, list := e.verify(there, onDiskBy(disk, changes), compiler.Seed)
	if result != nil {
		f.filled = report.BySurface(result.Surfaces, report.Filled)
	}
	beside.Wait()
	f.diags = slices.Concat(f.diags, list, foreign)
	return f, nil
}

// check compares the files with what a build would write, and judges them as the agents
// would.
func (c *buildCmd) check(e *env, x checked) (*report.BuildReport, error) {
	x.opt.Version, x.opt.Check = version(), true
	f, err := x.find(e)
	if err != nil {
		return nil, err
	}
	changes, drift, diags := f.changes, f.drift, f.diags
	if list := compiler.Stopped(e.ctx); list.HasErrors() {
		return nil, e.ui.Fail(list)
	}
	var failed error
	status := "ok"
	if len(drift) > 0 || diags.HasErrors() || report.Has(diags, diag.EntryChanged) {
		status, failed = "drift", report.ExitFindings
	}
	switch {
	case e.ui.JSON:
	case e.ui.Annotator != nil:
		list := slices.Concat(diags, e.atEntries(x.res, report.Drifted(drift)), report.Narrower(x.res))
		list.Sort()
		if c.form() == "github" {
			list = report.Foremost(list)
		}
		err = e.ui.Annotator(list)
	default:
		c.drift(e, x.res, diags, drift)
	}
	if err != nil {
		return nil, err
	}
	if failed == nil && e.ui.Annotator == nil {
		e.ui.AsMade(changes, f.filled)
	}
	report := c.report(e, status, targetReports(x.res, changes), diags)
	report.DryRun = true
	return report, failed
}

// drift prints for people what a check found.
func (c *buildCmd) drift(e *env, res *compiler.Result, diags diag.List, drift []output.Change) {
	e.ui.Findings(diags, report.BuildLines-1-len(drift))
	edited := func(d output.Change) bool { return d.State == output.Edited }
	shown := func(d output.Change) bool { return !c.Diff && edited(d) && !contract.ForMachines(d.Path) }
	for _, d := range drift {
		line := fmt.Sprintf("%s: %s", d.State, diag.Clean(d.Path))
		switch {
		case d.State == output.Touched:
			line += ": entries of somebody's own changed"
		case droppedTarget(res, &d):
			line += ": " + d.Target + " is no target any more"
		case shown(d):
			line += ": below, + is what somebody wrote there, - what a build writes"
		}
		e.ui.Printf("%s\n", line)
		if d.State == output.Touched {
			e.tellBeside(res, d.Path)
		}
	}
	e.ui.Edits(drift, shown)
	if c.Diff {
		e.ui.Diffs(drift, func(output.Change) bool { return true })
	} else {
		e.ui.FirstDifferences(drift, func(d output.Change) bool {
			return edited(d) && contract.ForMachines(d.Path)
		})
	}
	inConflict := func(d diag.Diagnostic) bool { return d.Message == diag.LeftConflict }
	// The hint of a conflict says more.
	if next := e.nextStep(drift, c.Staged); next != "" && !slices.ContainsFunc(diags, inConflict) {
		e.ui.Note("next: %s\n", next)
	}
}

// nextStep says what to do after which files are as the source makes them, in git's index where that is judged; ""
// where they are.
func (e *env) nextStep(drift []output.Change, staged bool) string {
	next := e.mended(drift)
	if staged && e.lockNotStaged() {
		var files []string
		for _, name := range append(paths(drift), output.LockFile) {
			files = append(files, contract.ShellQuote(name))
		}
		return "`git add " + strings.Join(files, " ") + "`: the last build wrote them, and they are not staged so"
	}
	if staged && next != "" {
		if !strings.Contains(next, "`") {
			next = "`" + next + "`"
		}
		next += "; then `git add` the files above and " + output.LockFile
	}
	return next
}

// lockNotStaged reports whether git's index has another lock than the folder.
func (e *env) lockNotStaged() bool {
	have, err := contract.ReadPlain(filepath.Join(e.dir, output.LockFile))
	staged, failed := gittree.Staged(e.ctx, e.dir, output.LockFile)
	return err == nil && (failed != nil || !bytes.Equal(have, staged))
}

// mended returns the command after which files are as the source makes them, "" where they are.
func (e *env) mended(drift []output.Change) string {
	removed := func(c output.Change) bool { return c.State == output.Removed }
	putsBack := func(c output.Change) bool { return c.PutsBack() }
	theirs := func(c output.Change) bool {
		return c.State == output.Edited && !contract.ForMachines(c.Path) && !putsBack(c) || c.State == output.Foreign
	}
	switch {
	case len(drift) == 0:
		return ""
	case slices.ContainsFunc(drift, removed) && !slices.ContainsFunc(drift, theirs):
		return "`modec build --force` writes again what people removed, " +
			"`modec migrate --apply` takes it out of the source"
	case slices.ContainsFunc(drift, theirs), slices.ContainsFunc(drift, removed):
		return "move what people changed into the source (`modec migrate` offers a patch), " +
			"or `modec build --force`, which keeps a copy of it"
	case slices.ContainsFunc(drift, putsBack):
		return "`modec build` puts back what people took out, `modec migrate` offers to take it out of the source"
	case slices.ContainsFunc(drift, func(c output.Change) bool { return c.State == output.Edited }):
		return "`modec build --force`, since nobody edits by hand what only programs read"
	case slices.ContainsFunc(drift, e.saysMore):
		return "`modec migrate` offers what people added as a patch of the source, " +
			"`modec build` keeps it beside it"
	}
	return "modec build"
}

// saysMore reports whether somebody changed more in a file of theirs than the order of entries.
func (e *env) saysMore(c output.Change) bool {
	if c.State != output.Touched {
		return false
	}
	list, known := e.besides(c.Path)
	return !known || len(list) > 0
}

// present returns a result with those targets whose files are all there, and the files that
// are not. An agent without its files is held by nothing, which the
// absence of the file says better than every decision that is then wider.
func present(res *compiler.Result, changes []output.Change) (there *compiler.Result, missing []output.Change) {
	gone := map[string]bool{}
	for _, c := range changes {
		if c.Action == output.Create && path.Base(c.Path) != output.LockFile {
			missing = append(missing, c)
			gone[c.Target] = true
		}
	}
	some := *res
	some.Outputs = slices.DeleteFunc(slices.Clone(res.Outputs), func(o contract.Artifacts) bool {
		return gone[o.Target.Name()] || gone["modec"] // every hook reads the policy file
	})
	return &some, missing
}

// staleOf returns the files that a build wrote from another source, and that nobody changed.
func staleOf(changes []output.Change) []string {
	other := func(c output.Change) bool { return c.State != output.Stale }
	return paths(slices.DeleteFunc(slices.Clone(changes), other))
}

// paths returns the names of files.
func paths(list []output.Change) (names []string) {
	for _, c := range list {
		names = append(names, c.Path)
	}
	return names
}

// targetReports sorts changes and losses by target; the last is what the hooks of several targets read.
func targetReports(res *compiler.Result, changes []output.Change) []report.TargetReport {
	of := func(name string) []output.Change {
		list := []output.Change{}
		for _, c := range changes {
			if c.Target == name {
				list = append(list, c)
			}
		}
		return list
	}
	var reports []report.TargetReport
	for _, o := range res.Outputs {
		reports = append(reports, report.TargetReport{Name: o.Target.Name(), Files: of(o.Target.Name()),
			Losses: o.Losses, Title: o.Target.Summary(), Emits: true, Sessions: len(o.Sessions) > 0})
	}
	reports = append(reports, report.TargetReport{Name: "modec", Files: of("modec"), Losses: diag.List{},
		Title: "what the hooks read"})
	for i := range changes {
		name := changes[i].Target
		there := func(r report.TargetReport) bool { return r.Name == name }
		if droppedTarget(res, &changes[i]) && !slices.ContainsFunc(reports, there) {
			reports = append(reports, report.TargetReport{Name: name, Files: of(name), Losses: diag.List{},
				Title: "no target any more"})
		}
	}
	return reports
}
