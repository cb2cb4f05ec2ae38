package output

import (
	"bytes"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// leftConflict is what is said of a file that git could not merge.
const leftConflict = "git's merge left a conflict in it"

// merging reports whether git's merge left a conflict in a file that builds wrote, in whole or in part, and of which a
// build makes want.
func (w *writer) merging(p string, have, want []byte) bool {
	if !w.lock.knows(p) && !w.pending.knows(p) {
		return false
	}
	return conflictLine(have) > 0 && conflictLine(want) == 0 // a text about merges has such lines too
}

// inConflict reports a file in which git's merge left a conflict.
func (w *writer) inConflict(code diag.Code, p, target string, text []byte) {
	w.diags.Errorf(code, diag.Pos{File: p, Line: conflictLine(text), Col: 1}, leftConflict).Target(target)
}

// conflictMarks begin the lines around the two sides of a conflict.
var conflictMarks = []string{"<<<<<<< ", "=======", ">>>>>>> "}

// conflictLine returns the line at which the first conflict begins, 0 where there is none.
func conflictLine(text []byte) (first int) {
	n, seen := 0, 0
	for line := range bytes.Lines(text) {
		n++
		if seen == len(conflictMarks) || !bytes.HasPrefix(line, []byte(conflictMarks[seen])) {
			continue
		}
		if seen++; seen == 1 {
			first = n
		}
	}
	if seen < len(conflictMarks) {
		return 0
	}
	return first
}

// tellConflicts says behind the last of the files in conflict how all of them are mended.
func (w *writer) tellConflicts() {
	var names []string
	last := -1
	for i, d := range w.diags {
		if d.Message == leftConflict {
			names, last = append(names, contract.ShellQuote(d.Pos.File)), i
		}
	}
	if last < 0 {
		return
	}
	hint := "merge the source, then `git checkout --ours " + strings.Join(names, " ") + " && modec build`"
	if len(w.shared) > 0 {
		hint += "; what people wrote into " + strings.Join(w.shared, " and ") + " on the other side alone, add again"
	}
	w.diags[last].Hint = hint
}
