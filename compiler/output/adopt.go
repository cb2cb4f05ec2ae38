package output

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"time"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/originals"
)

// record returns the originals, nil where nothing is kept.
func (w *writer) record() *originals.Record {
	if w.originals == nil && w.opt.Originals != nil {
		w.originals = w.opt.Originals()
	}
	return w.originals
}

// takenOver returns the original of a file that is as a person wrote it when it was read: no build
// wrote it yet, or a removal that was interrupted put it back.
func (w *writer) takenOver(p string, have []byte) (originals.File, bool) {
	if have == nil || w.pending == nil && w.settled != nil && w.settled.Artifacts[p] != "" {
		return originals.File{}, false
	}
	o, ok := w.record().Original(p)
	return o, ok && bytes.Equal(o.Data, have)
}

// untouched reports whether an interrupted build did not come as far as a file of a person's.
func (w *writer) untouched(p string) bool {
	if w.pending == nil || w.settled.Artifacts[p] != "" {
		return false
	}
	have, err := w.read(p)
	if err != nil {
		return false
	}
	_, ok := w.takenOver(p, have)
	return ok
}

// adopt notes in a lock what becomes of a file that a person wrote.
func (w *writer) adopt(l *Lock, c *Change) {
	a, known := l.Adopted[c.Path]
	if !known {
		if _, ok := w.takenOver(c.Path, c.have); !ok || c.Merged && len(c.entries) == 0 {
			return
		}
		a = adopted{Original: Sum(c.have), Blob: gitBlob(c.have)}
	}
	a.Mixed = a.Mixed || known && (c.Merged || c.Action == Unchanged) && c.have != nil && Sum(c.have) != a.Built
	a.Built = c.SHA256
	if c.places != nil { // else the source no longer says anything of it
		a.Places = c.places
	}
	if c.Action == Remove {
		a.Built = ""
	}
	if l.Adopted == nil {
		l.Adopted = map[string]adopted{}
	}
	l.Adopted[c.Path] = a
}

// keepReplaced copies what force overwrites to a folder of the user's, and says where, and a file of
// modec's with lines of a person's that clean replaces. A file that modec did not write counts as
// adopted from then on.
func (w *writer) keepReplaced(changes []Change) {
	if w.opt.Originals == nil || w.opt.DryRun || w.diags.HasErrors() {
		return
	}
	files, foreign := map[string][]byte{}, false
	for i := range changes {
		c := &changes[i]
		forced := w.opt.Force && (c.State == Foreign || c.State == Edited)
		lines := c.Restored && !c.Merged && w.settled.Adopted[c.Path].Mixed
		if c.have == nil || c.Action == Unchanged || !forced && !lines {
			continue
		}
		files[c.Path] = c.have
		if c.State == Foreign {
			w.record().Files[c.Path] = originals.File{Data: c.have}
			foreign = true
		}
	}
	if len(files) == 0 {
		return
	}
	dir, err := originals.Backup(w.opt.Dir, files, time.Now())
	if err == nil && foreign {
		err = w.record().Save()
	}
	if err != nil {
		w.diags.Errorf(diag.CannotWrite, diag.Pos{},
			"what people wrote there cannot be kept, and nothing was written: %v", err).
			Hint("commit the files, move them away, and run it again")
		return
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		w.diags.Notef(diag.Kept, diag.Pos{File: p}, "what was there is kept in %s", dir)
	}
}

// restored lets what clean takes out of adopted files leave them as they were.
func (w *writer) restored(changes []Change) []Change {
	if w.settled == nil {
		return changes
	}
	for _, p := range slices.Sorted(maps.Keys(w.settled.Adopted)) {
		a := w.settled.Adopted[p]
		original, ok, own := w.original(p, a)
		i := slices.IndexFunc(changes, func(c Change) bool { return c.Path == p })
		if i < 0 {
			have, err := w.read(p)
			c := Change{Path: p, Action: Create}
			switch {
			case !w.owned(p) || !own:
				continue // a lock that came along names it
			case err == nil && a.Places != nil: // modec's entries are out of it already
				c = Change{Path: p, Action: Update, Merged: true, have: have, data: have}
			case !errors.Is(err, fs.ErrNotExist):
				continue // it is somebody's by now
			}
			changes, i = append(changes, c), len(changes)
		}
		c := &changes[i]
		if !ok {
			w.diags.Warnf(diag.NoOriginal, diag.Pos{File: p},
				"a person wrote the file before modec took it over, and that text is not on this machine").
				Hintf("where git has it: `git cat-file -p %s > %s`", a.Blob, p)
			continue
		}
		w.restore(c, a, original)
	}
	return changes
}

// owned reports whether a path is one that a target writes.
func (w *writer) owned(p string) bool {
	return slices.ContainsFunc(w.opt.Targets, func(t contract.Target) bool { return contract.Owns(t, p) })
}

// original returns the bytes that a person wrote before modec took a file over. own is set where
// they are in the user's own record.
func (w *writer) original(p string, a adopted) (data []byte, ok, own bool) {
	if o, ok := w.record().Original(p); ok && Sum(o.Data) == a.Original {
		return o.Data, true, true
	}
	if w.opt.Blob != nil {
		if data, err := w.opt.Blob(a.Blob); err == nil && Sum(data) == a.Original {
			return data, true, false
		}
	}
	return nil, false, false
}

// restore puts an original in place of what modec made of it. What a person changed since in a
// file that both write stays.
func (w *writer) restore(c *Change, a adopted, original []byte) {
	data := original
	if c.Merged && c.have != nil && (a.Mixed || Sum(c.have) != a.Built) && len(c.data) > 0 {
		res, err := jsonedit.Merge(c.data, original, jsonedit.Pattern{Places: a.Places}, nil, jsonedit.Keep)
		if err != nil || len(res.Conflicts) > 0 {
			w.diags.Warnf(diag.NoOriginal, diag.Pos{File: c.Path},
				"the entries from before modec took the file over do not fit into it any more, and are left out")
			return
		}
		if data = res.Data; sameJSON(data, original) {
			data = original
		}
	}
	c.data, c.Bytes, c.SHA256, c.Restored = data, len(data), Sum(data), true
	switch {
	case c.Action == Create:
	case bytes.Equal(c.have, data):
		c.Action, c.State = Unchanged, ""
	default:
		c.Action = Update
	}
}

// sameJSON reports whether two files say the same, however they are written.
func sameJSON(a, b []byte) bool {
	x, err := located.JSONC("", a)
	if err != nil {
		return false
	}
	y, err := located.JSONC("", b)
	return err == nil && reflect.DeepEqual(x.Any(), y.Any())
}
