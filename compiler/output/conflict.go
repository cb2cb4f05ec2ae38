package output

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
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
	if len(w.shared) > 0 {
		hint += "; what people wrote into " + strings.Join(w.shared, " and ") + " on the other side alone, add again"
	}
	w.diags[last].Hint = hint
}
