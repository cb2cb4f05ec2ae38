package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/suggest"
)

type migrateCmd struct {
	textOrJSON
	Paths    []string `arg:"" optional:"" name:"path" help:"Files, or a folder to search. Default: the project."`
	From     string   `placeholder:"FORMAT" help:"Whose files these are: auto, ${formats}. Default: auto."`
	Out      string   `placeholder:"DIR" default:"modec" help:"The folder of the new source, relative to the project."`
	User     bool     `help:"Import your home folder too: global modes, user settings, Cursor's own list."`
	Approved []string `placeholder:"GROUP" help:"Tool groups that your agent approves without a question."`
	Repair   bool     `help:"Mend what the agent itself would refuse to load, and list what was mended."`
	Suggest  bool     `help:"Also show where the new source permits more than it seems to need."`
	Apply    bool     `help:"Write the patches too: of the suggestions, and of what people changed after a build."`
	DryRun   bool     `help:"Write nothing; print the report."`
	Force    bool     `help:"Overwrite files of the source that exist already."`

	folder string // that is read
}

func (migrateCmd) here() {}

func (migrateCmd) reports() []any { return []any{report.MigrateReport{}, report.Outcome{}} }

func (c *migrateCmd) Run(e *env) error {
	start := time.Now()
	if !c.DryRun {
		if err := e.apart(); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(filepath.Join(e.dir, filepath.FromSlash(output.PendingLock))); err == nil {
		return errors.New("a build or a clean was interrupted here, and some files are as modec wrote them: " +
			"`modec build` finishes it, or `modec clean` gives yours back; then migrate")
	}
	req, err := c.request(e)
	if err != nil {
		return err
	}
	end, err := c.open(e, &req)
	if err != nil {
		return err
	}
	defer end()
	if found, err := c.built(e, &req); found || err != nil {
		return err
	}
	var done func()
	req.Progress, done = e.ui.Progress("proving")
	res, diags := migrate.Run(e.ctx, req)
	done()
	if empty(diags) && len(c.Paths) == 0 {
		if files := migrate.AgentFiles(e.ctx, req); len(files) > 0 {
			return c.nothing(e, &req, files, "nothing", "these files have no mode, role or server", diags)
		}
	}
	if diags.HasErrors() {
		c.adviseNested(e, &req, diags)
		return e.ui.Fail(diags)
	}
	if err := c.inTheWay(e, req.Out, res.Files); err != nil {
		return err
	}
	c.advise(e, res.Report.Seen)
	found := &suggest.Result{}
	if c.Suggest || c.Apply {
		var list diag.List
		compiled := compiler.Request{Targets: req.Targets, Today: req.Today}
		if found, list = suggest.Project(e.ctx, res.FS, compiled, res.Compiled); list.HasErrors() {
			return e.ui.Fail(list)
		}
	}
	if c.Apply {
		res.Files = patched(res.Files, found.Files)
	}
	kept := 0
	if !c.DryRun {
		var list diag.List
		if kept, list = c.write(e, res); list.HasErrors() {
			return e.ui.Fail(sourceExists(list))
		}
	}
	if e.ui.JSON {
		return e.ui.Emit(c.report(e, res, found, diags))
	}
	c.tell(e, res, found, kept)
	if e.ui.Verbose {
		e.ui.Diagnostics(diags)
		e.ui.Note("%.1f s\n", time.Since(start).Seconds())
	}
	return nil
}

// inTheWay fails where the folder of a new project has something else.
func (c *migrateCmd) inTheWay(e *env, folder string, files []contract.File) error {
	file := filepath.Join(e.dir, config.File)
	if _, err := os.Lstat(file); err == nil || c.Force {
		return nil
	}
	return e.inTheWay(e.dir, folder, files,
		"move that away, or `modec migrate --out DIR` writes the source into another folder")
}

// write writes the new source, and keeps the originals of what was imported. It returns how many.
func (c *migrateCmd) write(e *env, res *migrate.Result) (kept int, diags diag.List) {
	there := output.KeepExisting
	if c.Force {
		there = output.ReplaceExisting
		if err := c.backUp(e, res); err != nil {
			diags.Errorf(diag.CannotWrite, diag.Pos{},
				"what `--force` overwrites cannot be kept, and nothing was written: %v", err)
			return 0, diags
		}
	}
	if diags := e.put(res.Files, there); diags.HasErrors() {
		return 0, diags
	}
	kept, err := c.keep(e, res)
	if err != nil {
		fmt.Fprintf(e.ui.Err, "modec: warning: %s: the next build needs --force\n", diag.Clean(err.Error()))
		kept = 0
	}
	return kept, nil
}

// backUp keeps a copy of the files of a source that the new one replaces, and says where.
func (c *migrateCmd) backUp(e *env, res *migrate.Result) error {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	replaced := map[string][]byte{}
	for _, f := range res.Files {
		if have, err := root.ReadFile(f.Path); err == nil && !bytes.Equal(have, f.Data) {
			replaced[f.Path] = have
		}
	}
	if len(replaced) == 0 {
		return nil
	}
	dir, err := originals.Backup(e.dir, replaced, time.Now())
	if err == nil {
		e.ui.Note("the source that was there is kept in %s: "+
			"what it said and the agents' files do not is gone from it\n", diag.Clean(dir))
	}
	return err
}

// tell prints the report of a migration.
func (c *migrateCmd) tell(e *env, res *migrate.Result, found *suggest.Result, kept int) {
	title := "wrote"
	if c.DryRun {
		title = "would write"
	}
	if e.ui.Quiet {
		e.ui.Proof(&res.Report)
	} else {
		e.ui.Migrated(res, title)
	}
	if c.Suggest || c.Apply {
		e.ui.Suggestions(res.FS, found)
	}
	if home := fromHome(res.Report.Files); len(home) > 0 {
		e.ui.Note("what %s says of you becomes part of the source, which the team shares: "+
			"look at it before you commit\n", diag.Clean(report.Few(home)))
	}
	if kept > 0 {
		e.ui.Note("kept the original of %s for you, outside the repository; `modec clean` puts it back\n",
			report.Count(kept, "file"))
	}
	if role := res.Beside(); role != "" {
		e.ui.Note("sessions without a role have %q of modec.toml, "+
			"and the agent's own files keep their rules beside it: write baseline = %q there, "+
			"and what was imported holds in its place\n",
			cmp.Or(res.Compiled.Project.Baseline, "none"), role)
	}
	if !c.DryRun {
		e.ui.Note("next: %s\n", e.firstBuild(res.Compiled))
	}
}

// fromHome returns those of some files that lie in the home folder.
func fromHome(files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !strings.HasPrefix(f, "~/") })
}

// keep records the files of the project that were imported, so that the next build takes them over.
// What a build wrote before is no original. It returns how many there are.
func (c *migrateCmd) keep(e *env, res *migrate.Result) (n int, err error) {
	if c.folder != e.dir {
		return 0, nil
	}
	lock, _ := contract.ReadPlain(filepath.Join(e.dir, output.LockFile))
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	built := output.Built(lock)
	record, earlier, source := originals.Load(e.dir), map[string][]byte{}, map[string][]byte{}
	for _, f := range res.Files {
		if f.Path != config.File { // any source may have it
			source[f.Path] = f.Data
		}
	}
	made := record.Imported(source)
	for _, name := range res.Report.Files {
		data, err := root.ReadFile(name)
		if err != nil || built(name) { // of the home folder, or modec's own
			continue
		}
		if old, ok := record.Original(name); ok && !bytes.Equal(old.Data, data) {
			earlier[name] = old.Data
		}
		record.Files[name] = originals.File{Data: data, Taken: res.Taken(name), Import: made}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	if len(earlier) > 0 {
		if err := e.keepEarlier(earlier); err != nil {
			return 0, err
		}
	}
	return n, record.Save()
}

// keepEarlier keeps copies of originals that a newer migration replaces.
func (e *env) keepEarlier(files map[string][]byte) error {
	dir, err := originals.Backup(e.dir, files, time.Now())
	if err == nil && !e.ui.JSON {
		e.ui.Note("what an earlier migration read of %s is kept in %s\n",
			report.Count(len(files), "file"), diag.Clean(dir))
	}
	return err
}

// built looks at a project that was built. It reports whether it said all that there is to say.
func (c *migrateCmd) built(e *env, req *migrate.Request) (found bool, err error) {
	if !c.again(e, req) {
		return c.joinOne(e, req)
	}
	c.asks(req, originals.Load(e.dir))
	return c.edits(e, req)
}

// asks makes an import of a project that was built one of all files that modec has to do with.
func (c *migrateCmd) asks(req *migrate.Request, record *originals.Record) {
	lock, _ := fs.ReadFile(req.Root, output.LockFile)
	built := output.Built(lock)
	req.Must = func(file string) bool {
		_, known := record.Original(file)
		return known || built(file)
	}
	req.Took = took(req.Root, record)
}

// again reports whether a project is imported again as a whole that was built, or whose source a migration made.
func (c *migrateCmd) again(e *env, req *migrate.Request) bool {
	return req.From == "" && len(c.Paths) == 0 && c.stays(e, req)
}

// goesOn reports whether an import may go on with a project that is there.
func (c *migrateCmd) goesOn(req *migrate.Request) bool { return !c.User && req.Args == nil && !c.Force }

// stays reports whether a project was built, or a migration made its source, and an import is to go on with it.
func (c *migrateCmd) stays(e *env, req *migrate.Request) bool {
	if !c.goesOn(req) {
		return false
	}
	if _, err := fs.Stat(req.Root, config.File); err != nil {
		return false
	}
	return wasBuilt(req) || len(c.Approved) == 0 && !c.Suggest && stands(originals.Load(e.dir), req.Root)
}

// stands reports whether the source is there that a migration made, as far as people have it, or whose files
// `clean --keep` left to the team.
func stands(record *originals.Record, root fs.FS) bool {
	if len(record.Left) > 0 {
		return true
	}
	read := func(name string) ([]byte, error) { return fs.ReadFile(root, name) }
	for _, f := range record.Files {
		if f.Import != "" && record.Stands(f, read) {
			return true
		}
	}
	return false
}

// changedSince returns the files that people changed or removed since a migration read them, into the source
// that is there.
func changedSince(record *originals.Record, root fs.FS) (names []string) {
	read := func(name string) ([]byte, error) { return fs.ReadFile(root, name) }
	for _, name := range slices.Sorted(maps.Keys(record.Files)) {
		f := record.Files[name]
		data, err := read(name)
		if f.Import != "" && record.Stands(f, read) && (err != nil || !bytes.Equal(data, f.Data)) {
			names = append(names, name)
		}
	}
	return names
}

// saysAlready is why nothing is imported again.
const saysAlready = "the source says already what these files do"

// took returns whether an import took in a file, and both the file and the source are still as it left them.
func took(root fs.FS, record *originals.Record) func(file string) bool {
	read := func(name string) ([]byte, error) { return fs.ReadFile(root, name) }
	return func(file string) bool {
		o, ok := record.Original(file)
		data, err := read(file)
		return ok && o.Import != "" && record.Stands(o, read) && err == nil && bytes.Equal(data, o.Data)
	}
}

// taken reports whether a project has all of a file that no build writes: one with external servers
// alone, or one that an agent without a target reads.
func (c *migrateCmd) taken(e *env, req migrate.Request, file string, p *ir.Project) bool {
	data, err := fs.ReadFile(req.Root, file)
	if err != nil {
		return false
	}
	req.Root, req.Ignored, req.Progress = memfs.FS{file: data}, nil, nil
	res, diags := migrate.Run(e.ctx, req)
	if diags.HasErrors() {
		return false
	}
	for _, m := range res.Project.Modes {
		has := p.Mode(m.Slug)
		if has == nil || has.RoleDefinition != m.RoleDefinition || has.CustomInstructions != m.CustomInstructions ||
			has.WhenToUse != m.WhenToUse {
			return false
		}
	}
	return !slices.ContainsFunc(res.Project.Roles, func(r ir.Role) bool { return p.Role(r.Name) == nil }) &&
		!slices.ContainsFunc(res.Project.Servers, func(s ir.Server) bool {
			return !slices.ContainsFunc(p.Servers, func(has ir.Server) bool {
				alike := has.Command == s.Command && has.URL == s.URL && slices.Equal(has.Args, s.Args)
				return has.Name == s.Name && has.Type == s.Type && alike || has.As == s.Name
			})
		})
}

// empty reports whether the only error is that no mode, role or server was found.
func empty(diags diag.List) bool {
	other := func(d diag.Diagnostic) bool { return d.Severity == diag.Error && d.Code != diag.NothingToMigrate }
	return diags.HasErrors() && !slices.ContainsFunc(diags, other)
}

// nothing reports that there is nothing to import, and why. The diagnostics name what was found
// and not taken.
func (c *migrateCmd) nothing(
	e *env, req *migrate.Request, files []string, status, why string, diags diag.List,
) error {
	seen := migrate.Look(e.ctx, *req)
	c.advise(e, seen)
	if e.ui.JSON {
		report := without(e, status, files, diags)
		report.Seen = seen
		return e.ui.Emit(report)
	}
	if len(files) > 0 {
		e.ui.Printf("%-12s %s\n", "read", diag.Clean(strings.Join(files, ", ")))
	}
	for _, d := range diags {
		for _, r := range d.Related {
			if r.Pos.Line > 0 {
				e.ui.Printf("  %s %s\n", diag.Clean(r.Pos.String()), diag.Clean(r.Message))
			}
		}
	}
	e.ui.Seen(seen)
	e.ui.Printf("nothing to import: %s\n", why)
	if status == "nothing" {
		e.ui.Note("next: modec init\n")
	}
	return nil
}

// without returns the report of a run that imported nothing.
func without(e *env, status string, files []string, diags diag.List) report.MigrateReport {
	none := []string{}
	return report.MigrateReport{Envelope: e.ui.Envelope(), Status: status, Written: none,
		Report: &migrate.Report{Files: files, Targets: none, Modes: none, Roles: none, Servers: none,
			Notes: []contract.Note{}, Seen: []migrate.Seen{}, Silent: none, Proof: []migrate.Proof{}},
		Diagnostics: append(diag.List{}, diags...)}
}

// advise adds the commands that import what a migration leaves out.
func (c *migrateCmd) advise(e *env, seen []migrate.Seen) {
	for i := range seen {
		if x := &seen[i]; x.Reason == contract.Nested {
			x.Next = e.migrating(filepath.Join(c.folder, filepath.FromSlash(x.Path)))
		}
	}
}

// adviseNested adds these commands where nothing is imported.
func (c *migrateCmd) adviseNested(e *env, req *migrate.Request, diags diag.List) {
	i := slices.IndexFunc(diags, func(d diag.Diagnostic) bool { return d.Code == diag.NothingToMigrate })
	if i < 0 {
		return
	}
	seen := migrate.Look(e.ctx, *req)
	c.advise(e, seen)
	for _, x := range seen {
		for j := range diags[i].Related {
			if r := &diags[i].Related[j]; x.Next != "" && r.Pos.File == x.Path {
				r.Message += "; next: " + x.Next
				diags[i].Hint = "import each of them by itself"
			}
		}
	}
}

// firstBuild returns how to build what was imported: the files of the agents are people's, and a
// build replaces them only by force.
func (e *env) firstBuild(res *compiler.Result) string {
	opt := e.outputs(e.dir)
	opt.DryRun = true
	_, diags := res.Write(e.ctx, opt)
	var theirs []string
	for _, d := range diags {
		if d.Code == diag.NotOurs && !slices.Contains(theirs, d.Pos.File) {
			theirs = append(theirs, d.Pos.File)
		}
	}
	if len(theirs) == 0 {
		return "modec build"
	}
	return fmt.Sprintf("commit %s, then `modec build --force`, which replaces what people wrote there, "+
		"and look at `git diff`", diag.Clean(report.Few(theirs)))
}

func (c *migrateCmd) report(e *env, res *migrate.Result, found *suggest.Result, diags diag.List) report.MigrateReport {
	r := report.MigrateReport{Envelope: e.ui.Envelope(), Status: "ok", Written: []string{}, Report: &res.Report,
		Suggestions: found.Suggestions, Patches: patches(found.Files), Diagnostics: diags}
	if c.DryRun {
		r.Status = "dry-run"
	}
	for _, f := range res.Files {
		r.Written = append(r.Written, f.Path)
	}
	return r
}

// sourceExists reports once that the files of a source are there already.
func sourceExists(list diag.List) diag.List {
	var there, other diag.List
	for _, d := range list {
		if d.Code == diag.NotOurs {
			there = append(there, d)
		} else {
			other = append(other, d)
		}
	}
	if len(there) == 0 {
		return list
	}
	more := ""
	if n := len(there) - 1; n > 0 {
		more = fmt.Sprintf(" (and %s more)", report.Count(n, "file"))
	}
	other.Errorf(diag.NotOurs, there[0].Pos, "a source exists already%s, and nothing was written", more).
		Hint("change the source itself and run `modec build`; `modec migrate --dry-run` shows what the agents' files " +
			"would add; to start again, move modec.toml and the source away")
	return other
}

// patched lays patches over files.
func patched(files, patches []contract.File) []contract.File {
	out := slices.Clone(files)
	for _, p := range patches {
		if i := slices.IndexFunc(out, func(f contract.File) bool { return f.Path == p.Path }); i >= 0 {
			out[i] = p
		} else {
			out = append(out, p)
		}
	}
	return out
}

// request checks what was asked for.
func (c *migrateCmd) request(e *env) (migrate.Request, error) {
	req := migrate.Request{Name: filepath.Base(e.dir), Targets: e.targets, Repair: c.Repair,
		Out: filepath.ToSlash(filepath.Clean(c.Out)), Today: time.Now().UTC(), Seed: compiler.Seed}
	if !fs.ValidPath(req.Out) || req.Out == "." {
		return req, fmt.Errorf("--out: got %q, want a folder inside the project", c.Out)
	}
	formats := migrate.Formats(req.Targets)
	if c.From != "" && c.From != "auto" {
		if formats[c.From] == nil {
			names := []string{"auto"}
			for name := range formats {
				names = append(names, name)
			}
			slices.Sort(names)
			return req, fmt.Errorf("--from: got %q, want one of %s%s",
				c.From, diag.Quote(names), report.HintOf(diag.DidYouMean(c.From, names)))
		}
		req.From = c.From
	}
	for _, name := range c.Approved {
		g := ir.Group(strings.TrimSpace(name))
		if !slices.Contains(ir.Groups, g) {
			return req, fmt.Errorf("--approved: got %q, want tool groups: read, edit, command, web, mcp, modes", name)
		}
		req.Approved = append(req.Approved, g)
	}
	return req, nil
}

// lineFormat reports whether a format is that of an agent's command line, and returns an example of one.
func (e *env) lineFormat(name string) (example string, ok bool) {
	for _, t := range e.targets {
		if l, is := t.(contract.LineImporter); is {
			if format, example := l.LineFormat(); format == name {
				return example, true
			}
		}
	}
	return "", false
}

// open finds the folder that is read, and the files in it that were named.
func (c *migrateCmd) open(e *env, req *migrate.Request) (end func(), err error) {
	folder := e.dir
	example, ofLine := e.lineFormat(c.From)
	switch {
	case ofLine:
		if req.Args = c.Paths; len(req.Args) == 0 {
			return nil, fmt.Errorf("there is no command line after --: write it as in `modec migrate --from %s -- %s`",
				c.From, example)
		}
	case len(c.Paths) > 0:
		if folder, req.Files, err = named(e, c.Paths); err != nil {
			return nil, err
		}
	}
	c.folder = folder
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot open the folder to import from: %w", err)
	}
	req.Root = contract.Plain(root.FS())
	req.Ignored = e.ignored(folder, e.dir)
	if !c.User {
		return func() { root.Close() }, nil
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("cannot find the home folder: %w", err)
	}
	home, err := os.OpenRoot(dir)
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("cannot open the home folder: %w", err)
	}
	req.Home = home.FS()
	return func() { root.Close(); home.Close() }, nil
}

// named returns the folder that has every path, and the files below it. A single folder
// is searched, and has no files. Files of the project are named from there.
func named(e *env, paths []string) (folder string, files []string, err error) {
	var abs []string
	for _, p := range paths {
		p = e.abs(p)
		info, err := os.Stat(p)
		switch {
		case err != nil:
			return "", nil, fmt.Errorf("%s cannot be read: %w", p, errors.Unwrap(err))
		case info.IsDir() && len(paths) == 1:
			return p, nil, nil
		case info.IsDir():
			return "", nil, fmt.Errorf("%s is a folder: name one folder alone, or files", p)
		}
		abs = append(abs, filepath.Clean(p))
	}
	folder = e.dir
	for _, p := range abs {
		for !below(folder, p) {
			folder = filepath.Dir(folder)
		}
	}
	for _, p := range abs {
		rel, err := filepath.Rel(folder, p)
		if err != nil {
			return "", nil, err
		}
		files = append(files, filepath.ToSlash(rel))
	}
	return folder, files, nil
}
