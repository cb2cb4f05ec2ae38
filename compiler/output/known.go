package output

import (
	"modec.dev/modec/compiler/diag"
)

// Known is what was found in a project when modec took over what its team had: the warnings of lint and of the agents'
// models, as the lock has them. It is no reason to stop anybody until somebody changes the entry.
type Known struct{ left map[string]int }

// KnownOf returns what the bytes of a lock say that was known; nothing, for a lock that cannot be read.
func KnownOf(lock []byte) *Known {
	k := &Known{left: map[string]int{}}
	if l, err := parseLock(lock); err == nil {
		for _, line := range l.Known {
			k.left[line]++
		}
	}
	return k
}

// Has reports whether a line is known.
func (k *Known) Has(line string) bool { return k.left[line] > 0 }

// Ease makes a warning a note if it is known, as many times as it was found.
func (k *Known) Ease(d *diag.Diagnostic) {
	line := KnownLine(d)
	if d.Severity != diag.Warning || k.left[line] == 0 {
		return
	}
	k.left[line]--
	Before(d)
}

// Before makes a warning a note that says that it was there before modec.
func Before(d *diag.Diagnostic) {
	if d.Severity == diag.Warning {
		d.Severity = diag.Note
		d.Message += ": so it was before modec"
		d.Accepts = nil // nobody has to
	}
}

// KnownLine returns what tells a finding from others, wherever it stands in its file.
func KnownLine(d *diag.Diagnostic) string {
	return string(d.Code) + " " + d.Pos.File + ": " + diag.Clean(d.Message)
}
