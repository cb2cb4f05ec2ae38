package main

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
)

type cleanCmd struct {
	Out    string `placeholder:"DIR" help:"Output root, relative to the working directory. Default: the project folder."`
	DryRun bool   `help:"Say what would be taken out, and leave it."`
	Force  bool   `help:"Take out files and entries that were edited since, too."`
}

func (cleanCmd) Help() string {
	return `Takes out what the builds of a project wrote, as modec.lock remembers it: modec's own files, its entries in files that people write too, and the lock. The source and everything of yours stays. What somebody edited stops it, and nothing is taken out.

It needs no source: a project whose modec.toml is broken or gone can be cleaned too.

Examples:
  modec clean --dry-run
  modec clean
  modec clean --out build/preview`
}

// cleanReport is the JSON of a clean.
type cleanReport struct {
	Version     int             `json:"version"`
	Command     string          `json:"command"`
	Status      string          `json:"status"`
	DryRun      bool            `json:"dryRun,omitempty"`
	Files       []output.Change `json:"files"`
	Diagnostics diag.List       `json:"diagnostics"`
}

func (c *cleanCmd) Run(e *env) error {
	changes, diags := output.Clean(e.ctx, output.Options{Dir: e.output(c.Out), Force: c.Force, DryRun: c.DryRun, Targets: e.targets})
	if diags.HasErrors() {
		return e.ui.fail("clean", diags)
	}
	if e.ui.json {
		return e.ui.emit(cleanReport{1, "clean", "ok", c.DryRun, orEmpty(changes), orEmpty(diags)})
	}
	removed, kept := 0, 0
	for _, x := range changes {
		if x.Action == output.Remove {
			removed++
			e.ui.printf("removed %s\n", diag.Clean(x.Path))
		} else {
			kept++
			e.ui.printf("took modec's entries out of %s\n", diag.Clean(x.Path))
		}
	}
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	e.ui.note("%s %s, and entries of %s\n", verb, count(removed, "file"), count(kept, "file"))
	return nil
}
