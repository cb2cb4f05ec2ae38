package main

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/accepted"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/secret"
)

type cleanCmd struct {
	textOrJSON
	acceptFlag
	Out    string `placeholder:"DIR" help:"Clean this output root. Default: the project."`
	Keep   bool   `help:"Leave the agents' files to the team, and remove the hooks and the lock alone."`
	DryRun bool   `help:"Change nothing; list what would change, with --keep and -v line by line."`
	Force  bool   `help:"Also remove files and entries that were edited since."`
}

func (cleanCmd) reports() []any { return []any{cleanReport{}, keepReport{}, report.Outcome{}} }

// cleanReport is the JSON of a clean.
type cleanReport struct {
	report.Envelope
	Status      string          `json:"status" enum:"ok"`
	DryRun      bool            `json:"dryRun,omitempty" jsonschema:"nothing was changed"`
	Files       []output.Change `json:"files" jsonschema:"update: modec's entries were removed"`
	Permits     []string        `json:"permits,omitempty" jsonschema:"what the files permit again"`
	Diagnostics diag.List       `json:"diagnostics"`
}

// acceptRestored shows what the files permit that git has and this user never had here, before they are there
// again, and asks.
func (c *acceptFlag) acceptRestored(e *env, changes []output.Change) error {
	files := memfs.FS{}
	for i := range changes {
		if x := &changes[i]; x.FromGit() {
			_, files[x.Path] = x.Texts()
		}
	}
	if len(files) == 0 {
		return nil
	}
	points, err := e.importedPoints(files)
	if err != nil {
		return err
	}
	return c.acceptPoints(e, points, "With what git has from before modec:",
		"New with what git has from before modec:")
}

// importedPoints returns what agents' files permit, start and run by themselves.
func (e *env) importedPoints(files memfs.FS) ([]accepted.Point, error) {
	res, diags := migrate.Run(e.ctx, migrate.Request{Root: files, Targets: e.targets, Out: "modec",
		Today: time.Now().UTC(), Seed: compiler.Seed, Must: func(string) bool { return true }})
	if diags.HasErrors() {
		var points []accepted.Point
		for _, name := range slices.Sorted(maps.Keys(files)) {
			points = append(points, accepted.Point{Kind: accepted.Runs, Of: name, Text: output.Sum(files[name])})
		}
		return points, nil
	}
	return pointsOf(res.Compiled, files, subjectsIn(res.Project), e.targets)
}

func (c *cleanCmd) Run(e *env) error {
	if c.Keep {
		return c.keep(e)
	}
	opt := e.outputs(e.output(c.Out))
	opt.Force, opt.DryRun = c.Force, c.DryRun
	if !c.DryRun {
		dry := opt
		dry.DryRun = true
		if planned, list := output.Clean(e.ctx, dry); !list.HasErrors() { // else the clean says it
			if err := c.acceptRestored(e, planned); err != nil {
				return err
			}
		}
	}
	changes, diags := output.Clean(e.ctx, opt)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	again := permitAgain(e, changes)
	if e.ui.JSON {
		return e.ui.Emit(cleanReport{e.ui.Envelope(), "ok", c.DryRun, changes, again, diags})
	}
	e.ui.Diagnostics(diags)
	e.ui.Kept(diags)
	removed, kept, restored := 0, 0, 0
	verb, take, put := "removed", "took", "restored"
	if c.DryRun {
		verb, take, put = "would remove", "would take", "would restore"
	}
	for _, x := range changes {
		if x.Restored {
			restored++
			e.tellRestored(&x, put)
		} else if x.Action == output.Remove {
			removed++
			e.ui.Note("%s %s\n", verb, diag.Clean(x.Path))
		} else {
			kept++
			e.ui.Note("%s modec's entries out of %s\n", take, diag.Clean(x.Path))
		}
	}
	if len(changes) == 0 {
		e.ui.Note("nothing to do: no build wrote files here\n")
	} else {
		e.tellAgain(again, c.DryRun)
		e.ui.Note("%s %s, and entries of %s; %s %s\n", verb, report.Count(removed, "file"), report.Count(kept, "file"),
			put, report.Count(restored, "file"))
	}
	return nil
}

// mostAgain is how many lines say what the files permit again.
const mostAgain = 10

// permitAgain returns what files that are put back permit and what a build had made of them does not; nothing where
// nobody can say it.
func permitAgain(e *env, changes []output.Change) (lines []string) {
	have, want := memfs.FS{}, memfs.FS{}
	for i := range changes {
		if x := &changes[i]; x.Restored && x.Action != output.Unchanged {
			have[x.Path], want[x.Path] = x.Texts()
		}
	}
	maps.DeleteFunc(have, func(_ string, data []byte) bool { return data == nil })
	imported := func(files memfs.FS) *migrate.Result {
		res, _ := migrate.Run(e.ctx, migrate.Request{Root: files, Targets: e.targets, Out: "modec",
			Today: time.Now().UTC(), Seed: compiler.Seed})
		return res
	}
	if len(want) == 0 {
		return nil
	}
	before, after := imported(have), imported(want)
	if before == nil || after == nil {
		return nil
	}
	known := func(x *diff.Change) bool { // what agents ask about by themselves
		return x.Before.Decision > ir.Deny && x.After.Decision == ir.Agent
	}
	lines, err := widenedBy(before.Compiled.Policy, before.Compiled, after.Compiled, have, want, e.targets, known)
	if err != nil {
		return nil
	}
	return lines
}

// tellAgain prints it.
func (e *env) tellAgain(lines []string, dry bool) {
	title := "this permits again"
	if dry {
		title = "this would permit again"
	}
	for i, line := range lines {
		if i == mostAgain && !e.ui.Verbose {
			e.ui.Note("%s: %d more (-v lists them)\n", title, len(lines)-i)
			break
		}
		e.ui.Note("%s: %s\n", title, diag.Clean(line))
	}
}

// secretsBack counts the secrets of a text that another one has and it has not.
func secretsBack(have, want []byte) (n int) {
	for _, at := range secret.Index(string(want)) {
		if !bytes.Contains(have, want[at[0]:at[1]]) {
			n++
		}
	}
	return n
}

// tellRestored prints that a file was put back, how it is other than before modec, and what has it as it was.
func (e *env) tellRestored(x *output.Change, put string) {
	e.ui.Note("%s\n", restoredAs(*x, put))
	list, blob := x.Since()
	for _, d := range list {
		e.ui.Note("  %s %s %s\n", diag.Clean(x.Path), diag.Clean(d.Path), diag.Clean(d.Text))
	}
	if _, err := gittree.Blob(e.ctx, e.dir, blob); blob != "" && err == nil {
		e.ui.Note("  as it was: git cat-file -p %s\n", blob)
	}
	if n := secretsBack(x.Texts()); n > 0 && x.Action != output.Unchanged {
		e.ui.Note("  with %s that had been taken out of it\n", report.Count(n, "secret"))
	}
}

// restoredAs says how a file is after it was put back.
func restoredAs(x output.Change, put string) string {
	name := diag.Clean(x.Path)
	switch {
	case x.Later:
		return put + " what " + name + " said before modec, beside what people changed in it since"
	case x.Action == output.Unchanged:
		return name + " is as it was before modec"
	}
	return put + " " + name + " as it was before modec"
}
