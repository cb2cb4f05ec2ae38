package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/record"
	"modec.dev/modec/compiler/textdiff"
)

type buildCmd struct {
	Target []string `placeholder:"NAME" help:"Compile for this target only; may be repeated. Default: the targets of modec.toml."`
	Out    string   `placeholder:"DIR" help:"Output root, relative to the working directory, with a lock of its own. Default: the project folder."`
	Check  bool     `help:"Write nothing; exit 1 when the files on disk are not what the source makes, or permit more than it."`
	DryRun bool     `help:"Say what would be written, write nothing."`
	Diff   bool     `help:"Print what would change, line by line, and write nothing."`
	Watch  bool     `help:"Build again whenever the source changes, a line a build, until it is interrupted."`
	Staged bool     `help:"With --check: look at the index of git, source and artifacts, in place of the working tree."`
	Force  bool     `help:"Overwrite files that modec did not write or that were edited since."`
}

func (buildCmd) Help() string {
	return `Reads modec.toml and the data files beside it, and writes every target's artifacts: all of them or none. A file that modec did not write, or that somebody edited since, is left alone and stops the build. Files that people write too (.mcp.json, .roo/mcp.json, .claude/settings.json, .cursor/mcp.json, .cursor/cli.json, .cursor/hooks.json) are merged: modec adds, changes and removes its own entries, and everything else keeps its bytes.

What the last build read and left is remembered in your own cache folder, by the hashes of all of it: where nothing changed, build and --check say so without compiling. Nothing is remembered with CI or MODEC_CACHE=off set.

With --check it tells how each file differs: missing, stale (as modec wrote it, from another source), edited (by hand: the difference is printed), foreign (modec did not write it) or orphaned (the source no longer makes it).

A loss is a difference between what the source decides and what an artifact can say. Losses are grouped; -v prints each.

Examples:
  modec build
  modec build -C services/api --target claude --target cursor
  modec build --check
  modec build --check --staged
  modec build --diff
  modec build --watch
  modec build --out /tmp/preview --dry-run --json`
}

// buildReport is the JSON of a build.
type buildReport struct {
	Version     int            `json:"version"`
	Command     string         `json:"command"`
	Status      string         `json:"status"`
	DryRun      bool           `json:"dryRun,omitempty"`
	Targets     []targetReport `json:"targets"`
	Diagnostics diag.List      `json:"diagnostics"` // warnings and errors that are no losses
}

type targetReport struct {
	Name   string          `json:"name"` // "modec" for what every build writes
	Files  []output.Change `json:"files"`
	Losses diag.List       `json:"losses"`
}

func (c *buildCmd) Run(e *env) error {
	if !c.Watch {
		return c.build(e)
	}
	if c.Check || c.DryRun || c.Diff || e.ui.json {
		return errors.New("got --watch beside a flag that writes nothing or prints one value, want it alone")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return c.watch(ctx, e)
}

func (c *buildCmd) build(e *env) error {
	start := time.Now()
	if c.Staged {
		return c.staged(e, start)
	}
	req := e.request()
	req.Only = c.Target
	out := e.output(c.Out)
	m := c.memory(e, req, out)
	if s := m.recall(); s != nil {
		if c.Check {
			e.ui.diagnostics(s.Diagnostics)
		}
		c.unchanged(e, *s, start)
		return nil
	}
	root, err := os.OpenRoot(e.dir)
	if err == nil {
		defer root.Close()
		req.FS = m.noting(&m.project, root.FS())
	}
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.fail("build", diags)
	}
	if c.Check {
		return c.check(e, res, out, diags, m, start)
	}
	if res.Config.Verify {
		_, list := e.verify(res, nil, verifySeed)
		if diags = append(diags, list...); diags.HasErrors() {
			return e.ui.fail("build", diags)
		}
	}
	changes, list := res.Write(e.ctx, output.Options{Dir: out, Version: version(), Force: c.Force, DryRun: c.DryRun || c.Diff, Check: c.Diff})
	diags = append(diags, list...)
	if diags.HasErrors() {
		return e.ui.fail("build", diags)
	}
	if c.Diff && !e.ui.json {
		e.ui.diagnostics(diags)
		e.ui.diffs(changes, func(output.Change) bool { return true })
		return nil
	}
	if e.ui.json {
		return e.ui.emit(buildReport{1, "build", "ok", c.DryRun || c.Diff, targetReports(res, changes), orEmpty(diags)})
	}
	s := summaryOf(res, changes, diags)
	if !c.DryRun {
		m.remember(changes, s)
	}
	if !e.ui.verbose && !c.DryRun && !slices.ContainsFunc(changes, func(c output.Change) bool { return c.Action != output.Unchanged }) {
		c.unchanged(e, s, start)
		return nil
	}
	e.ui.diagnostics(diags)
	e.ui.build(res, changes)
	e.ui.note("%s in %d ms\n", summary(res, changes, c.DryRun), time.Since(start).Milliseconds())
	return nil
}

// unchanged is all that a build says which finds its files as it would write them.
func (c *buildCmd) unchanged(e *env, s record.Summary, start time.Time) {
	if c.Check {
		e.ui.note("%s as the source makes them\n", count(s.Files, "file"))
		return
	}
	more := ""
	if s.Warnings > 0 {
		more += ", " + count(s.Warnings, "warning")
	}
	if s.Losses > 0 {
		more += fmt.Sprintf(", %d losses", s.Losses)
	}
	if more != "" {
		more += " (-v lists them)"
	}
	e.ui.note("up to date: %s of %s%s in %d ms\n", count(s.Files, "file"), count(s.Targets, "target"), more, time.Since(start).Milliseconds())
}

func summaryOf(res *compiler.Result, changes []output.Change, diags diag.List) record.Summary {
	s := record.Summary{Targets: len(res.Outputs), Warnings: diags.Count(diag.Warning)}
	for _, d := range diags {
		if d.Severity != diag.Note {
			s.Diagnostics = append(s.Diagnostics, d)
		}
	}
	for _, o := range res.Outputs {
		s.Losses += len(o.Losses)
	}
	for _, c := range changes {
		if c.Action != output.Remove {
			s.Files++
		}
	}
	return s
}

// memory is what a build remembers of the one before, and for the next.
type memory struct {
	place, program string
	today          time.Time
	dir, out       string
	project, disk  *record.Reads // what was read of the project, and of the output root
}

// memory finds the place of a build's record. What is asked for in full, and what
// writes nothing or anything, is not remembered.
func (c *buildCmd) memory(e *env, req compiler.Request, out string) *memory {
	m := &memory{program: record.Program(version()), today: req.Today, dir: e.dir, out: out}
	if !e.ui.json && !e.ui.verbose && !c.DryRun && !c.Force && !c.Diff {
		m.place = record.Place(append([]string{fmt.Sprint(c.Check), e.dir, out}, c.Target...)...)
	}
	return m
}

// recall returns what the build before had to say, if nothing changed since.
func (m *memory) recall() *record.Summary {
	if r := record.Load(m.place, m.program, m.today, m.dir, m.out); r != nil {
		return &r.Summary
	}
	return nil
}

// noting notes what is read of a file system, where anything is to be remembered.
func (m *memory) noting(reads **record.Reads, fsys fs.FS) fs.FS {
	if m.place == "" {
		return fsys
	}
	*reads = record.NewReads(fsys)
	return *reads
}

// remember notes what a build left, and what a check read of it.
func (m *memory) remember(changes []output.Change, s record.Summary) {
	if m.project == nil {
		return
	}
	r := record.New(m.program, m.today)
	r.Summary = s
	var ok bool
	if r.Project, ok = m.project.States(); !ok {
		return
	}
	if m.disk != nil {
		if r.Output, ok = m.disk.States(); !ok {
			return
		}
	}
	for i := range changes {
		if _, data := changes[i].Texts(); changes[i].Action != output.Remove && changes[i].Path != output.LockFile {
			r.File(changes[i].Path, data)
		}
	}
	lock, err := os.ReadFile(filepath.Join(m.out, output.LockFile))
	if err != nil {
		return
	}
	r.File(output.LockFile, lock)
	r.Missing(output.PendingLock)
	r.Save(m.place)
}

// staged checks what the next commit would hold.
func (c *buildCmd) staged(e *env, start time.Time) error {
	if !c.Check || c.Out != "" {
		return errors.New("got --staged, want --check beside it, and no --out")
	}
	req, done, err := e.source(true)
	if err != nil {
		return err
	}
	defer done()
	req.Only = c.Target
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.fail("build", diags)
	}
	return c.compare(e, res, output.Options{FS: req.FS, Version: version(), Check: true}, req.FS, diags, &memory{}, start)
}

// verifySeed is the seed where nobody names one.
const verifySeed = 1

// check compares the files on disk with what a build would write, and judges
// them as the agents would.
func (c *buildCmd) check(e *env, res *compiler.Result, out string, diags diag.List, m *memory, start time.Time) error {
	var disk fs.FS
	if _, err := os.Stat(out); err == nil {
		root, err := os.OpenRoot(out)
		if err != nil {
			return err
		}
		defer root.Close()
		disk = m.noting(&m.disk, root.FS())
	}
	return c.compare(e, res, output.Options{Dir: out, Version: version(), Check: true}, disk, diags, m, start)
}

// compare does so; disk is nil where there is no output root.
func (c *buildCmd) compare(e *env, res *compiler.Result, opt output.Options, disk fs.FS, diags diag.List, m *memory, start time.Time) error {
	changes, list := res.Write(e.ctx, opt)
	diags = append(diags, list...)
	drift := slices.DeleteFunc(slices.Clone(changes), func(c output.Change) bool { return c.Action == output.Unchanged })
	if disk != nil {
		_, list := e.verify(res, disk, verifySeed)
		diags = append(diags, list...)
	}
	failed := len(drift) > 0 || diags.HasErrors()
	if e.ui.json {
		status := "ok"
		if failed {
			status = "drift"
		}
		if err := e.ui.emit(buildReport{1, "build", status, true, targetReports(res, changes), orEmpty(diags)}); err != nil {
			return err
		}
	} else {
		e.ui.diagnostics(diags)
		for _, d := range drift {
			e.ui.printf("%s: %s\n", d.State, diag.Clean(d.Path))
		}
		e.ui.diffs(drift, func(d output.Change) bool { return c.Diff || d.State == output.Edited })
	}
	if failed {
		return exitCode(1)
	}
	s := summaryOf(res, changes, diags)
	m.remember(changes, s)
	c.unchanged(e, s, start)
	return nil
}

// diffs prints what a build would do to files, as a patch from what is on disk.
func (u *ui) diffs(changes []output.Change, of func(output.Change) bool) {
	for _, c := range changes {
		if c.Action == output.Unchanged || !of(c) {
			continue
		}
		have, want := c.Texts()
		u.unified(textdiff.Patch(c.Path, have, want))
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func targetReports(res *compiler.Result, changes []output.Change) []targetReport {
	var reports []targetReport
	of := func(name string) []output.Change {
		list := []output.Change{}
		for _, c := range changes {
			if c.Target == name {
				list = append(list, c)
			}
		}
		return list
	}
	for _, o := range res.Outputs {
		reports = append(reports, targetReport{o.Target.Name(), of(o.Target.Name()), orEmpty(o.Losses)})
	}
	return append(reports, targetReport{"modec", of("modec"), diag.List{}})
}

// build prints a build's artifacts and losses, target by target.
func (u *ui) build(res *compiler.Result, changes []output.Change) {
	for i, r := range targetReports(res, changes) {
		total, files := 0, 0
		for _, c := range r.Files {
			if c.Action != output.Remove {
				total, files = total+c.Bytes, files+1
			}
		}
		title := "what every build writes"
		if i < len(res.Outputs) {
			title = res.Outputs[i].Target.Summary()
		}
		u.printf("%s: %s, %s  (%s)\n", r.Name, count(files, "file"), size(total), title)
		for _, line := range u.artifacts(r.Files) {
			u.printf("  %s\n", line)
		}
		u.losses(r.Losses)
	}
}

// artifacts lists files; without -v, three or more of one folder and ending
// are one line.
func (u *ui) artifacts(changes []output.Change) []string {
	type group struct {
		name     string
		n, bytes int
		removed  bool
	}
	var groups []group
	key := func(c output.Change) string {
		return path.Dir(c.Path) + "/*" + path.Ext(c.Path)
	}
	counts := map[string]int{}
	for _, c := range changes {
		counts[key(c)]++
	}
	index := map[string]int{}
	for _, c := range changes {
		k := c.Path
		if !u.verbose && counts[key(c)] > 2 {
			k = key(c)
		}
		if c.Action == output.Remove {
			groups = append(groups, group{name: c.Path, removed: true})
			continue
		}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, group{name: k})
		}
		groups[i].n++
		groups[i].bytes += c.Bytes
	}
	var lines []string
	for _, g := range groups {
		switch {
		case g.removed:
			lines = append(lines, "removed "+g.name)
		case g.n > 1:
			lines = append(lines, fmt.Sprintf("%-44s %10s  %d files", g.name, size(g.bytes), g.n))
		default:
			lines = append(lines, fmt.Sprintf("%-44s %10s", g.name, size(g.bytes)))
		}
	}
	return lines
}

// losses prints what a target could not say: each with -v, else one line for
// each code and group with its first place and the number of others.
func (u *ui) losses(list diag.List) {
	type key struct {
		code  diag.Code
		group string
	}
	var order []key
	by := map[key]diag.List{}
	for _, d := range list {
		k := key{d.Code, d.Group}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], d)
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(rank(by[a][0].Loss), rank(by[b][0].Loss)), cmp.Compare(a.code, b.code))
	})
	for _, k := range order {
		group := by[k]
		for i, d := range group {
			if i > 0 && !u.verbose {
				break
			}
			more := ""
			if n := len(group) - 1; n > 0 && !u.verbose {
				more = fmt.Sprintf(" (and %d more%s)", n, diag.Clean(places(group[1:])))
			} else if d.Subject != "" && u.verbose {
				more = " (" + diag.Clean(d.Subject) + ")"
			}
			u.printf("  %s %s: %s%s [%s]\n", lossWord[d.Loss], place(d), diag.Clean(d.Message), more, d.Code)
			if d.Hint != "" {
				u.printf("      hint: %s\n", diag.Clean(d.Hint))
			}
		}
	}
}

// lossWord is how a loss is announced; the order of rank is that of concern.
var lossWord = map[diag.Loss]string{diag.Widening: "widened ", diag.Narrowing: "narrowed", diag.Text: "dropped "}

func rank(l diag.Loss) int {
	return slices.Index([]diag.Loss{diag.Widening, diag.Narrowing, diag.Text}, l)
}

func place(d diag.Diagnostic) string {
	if p := d.Pos.String(); p != "" {
		return p
	}
	return cmp.Or(d.Subject, d.Target)
}

// places names the other subjects of a group of losses, a few of them.
func places(list diag.List) string {
	var names []string
	for _, d := range list {
		if d.Subject != "" && !slices.Contains(names, d.Subject) {
			names = append(names, d.Subject)
		}
	}
	const most = 3
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return ": " + strings.Join(names[:most], ", ") + " …"
	}
	return ": " + strings.Join(names, ", ")
}

func summary(res *compiler.Result, changes []output.Change, dry bool) string {
	n := map[output.Action]int{}
	for _, c := range changes {
		n[c.Action]++
	}
	verb := "built"
	if dry {
		verb = "would build"
	}
	s := fmt.Sprintf("%s %s: %s", verb, count(len(res.Outputs), "target"), count(n[output.Create]+n[output.Update], "file")+" written")
	if n[output.Unchanged] > 0 {
		s += fmt.Sprintf(", %d unchanged", n[output.Unchanged])
	}
	if n[output.Remove] > 0 {
		s += fmt.Sprintf(", %d removed", n[output.Remove])
	}
	return s + describeProject(res.Project)
}

func describeProject(p *ir.Project) string {
	tools := 0
	for i := range p.Servers {
		tools += len(p.Servers[i].Tools)
	}
	return fmt.Sprintf(" from %s, %s, %s with %s", count(len(p.Modes), "mode"), count(len(p.Roles), "role"), count(len(p.Servers), "server"), count(tools, "tool"))
}
