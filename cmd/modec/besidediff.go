package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/migrate"
)

// ownEntries adds what people changed, from one side to the other, in the agents' files beside modec's entries: what
// neither source says. What is among the runs of one side is said already.
func (e *env) ownEntries(report *diff.Report, before, after diffSide) {
	if before.refused || after.refused || after.res == nil {
		return
	}
	var told []diag.Pos
	runs := slices.Concat(before.runs, after.runs)
	files := e.filesBeside(before, after)
	for i := range files {
		f := &files[i]
		old, now := before.file(f), after.file(f)
		if now.unread && !old.unread {
			report.Unread(f.Path)
			continue
		}
		if now.there == nil || old.there == nil {
			continue
		}
		var list []located.Difference
		all := located.Differences(old.there, now.there)
		source := newSourceChanges(f, old, now)
		for _, d := range all {
			respelled := func(x located.Difference) bool {
				return x.Place == d.Place && (x.After == nil) != (d.After == nil) &&
					alike(f, d.Place, cmp.Or(d.After, d.Before), cmp.Or(x.After, x.Before))
			}
			said := func(x contract.Run) bool {
				return x.Of == f.Path && x.Place != "" && liesIn(d.Place, x.Place) &&
					slices.Contains(before.runs, x) != slices.Contains(after.runs, x)
			}
			known := slices.ContainsFunc(all, respelled) || source.say(d)
			if !known && !slices.ContainsFunc(runs, said) {
				list = append(list, d)
			}
		}
		report.Own(f, list)
		for _, d := range list {
			told = append(told, d.Pos)
		}
	}
	report.Strays(before.strays, slices.DeleteFunc(after.strays, func(x diff.Stray) bool {
		return slices.Contains(told, x.Pos) || x.By != "" && before.lay(after, &x)
	}))
}

// lay reports whether something was in a file of the side before as it is after, and that side had no such target: the
// agent loaded it by then.
func (p diffSide) lay(after diffSide, x *diff.Stray) bool {
	return (p.res == nil || !hasTarget(p.res, x.By)) && p.same(after, x.Pos.File)
}

// unheld reports whether a file belongs to an agent that is no target of the side.
func (p diffSide) unheld(file string) bool {
	return slices.ContainsFunc(p.strays, func(x diff.Stray) bool { return x.Of != "" && x.Pos.File == file })
}

// same reports whether two sides have the same file.
func (p diffSide) same(after diffSide, file string) bool {
	if p.laid == nil || after.tree == nil {
		return false
	}
	was, err := fs.ReadFile(p.laid, file)
	is, failed := fs.ReadFile(after.tree, file)
	return err == nil && failed == nil && bytes.Equal(was, is)
}

// filesBeside returns the files in which people have entries on one of two sides: those of modec's too, and those that
// the agents of both read beside them, but for what belongs to one person.
func (e *env) filesBeside(before, after diffSide) []contract.File {
	files := sharedFiles(after)
	index := func(file string) int {
		return slices.IndexFunc(files, func(x contract.File) bool { return x.Path == file })
	}
	for _, f := range sharedFiles(before) {
		if index(f.Path) < 0 {
			files = append(files, f)
		}
	}
	shared := len(files)
	for _, c := range after.res.Config.Targets {
		b, ok := c.Target.(contract.Besides)
		if !ok || before.res == nil || before.tree == nil || !hasTarget(before.res, c.Target.Name()) {
			continue
		}
		for _, f := range b.Beside() {
			i := index(f.Path)
			switch {
			case i < 0 && !contract.IsPrivate(e.targets, f.Path):
				files = append(files, f)
			case i >= 0:
				has := &files[i]
				has.Places = slices.Concat(has.Places, f.Places)
				has.Restrains = slices.Concat(has.Restrains, f.Restrains)
			}
		}
	}
	var names []string
	for _, f := range files[shared:] {
		names = append(names, f.Path)
	}
	ignored := e.ignored(e.dir, e.dir)(e.ctx, names)
	return slices.DeleteFunc(files, func(f contract.File) bool { return slices.Contains(ignored, f.Path) })
}

// sharedFiles returns the files of a side in which modec has entries beside people's own.
func sharedFiles(p diffSide) (files []contract.File) {
	if p.res == nil {
		return nil
	}
	for _, f := range p.res.Files() {
		if f.Places != nil && p.tree != nil {
			files = append(files, f)
		}
	}
	return files
}

// twoSaid is a file as a build would write it, and as it is.
type twoSaid struct {
	source, there *located.Value
	unread        bool // the agent loads nothing of it, and so no deny either
}

// file returns a file of a side; one that is not there has nothing in it. A file that nobody can read has no value.
func (p diffSide) file(f *contract.File) (of twoSaid) {
	name := f.Path
	of.source = &located.Value{Kind: located.Object}
	if f := cmp.Or(wrote(p.built, name), wrote(p.res, name)); f != nil {
		of.source = parsed(name, f.Data)
	}
	of.there = &located.Value{Kind: located.Object}
	if p.tree == nil {
		return of
	}
	switch data, err := fs.ReadFile(p.tree, name); {
	case err == nil:
		of.there = parsed(name, data)
		if f.Strict {
			_, err = located.JSON(name, data)
		}
		of.unread = len(bytes.TrimSpace(data)) > 0 && (err != nil || of.there == nil)
	case !os.IsNotExist(err):
		of.there = nil
	}
	return of
}

// wrote returns a file as a build of a source writes it, nil where it writes none of that name.
func wrote(res *compiler.Result, name string) *contract.File {
	if res == nil {
		return nil
	}
	files := res.Files()
	i := slices.IndexFunc(files, func(f contract.File) bool { return f.Path == name })
	if i < 0 {
		return nil
	}
	return &files[i]
}

func parsed(name string, data []byte) *located.Value {
	v, err := located.Config(name, data)
	if err != nil {
		return nil
	}
	return v
}

// sourceChanges are the differences between a file and what a build writes into it, on both sides of a change.
type sourceChanges struct {
	of             *contract.File
	builds         []located.Difference // from what a build wrote to what one writes
	before, beside []located.Difference // from what a build writes to what is there
	lacking        []located.Difference // from what is there now to what a build writes
}

func newSourceChanges(f *contract.File, old, now twoSaid) *sourceChanges {
	return &sourceChanges{
		of: f, builds: located.Differences(old.source, now.source),
		before: located.Differences(old.source, old.there), beside: located.Differences(now.source, now.there),
		lacking: located.Differences(now.there, now.source),
	}
}

// say reports whether a change of the file comes from the source: what is new is what a build writes now, and what is
// gone a build wrote before and does not any more.
func (c *sourceChanges) say(d located.Difference) bool {
	among := func(list []located.Difference, v *located.Value) bool {
		return slices.ContainsFunc(list, func(x located.Difference) bool {
			return x.After != nil && related(c.of, d, x, v, x.After)
		})
	}
	if slices.ContainsFunc(c.builds, func(x located.Difference) bool {
		return x.Place == d.Place && alike(c.of, d.Place, x.Before, d.Before) && alike(c.of, d.Place, x.After, d.After)
	}) {
		return true
	}
	if d.After != nil {
		return !among(c.beside, d.After)
	}
	return !among(c.lacking, d.Before) && !among(c.before, d.Before)
}

// related reports whether two differences are about the same: of one place the same values, or of a value in the
// other's.
func related(f *contract.File, d, x located.Difference, v, other *located.Value) bool {
	if d.Place == x.Place {
		return !strings.HasSuffix(d.Place, "/-") || alike(f, d.Place, v, other)
	}
	return liesIn(d.Place, x.Place) || liesIn(x.Place, d.Place)
}

// liesIn reports whether a place is another one, or lies in it.
func liesIn(place, in string) bool { return place == in || strings.HasPrefix(place, in+"/") }

// alike reports whether two values say the same, in whatever spelling of the target's rules.
func alike(f *contract.File, place string, a, b *located.Value) bool {
	text := func(v *located.Value) string {
		if s, ok := v.Str(); ok && f.Spelled != nil {
			if said := f.Spelled(strings.TrimSuffix(place, "/-"), s); said != "" {
				return said
			}
		}
		if v == nil {
			return ""
		}
		return string(contract.JSONLine(v.Any()))
	}
	return text(a) == text(b)
}

// straysIn returns the subjects and servers that lie in a side's files and not in its source.
func (p diffSide) straysIn(e *env, ignored ignoring) []diff.Stray {
	return migrate.Strays(e.ctx, migrate.Request{Root: p.tree, Targets: e.targets,
		Ignored: ignored}, p.res)
}

// atEntries puts what is said of a file with entries of people's own at each of those that they changed.
func (e *env) atEntries(res *compiler.Result, list diag.List) (out diag.List) {
	for _, d := range list {
		var entries []located.Difference
		if d.Code == diag.Touched {
			entries, _ = e.changedEntries(res, d.Pos.File)
		}
		if len(entries) == 0 {
			out = append(out, d)
		}
		for _, x := range entries {
			at := d
			at.Pos, at.Message = x.Pos, d.Message+": "+x.Path+" "+x.Text
			out = append(out, at)
		}
	}
	return out
}
