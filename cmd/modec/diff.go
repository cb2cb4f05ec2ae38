package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/policy"
)

type diffCmd struct {
	diffForms
	A      string `arg:"" optional:"" help:"A folder that has a modec.toml, or a git revision. Default: HEAD."`
	B      string `arg:"" optional:"" help:"Likewise. Default: the working tree."`
	Text   bool   `help:"Compare the artifacts, line by line, instead."`
	Staged bool   `help:"Compare with git's index instead of the working tree."`
	FailOn string `enum:"none,widen,change" default:"none" help:"Exit 1: never (none), if it widens, on any change."`
}

func (diffCmd) reports() []any {
	return []any{report.DiffReport{}, report.TextDiffReport{}, report.Outcome{}}
}

// diffSide is one of the two sources.
type diffSide struct {
	name    string
	res     *compiler.Result // nil where the project was not there yet
	runs    []contract.Run   // what agents take over from its files beside the source
	strays  []diff.Stray     // what agents find in its files and not in its source
	tree    fs.FS            // its files; nil where nobody asks for them
	laid    fs.FS            // the same, also where no project was there yet
	close   func()           // leaves them
	leaves  []diff.Left      // what its targets leave out of a role's rules for one agent
	refused bool             // a target does not take the source: what it would write is not known
	built   *compiler.Result // what wrote the files of the tree, where res has more, as imported
}

func (c *diffCmd) Run(e *env) error {
	a, b := c.sides()
	before, diags, err := c.load(e, a, c.decides)
	defer before.close()
	if err != nil {
		return err
	}
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	after, diags, err := c.load(e, b, c.written)
	defer after.close()
	if err != nil {
		return err
	}
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	c.joined(e, &before, after)
	if c.Text {
		return c.text(e, before, after)
	}
	result, err := before.compared(after)
	if err != nil {
		return err
	}
	result.Exceptions(before.exceptions(), after.exceptions())
	if err := result.Settings(before.engine(), after.engine(), before.settings(), after.settings(), config.File,
		compiler.Seed); err != nil {
		return err
	}
	if !before.refused && before.res != nil {
		result.LeftOut(before.leaves, after.leaves)
	}
	if !before.refused {
		result.Runs(before.runs, slices.DeleteFunc(slices.Clone(after.runs), func(x contract.Run) bool {
			return before.res == nil && before.same(after, x.Of) || !before.unheld(x.Of) && after.unheld(x.Of)
		}))
	}
	ownModes(result, before, after)
	e.ownEntries(result, before, after)
	if b == "" {
		more := sync.OnceValues(e.permitMore)
		files := edited(e)
		for _, file := range files {
			switch list, known := e.besides(file); {
			case !known:
				result.Beside(file, func() ([]string, bool) {
					all, known := more()
					return ofFile(all, file, files), known
				})
			case !slices.ContainsFunc(slices.Concat(before.runs, after.runs), func(x contract.Run) bool {
				return x.Of == file
			}):
				result.Entries(file, list)
			}
		}
	}
	if err := c.print(e, result, before.name, after.name); err != nil {
		return err
	}
	if c.FailOn == "widen" && result.Widened > 0 || c.FailOn == "change" && report.Differences(result) > 0 {
		return report.ExitFindings
	}
	return nil
}

// ownModes adds the modes of the agents' own that the source no longer takes the places of.
func ownModes(report *diff.Report, before, after diffSide) {
	if before.res == nil || after.res == nil {
		return
	}
	has := func(p *ir.Project, target, name string) (diag.Pos, bool) {
		for i := range p.Modes {
			if m := &p.Modes[i]; m.Place.Name(target, m.Slug) == name {
				return m.Pos, true
			}
		}
		return diag.Pos{}, false
	}
	for _, c := range after.res.Config.Targets {
		t, ok := c.Target.(contract.OwnModes)
		if !ok || !hasTarget(before.res, t.Name()) {
			continue
		}
		for _, name := range t.OwnModes(c.Options) {
			at, was := has(before.res.Project, t.Name(), name)
			if _, is := has(after.res.Project, t.Name(), name); was && !is {
				report.Again(name, t.Name(), at)
			}
		}
	}
}

// edited returns the agents' files of the working tree that people changed since the last build.
func edited(e *env) (files []string) {
	if _, err := os.Lstat(filepath.Join(e.dir, output.LockFile)); err != nil {
		return nil
	}
	res, diags := compiler.Compile(e.ctx, e.request())
	if diags.HasErrors() {
		return nil // a build says it
	}
	changes, _ := res.Write(e.ctx, e.checking(e.output("")))
	for i := range changes {
		x := &changes[i]
		if (x.State == output.Edited || x.State == output.Touched) && !contract.ForMachines(x.Path) {
			files = append(files, x.Path)
		}
	}
	return files
}

// sides returns the two sides as they were named: "" is the working tree.
func (c *diffCmd) sides() (a, b string) {
	a, b = c.A, c.B
	from, to, ok := strings.Cut(a, "..")
	if ok && b == "" && from != "" && to != "" && !strings.ContainsAny(a, "/\\") {
		a, b = from, to
	}
	if a == "" {
		a = "HEAD"
	}
	if b == "" && c.Staged {
		b = gittree.Index
	}
	return a, b
}

func (c *diffCmd) print(e *env, result *diff.Report, a, b string) error {
	switch {
	case e.ui.JSON:
		return e.ui.Emit(report.DiffReport{Envelope: e.ui.Envelope(),
			Status: report.SameOrChanged(report.Differences(result)), A: a, B: b, Report: result})
	case c.Format == "markdown":
		e.ui.Markdown(result, a, b)
	case c.Format == "github":
		e.ui.Comment(result, a, b)
	default:
		e.ui.Changes(result)
		e.ui.Note("%s\n", report.Totals(result, a, b))
	}
	return nil
}

// decides compiles the side before. What a target does not take can be compared too.
func (c *diffCmd) decides(e *env, req compiler.Request) (*compiler.Result, diag.List, bool) {
	res, diags := compiler.Compile(e.ctx, req)
	if !diags.HasErrors() || c.Text {
		return res, diags, false
	}
	res, diags = compiler.Open(e.ctx, req)
	return res, diags, true
}

// written compiles the side after: nothing is written of a source that a target does not take.
func (c *diffCmd) written(e *env, req compiler.Request) (*compiler.Result, diag.List, bool) {
	res, diags := compiler.Compile(e.ctx, req)
	return res, diags, false
}

// load compiles a side: a folder, a revision, or "" for the working tree.
func (c *diffCmd) load(
	e *env, side string, compile func(*env, compiler.Request) (*compiler.Result, diag.List, bool),
) (diffSide, diag.List, error) {
	req := e.request()
	p, files := diffSide{name: side, close: func() {}}, folderFS(e.dir)
	switch folder, ok := e.folder(side); {
	case side == "":
		p.name = "the working tree"
	case ok:
		req.Root, files = folder, folderFS(folder)
	default:
		tree, err := gittree.Open(e.ctx, e.dir, side)
		if err != nil {
			return p, nil, err
		}
		p.close = func() { tree.Close() }
		if p.name = side; side == gittree.Index {
			p.name = "the index"
		}
		p.laid = tree
		if _, err := fs.Stat(tree, config.File); errors.Is(err, fs.ErrNotExist) {
			return c.adopted(e, p, tree)
		}
		req.FS, files = tree, tree
	}
	p.laid = files
	var diags diag.List
	if p.res, diags, p.refused = compile(e, req); !diags.HasErrors() && !p.refused {
		if side == "" {
			files = e.afterBuild(p.res, files)
		}
		p.runs, p.leaves = runsOf(p.res, files, e.targets), leftOut(p.res)
		if req.FS == nil {
			p.runs = e.shared(p.runs)
		}
		p.tree = files
		var ignored ignoring
		if req.FS == nil {
			ignored = e.ignored(e.dir, e.dir)
		}
		p.strays = p.straysIn(e, ignored)
	}
	for i := range diags { // two sources have files of the same names
		diags[i].Message = "in " + p.name + ": " + diags[i].Message
	}
	return p, diags, nil
}

// adopted returns what the agents' files of a revision say that has no project yet, as an import
// understands them: the change that adopts modec is compared with these, and not with nothing. A file that its agent
// does not load says nothing.
func (c *diffCmd) adopted(e *env, p diffSide, tree fs.FS) (diffSide, diag.List, error) {
	req := migrate.Request{Root: tree, Name: filepath.Base(e.dir), Targets: e.targets, Out: "modec",
		Today: time.Now().UTC(), Seed: compiler.Seed}
	if c.Text {
		return p, nil, nil
	}
	res, diags := migrate.Run(e.ctx, req)
	if empty(diags) {
		return p, nil, nil
	}
	if diags.HasErrors() {
		req.Repair = true
		if mended, _ := migrate.Run(e.ctx, req); mended != nil { // there are only such files
			p.name += fmt.Sprintf(" (its agent loads nothing of %s)", report.Few(mended.Report.Files))
			return p, nil, nil
		}
		for i := range diags {
			diags[i].Message = "in " + p.name + ", which has no modec.toml: " + diags[i].Message
		}
		return p, diags, nil
	}
	lost := ""
	for _, x := range res.Report.Seen {
		if x.Reason == contract.NotLoaded {
			lost += "; its agent loads nothing of " + x.Path
		}
	}
	p.name, p.res = fmt.Sprintf("%s (as imported: %s%s)", p.name, report.Few(res.Report.Files), lost), res.Compiled
	p.runs, p.tree = runsOf(p.res, tree, e.targets), tree
	p.strays = p.straysIn(e, nil)
	return p, nil, nil
}

// compared compares what the subjects of two sides may do.
func (p diffSide) compared(after diffSide) (*diff.Report, error) {
	var names diff.Targets
	if p.res != nil && after.res != nil {
		names = diff.Targets{Before: targetNames(p.res), After: targetNames(after.res)}
	}
	return diff.ProjectsFor(p.engine(), after.engine(), names, compiler.Seed)
}

// joined adds to a project what the files of agents say that are targets on the other side alone, as an import
// understands them: the change that takes them in is compared with these.
func (c *diffCmd) joined(e *env, p *diffSide, after diffSide) {
	if c.Text || p.res == nil || p.refused || p.tree == nil || after.res == nil {
		return
	}
	var names []string
	for _, t := range after.res.Config.Targets {
		_, ok := t.Target.(contract.Importer)
		if ok && !hasTarget(p.res, t.Target.Name()) {
			names = append(names, t.Target.Name())
		}
	}
	if len(names) == 0 {
		return
	}
	req := migrate.Request{Root: p.tree, Name: filepath.Base(e.dir), Targets: e.targets, Today: time.Now().UTC(),
		Seed: compiler.Seed}
	res, diags := migrate.Join(e.ctx, req, p.res, names)
	if diags.HasErrors() {
		return // nothing of them is there, or nothing that their agents load
	}
	p.name += fmt.Sprintf(" (with %s as imported)", report.Few(res.Report.Files))
	old := p.runs
	p.built, p.res, p.leaves = p.res, res.Compiled, leftOut(res.Compiled)
	p.runs = slices.DeleteFunc(runsOf(p.res, p.tree, e.targets), func(x contract.Run) bool {
		return x.Place != "" && wrote(p.built, x.Of) != nil && !slices.Contains(old, x)
	})
	p.strays = p.straysIn(e, nil)
}

// afterBuild returns the files of the project as a build leaves them, where people did not change what modec wrote.
func (e *env) afterBuild(res *compiler.Result, files fs.FS) fs.FS {
	changes, _ := res.Write(e.ctx, e.checking(e.output("")))
	over := replaced{FS: files, files: map[string][]byte{}}
	for i := range changes {
		switch x := &changes[i]; x.State {
		case output.Stale, output.Touched, output.Orphaned:
			_, over.files[x.Path] = x.Texts()
		}
	}
	return over
}

// replaced is a folder in which some files are others; one without text is not there.
type replaced struct {
	fs.FS
	files map[string][]byte
}

func (b replaced) Open(name string) (fs.File, error) {
	if data, ok := b.files[name]; ok && data == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	} else if ok {
		return memfs.FS(b.files).Open(name)
	}
	return b.FS.Open(name)
}

// leftOut returns what targets leave out of the roles' rules for one agent alone.
func leftOut(res *compiler.Result) (list []diff.Left) {
	for _, o := range res.Outputs {
		for i := range res.Project.Roles {
			role := &res.Project.Roles[i]
			for _, r := range role.Native {
				for j := range o.Losses {
					if d := &o.Losses[j]; d.Pos == r.Pos && d.Loss == diag.Narrowing && o.Target.Name() == r.Target {
						list = append(list, diff.Left{Role: role.Name, Rule: r, Why: d.Message})
					}
				}
			}
		}
	}
	return list
}

// engine returns what decides for a side. Where the project was not there yet, it denies everything.
func (p diffSide) engine() *policy.Engine {
	if p.res == nil {
		return policy.New(compiler.Empty())
	}
	return p.res.Policy
}

func (p diffSide) exceptions() (out []diff.Exception) {
	if p.res == nil {
		return nil
	}
	for _, a := range p.res.Config.Accepted() {
		text := fmt.Sprintf("%s, %s: %s (until %s)", a.Target, a.Subject, a.What, a.Until.Format(time.DateOnly))
		out = append(out, diff.Exception{Text: text, Pos: a.Pos})
	}
	return out
}

// settings returns what modec.toml sets.
func (p diffSide) settings() diff.Settings {
	if p.res == nil {
		return diff.Settings{}
	}
	cfg := p.res.Config
	out := diff.Settings{Values: cfg.Written(), Defaults: cfg.Defaults(), Holds: cfg.Holding()}
	for _, c := range cfg.Targets {
		if _, ok := c.Target.(contract.Judged); ok {
			out.Agents = append(out.Agents, "targets."+c.Target.Name())
		}
	}
	return out
}

func (p diffSide) files() map[string][]byte {
	out := map[string][]byte{}
	if p.res != nil {
		for _, f := range p.res.Files() {
			out[f.Path] = f.Data
		}
	}
	return out
}

// text compares the artifacts of both sides.
func (c *diffCmd) text(e *env, before, after diffSide) error {
	a, b := before.files(), after.files()
	all := maps.Clone(a)
	maps.Copy(all, b)
	files := []report.FileDiff{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if patch := report.PatchOf(p, a[p], b[p]); patch != "" {
			files = append(files, report.FileDiff{Path: p, Patch: patch})
		}
	}
	if e.ui.JSON {
		err := e.ui.Emit(report.TextDiffReport{Envelope: e.ui.Envelope(), Status: report.SameOrChanged(len(files)),
			A: before.name, B: after.name, Files: files})
		if err != nil {
			return err
		}
	} else {
		for _, f := range files {
			e.ui.Unified(f.Patch)
		}
		e.ui.Note("%s of %s differ\n", report.Count(len(files), "file"), report.Count(len(all), "file"))
	}
	if c.FailOn == "change" && len(files) > 0 {
		return report.ExitFindings
	}
	return nil
}
