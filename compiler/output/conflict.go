package output

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/located"
)

// merging reports whether git's merge left a conflict in a file that builds wrote, in whole or in part, and of which a
// build makes want.
func (w *writer) merging(p string, have, want []byte) bool {
	if !w.lock.knows(p) && !w.pending.knows(p) {
		return false
	}
	return diag.ConflictLine(have) > 0 && diag.ConflictLine(want) == 0 // a text about merges has such lines too
}

// inConflict reports a file in which git's merge left a conflict.
func (w *writer) inConflict(code diag.Code, p, target string, text []byte) {
	w.diags.Errorf(code, diag.Pos{File: p, Line: diag.ConflictLine(text), Col: 1}, diag.LeftConflict).Target(target)
}

// tellConflicts says behind the last of the files in conflict how all of them are mended.
func (w *writer) tellConflicts() {
	var names []string
	last := -1
	for i, d := range w.diags {
		if d.Message == diag.LeftConflict {
			names, last = append(names, contract.ShellQuote(d.Pos.File)), i
		}
	}
	if last < 0 {
		return
	}
	hint := "merge the source, then `git checkout HEAD -- " + strings.Join(names, " ") + " && modec build`"
	if len(w.others) > 0 {
		hint += "; then add again what people wrote on the other side alone: " + strings.Join(w.others, ", ")
	}
	w.diags[last].Hint = hint
}

// mostOthers is how many entries of a file of the other side a hint names.
const mostOthers = 10

// tellOthers notes what people wrote into a file in conflict on the other side alone: who takes the file of the last
// commit loses it.
func (w *writer) tellOthers(p string, want []byte, entries jsonedit.Pattern) {
	list, known := w.othersOf(p, want, entries)
	if !known {
		w.others = append(w.others, "look into "+p)
		return
	}
	for i, d := range list {
		if i == mostOthers {
			w.others = append(w.others, fmt.Sprintf("%d more in %s", len(list)-i, p))
			break
		}
		w.others = append(w.others, fmt.Sprintf("%s %s %s", p, d.Path, d.Text))
	}
}

// othersOf returns what a build makes of a file of the other side of a merge, and not of the last commit's: what people
// wrote there alone. known is false where one of the two cannot be read.
func (w *writer) othersOf(
	p string, want []byte, entries jsonedit.Pattern,
) (list []located.Difference, known bool) {
	if w.opt.Other == nil || w.opt.Committed == nil {
		return nil, false
	}
	var owned []jsonedit.Entries
	lock, _ := w.opt.Other(LockFile)
	for _, text := range [][]byte{w.opt.Committed(LockFile), lock, w.opt.LockText()} {
		if l, err := parseLock(text); err == nil && l.Entries[p] != nil {
			owned = append(owned, l.Entries[p])
		}
	}
	built := func(have []byte) *located.Value {
		res, err := jsonedit.Merge(have, want, entries, owned, jsonedit.Overwrite)
		if err != nil {
			return nil
		}
		v, err := located.Config(p, res.Data)
		if err != nil {
			return nil
		}
		return v
	}
	other, first := w.opt.Other(p)
	ours, theirs, base := built(w.opt.Committed(p)), built(other), built(first)
	if ours == nil || theirs == nil {
		return nil, false
	}
	wrote := located.Differences(base, theirs)
	return slices.DeleteFunc(located.Differences(ours, theirs), func(d located.Difference) bool {
		same := func(x located.Difference) bool { return x.Place == d.Place && x.Text == d.Text }
		if base == nil {
			return d.After == nil
		}
		return !slices.ContainsFunc(wrote, same)
	}), true
}
