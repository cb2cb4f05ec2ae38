package main

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
)

// edits returns what people changed in the agents' files of the working tree, as a patch of the source; nil where
// nobody can read it.
func (e *env) edits() (*migrate.Edited, error) {
	c := migrateCmd{Out: "modec"}
	req, err := c.request(e)
	if err != nil {
		return nil, err
	}
	end, err := c.open(e, &req)
	if err != nil {
		return nil, err
	}
	defer end()
	was, diags := migrate.Edits(e.ctx, req, e.request(), originals.Load(e.dir))
	return was, diags.Err()
}

// permission is what a changed file permits more than the source.
type permission struct {
	file string // "": of several, or of one that no edit names
	text string
}

// permitMore returns what changed files permit more than the source. known is false where no source says all that was
// changed.
func (e *env) permitMore() (all []permission, known bool) {
	was, err := e.edits()
	if err != nil {
		return nil, false
	}
	lines, err := widened(was, e.targets)
	for _, line := range lines {
		x := permission{text: line}
		subject, _, _ := strings.Cut(line, ":")
		if i := slices.IndexFunc(was.Edits, func(edit migrate.Edit) bool {
			rest, of := strings.CutPrefix(edit.What, subject)
			return of && strings.IndexAny(rest, ": ") == 0
		}); i >= 0 {
			x.file = was.Edits[i].Pos.File
		}
		all = append(all, x)
	}
	unsaid := func(x migrate.Edit) bool { return x.Why != "" }
	return all, err == nil && !slices.ContainsFunc(was.Edits, unsaid)
}

// ofFile returns what one of some files permits more, and the first one of them also what is of none.
func ofFile(all []permission, file string, files []string) (lines []string) {
	for _, x := range all {
		if x.file == file || !slices.Contains(files, x.file) && file == files[0] {
			lines = append(lines, x.text)
		}
	}
	return lines
}

// judgeEdited reports the files of modec's own that people changed, where what they say of one agent alone permits
// more: no rule of the source is compared with that.
func (e *env) judgeEdited(changes []output.Change) (diags diag.List) {
	var files []string
	of := map[string]string{}
	for i := range changes {
		if c := &changes[i]; c.State == output.Edited && !c.Merged && !contract.ForMachines(c.Path) {
			files, of[c.Path] = append(files, c.Path), c.Target
		}
	}
	if len(files) == 0 {
		return nil
	}
	const changed = "somebody changed this file since the build, and "
	all, known := e.permitMore()
	for _, file := range files {
		for _, line := range ofFile(all, file, files) {
			diags.Errorf(diag.ForeignWidening, diag.Pos{File: file},
				changed+"the source would permit more with it: %s", line).
				Hint("`modec migrate` shows the change as a patch of the source; `modec build --force` takes it back").
				Target(of[file])
		}
	}
	if len(all) == 0 && !known {
		diags.Warnf(diag.ForeignWidening, diag.Pos{File: files[0]}, changed+"no source says what it permits now").
			Hint("`modec migrate` shows what cannot be said; `modec build --force` takes the change back").
			Target(of[files[0]])
	}
	return diags
}
