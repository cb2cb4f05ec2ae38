package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/policy"
)

// edits offers what people changed in the agents' files as a patch of the source, or says that there
// is nothing. It reports whether it said all that there is to say.
func (c *migrateCmd) edits(e *env, req *migrate.Request) (found bool, err error) {
	record := originals.Load(e.dir)
	was, diags := migrate.Edits(e.ctx, *req, e.request(), record)
	if diags.HasErrors() {
		return false, nil // what is wrong with the source or a file, the import says
	}
	coming, files := c.coming(e, *req, record, was)
	if was, diags = c.without(e, req, record, was, coming); diags.HasErrors() {
		return false, nil
	}
	was.Edits = append(was.Edits, unread(e, req, was)...)
	switch {
	case len(was.Edits) > 0:
	case len(coming) > 0:
		return true, c.join(e, req, was.Before, coming)
	default:
		if !c.DryRun && !wasBuilt(req) {
			if err := c.readAgain(e, req, record, was); err != nil {
				return true, err
			}
		}
		files := migrate.AgentFiles(e.ctx, *req)
		if err := c.nothing(e, req, files, "current", saysAlready, nil); err != nil || e.ui.JSON || !wasBuilt(req) {
			return true, err
		}
		c.tellKept(e, was.Before)
		c.tellUnbuilt(e, *req, was.Before)
		return true, nil
	}
	widens, err := widened(was, e.targets)
	if err != nil {
		return true, err
	}
	texts := patchesOf(req.Root, was.Files) // before they are written
	if c.Apply && !c.DryRun && len(was.Files) > 0 {
		if diags := e.put(was.Files, output.ReplaceExisting); diags.HasErrors() {
			return true, e.ui.Fail(diags)
		}
		if err := c.say(e, req, record, was); err != nil {
			fmt.Fprintf(e.ui.Err, "modec: warning: %s: the next build may need --force\n", diag.Clean(err.Error()))
		}
	}
	if e.ui.JSON {
		report := without(e, "edited", []string{}, diags)
		report.Edits, report.Widens, report.Patches = was.Edits, widens, patches(was.Files)
		report.Coming = files
		report.Notes = append(report.Notes, was.Repaired...)
		if c.Apply && !c.DryRun {
			for _, f := range was.Files {
				report.Written = append(report.Written, f.Path)
			}
		}
		return true, e.ui.Emit(report)
	}
	c.tellEdits(e, was, texts, widens)
	c.tellComing(e, was, coming, files)
	return true, nil
}

// tellComing says how the files of agents are imported of which the source has nothing yet, beside edits: at once, by
// their names, where none of the edits can become part of the source.
func (c *migrateCmd) tellComing(e *env, was *migrate.Edited, coming, files []string) {
	switch {
	case len(files) == 0:
	case len(was.Files) > 0:
		e.ui.Note("once this is in the source, `modec migrate` offers %s too, of which the source has nothing\n",
			diag.Clean(report.Few(files)))
	default:
		var lines []string
		for _, name := range coming {
			if !hasTarget(was.Before, name) {
				lines = append(lines, fmt.Sprintf("`modec migrate --from %s`", name))
			}
		}
		if len(lines) > 0 {
			e.ui.Note("the source has nothing of %s: %s imports that meanwhile\n", diag.Clean(report.Few(files)),
				strings.Join(lines, ", then "))
		}
	}
}

// tellUnbuilt names the agents of which there are files and a role of the source, and no target.
func (c *migrateCmd) tellUnbuilt(e *env, req migrate.Request, res *compiler.Result) {
	for _, t := range req.Targets {
		role := res.Project.Role(t.Name())
		if _, ok := t.(contract.Importer); !ok || hasTarget(res, t.Name()) || role == nil || !role.For(t.Name()) {
			continue
		}
		of := req
		of.Targets = []contract.Target{t}
		if files := migrate.AgentFiles(e.ctx, of); len(files) > 0 {
			e.ui.Note("%s is of %s, which is no target: nothing is built of role %s; next: write %s into "+
				"modec.toml, and run `modec build`\n", diag.Clean(report.Few(files)), t.Name(), role.Name,
				contract.TableOf(t, role.Name, res.Project.Baseline))
		}
	}
}

// patchesOf returns what files change below a root, a patch each.
func patchesOf(root fs.FS, files []contract.File) (texts []string) {
	for _, f := range files {
		have, err := fs.ReadFile(root, f.Path)
		if err != nil {
			have = nil
		}
		texts = append(texts, report.PatchOf(f.Path, have, f.Data))
	}
	return texts
}

// without returns the edits without those of targets that come and that modec.toml names already: nobody has taken
// anything out of their files.
func (c *migrateCmd) without(
	e *env, req *migrate.Request, record *originals.Record, was *migrate.Edited, coming []string,
) (*migrate.Edited, diag.List) {
	of, names := e.request(), targetNames(was.Before)
	of.Only = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(coming, name) })
	if len(of.Only) == len(names) || len(of.Only) == 0 {
		return was, nil
	}
	return migrate.Edits(e.ctx, *req, of, record)
}

// tellKept prints what people changed beside the source since the last build, and no patch is needed for.
func (c *migrateCmd) tellKept(e *env, res *compiler.Result) {
	for _, file := range edited(e) {
		e.ui.Printf("people changed %s beside what the source says, and `modec build` leaves that as it is:\n",
			diag.Clean(file))
		e.tellBeside(res, file)
	}
}

// unread returns what the next build refuses to write over and no import reads, such as a hook of a person's in a file
// that is modec's alone. What is gone and the patched source does not write either is said.
func unread(e *env, req *migrate.Request, was *migrate.Edited) (edits []migrate.Edit) {
	opt := e.outputs(e.dir)
	opt.DryRun = true
	_, diags := was.Before.Write(e.ctx, opt)
	for _, d := range diags {
		named := func(x migrate.Edit) bool { return x.Pos.File == d.Pos.File }
		if d.Severity != diag.Error || d.Code != diag.Edited || slices.ContainsFunc(was.Edits, named) ||
			gone(req.Root, d.Pos.File) && !writes(was.Compiled, d.Pos.File) {
			continue
		}
		what, _, _ := strings.Cut(d.Message, "; ")
		why := "modec has no word for what is said there now"
		if contract.ForMachines(d.Pos.File) {
			why = "nobody edits it by hand"
		}
		edits = append(edits, migrate.Edit{Pos: d.Pos, What: what, Why: why})
	}
	return edits
}

// gone reports whether there is no file of a name.
func gone(root fs.FS, file string) bool {
	_, err := fs.Stat(root, file)
	return errors.Is(err, fs.ErrNotExist)
}

// writes reports whether a build writes a file.
func writes(res *compiler.Result, file string) bool {
	return slices.ContainsFunc(res.Files(), func(f contract.File) bool { return f.Path == file })
}

// movedFrom returns whether a file is what a build left under another name, where the patched source writes none: who
// moved it wrote none that was there before modec.
func movedFrom(root fs.FS, lock []byte, record *originals.Record, was *migrate.Edited) func(data []byte) bool {
	built := output.AsBuilt(lock)
	return func(data []byte) bool {
		return slices.ContainsFunc(was.Before.Files(), func(f contract.File) bool {
			o, known := record.Original(f.Path)
			same := built(f.Path, data) || known && bytes.Equal(o.Data, data)
			return same && gone(root, f.Path) && !writes(was.Compiled, f.Path)
		})
	}
}

// say records the files of which the source says everything from now on.
func (c *migrateCmd) say(e *env, req *migrate.Request, record *originals.Record, was *migrate.Edited) error {
	if !wasBuilt(req) {
		return c.readAgain(e, req, record, was)
	}
	if record.Edits == nil {
		record.Edits = map[string]originals.File{}
	}
	lock, err := fs.ReadFile(req.Root, output.LockFile)
	if err != nil {
		return err
	}
	known, earlier := output.Knows(lock), map[string][]byte{}
	moved := movedFrom(req.Root, lock, record, was)
	for file, said := range was.Said {
		said.Patched = patchedBy(was)
		if known(file) || moved(said.Data) {
			record.Edits[file] = said
			continue
		}
		if old, ok := record.Files[file]; ok && !bytes.Equal(old.Data, said.Data) {
			earlier[file] = old.Data
		}
		record.Files[file] = said // no build had anything of it: it is a file from before modec
	}
	if len(earlier) > 0 {
		if err := e.keepEarlier(earlier); err != nil {
			return err
		}
	}
	return record.Save()
}

// patchedBy returns which files of the source a patch leaves how.
func patchedBy(was *migrate.Edited) map[string]string {
	source := map[string][]byte{}
	for _, f := range was.Files {
		source[f.Path] = f.Data
	}
	return originals.Patch(source)
}

// says returns whether the source says all of an agent's file of the project as it is there.
func (e *env) says() func(path string) bool {
	compare := sync.OnceValue(func() *migrate.Edited {
		c := migrateCmd{Out: "modec"}
		req, err := c.request(e)
		if err != nil {
			return nil
		}
		end, err := c.open(e, &req)
		if err != nil {
			return nil
		}
		defer end()
		record := originals.Load(e.dir)
		c.asks(&req, record)
		was, diags := migrate.Edits(e.ctx, req, e.request(), record)
		if diags.HasErrors() {
			return nil
		}
		return was
	})
	return func(path string) bool {
		was := compare()
		return was != nil && !was.Differs(path)
	}
}

// wasBuilt reports whether a project has the lock of a build.
func wasBuilt(req *migrate.Request) bool {
	_, err := fs.Stat(req.Root, output.LockFile)
	return err == nil
}

// readAgain records those files as they are now that changed before any build, and of which the source says
// everything: the next build takes them over as they are, and writes none that is gone.
func (c *migrateCmd) readAgain(e *env, req *migrate.Request, record *originals.Record, was *migrate.Edited) error {
	written := map[string]bool{}
	for _, f := range was.Compiled.Files() {
		written[f.Path] = true
	}
	earlier := map[string][]byte{}
	for _, name := range changedSince(record, req.Root) {
		if slices.ContainsFunc(was.Edits, func(x migrate.Edit) bool { return x.Why != "" && x.Pos.File == name }) {
			continue
		}
		data, err := fs.ReadFile(req.Root, name)
		gone := errors.Is(err, fs.ErrNotExist)
		if gone && written[name] { // a build would write in silence what somebody took away
			continue
		}
		old := record.Files[name]
		earlier[name] = old.Data
		switch {
		case gone:
			delete(record.Files, name)
			continue
		case err != nil:
			return err
		}
		now := originals.File{Data: data, Taken: old.Taken, Import: old.Import}
		if said, ok := was.Said[name]; ok {
			now.Taken, now.Patched = said.Taken, patchedBy(was)
			now.Before = old.Unpatched(func(path string) ([]byte, error) { return fs.ReadFile(req.Root, path) }).Data
		}
		record.Files[name] = now
	}
	if len(earlier) == 0 {
		return nil
	}
	if err := e.keepEarlier(earlier); err != nil {
		return err
	}
	return record.Save()
}

// widened returns what a source with the edits permits more, a line each. What was allowed and is left to the agent now
// is nothing more than before.
func widened(was *migrate.Edited, targets []contract.Target) (lines []string, err error) {
	revoked := func(x *diff.Change) bool { return x.Before.Decision == ir.Allow && x.After.Decision == ir.Agent }
	return widenedBy(was.Was, was.Before, was.Compiled, memfs.FS{}, memfs.FS{}, targets, revoked)
}

// widenedBy returns what one project with its files permits more than another one that decides by an engine, a line
// each with examples, but for what is no news.
func widenedBy(
	was *policy.Engine, before, after *compiler.Result, filesBefore, filesAfter memfs.FS, targets []contract.Target,
	known func(*diff.Change) bool,
) (lines []string, err error) {
	result, err := diff.Projects(was, after.Policy, compiler.Seed)
	if err != nil {
		return nil, err
	}
	add := func(line string) {
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, x := range report.InOneLine(result.Changes) {
		if x.Kind == diff.Widened && !known(&x) {
			add(x.Subject + ": " + report.Action(&x) + report.Examples(&x))
		}
	}
	result.Runs(runsOf(before, filesBefore, targets), runsOf(after, filesAfter, targets))
	for _, x := range result.Others { // such as a deny that a role keeps for one agent
		if x.Kind == diff.Widened {
			add(x.What + ": " + x.Text)
		}
	}
	return lines, nil
}

// selfOrForce is what mends an edit that no patch says.
const selfOrForce = "and run `modec build`; or `modec build --force` takes the edit back, and keeps a copy\n"

// tellEdits prints the edits and the patch.
func (c *migrateCmd) tellEdits(e *env, was *migrate.Edited, texts, widens []string) {
	for _, x := range was.Edits {
		word, why := "edited", ""
		if x.Why != "" {
			word, why = "not-patched", ": "+x.Why
		} else if x.Offer {
			word = "offered"
		}
		e.ui.Printf("%-12s %s %s\n", word, diag.Clean(x.Pos.String()), diag.Clean(x.What+why))
	}
	e.ui.MigrateNotes(was.Repaired)
	for _, text := range texts {
		e.ui.Unified(text)
	}
	for _, line := range widens {
		e.ui.Printf("widens: %s\n", diag.Clean(line))
	}
	unsaid := func(x migrate.Edit) bool { return x.Why != "" }
	switch {
	case len(was.Files) == 0:
		e.ui.Note("no patch says this: change the source itself, " + selfOrForce)
	case c.Apply && !c.DryRun && slices.ContainsFunc(was.Edits, unsaid):
		e.ui.Note("wrote %s of the source; next: change what is not patched in the source itself, "+selfOrForce,
			report.Count(len(was.Files), "file"))
	case c.Apply && !c.DryRun:
		e.ui.Note("wrote %s of the source; next: modec build\n", report.Count(len(was.Files), "file"))
	default:
		e.ui.Note("next: `%s --apply` writes this into the source\n", c.asked())
	}
}
