package output

import (
	"path/filepath"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

// LockText returns the text of the lock, or of the one that stands for it where it is not there or nobody can read it;
// nil for none.
func (o *Options) LockText() []byte {
	text, err := contract.ReadPlain(filepath.Join(o.Dir, filepath.FromSlash(o.lockFile())))
	if _, wrong := parseLock(text); err == nil && wrong == nil {
		return text
	}
	if _, _, conflict := sides(text); conflict {
		return text
	}
	lost, _ := o.lostLock()
	return lost
}

// lostLock returns the text of the lock that stands for one which somebody removed, as people do where a merge of it is
// in conflict, and where it comes from: of the one of the last commit and the one that a build of this user's wrote
// last, that which more of the files are as it says. One that clean or eject took away is neither, nor one of which no
// file is as it says: another project may have been there.
func (o *Options) lostLock() (text []byte, from string) {
	if o.Local != "" {
		return nil, ""
	}
	most := 0
	consider := func(candidate []byte, of string) {
		l, err := parseLock(candidate)
		if err != nil || o.Originals != nil && o.Originals().Retired == Sum(candidate) {
			return
		}
		if n := o.agreeing(l); n > most {
			text, from, most = candidate, of, n
		}
	}
	if o.Committed != nil {
		if committed := o.Committed(LockFile); committed != nil {
			consider(committed, "of the last commit")
		}
	}
	if o.Written != nil {
		if last := o.Written().Lock(); last != nil {
			consider(last, "that your last build wrote")
		}
	}
	return text, from
}

// agreeing returns how many files are as a lock says.
func (o *Options) agreeing(l *Lock) (n int) {
	for p := range l.Artifacts {
		if o.agrees(l, p) {
			n++
		}
	}
	return n
}

// agrees reports whether a file is as a lock says, or has some of modec's entries where people write it too.
func (o *Options) agrees(l *Lock, p string) bool {
	have, err := contract.ReadPlain(filepath.Join(o.Dir, filepath.FromSlash(p)))
	if err != nil {
		return false
	}
	_, hash := splitArtifact(l.Artifacts[p])
	return hash == Sum(have) || hash == mergedFile && l.Entries[p].Any(have)
}

// findLock finds the lock that stands for one which is not there, or nobody can read, and returns false where there is
// none. It says nothing of a file that is not as it says: another project's may have come in its place.
func (w *writer) findLock() bool {
	text, from := w.opt.lostLock()
	if text == nil {
		return false
	}
	w.lock, _ = parseLock(text)
	for p := range w.lock.Artifacts {
		if !w.opt.agrees(w.lock, p) {
			delete(w.lock.Artifacts, p)
			delete(w.lock.Entries, p)
			delete(w.lock.Left, p)
			delete(w.lock.Theirs, p)
			delete(w.lock.Adopted, p)
		}
	}
	if !w.opt.Check {
		was := "was not there"
		if w.lockRaw != nil {
			was = "cannot be read"
		}
		w.diags.Notef(diag.BadLock, diag.Pos{File: w.opt.lockFile()}, "it %s: the one %s stood for it", was, from)
	}
	return true
}

// keepLock keeps the text of the lock for the case that somebody removes it; nil: there is none any more. Without a
// place for it git's is all there is.
func (w *writer) keepLock(text []byte) {
	if w.opt.Written != nil && w.opt.Local == "" {
		w.wrote().KeepLock(text)
	}
}

// retire notes that people no longer want the lock of the last commit.
func (w *writer) retire() error {
	w.keepLock(nil)
	r := w.record()
	if r == nil || w.opt.Committed == nil || w.opt.Local != "" {
		return nil
	}
	committed := w.opt.Committed(LockFile)
	if committed == nil || r.Retired == Sum(committed) {
		return nil
	}
	r.Retired = Sum(committed)
	return r.Save()
}
