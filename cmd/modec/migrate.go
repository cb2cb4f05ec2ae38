package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/suggest"
)

type migrateCmd struct {
	Paths    []string `arg:"" optional:"" name:"path" help:"Files to import, or the repository to look into. Default: the project folder. After --from claude-args --: a command line."`
	From     string   `placeholder:"FORMAT" help:"Whose files they are: auto, or one of ${formats}. Default: auto."`
	Out      string   `placeholder:"DIR" default:"modec" help:"The folder of the source that is written, relative to the project folder."`
	User     bool     `help:"Look into the home folder too: global modes, user settings, Cursor's own allowlist."`
	Approved []string `placeholder:"GROUP" help:"Tool groups that your agent's own settings approve without a question (Roo's auto-approve): read, edit, command, web, mcp, modes. Without it they are asked about."`
	Repair   bool     `help:"Mend what the agent itself would refuse to load, and say what was mended."`
	Suggest  bool     `help:"Tell where the new source permits more than it seems to need, with a patch for each."`
	Apply    bool     `help:"Write the patches of the suggestions too."`
	DryRun   bool     `help:"Print the report and write nothing."`
	Force    bool     `help:"Overwrite files of the source that are there already."`
}

func (migrateCmd) Help() string {
	return `Finds what a repository already says of its agents, understands it, and writes it as one source: a file for each mode and role, servers.cue, and modec.toml where there is none. Several agents' files become one project; where two say different things both places are reported and the stricter holds.

Nothing is widened. What a file leaves unsaid becomes what its agent does then; what only a setting of the user decides is asked about, and listed as needs-decision. What no target but one can say is kept for that one; what is not imported is listed with the reason. At the end every decision of the original files is compared with the new source and with what is built from it.

Examples:
  modec migrate --dry-run
  modec migrate --approved read,edit
  modec migrate .roomodes --repair
  modec migrate --user --from cursor
  modec migrate --from claude-args -- claude --permission-mode plan --allowedTools "Bash(npm test *)"`
}

// migrateReport is the JSON of a migration.
type migrateReport struct {
	Version int      `json:"version"`
	Command string   `json:"command"`
	Status  string   `json:"status"` // ok, or dry-run where nothing was written
	Written []string `json:"written"`
	*migrate.Report
	Suggestions []suggest.Suggestion `json:"suggestions,omitempty"`
	Patches     []patch              `json:"patches,omitempty"`
	Diagnostics diag.List            `json:"diagnostics"`
}

func (c *migrateCmd) Run(e *env) error {
	start := time.Now()
	req := migrate.Request{Name: filepath.Base(e.dir), Targets: e.targets, Repair: c.Repair, Out: filepath.ToSlash(filepath.Clean(c.Out)), Today: time.Now().UTC(), Seed: 1}
	if !fs.ValidPath(req.Out) || req.Out == "." {
		return fmt.Errorf("got --out %q, want a folder inside the project", c.Out)
	}
	if err := c.options(&req); err != nil {
		return err
	}
	end, err := c.open(e, &req)
	if err != nil {
		return err
	}
	defer end()
	var done func()
	req.Progress, done = e.ui.progress("proving")
	res, diags := migrate.Run(e.ctx, req)
	done()
	if diags.HasErrors() {
		return e.ui.fail("migrate", diags)
	}
	found := &suggest.Result{}
	if c.Suggest || c.Apply {
		var list diag.List
		if found, list = suggest.Project(e.ctx, res.FS, compiler.Request{Targets: req.Targets, Today: req.Today}, res.Compiled); list.HasErrors() {
			return e.ui.fail("migrate", list)
		}
	}
	if c.Apply {
		res.Files = patched(res.Files, found.Files)
	}
	status, written := "ok", []string{}
	if c.DryRun {
		status = "dry-run"
	} else {
		there := output.KeepExisting
		if c.Force {
			there = output.ReplaceExisting
		}
		if list := output.Put(e.dir, res.Files, there); list.HasErrors() {
			return e.ui.fail("migrate", list)
		}
	}
	for _, f := range res.Files {
		written = append(written, f.Path)
	}
	if e.ui.json {
		if diags == nil {
			diags = diag.List{}
		}
		report := migrateReport{Version: 1, Command: "migrate", Status: status, Written: written, Report: &res.Report, Suggestions: found.Suggestions, Diagnostics: diags}
		for _, f := range found.Files {
			report.Patches = append(report.Patches, patch{f.Path, string(f.Data)})
		}
		return e.ui.emit(report)
	}
	e.ui.migrated(res, c.DryRun)
	if c.Suggest || c.Apply {
		e.ui.suggestions(res.FS, found)
	}
	if !c.DryRun {
		e.ui.note("next: modec build\n")
	}
	if e.ui.verbose {
		e.ui.diagnostics(diags)
		e.ui.note("%.1f s\n", time.Since(start).Seconds())
	}
	return nil
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

// options checks what was asked for.
func (c *migrateCmd) options(req *migrate.Request) error {
	formats := migrate.Formats(req.Targets)
	if c.From != "" && c.From != "auto" {
		if formats[c.From] == nil {
			names := []string{"auto"}
			for name := range formats {
				names = append(names, name)
			}
			slices.Sort(names)
			return fmt.Errorf("got --from %q, want one of %s%s", c.From, diag.Quote(names), hintOf(diag.DidYouMean(c.From, names)))
		}
		req.From = c.From
	}
	for _, name := range c.Approved {
		g := ir.Group(strings.TrimSpace(name))
		if !slices.Contains(ir.Groups, g) {
			return fmt.Errorf("got --approved %q, want tool groups: read, edit, command, web, mcp, modes", name)
		}
		req.Approved = append(req.Approved, g)
	}
	return nil
}

func hintOf(hint string) string {
	if hint == "" {
		return ""
	}
	return " (" + hint + ")"
}

// open finds the folder that is read, and the files in it that were named.
func (c *migrateCmd) open(e *env, req *migrate.Request) (end func(), err error) {
	folder := e.dir
	switch {
	case req.From == "claude-args":
		if req.Args = c.Paths; len(req.Args) == 0 {
			return nil, errors.New("got no command line, want one after --: `modec migrate --from claude-args -- claude --permission-mode plan`")
		}
	case len(c.Paths) > 0:
		if folder, req.Files, err = named(e, c.Paths); err != nil {
			return nil, err
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot open the folder to import from: %w", err)
	}
	req.Root = root.FS()
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

// named returns the folder that holds every path, and the files below it: one
// folder alone is looked into, and has no files. Files of the project are named
// from there.
func named(e *env, paths []string) (folder string, files []string, err error) {
	var abs []string
	for _, p := range paths {
		p = e.abs(p)
		info, err := os.Stat(p)
		switch {
		case err != nil:
			return "", nil, fmt.Errorf("got %s, which cannot be read: %w", p, errors.Unwrap(err))
		case info.IsDir() && len(paths) == 1:
			return p, nil, nil
		case info.IsDir():
			return "", nil, fmt.Errorf("got the folder %s beside other paths, want one folder or files", p)
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

// below reports whether a path lies in a folder; every path is in the topmost.
func below(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return filepath.Dir(folder) == folder || err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// noteOrder is the order in which notes are printed; what is understood is
// counted only, unless -v asks for it.
var noteOrder = []contract.NoteKind{contract.Repaired, contract.Conflict, contract.NeedsDecision, contract.Kept, contract.Refused, contract.Left, contract.Understood}

// migrated prints the report of a migration.
func (u *ui) migrated(res *migrate.Result, dry bool) {
	rep := &res.Report
	list := func(word string, names []string) {
		if len(names) > 0 {
			u.printf("%-12s %s\n", word, diag.Clean(strings.Join(names, ", ")))
		}
	}
	list("read", rep.Files)
	list("modes", rep.Modes)
	list("roles", rep.Roles)
	list("servers", rep.Servers)
	u.printf("%-12s %d of %s (%.1f %%)\n", "understood", rep.Rules.Understood, count(rep.Rules.Of, "rule"), rep.Rules.Percent())
	for _, kind := range noteOrder {
		if kind == contract.Understood && !u.verbose {
			continue
		}
		for _, n := range rep.Notes {
			if n.Kind == kind {
				u.migrateNote(n)
			}
		}
	}
	for i, f := range res.Files {
		if i == 0 {
			u.printf("%s\n", map[bool]string{true: "would write", false: "wrote"}[dry])
		}
		u.printf("  %-40s %s\n", diag.Clean(f.Path), size(len(f.Data)))
	}
	source, built := rep.Total()
	u.printf("proof: of %s in the original files the new source has %d equal, %d narrower, %d wider", count(source.Compared, "half-decision"), source.Equal, source.Narrower, source.Wider)
	if built.Compared > 0 {
		u.printf("; of %d what is built from it has %d equal, %d narrower, %d wider", built.Compared, built.Equal, built.Narrower, built.Wider)
	}
	u.printf("\n")
	if source.Parts > 0 {
		u.printf("       %s that the agent asks about unseen, and allows part by part, are allowed\n", count(source.Parts, "command line"))
	}
}

func (u *ui) migrateNote(n contract.Note) {
	line := fmt.Sprintf("%-15s %s", n.Kind, n.Pos)
	if n.Subject != "" {
		line += " " + n.Subject + ":"
	}
	line += " " + n.What
	if n.Why != "" {
		line += ": " + n.Why
	}
	u.printf("  %s\n", diag.Clean(line))
}
