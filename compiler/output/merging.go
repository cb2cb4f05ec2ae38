package output

import (
	"maps"
	"slices"

	"modec.dev/modec/compiler/jsonedit"
)

// readMerged reads the locks of the two sides of a merge that is under way: people take each file from either.
func (w *writer) readMerged() {
	if w.opt.Merged == nil || w.opt.Committed == nil || w.opt.Local != "" || w.disk.root == nil {
		return
	}
	other, err := parseLock(w.opt.Merged(LockFile))
	if err != nil {
		return
	}
	w.merged = []*Lock{other}
	if ours, err := parseLock(w.opt.Committed(LockFile)); err == nil {
		w.merged = append(w.merged, ours)
	}
}

// mergedEntries returns the entries of a file that a build of a side of a merge wrote, but for those that were a
// person's to some side.
func (w *writer) mergedEntries(p string) (list []jsonedit.Entries) {
	theirs := func(place, _ string) bool {
		return slices.ContainsFunc(append([]*Lock{w.lock}, w.merged...), func(l *Lock) bool {
			return l != nil && slices.Contains(l.Theirs[p], place)
		})
	}
	for _, l := range w.merged {
		entries := maps.Clone(l.Entries[p])
		maps.DeleteFunc(entries, theirs)
		if len(entries) > 0 {
			list = append(list, entries)
		}
	}
	return list
}
