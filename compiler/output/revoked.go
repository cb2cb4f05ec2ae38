package output

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/secret"
)

// before returns the places of the entries that a file had when modec last wrote or read it, also where a
// build was interrupted since. What is not there any more, somebody took out.
func (w *writer) before(p string, entries *jsonedit.Pattern) (places []string) {
	if l := w.lock; l.knows(p) {
		places = l.places(p)
	} else if o, ok := w.record().Original(p); ok && w.record().Stands(o, w.read) {
		places = entries.In(o.Data)
	}
	if w.pending != nil { // the build may have taken one out
		left := w.pending.places(p)
		places = slices.DeleteFunc(places, func(at string) bool { return !slices.Contains(left, at) })
	}
	return places
}

// knows reports whether a lock says anything of a path.
func (l *Lock) knows(p string) bool {
	if l == nil {
		return false
	}
	_, adopted := l.Adopted[p]
	return adopted || l.Artifacts[p] != "" || len(l.Theirs[p]) > 0
}

// places returns where entries that are emitted stand in a file.
func (l *Lock) places(p string) []string {
	places := slices.Clone(l.Theirs[p])
	for at, sum := range l.Entries[p] {
		if sum != jsonedit.Container {
			places = append(places, at)
		}
	}
	return places
}

// again returns those entries which a merge adds to a file that somebody took out of it. A file of modec's that is gone
// as a whole is written again, as any artifact.
func (w *writer) again(p string, have []byte, entries jsonedit.Pattern, added []jsonedit.Added) []jsonedit.Added {
	if len(added) == 0 || have == nil && !w.tookOver(p) {
		return nil
	}
	return entries.Again(added, w.before(p, &entries))
}

// named returns entries as a report names them.
func named(list []jsonedit.Added) (names []string) {
	for _, a := range list {
		names = append(names, secret.Text(a.What))
	}
	return names
}

// revokedState is the state of a file out of which somebody took entries, or which is gone.
func revokedState(have []byte) State {
	if have == nil {
		return Removed
	}
	return Edited
}

// tookOver reports whether a path that is not there had a person's file, in whose place modec writes.
func (w *writer) tookOver(p string) bool {
	if w.pending != nil && w.pending.Artifacts[p] == "" {
		return false // the build may have removed it
	}
	if w.lock.knows(p) {
		return w.lock.Adopted[p].Built != "" || len(w.lock.Theirs[p]) > 0
	}
	o, ok := w.record().Original(p)
	return ok && w.record().Stands(o, w.read)
}

// refuseAgain reports the entries that somebody took out of a file, and that the build would permit again.
func (w *writer) refuseAgain(target, p string, have []byte, list []jsonedit.Added) {
	const most = 8
	names := named(list[:min(len(list), most)])
	for i := range names {
		names[i] = strconv.Quote(names[i])
	}
	text := strings.Join(names, ", ")
	if n := len(list) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	if have == nil {
		w.diags.Errorf(diag.Edited, diag.Pos{File: p},
			"somebody removed this file since modec %s, and a build would permit again what it says: %s",
			w.last(p), text).
			Hint(takesOut).Target(target)
		return
	}
	w.diags.Errorf(diag.Edited, diag.Pos{File: p},
		"somebody took out what a build would permit again, since modec %s: %s", w.last(p), text).
		Hint(movesIn).Target(target)
}

// takenAway marks a file of a person's in whose place modec writes, and which somebody removed. Only force
// writes it again.
func (w *writer) takenAway(c *Change) {
	if !w.tookOver(c.Path) {
		return
	}
	if c.State = Removed; w.opt.Force || w.opt.Check {
		return
	}
	w.diags.Errorf(diag.Edited, diag.Pos{File: c.Path},
		"somebody removed this file since modec %s, and a build would permit again what it says", w.last(c.Path)).
		Hint(takesOut).Target(c.Target)
}

// last says what modec did last with a file.
func (w *writer) last(p string) string {
	if w.lock.knows(p) {
		return "wrote it"
	}
	return "read it"
}

// withTheirs returns the merge of a file that is gone with what people wrote in it, and where that comes from: as the
// last build left the file, or what they had before modec took it over. It returns the merge without where neither is
// known, or does not fit any more.
func (w *writer) withTheirs(
	p string, have, want []byte, entries jsonedit.Pattern, without jsonedit.Result,
) (res jsonedit.Result, from string) {
	if have != nil || want == nil || !w.lock.knows(p) || w.pending != nil {
		return without, ""
	}
	owned := []jsonedit.Entries{w.lock.Entries[p]}
	var left []byte
	if w.opt.Left != nil {
		left, from = w.opt.Left(w.opt.LockText(), p), "the last build"
	}
	if left == nil {
		o, ok := w.record().Original(p)
		if !ok || !w.lock.Adopted[p].is(o.Data) {
			return without, ""
		}
		left, from = o.Data, "the time before modec"
		owned = append(owned, jsonedit.Adopt(left, entries, o.Taken))
	}
	res, err := jsonedit.Merge(left, want, entries, owned, false)
	if err != nil || len(res.Conflicts) > 0 || sameJSON(res.Data, without.Data) {
		return without, ""
	}
	return res, from
}
