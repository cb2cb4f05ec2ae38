package output

import (
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/jsonedit"
)

// settle finds out what is true after an interrupted build: each artifact is as that
// build or as the one before it left it, and the disk shows which.
func (w *writer) settle() {
	w.settled = w.lock
	if w.pending == nil {
		return
	}
	l := *w.pending
	l.Artifacts, l.Entries, l.Left, l.Adopted = map[string]string{}, nil, nil, map[string]adopted{}
	if w.lock != nil {
		accepted := slices.Concat(w.lock.Accepted, w.pending.Accepted)
		slices.Sort(accepted)
		l = *w.lock
		l.Accepted, l.Entries = slices.Compact(accepted), maps.Clone(w.lock.Entries)
		l.Left = maps.Clone(w.lock.Left)
		l.Artifacts = map[string]string{}
		maps.Copy(l.Artifacts, w.lock.Artifacts)
		l.Adopted = map[string]adopted{}
		maps.Copy(l.Adopted, w.lock.Adopted)
	}
	for p, v := range w.pending.Artifacts {
		if have, err := w.read(p); err == nil && w.reached(p, have) {
			l.Artifacts[p] = v
			l.remember(p, w.pending.Entries[p])
			l.left(p, w.pending.Left[p])
			if a, ok := w.pending.Adopted[p]; ok {
				l.Adopted[p] = a
			}
		}
	}
	for p, a := range l.Adopted { // what the interrupted build put back is a person's again
		if _, keeps := w.pending.Adopted[p]; keeps || w.pending.Artifacts[p] != "" {
			continue
		}
		if have, err := w.read(p); err == nil && a.is(have) {
			delete(l.Artifacts, p)
			delete(l.Entries, p)
			delete(l.Left, p)
			delete(l.Adopted, p)
			if l.Unheld != nil && slices.Contains(w.pending.Unheld, p) {
				l.Unheld = append(slices.Clone(l.Unheld), p)
			}
		}
	}
	w.settled = &l
}

// reached reports whether the interrupted build came as far as a file. One that somebody
// edited is as neither build left it.
func (w *writer) reached(p string, have []byte) bool {
	recorded, before := false, jsonedit.Entries(nil)
	if w.lock != nil {
		_, recorded = w.lock.Artifacts[p]
		before = w.lock.Entries[p]
	}
	_, hash := splitArtifact(w.pending.Artifacts[p])
	switch {
	case !recorded:
		_, untouched := w.takenOver(p, have)
		return !untouched || hash == Sum(have)
	case hash == mergedFile:
		return written(have, w.pending.Entries[p]) >= written(have, before)
	}
	return hash == Sum(have)
}

// written returns how many of some entries a file contains as they were written, -1
// where somebody edited one.
func written(have []byte, entries jsonedit.Entries) int {
	res, err := jsonedit.Merge(have, nil, jsonedit.Pattern{}, []jsonedit.Entries{entries}, false)
	if err != nil || len(res.Conflicts) > 0 {
		return -1
	}
	return len(res.Taken)
}

// keepSettled puts the settled lock in place of the one before the interrupted build,
// whose own lock the next build is going to replace.
func (w *writer) keepSettled() error {
	if w.pending == nil {
		return nil
	}
	data, err := w.settled.marshal()
	if err != nil {
		return err
	}
	return w.commit(transaction{write: []contract.File{{Path: LockFile, Data: data}}})
}

// sweep removes what an interrupted run left: files that it staged, and folders that it
// emptied. A removal stages nothing but merged files and originals.
func (w *writer) sweep() error {
	paths := append([]string{PendingLock, LockFile}, w.gone...)
	for _, l := range []*Lock{w.lock, w.pending} {
		if l == nil {
			continue
		}
		for p, v := range l.Artifacts {
			if _, hash := splitArtifact(v); w.pending != nil || hash == mergedFile {
				paths = append(paths, p)
			}
		}
		paths = slices.AppendSeq(paths, maps.Keys(l.Adopted))
	}
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		w.changes(removing)
		if err := w.unstage(p); err != nil {
			return err
		}
		w.prune(p)
	}
	return nil
}
