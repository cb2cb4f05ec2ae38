package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/secret"
)

// built returns whether a text is a file as the last build left it. It reports false where nothing was built.
func (e *env) built() (asBuilt func(file string, data []byte) bool, ok bool) {
	lock := e.lock()
	return output.AsBuilt(lock), lock != nil
}

// lock returns the text of the lock; nil where there is none.
func (e *env) lock() []byte {
	opt := e.outputs(e.dir)
	return opt.LockText()
}

// besides returns what people changed in a file beside modec's entries since the last build. It reports false
// where neither git's history nor the user's own record has the file as that build left it.
func (e *env) besides(file string) (list []located.Difference, known bool) {
	asBuilt, ok := e.built()
	have, err := contract.ReadPlain(filepath.Join(e.dir, filepath.FromSlash(file)))
	if !ok || err != nil {
		return nil, false
	}
	return e.changedSince(asBuilt, file, have)
}

// changedSince does so for a file with its content.
func (e *env) changedSince(
	asBuilt func(string, []byte) bool, file string, have []byte,
) (list []located.Difference, known bool) {
	left := e.leftAt(asBuilt, file)
	if left == nil {
		return nil, false
	}
	before, after := parsed(file, left), parsed(file, have)
	if before == nil || after == nil {
		return nil, false
	}
	return located.Differences(before, after), true
}

// leftAt returns a file as the last build left it: of git's last commit, of the user's own record, or of git's history,
// since who edits a file may commit that. It returns nil where none of them has it.
func (e *env) leftAt(asBuilt func(string, []byte) bool, file string) (left []byte) {
	if data := gittree.Committed(e.ctx, e.dir, file); data != nil && asBuilt(file, data) {
		return data
	}
	if o, ok := originals.Load(e.dir).Original(file); ok && asBuilt(file, o.Data) {
		return o.Data
	}
	ctx, cancel := context.WithTimeout(e.ctx, historyTime)
	defer cancel()
	err := gittree.Versions(ctx, e.dir, file, func(data []byte) bool {
		if asBuilt(file, data) {
			left = data
		}
		return left == nil
	})
	if err != nil { // no git, no commit, or too many of them: it is not known
		return nil
	}
	return left
}

// historyTime is how long git may look for a file of before in its history.
const historyTime = 3 * time.Second

// beyond returns what a file has beside what the source makes of it and beside what it had when modec took it over, as
// far as that is known.
func (e *env) beyond(f *contract.File) (list []located.Difference) {
	have, err := contract.ReadPlain(filepath.Join(e.dir, filepath.FromSlash(f.Path)))
	if err != nil {
		return nil
	}
	there, says := parsed(f.Path, have), parsed(f.Path, f.Data)
	if there == nil || says == nil {
		return nil
	}
	unsaid := located.Differences(says, there)
	if was := parsed(f.Path, e.original(f.Path)); was != nil {
		list = located.Differences(was, there)
	} else { // what is another value than the source's, no build would leave alone
		list = slices.DeleteFunc(slices.Clone(unsaid), func(d located.Difference) bool { return d.Before != nil })
	}
	return slices.DeleteFunc(list, func(d located.Difference) bool {
		about := func(u located.Difference) bool {
			item := strings.HasSuffix(d.Place, "/-")
			return u.After != nil && (u.IsAt(d) || !item && (liesIn(d.Place, u.Place) || liesIn(u.Place, d.Place)))
		}
		return d.After == nil || inSource(f, says, d) || !slices.ContainsFunc(unsaid, about)
	})
}

// original returns a file as it was when modec took it over, by the user's own record or by git; nil where neither has
// it.
func (e *env) original(file string) []byte {
	record := originals.Load(e.dir)
	o, known := record.Original(file)
	if known && record.Left[file] == "" {
		return o.Data
	}
	lock := e.lock()
	switch {
	case lock == nil: // what was before modec says nothing of a file that `clean --keep` left to them
		return nil
	case known:
		return o.Data
	}
	data, err := gittree.Blob(e.ctx, e.dir, output.AdoptedBlob(lock, file))
	if err != nil {
		return nil
	}
	return data
}

// inSource reports whether an item of a list is one of the source's in another spelling.
func inSource(f *contract.File, says *located.Value, d located.Difference) bool {
	list, ofList := strings.CutSuffix(d.Place, "/-")
	return ofList && slices.ContainsFunc(valueAt(says, list).List(), func(x *located.Value) bool {
		return alike(f, d.Place, x, d.After)
	})
}

// valueAt returns the value at a place, nil where there is none.
func valueAt(v *located.Value, place string) *located.Value {
	for _, key := range strings.Split(strings.TrimPrefix(place, "/"), "/") {
		v = v.Get(key)
	}
	return v
}

// changedEntries returns what people changed in a file beside modec's entries. Where no version is known that the last
// build left, it reports false, and returns what the file has beside the source.
func (e *env) changedEntries(res *compiler.Result, file string) (list []located.Difference, known bool) {
	if list, known = e.besides(file); known {
		return list, true
	}
	if f := wrote(res, file); f != nil {
		list = e.beyond(f)
	}
	for i := range list {
		list[i].Text += ", which the source does not say"
	}
	return list, false
}

// mostChanged is how many entries of a file a report names.
const mostChanged = 10

// tellBeside prints what people changed in a file beside modec's entries.
func (e *env) tellBeside(res *compiler.Result, file string) {
	list, known := e.changedEntries(res, file)
	for i, d := range list {
		if i == mostChanged && !e.ui.Verbose {
			e.ui.Printf("  and %d more: -v\n", len(list)-i)
			break
		}
		e.ui.Printf("  %s %s %s\n", diag.Clean(d.Pos.String()), diag.Clean(d.Path), diag.Clean(d.Text))
	}
	switch {
	case len(list) > 0:
	case known:
		e.ui.Printf("  nothing but the order of entries, or how often one is there\n")
	default:
		e.ui.Printf("  what is gone is not known: neither git's history nor your own record has the file as the last " +
			"build left it\n")
	}
}

// runsOf returns what agents run and take over from files beside what the source allows, but for those that belong
// to one person.
func runsOf(res *compiler.Result, files fs.FS, targets []contract.Target) (list []contract.Run) {
	subjects := subjectsIn(res.Project)
	if base := (ir.SubjectRef{Role: res.Project.Baseline}); base.Role != "" {
		subjects = append([]ir.SubjectRef{base}, slices.DeleteFunc(subjects, func(ref ir.SubjectRef) bool {
			return ref == base
		})...)
	}
	for _, t := range targets {
		if r, ok := t.(contract.Runner); ok {
			for _, x := range r.Runs(files, artifactsOf(res, t), res.Project, subjects) {
				if contract.IsPrivate(targets, x.Of) {
					continue
				}
				x.Text = secret.Text(x.Text)
				list = append(list, x)
			}
		}
	}
	return list
}

// shared leaves out what files say that git ignores.
func (e *env) shared(list []contract.Run) []contract.Run {
	var names []string
	for _, x := range list {
		names = append(names, x.Of)
	}
	ignored := e.ignored(e.dir, e.dir)(e.ctx, names)
	return slices.DeleteFunc(list, func(x contract.Run) bool { return slices.Contains(ignored, x.Of) })
}

// keptEntry is what people wrote into a file, and a build leaves beside what the source says.
type keptEntry struct {
	file contract.File
	have *located.Value // of the file before the build
	located.Difference
}

// keptBeside returns what a build keeps of what people wrote into files of theirs since the last one: not what the
// source says by now, nor that an entry of modec's is gone. Of what they wrote earlier it returns what the source said,
// too, and says no longer; where there was no build, all that is beside the source and was not imported.
func (e *env) keptBeside(res *compiler.Result) (list []keptEntry) {
	lock := e.lock()
	asBuilt, built, theirs := output.AsBuilt(lock), output.Wrote(lock), output.Theirs(lock)
	for _, f := range res.Files() {
		if f.Places == nil {
			continue
		}
		have, err := contract.ReadPlain(filepath.Join(e.dir, filepath.FromSlash(f.Path)))
		as := asBuilt(f.Path, have)
		if err != nil || as && len(theirs[f.Path]) == 0 {
			continue
		}
		there := parsed(f.Path, have)
		var found []located.Difference
		switch {
		case lock == nil:
			found = e.beyond(&f)
		case !as:
			since, known := e.changedSince(asBuilt, f.Path, have)
			if found = besideSource(f, since, have, built); !known {
				found = e.beyond(&f)
			}
		}
		for _, d := range append(found, unsaidOf(&f, there, theirs[f.Path])...) {
			list = append(list, keptEntry{f, there, d})
		}
	}
	for _, file := range output.TookOver(lock) { // of which a build writes nothing
		have, err := contract.ReadPlain(filepath.Join(e.dir, filepath.FromSlash(file)))
		if err != nil || wrote(res, file) != nil || asBuilt(file, have) {
			continue
		}
		since, _ := e.changedSince(asBuilt, file, have)
		for _, d := range since {
			list = append(list, keptEntry{contract.File{Path: file}, nil, d})
		}
	}
	return list
}

// unsaidOf returns the items of people's own in a file that the source said at the last build, at some places, and says
// no longer.
func unsaidOf(f *contract.File, there *located.Value, theirs []string) (list []located.Difference) {
	says := parsed(f.Path, f.Data)
	if len(theirs) == 0 || says == nil || there == nil {
		return nil
	}
	for _, d := range located.Differences(says, there) {
		if place, ok := d.Item(); ok && slices.Contains(theirs, place) && !inSource(f, says, d) {
			d.Text += ", which the source no longer says"
			list = append(list, d)
		}
	}
	return list
}

// tellKept prints what a build left of what people wrote, by its changes: what it takes out is not left.
func (e *env) tellKept(list []keptEntry, changes []output.Change) {
	for _, k := range list {
		i := slices.IndexFunc(changes, func(c output.Change) bool { return c.Path == k.file.Path })
		if i >= 0 && k.After != nil && k.have != nil {
			_, data := changes[i].Texts()
			if now := parsed(k.file.Path, data); now != nil && slices.ContainsFunc(located.Differences(now, k.have),
				func(d located.Difference) bool {
					return d.Place == k.Place && d.After != nil && alike(&k.file, d.Place, d.After, k.After)
				}) {
				continue
			}
		}
		e.ui.Note("left as people wrote it, beside what the source says: %s\n",
			diag.Clean(fmt.Sprintf("%s %s %s", k.Pos, k.Path, k.Text)))
	}
}

// unmade reports whether an entry of a list that is gone is none of the source's either: nothing is beside it then.
func unmade(f contract.File, says *located.Value, d located.Difference) bool {
	list, ofList := strings.CutSuffix(d.Place, "/-")
	return ofList && slices.Contains(f.Places, d.Place) && !slices.ContainsFunc(valueAt(says, list).List(),
		func(x *located.Value) bool { return alike(&f, d.Place, x, d.Before) })
}

// besideSource returns those of the changes of a file that are people's own.
func besideSource(
	f contract.File, list []located.Difference, have []byte, wrote func(file, place string) bool,
) (out []located.Difference) {
	says, there := parsed(f.Path, f.Data), parsed(f.Path, have)
	if says == nil || there == nil {
		return list
	}
	unsaid := located.Differences(says, there)
	for _, d := range list {
		place := "/" + strings.ReplaceAll(d.Path, ".", "/")
		gone, is := strings.CutPrefix(d.Text, "no longer has ")
		switch {
		case d.After == nil && slices.Contains(f.Restrains, d.Place) || d.After == nil && unmade(f, says, d):
		case is && (wrote(f.Path, place) || wrote(f.Path, place+"/"+strings.Trim(gone, `"`))):
		case !is && !slices.ContainsFunc(unsaid, func(u located.Difference) bool {
			changed := d.Before != nil && d.After != nil // a value, whose place is not that of its key
			return d.IsAt(u) || changed && u.Place == d.Place
		}):
		default:
			out = append(out, d)
		}
	}
	return out
}
