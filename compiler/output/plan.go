package output

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/layout"
)

// plan compares what was emitted with what is there.
func (w *writer) plan(b Build) []Change {
	var changes []Change
	compiled := map[string]bool{}
	emitted := map[string]bool{}
	add := func(name string, f contract.File, style *layout.Style) {
		emitted[f.Path] = true
		if f.Places != nil {
			if c, ok := w.merge(name, f.Path, &f); ok {
				changes = append(changes, c)
			}
			return
		}
		c := Change{Target: name, Path: f.Path, data: f.Data}
		w.judge(&c, style)
		c.Bytes, c.SHA256 = len(c.data), Sum(c.data)
		changes = append(changes, c)
	}
	for _, o := range b.Outputs {
		compiled[o.Target.Name()] = true
		laid, _ := o.Target.(contract.LaidOut)
		for _, f := range o.Files {
			var style *layout.Style
			if laid != nil {
				style = laid.Layout(f.Path)
			}
			add(o.Target.Name(), f, style)
		}
	}
	all := w.dropped(b)
	dropped := namesOf(all)
	maps.Copy(compiled, dropped)
	for _, o := range b.Outputs {
		all = append(all, o.Target)
	}
	changes = append(changes,
		w.removals(all, func(name, p string) bool { return !emitted[p] && compiled[name] })...)
	if len(dropped) == 0 {
		return changes
	}
	return w.restored(changes, func(c *Change) bool { return dropped[c.Target] && !emitted[c.Path] })
}

// dropped returns the targets that the project no longer has. A build takes out what was written for them, as a clean
// would.
func (w *writer) dropped(b Build) []contract.Target {
	if b.Partial {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(w.opt.Targets), func(t contract.Target) bool {
		return slices.ContainsFunc(b.Outputs, func(o contract.Artifacts) bool { return o.Target.Name() == t.Name() })
	})
}

// namesOf returns the set of the names of targets.
func namesOf(targets []contract.Target) map[string]bool {
	names := map[string]bool{}
	for _, t := range targets {
		names[t.Name()] = true
	}
	return names
}

// removals returns what happens to the artifacts in the locks that no build emits any
// more. It ignores a path that its target does not own, whatever a lock says.
func (w *writer) removals(all []contract.Target, gone func(target, path string) bool) (changes []Change) {
	mine := func(name, p string) bool {
		owns := func(t contract.Target) bool { return t.Name() == name && contract.Owns(t, p) }
		return slices.ContainsFunc(all, owns)
	}
	known := map[string]string{}
	for _, l := range []*Lock{w.lock, w.pending} {
		if l != nil {
			maps.Copy(known, l.Artifacts)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(known)) {
		name, hash := splitArtifact(known[p])
		if !gone(name, p) || !mine(name, p) || w.untouched(p) {
			continue
		}
		if hash == mergedFile {
			if c, ok := w.merge(name, p, nil); ok {
				changes = append(changes, c)
			}
			continue
		}
		if c := (Change{Target: name, Path: p, Action: Remove}); w.removable(&c) {
			changes = append(changes, c)
		}
	}
	return changes
}

// PatternOf returns which entries of a file that people write too a target writes.
func PatternOf(f *contract.File) jsonedit.Pattern {
	return jsonedit.Pattern{Places: f.Places, Keys: f.Keys, Whole: f.Whole, Once: f.Once, Resting: f.Resting,
		Sets: f.Sets, Defaults: f.Defaults, Renamed: f.Renamed, Spelled: f.Spelled, Alike: f.Alike}
}

// merge decides what happens to a file that people write too; f is nil where it
// is no longer emitted. ok is false where nothing happens to it, or where it is in the
// way.
func (w *writer) merge(name, p string, f *contract.File) (c Change, ok bool) {
	var want []byte
	var entries jsonedit.Pattern
	var restrains, about []string // the entries at the former places permit nothing
	if f != nil {
		want, entries, restrains, about = f.Data, PatternOf(f), f.Restrains, f.About
	}
	have, err := w.read(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if want == nil {
			w.gone = append(w.gone, p)
			return c, false
		}
	case errors.Is(err, errNotRegular) && want == nil:
		return c, false
	case err != nil:
		w.diags.Errorf(diag.CannotWrite, diag.Pos{File: p}, "%v", w.reason(p, err))
		return c, false
	}
	if w.unfit(name, p, f, have, want) {
		return c, false
	}
	owned := w.ownedOf(p, have, want, entries)
	entries.Before = w.before(p, &entries)
	res, err := jsonedit.Merge(have, want, entries, owned, false)
	w.editedTheirs(p, res.Conflicts)
	state, forced := w.sharedState(p, have, res.Conflicts), len(res.Conflicts) > 0
	if err == nil && (w.opt.Check || w.opt.Force) && forced {
		res, err = jsonedit.Merge(have, want, entries, owned, true)
	}
	if err != nil {
		unmerged(&w.diags, name, p, err)
		return c, false
	}
	if conflicts(&w.diags, name, p, res.Conflicts) {
		return c, false
	}
	again := w.again(p, have, entries, res.Added)
	revoked := slices.DeleteFunc(slices.Clone(again),
		func(a jsonedit.Added) bool { return slices.Contains(restrains, a.Pattern) })
	if len(revoked) > 0 && !w.opt.Force && !w.opt.Check {
		w.refuseAgain(name, p, have, revoked)
		return c, false
	}
	res, back := w.withTheirs(p, have, want, entries, res)
	c = Change{
		Target:  name,
		Path:    p,
		Back:    back,
		Bytes:   len(res.Data),
		SHA256:  Sum(res.Data),
		Action:  Update,
		Merged:  true,
		State:   state,
		data:    res.Data,
		have:    have,
		entries: res.Entries,
		places:  entries.Places,
		about:   about,
		theirs:  res.Theirs,
		stops:   forced || len(revoked) > 0,
		Again:   named(again),
	}
	switch {
	case res.Data == nil:
		c.Action, c.SHA256 = Remove, ""
	case have == nil:
		c.Action, c.State = Create, Missing
	case bytes.Equal(have, res.Data):
		c.Action, c.State = Unchanged, ""
	}
	if len(revoked) > 0 {
		c.State = revokedState(have)
	}
	if want == nil && !forced {
		c.State = Orphaned
	}
	return c, want != nil || c.Action != Unchanged
}

// editedTheirs marks what people wrote, and the source said too at the last build: somebody changed it since.
func (w *writer) editedTheirs(p string, list []jsonedit.Conflict) {
	if w.lock == nil {
		return
	}
	for i := range list {
		x := &list[i]
		x.Edited = x.Edited || x.Got == "" && slices.Contains(w.lock.Theirs[p], x.Place)
	}
}

// merging reports whether git's merge left a conflict in a file that builds wrote, in whole or in part, and of which a
// build makes want.
func (w *writer) merging(p string, have, want []byte) bool {
	if !w.lock.knows(p) && !w.pending.knows(p) {
		return false
	}
	return diag.ConflictLine(have) > 0 && diag.ConflictLine(want) == 0 // a text about merges has such lines too
}

// unfit reports a file that no build can add entries to, or that loads nothing of them, and returns true for one.
func (w *writer) unfit(name, p string, f *contract.File, have, want []byte) bool {
	if w.merging(p, have, want) {
		w.diags.Errorf(diag.CannotMerge, diag.Pos{File: p, Line: diag.ConflictLine(have), Col: 1}, diag.LeftConflict).
			Hint(diag.MendConflict + "; then `modec build`").Target(name)
		return true
	}
	return f != nil && unloaded(&w.diags, name, f, have)
}

// ownedOf returns the entries of a file that people write too which are modec's, by what builds wrote and by
// what was taken over.
func (w *writer) ownedOf(p string, have, want []byte, entries jsonedit.Pattern) (owned []jsonedit.Entries) {
	for _, l := range []*Lock{w.lock, w.pending} {
		if l != nil && l.Entries[p] != nil {
			owned = append(owned, l.Entries[p])
		}
	}
	if o, ok := w.adoptable(p, have, want); ok {
		of := entries
		if of.Places == nil && w.settled != nil {
			of.Places = w.settled.Adopted[p].Places
		}
		owned = []jsonedit.Entries{jsonedit.Adopt(have, of, o.Taken)}
	} else if o, ok := w.edit(p, have); ok {
		taken := jsonedit.Adopt(have, entries, o.Taken)
		if !w.patched(p, o) { // what it still says of the patch
			says := jsonedit.Adopt(want, entries, o.Taken)
			maps.DeleteFunc(taken, func(place, _ string) bool { _, ok := says[place]; return !ok })
		}
		owned = append(owned, taken)
	}
	if contract.RunsHook(have) {
		owned = append(owned, jsonedit.Own(have, entries, contract.IsBuiltHook))
	}
	return owned
}

// sharedState says why a file that people write too is not as the source makes it. What an
// interrupted build wrote of it is not known, and no edit is then seen.
func (w *writer) sharedState(p string, have []byte, conflicts []jsonedit.Conflict) State {
	switch edited := func(x jsonedit.Conflict) bool { return x.Edited }; {
	case slices.ContainsFunc(conflicts, edited):
		return Edited
	case len(conflicts) > 0:
		return Foreign
	case w.pending == nil && w.lock != nil && w.lock.Entries[p].Edited(have):
		return Edited
	}
	return Stale
}

// judge decides what happens to the path of an emitted file, and reports one
// that is not modec's to replace. The lines of one that is there stay where they say the same.
func (w *writer) judge(c *Change, style *layout.Style) {
	var err error
	want := c.data
	if c.have, err = w.read(c.Path); err == nil {
		c.data = style.Keep(c.have, c.data, jsonedit.Rewrite, w.inPlace(c))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Action, c.State = Create, Missing
		w.takenAway(c)
	case errors.Is(err, errFolder):
		w.inTheWay(c.Path, c.Target)
		c.Action, c.State = Update, Foreign
	case err != nil:
		if !errors.Is(err, errNotRegular) || !w.opt.Force {
			w.diags.Errorf(diag.CannotWrite, diag.Pos{File: c.Path}, "%v", w.reason(c.Path, err))
		}
		c.Action, c.State = Update, Foreign
	case bytes.Equal(c.have, c.data):
		c.Action = Unchanged
	default:
		c.Action, c.State = Update, Stale
		w.mine(c)
		o, _ := w.record().Original(c.Path)
		if o.Import != "" && c.State == Edited && (w.opt.Force || w.opt.Check) {
			c.data = style.Keep(o.Data, want, jsonedit.Rewrite, true) // in the style of before the edit
		}
	}
}

// inPlace reports whether a value that differs is written as people write it: in a file that was taken over, unless it
// is to be overwritten.
func (w *writer) inPlace(c *Change) bool {
	if w.opt.Force {
		return false
	}
	for _, l := range []*Lock{w.lock, w.pending} {
		if l != nil {
			if _, ok := l.Adopted[c.Path]; ok {
				return true
			}
		}
	}
	_, imported := w.imported(c.Path, c.have)
	return imported
}

// inTheWay reports a folder in the place of a file. Nothing replaces it, not even by force.
func (w *writer) inTheWay(p, target string) {
	w.diags.Errorf(diag.CannotWrite, diag.Pos{File: p}, "%v", errFolder).
		Hint("move the folder away").
		Target(target)
}

// What becomes of an edit, and of a file that somebody removed.
const (
	movesIn = "move the change into the source (`modec migrate` offers a patch), " +
		"or `modec build --force` overwrites it, and keeps a copy"
	takesOut = "`modec build --force` writes it again, with people's own entries as far as they are known, " +
		"or take what it said out of the source (`modec migrate --apply` does)"
)

// mine reports whether a file may be replaced or removed, and otherwise that modec did
// not write it or that it changed since.
func (w *writer) mine(c *Change) bool {
	sum, recorded := Sum(c.have), false
	for _, l := range []*Lock{w.lock, w.pending} {
		if l == nil {
			continue
		}
		if v, ok := l.Artifacts[c.Path]; ok {
			recorded = true
			if _, hash := splitArtifact(v); hash == sum {
				return true
			}
		}
	}
	_, ok := w.imported(c.Path, c.have)
	if ok || w.said(c.Path, c.have) {
		c.State = Stale
		return true
	}
	if c.State = Foreign; recorded {
		c.State = Edited
	}
	if recorded && w.merging(c.Path, c.have, c.data) {
		c.State = Stale // it is built again
		return true
	}
	if w.opt.Force || w.opt.Check {
		return true
	}
	switch at := (diag.Pos{File: c.Path}); {
	case recorded && contract.ForMachines(c.Path):
		w.diags.Errorf(diag.Edited, at, "this file is not what modec wrote; modec leaves it alone").
			Hint("nobody edits it by hand: `modec build --force` writes it again").Target(c.Target)
	case recorded:
		w.diags.Errorf(diag.Edited, at, "somebody edited this file since modec wrote it; modec leaves it alone").
			Hint(movesIn).Target(c.Target)
	case w.left(c.Path, sum):
		w.diags.Errorf(diag.NotOurs, at, "`modec clean --keep` left this file to the team, and modec leaves it alone").
			Hint("`modec build --force` takes it over again, and keeps a copy").Target(c.Target)
	default:
		w.diags.Errorf(diag.NotOurs, at, "modec did not write this file and leaves it alone").
			Hint("move it away, or `modec build --force` overwrites it, and keeps a copy").Target(c.Target)
	}
	return false
}

func (w *writer) removable(c *Change) bool {
	var err error
	c.have, err = w.read(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.gone = append(w.gone, c.Path)
		return false
	case errors.Is(err, errNotRegular):
		return false // no longer what modec wrote: somebody else's now
	case err != nil:
		w.diags.Errorf(diag.CannotWrite, diag.Pos{File: c.Path}, "%v", w.reason(c.Path, err))
		return false
	}
	c.State = Orphaned
	return w.mine(c) && w.canHaveWritten(c)
}
