package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

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
	name, _ := output.Locks(e.local)
	lock, err := os.ReadFile(filepath.Join(e.dir, filepath.FromSlash(name)))
	return output.AsBuilt(lock), err == nil
}

// besides returns what people changed in a file beside modec's entries since the last build. It reports false
// where neither git's last commit nor the user's own record has the file as that build left it.
func (e *env) besides(file string) (list []located.Difference, known bool) {
	asBuilt, ok := e.built()
	have, err := os.ReadFile(filepath.Join(e.dir, filepath.FromSlash(file)))
	if !ok || err != nil {
		return nil, false
	}
	return e.changedSince(asBuilt, file, have)
}

// changedSince does so for a file with its content.
func (e *env) changedSince(
	asBuilt func(string, []byte) bool, file string, have []byte,
) (list []located.Difference, known bool) {
	var left [][]byte
	if object := gittree.At(e.ctx, e.dir, file); object != "" {
		if data, err := gittree.Blob(e.ctx, e.dir, object); err == nil {
			left = append(left, data)
		}
	}
	if o, ok := originals.Load(e.home(e.dir)).Original(file); ok {
		left = append(left, o.Data)
	}
	i := slices.IndexFunc(left, func(data []byte) bool { return asBuilt(file, data) })
	if i < 0 {
		return nil, false
	}
	before, err := located.JSONC(file, left[i])
	if err != nil {
		return nil, false
	}
	after, err := located.JSONC(file, have)
	if err != nil {
		return nil, false
	}
	return located.Differences(before, after), true
}

// tellBeside prints what people changed in a file beside modec's entries.
func (e *env) tellBeside(file string) {
	list, known := e.besides(file)
	for _, d := range list {
		e.ui.printf("  %s %s %s\n", diag.Clean(d.Pos.String()), diag.Clean(d.Path), diag.Clean(d.Text))
	}
	if !known {
		e.ui.printf("  what changed is not known: git's last commit does not have the file as the last build left it\n")
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

// keptBeside returns what a build keeps of what people wrote into files of theirs since the last one: not what the
// source says by now, nor that an entry of modec's is gone.
func (e *env) keptBeside(res *compiler.Result) (lines []string) {
	asBuilt, ok := e.built()
	if !ok {
		return nil
	}
	for _, f := range res.Files() {
		if f.Places == nil {
			continue
		}
		have, err := os.ReadFile(filepath.Join(e.dir, filepath.FromSlash(f.Path)))
		if err != nil || asBuilt(f.Path, have) {
			continue
		}
		list, _ := e.changedSince(asBuilt, f.Path, have)
		for _, d := range besideSource(f, list, have, e.wrote()) {
			lines = append(lines, fmt.Sprintf("%s %s %s", d.Pos, d.Path, d.Text))
		}
	}
	return lines
}

// wrote returns whether the last build had an entry of modec's at a place of a file.
func (e *env) wrote() func(file, place string) bool {
	name, _ := output.Locks(e.local)
	lock, err := os.ReadFile(filepath.Join(e.dir, filepath.FromSlash(name)))
	if err != nil {
		return func(string, string) bool { return false }
	}
	return output.Wrote(lock)
}

// unmade reports whether an entry of a list that is gone is none of the source's either: nothing is beside it then.
func unmade(f contract.File, says *located.Value, d located.Difference) bool {
	list, ofList := strings.CutSuffix(d.Place, "/-")
	for _, key := range strings.Split(strings.TrimPrefix(list, "/"), "/") {
		says = says.Get(key)
	}
	return ofList && slices.Contains(f.Places, d.Place) && !slices.ContainsFunc(says.List(),
		func(x *located.Value) bool { return alike(&f, d.Place, x, d.Before) })
}

// besideSource returns those of the changes of a file that are people's own.
func besideSource(
	f contract.File, list []located.Difference, have []byte, wrote func(file, place string) bool,
) (out []located.Difference) {
	says, err := located.JSONC(f.Path, f.Data)
	if err != nil {
		return list
	}
	there, err := located.JSONC(f.Path, have)
	if err != nil {
		return list
	}
	unsaid := located.Differences(says, there)
	for _, d := range list {
		place := "/" + strings.ReplaceAll(d.Path, ".", "/")
		gone, is := strings.CutPrefix(d.Text, "no longer has ")
		switch {
		case d.After == nil && slices.Contains(f.Restrains, d.Place) || d.After == nil && unmade(f, says, d):
		case is && (wrote(f.Path, place) || wrote(f.Path, place+"/"+strings.Trim(gone, `"`))):
		case !is && !slices.ContainsFunc(unsaid, d.IsAt):
		default:
			out = append(out, d)
		}
	}
	return out
}
