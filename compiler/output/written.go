package output

import (
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/originals"
)

// wrote returns what this user's builds wrote, nil where nothing is recorded.
func (w *writer) wrote() *originals.Written {
	if w.written == nil && w.opt.Written != nil {
		w.written = w.opt.Written()
	}
	return w.written
}

// canHaveWritten reports whether modec wrote a file for all that is known beside the lock, and otherwise says
// that it stays. By force it goes, with a copy.
func (w *writer) canHaveWritten(c *Change) bool {
	if w.opt.Written == nil || contract.ForMachines(c.Path) || w.wrote().Anywhere(c.Path, Sum(c.have)) ||
		w.opt.InGit != nil && w.opt.InGit(c.Path, gitBlob(c.have)) {
		return true
	}
	if a, known := w.adoption(c.Path); known && a.is(c.have) {
		return true // what is there is put back
	}
	if _, own := w.record().Original(c.Path); own {
		return true // a build of this user's took it over
	}
	if w.opt.Force {
		c.lost = true
		return true
	}
	w.diags.Warnf(diag.NotOurs, diag.Pos{File: c.Path},
		"modec.lock says that modec wrote this file, and nothing else does: it is left alone").
		Hint("remove it if nobody needs it; `modec clean --force` removes it, and keeps a copy").Target(c.Target)
	return false
}

// noteWritten records what a build leaves at each path that it writes. Without the record a removal asks git.
func (w *writer) noteWritten(changes []Change) {
	if w.opt.Written == nil {
		return
	}
	files := map[string]string{}
	for i := range changes {
		if c := &changes[i]; c.Action != Remove {
			files[c.Path] = c.SHA256
		}
	}
	if err := w.wrote().Add(files); err != nil {
		w.diags.Warnf(diag.CannotWrite, diag.Pos{}, "what this build writes cannot be noted for you: %v", err)
	}
}
