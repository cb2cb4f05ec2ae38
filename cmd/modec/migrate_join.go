package main

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/suggest"
)

// targetNames returns the names of the targets of a project.
func targetNames(res *compiler.Result) (names []string) {
	for _, t := range res.Config.Targets {
		names = append(names, t.Target.Name())
	}
	return names
}

// hasTarget reports whether a project has a target of a name.
func hasTarget(res *compiler.Result, name string) bool {
	return slices.Contains(targetNames(res), name)
}

// coming returns the targets of whose agents there are files that the source says nothing of, and these files: no
// import has read them, and no build has written any of the target's. modec.toml may name such a target already, where
// somebody began to take it in by hand.
func (c *migrateCmd) coming(
	e *env, req migrate.Request, record *originals.Record, was *migrate.Edited,
) (names, files []string) {
	known := familiar(&req, record)
	for _, t := range req.Targets {
		if _, ok := t.(contract.Importer); !ok {
			continue
		}
		made, fresh := begun(was.Before, t.Name(), known)
		if made && !fresh {
			continue
		}
		of := req
		of.Targets = []contract.Target{t}
		own := slices.DeleteFunc(migrate.AgentFiles(e.ctx, of), func(f string) bool {
			return made && known(f) || c.taken(e, req, f, was.Before.Project)
		})
		if len(own) == 0 {
			continue
		}
		names, files = append(names, t.Name()), append(files, own...)
	}
	slices.Sort(files)
	return names, slices.Compact(files)
}

// familiar returns what tells the files that an import has read, or that a build has written.
func familiar(req *migrate.Request, record *originals.Record) func(file string) bool {
	lock, _ := fs.ReadFile(req.Root, output.LockFile)
	wrote := output.Knows(lock)
	read := func(name string) ([]byte, error) { return fs.ReadFile(req.Root, name) }
	return func(file string) bool {
		original, ok := record.Original(file)
		_, left := record.Left[file]
		return ok && record.Stands(original, read) || left || wrote(file)
	}
}

// begun reports whether a project makes files of a target, and whether none of them is known yet.
func begun(res *compiler.Result, target string, known func(file string) bool) (made, fresh bool) {
	at := slices.IndexFunc(res.Outputs, func(o contract.Artifacts) bool { return o.Target.Name() == target })
	if at < 0 {
		return false, false
	}
	out := res.Outputs[at].Files
	return true, len(out) > 0 && !slices.ContainsFunc(out, func(f contract.File) bool { return known(f.Path) })
}

// join takes agents into a project that come to it later: it offers what the source says then, and writes it with
// --apply.
func (c *migrateCmd) join(e *env, req *migrate.Request, was *compiler.Result, names []string) error {
	var done func()
	req.Progress, done = e.ui.Progress("proving")
	res, diags := migrate.Join(e.ctx, *req, was, names)
	done()
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	c.advise(e, res.Report.Seen)
	var texts []string // of what is there, before it is written
	imported := *res   // without that: it stands for no file
	imported.Files = nil
	for _, f := range res.Files {
		have, err := fs.ReadFile(req.Root, f.Path)
		if err == nil {
			texts = append(texts, report.PatchOf(f.Path, have, f.Data))
			continue
		}
		imported.Files = append(imported.Files, f)
	}
	if len(imported.Files) == 0 {
		imported.Files = res.Files
	}
	write, kept := c.Apply && !c.DryRun, 0
	if write {
		if diags := e.put(res.Files, output.ReplaceExisting); diags.HasErrors() {
			return e.ui.Fail(diags)
		}
		var err error
		if kept, err = c.keep(e, &imported); err != nil {
			fmt.Fprintf(e.ui.Err, "modec: warning: %s: the next build needs --force\n", diag.Clean(err.Error()))
		}
	}
	as := *c
	as.DryRun = !write
	if e.ui.JSON {
		report := as.report(e, res, &suggest.Result{}, diags)
		if report.Patches = patches(res.Files); !write {
			report.Written = []string{}
		}
		return e.ui.Emit(report)
	}
	as.Apply = false // suggestions are another thing
	if !write {
		for _, text := range texts {
			e.ui.Unified(text)
		}
	}
	as.tell(e, res, nil, kept)
	if !write {
		e.ui.Note("next: `%s --apply` writes this into the source\n", c.asked())
	}
	return nil
}

// joinOne takes one agent into a project by its name, or agents by files of theirs. It reports whether it did.
func (c *migrateCmd) joinOne(e *env, req *migrate.Request) (found bool, err error) {
	stays := c.stays(e, req)
	own := c.goesOn(req) && len(c.Approved) == 0 && !c.Suggest && hasSource(req)
	if !stays && !own || c.folder != e.dir || len(c.Paths) > 0 && len(req.Files) == 0 {
		return false, nil
	}
	res, diags := compiler.Compile(e.ctx, e.request())
	if diags.HasErrors() {
		return false, nil
	}
	var names []string
	if len(c.Paths) > 0 {
		names = c.joining(e, *req)
	} else if of := migrate.Formats(req.Targets)[req.From]; of != nil {
		names = []string{of.(contract.Target).Name()}
	}
	known := familiar(req, originals.Load(e.dir))
	if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool {
		_, fresh := begun(res, n, known)
		return hasTarget(res, n) && !(fresh && stays)
	}) {
		return false, nil
	}
	return true, c.join(e, req, res, names)
}

// hasSource reports whether somebody has written a source already.
func hasSource(req *migrate.Request) bool {
	list, err := fs.ReadDir(req.Root, path.Clean(req.Out))
	return err == nil && len(list) > 0
}

// joining returns the targets of whose agents all files are that are named, none where one is of no agent's own.
func (c *migrateCmd) joining(e *env, req migrate.Request) (names []string) {
	all, known := req.Targets, []string{}
	for _, t := range all {
		im, ok := t.(contract.Importer)
		if !ok || req.From != "" && migrate.Formats(all)[req.From] != im {
			continue
		}
		req.Targets = []contract.Target{t}
		files := slices.DeleteFunc(migrate.AgentFiles(e.ctx, req), func(f string) bool {
			return !slices.Contains(req.Files, f)
		})
		if len(files) > 0 {
			names, known = append(names, t.Name()), append(known, files...)
		}
	}
	if slices.ContainsFunc(req.Files, func(f string) bool { return !slices.Contains(known, f) }) {
		return nil
	}
	return names
}

// asked returns the command that was called.
func (c *migrateCmd) asked() string {
	line := "modec migrate"
	if c.From != "" && c.From != "auto" {
		line += " --from " + c.From
	}
	if c.Repair {
		line += " --repair"
	}
	for _, p := range c.Paths {
		line += " " + contract.ShellQuote(p)
	}
	return line
}
