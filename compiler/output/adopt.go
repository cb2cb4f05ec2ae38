package output

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
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

// imported is takenOver for what a build writes in the place of the file: only the source that was made of
// it stands for what it says.
func (w *writer) imported(p string, have []byte) (originals.File, bool) {
	o, ok := w.takenOver(p, have)
	return o, ok && w.record().Stands(o, w.read) && w.patched(p, o)
}

// patched reports whether the source has the patch that was made of a file, as it was written or in other words. One
// that somebody took back leaves the file a person's.
func (w *writer) patched(p string, o originals.File) bool {
	return o.InPlace(w.read) || w.opt.Says != nil && w.opt.Says(p)
}

// adoptable is takenOver for a file that people write too, of which a build makes want; nil where it makes
// nothing of it any more.
func (w *writer) adoptable(p string, have, want []byte) (originals.File, bool) {
	if want == nil {
		return w.takenOver(p, have)
	}
	return w.imported(p, have)
}

// said reports whether somebody changed a file of modec's to what the source came to say.
func (w *writer) said(p string, have []byte) bool {
	o, ok := w.edit(p, have)
	return ok && w.patched(p, o)
}

// edit returns a file of modec's that somebody changed, of which a patch was made.
func (w *writer) edit(p string, have []byte) (originals.File, bool) {
	if have == nil {
		return originals.File{}, false
	}
	o, ok := w.record().Edit(p)
	return o, ok && bytes.Equal(o.Data, have)
}

// forgetEdits takes the edits that were taken over out of the record: the same edit is one again after
// the source has changed.
func (w *writer) forgetEdits(changes []Change) error {
	r, n := w.record(), 0
	for i := range changes {
		if _, ok := r.Edit(changes[i].Path); ok {
			delete(r.Edits, changes[i].Path)
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return r.Save()
}

// leave notes how an eject leaves the files.
func (w *writer) leave(changes []Change) error {
	r := w.record()
	if r == nil {
		return nil
	}
	r.Left = map[string]string{}
	for i := range changes {
		if c := &changes[i]; c.Action != Remove {
			r.Left[c.Path] = c.SHA256
		}
	}
	return r.Save()
}

// left reports whether a file is as an eject left it.
func (w *writer) left(p, sum string) bool {
	r := w.record()
	return r != nil && r.Left[p] == sum
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

// foundEqual reports whether a file that no lock knows says to the letter what modec would write: somebody
// else's, that a clean leaves there. One that somebody moved is modec's.
func (w *writer) foundEqual(c *Change) bool {
	if w.said(c.Path, c.have) {
		return false
	}
	return c.Action == Unchanged && !c.Merged && c.have != nil && !contract.ForMachines(c.Path) &&
		(w.settled == nil || w.settled.Artifacts[c.Path] == "") &&
		(w.pending == nil || w.pending.Artifacts[c.Path] == "")
}

// adopt notes in a lock what becomes of a file that a person wrote.
func (w *writer) adopt(b Build, l *Lock, c *Change) {
	a, known := l.Adopted[c.Path]
	if !known {
		if _, ok := w.imported(c.Path, c.have); !ok && !w.foundEqual(c) || c.Merged && len(c.entries) == 0 {
			return
		}
		a = adopted{Original: Sum(c.have), Blob: gitBlob(c.have), Programs: w.programs(b, c)}
	}
	if sum := Sum(c.have); known && (c.Merged || c.Action == Unchanged) && c.have != nil {
		back := c.SHA256 == a.Built // what differs is modec's, and the build puts it back
		a.Mixed = a.Mixed || sum != a.Built && sum != a.Original && !back
	}
	if !c.Merged && c.Action != Unchanged {
		a.Mixed = false // their lines are kept elsewhere
	}
	a.Built = c.SHA256
	if c.places != nil { // else the source no longer says anything of it
		a.Places = c.places
	}
	if l.Adopted == nil {
		l.Adopted = map[string]adopted{}
	}
	l.Adopted[c.Path] = a
}

// programs returns the sums of the programs of people's own that a file names.
func (w *writer) programs(b Build, c *Change) (sums []string) {
	files := w.files()
	for _, o := range b.Outputs {
		t, ok := o.Target.(contract.Answered)
		if !ok || files == nil {
			continue
		}
		for _, p := range t.Programs(files) {
			if p.At.File == c.Path && !slices.Contains(sums, p.Sum) {
				sums = append(sums, p.Sum)
			}
		}
	}
	slices.Sort(sums)
	return sums
}

// keepReplaced copies to a folder of the user's, and says where, what is about to go of people's: what
// force overwrites, lines of theirs in a file of modec's, and what does not fit into it any more. A file
// that modec did not write counts as adopted from then on.
func (w *writer) keepReplaced(changes []Change) {
	if w.opt.Originals == nil || w.opt.DryRun || w.diags.HasErrors() {
		return
	}
	files, foreign := map[string][]byte{}, false
	for i := range changes {
		c := &changes[i]
		if c.misfit != nil {
			files[c.Path+".original"] = c.misfit
		}
		forced := w.opt.Force && (c.lost || c.State == Foreign || c.State == Edited || c.State == Removed) ||
			!contract.ForMachines(c.Path) && w.merging(c.Path, c.have, c.data)
		if c.have == nil || c.Action == Unchanged || !forced && !w.lines(c) {
			continue
		}
		files[c.Path] = c.have
		if _, known := w.adoption(c.Path); c.State == Foreign && !known {
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

// adoption returns what the lock says of a file that modec took over.
func (w *writer) adoption(p string) (a adopted, known bool) {
	if w.settled != nil {
		a, known = w.settled.Adopted[p]
	}
	return a, known
}

// lines reports whether an adopted file that changes has lines of a person's from after the adoption.
// One that people write too loses some only where its original takes its place.
func (w *writer) lines(c *Change) bool {
	a, known := w.adoption(c.Path)
	if c.Merged {
		return known && c.Restored && c.SHA256 == a.Original && (a.Mixed || Sum(c.have) != a.Built)
	}
	return a.Mixed
}

// restored lets what is taken out of adopted files leave them as they were before modec: out of those of changes that
// back picks, or out of all, also where nothing of modec's is left to take out, where it is nil.
func (w *writer) restored(changes []Change, back func(*Change) bool) []Change {
	if w.settled == nil || w.diags.HasErrors() {
		return changes
	}
	command := "clean"
	if back != nil {
		command = "build"
	}
	for _, p := range slices.Sorted(maps.Keys(w.settled.Adopted)) {
		a, c := w.settled.Adopted[p], Change{Path: p, Action: Create}
		i := slices.IndexFunc(changes, func(c Change) bool { return c.Path == p })
		if back != nil && (i < 0 || !back(&changes[i])) {
			continue
		}
		if i >= 0 {
			c = changes[i]
		} else {
			have, err := w.read(p)
			switch {
			case !w.owned(p):
				continue // a lock that came along names it
			case err == nil && a.Places != nil: // modec's entries are out of it already
				c = Change{Path: p, Action: Update, Merged: true, have: have, data: have}
			case !errors.Is(err, fs.ErrNotExist):
				continue // it is somebody's by now
			}
		}
		original, ok, own := w.original(&c, a)
		switch {
		case ok && (own || i >= 0):
			w.restore(&c, a, original)
		case !ok && !w.opt.Check:
			w.noOriginal(&c, a, command)
		}
		if i >= 0 {
			changes[i] = c
		} else if c.Restored || c.misfit != nil {
			changes = append(changes, c)
		}
	}
	return changes
}

// noOriginal reports an adopted file whose original is nowhere. Only force takes it out, with a copy.
func (w *writer) noOriginal(c *Change, a adopted, command string) {
	const text = "what a person wrote there before modec took the file over is not found for this project"
	if c.lost = w.opt.Force; c.lost {
		w.diags.Warnf(diag.NoOriginal, diag.Pos{File: c.Path}, text)
		return
	}
	hint := "`modec " + command + "` puts it back in a clone whose git has it"
	if _, root := w.elsewhere(c.Path, a); root != "" {
		hint = "`modec " + command + "` puts it back in " + root
	}
	w.diags.Errorf(diag.NoOriginal, diag.Pos{File: c.Path}, text+"; nothing was removed").
		Hintf("%s; `modec %s --force` goes on without it, and keeps a copy of what is there", hint, command)
}

// owned reports whether a path is one that a target writes.
func (w *writer) owned(p string) bool {
	return slices.ContainsFunc(w.opt.Targets, func(t contract.Target) bool { return contract.Owns(t, p) })
}

// original returns the bytes that a person wrote before modec took a file over. own is set where
// they are in the user's own record: that of the project, or of the folder where it was before
// somebody moved it.
func (w *writer) original(c *Change, a adopted) (data []byte, ok, own bool) {
	if o, ok := w.record().Original(c.Path); ok && a.is(o.Data) &&
		(w.opt.Written == nil || w.record().Stands(o, w.read) || w.wrote().Has(c.Path, a.Built)) {
		return o.Data, true, true
	}
	if data, root := w.elsewhere(c.Path, a); root != "" {
		if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
			return data, true, true
		}
	}
	if a.is(c.have) {
		return c.have, true, false
	}
	if w.opt.Blob != nil {
		if data, err := w.opt.Blob(c.Path, a.Blob); err == nil && a.is(data) {
			c.fromGit = true
			return data, true, false
		}
	}
	return nil, false, false
}

// elsewhere returns an original of the record of another folder, and that folder: one whose project is this one.
func (w *writer) elsewhere(p string, a adopted) (data []byte, root string) {
	return w.record().Elsewhere(p, a.is, func(r *originals.Record, f originals.File) bool {
		return w.opt.Written == nil || f.Import != "" && r.Stands(f, w.read) ||
			originals.LoadWritten(r.Root).Has(p, a.Built)
	})
}

// restore puts an original in place of what modec made of it. What a person changed since in a
// file that both write stays.
func (w *writer) restore(c *Change, a adopted, original []byte) {
	data := original
	if c.Merged && c.have != nil && (a.Mixed || Sum(c.have) != a.Built) && len(c.data) > 0 {
		res, err := jsonedit.Merge(c.data, original, jsonedit.Pattern{Places: a.Places}, nil, false)
		if err != nil || len(res.Conflicts) > 0 {
			w.diags.Warnf(diag.NoOriginal, diag.Pos{File: c.Path},
				"the entries from before modec took the file over do not fit into it any more, and are left out")
			c.misfit = original
			return
		}
		if data = res.Data; sameJSON(data, original) {
			data = original
		}
	}
	c.data, c.Bytes, c.SHA256, c.Restored, c.Later = data, len(data), Sum(data), true, !bytes.Equal(data, original)
	c.before = original
	switch {
	case c.Action == Create:
	case bytes.Equal(c.have, data):
		c.Action, c.State = Unchanged, ""
	default:
		c.Action = Update
	}
}

// Since returns how a file that was put back differs from the one before modec, and the name that git gives to
// that one. Both are empty unless Later is set.
func (c *Change) Since() (list []located.Difference, blob string) {
	if !c.Later {
		return nil, ""
	}
	before, err := located.JSONC(c.Path, c.before)
	after, err2 := located.JSONC(c.Path, c.data)
	if err == nil && err2 == nil {
		list = located.Differences(before, after)
	}
	return list, gitBlob(c.before)
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
