package output

import (
	"bytes"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/located"
)

// mendAndBuild says what to do about a file that modec cannot add its entries to.
const mendAndBuild = "mend it, or move it away; then `modec build`"

// unmerged reports a merged file that cannot be read.
func unmerged(diags *diag.List, name, p string, err error) {
	diags.Errorf(diag.CannotMerge, located.PlaceOf(p, err),
		"the file is not JSON, and modec cannot add its entries: %s", located.Reason(err)).
		Hint(mendAndBuild).
		Target(name)
}

// unloaded reports a merged file of which the agent loads nothing, whatever modec adds to it, and returns true for one.
func unloaded(diags *diag.List, name string, f *contract.File, have []byte) bool {
	if !f.Strict || len(bytes.TrimSpace(have)) == 0 {
		return false
	}
	_, err := located.JSON(f.Path, have)
	if err != nil {
		diags.Errorf(diag.CannotMerge, located.PlaceOf(f.Path, err),
			"the file is not JSON, and the agent loads nothing of it: %s", located.Reason(err)).
			Hint(mendAndBuild).
			Target(name)
	}
	return err != nil
}

// conflicts reports the entries of a merged file that are a person's, and returns true
// where there are any.
func conflicts(diags *diag.List, name, p string, list []jsonedit.Conflict) bool {
	for _, x := range list {
		at := diag.Pos{File: p, Line: x.Line, Col: 1}
		switch {
		case x.Got != "":
			diags.Errorf(diag.NotOurs, at, "%q is %s, where modec's entries do not fit", x.Place, x.Got).
				Hint("mend it, or move the file away").Target(name)
		case x.Edited:
			diags.Errorf(diag.Edited, at,
				"somebody edited the entry %q since modec wrote it; modec leaves it alone", x.Place).
				Hint(movesIn).Target(name)
		default:
			diags.Errorf(diag.NotOurs, at, "modec did not write the entry %q and leaves it alone", x.Place).
				Hint("rename one of the two, or `modec build --force` overwrites it, and keeps a copy").Target(name)
		}
	}
	return len(list) > 0
}
