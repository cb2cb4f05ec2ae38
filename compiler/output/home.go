package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/jsonedit"
)

// Where a home folder keeps what was put into it, and what was there before.
const (
	stateDir    = ".local/state/modec/"
	StateFile   = stateDir + "install.toml"
	originalDir = stateDir + "original/"
	policyDir   = stateDir + "policy/"
	stateLock   = stateDir + "lock"
)

// stateVersion is the version of the state's form.
const stateVersion = 1

const stateHeader = `# Written by modec install. It tells what is modec's in your home folder;
# modec uninstall takes it out.
`

// state is StateFile. Each change writes it twice: before the files, with the records of
// before and after, and again after them.
type state struct {
	Version int                  `toml:"version"`
	Modec   string               `toml:"modec"`           // version of modec that installed last
	Files   map[string]Installed `toml:"files,omitempty"` // by their path
	// Before are the records of unfinished changes that may still be true of a file, the
	// latest first.
	Before map[string][]Installed `toml:"before,omitempty"`
	// Folders are those that modec made.
	Folders []string `toml:"folders,omitempty,multiline"`
}

// Installed is one file of a home folder with entries of modec.
type Installed struct {
	Target  string `toml:"target"`
	Project string `toml:"project"` // its folder
	Subject string `toml:"subject"`
	// Written is the hash of the file as modec left it. While the file has it, the
	// original can take its place again.
	Written string `toml:"written"`
	// Original is the hash of what was there before, by which it is kept below
	// originalDir; "" where nothing was.
	Original string `toml:"original,omitempty"`
	// Policy is the hash of the policy that its hook reads, by which it is kept below
	// policyDir; "" where the file has no hook.
	Policy  string           `toml:"policy,omitempty"`
	Entries jsonedit.Entries `toml:"entries"`
}

// kept lists what is kept by its hash for the file: its original, and its hook's policy.
func (r *Installed) kept() (files []string) {
	if r.Original != "" {
		files = append(files, originalOf(r.Original))
	}
	if r.Policy != "" {
		files = append(files, policyOf(r.Policy))
	}
	return files
}

// Outdated returns the subjects of a project whose installation has a hook that reads another
// policy than the compiled one, each once and sorted.
func Outdated(folder, project string, compiled []byte) (subjects []string) {
	d, err := openDisk(folder)
	if err != nil {
		return nil
	}
	h := home{disk: d}
	defer d.close()
	if h.readState(); h.diags.HasErrors() {
		return nil
	}
	for _, r := range h.had.Files {
		if r.Project == project && r.Policy != "" && r.Policy != Sum(compiled) {
			subjects = append(subjects, r.Subject)
		}
	}
	slices.Sort(subjects)
	return slices.Compact(subjects)
}

// home is a home folder that is read and written.
type home struct {
	disk
	opt    InstallOptions
	had    state           // as it was read
	next   state           // as it will be
	stale  []Installed     // records that the disk shows not to be true
	away   map[string]bool // originals of files that are not there: they stay
	locked bool            // by this process
	unlock func()
	diags  diag.List
}

// openHome reads the state of a home folder, and keeps others from changing it.
func openHome(opt InstallOptions) (*home, diag.List) {
	h := &home{opt: opt, unlock: func() {}}
	info, err := os.Stat(opt.Home)
	if err != nil || !info.IsDir() {
		return nil, cannotWrite(fmt.Errorf("got no home folder at %s", opt.Home))
	}
	if h.disk, err = openDisk(opt.Home); err != nil {
		return nil, cannotWrite(err)
	}
	h.mode, h.keepFolders, h.step = 0o600, true, opt.step
	if opt.Progress.Changed != nil {
		h.progress.Changed = func(p string) { opt.Progress.Changed("~/" + p) }
	}
	if !opt.DryRun {
		if err := h.exclude(); err != nil {
			h.close()
			return nil, cannotWrite(err)
		}
	}
	if h.readState(); h.diags.HasErrors() {
		defer h.close()
		return nil, h.told()
	}
	h.settle()
	h.away = map[string]bool{}
	h.next = state{
		Version: stateVersion,
		Modec:   opt.Version,
		Files:   maps.Clone(h.had.Files),
		Before:  maps.Clone(h.had.Before),
		Folders: append(slices.Clone(h.had.Folders), h.next.Folders...),
	}
	if h.next.Files == nil {
		h.next.Files = map[string]Installed{}
	}
	for p, list := range h.had.Before { // taken out, but not to the end
		if _, ok := h.next.Files[p]; !ok {
			h.next.Files[p] = list[0]
		}
	}
	return h, nil
}

func (h *home) readState() {
	data, err := h.read(StateFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		h.diags.Errorf(diag.BadLock, diag.Pos{File: StateFile}, "cannot be read: %v", diag.WithoutPath(err))
		return
	}
	d := toml.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&h.had); err != nil || h.had.Version != stateVersion {
		h.diags.Errorf(diag.BadLock, diag.Pos{File: StateFile},
			"got a state of the installation that cannot be read, or a newer modec's").
			Hint("what was there before lies in " + originalDir + "; put it back, and remove the state")
	}
}

// settle drops the records of unfinished changes where the disk shows which one is true.
func (h *home) settle() {
	for p := range h.had.Before {
		have, err := h.read(p)
		if err != nil {
			continue
		}
		all := h.records(p)
		i := slices.IndexFunc(all, func(r Installed) bool { return r.Written == Sum(have) })
		if i < 0 {
			continue
		}
		if h.had.Files == nil {
			h.had.Files = map[string]Installed{}
		}
		h.had.Files[p] = all[i]
		delete(h.had.Before, p)
		h.stale = append(h.stale, slices.Delete(all, i, i+1)...)
	}
}

func (h *home) close() {
	if h.locked && len(h.had.Files)+len(h.had.Before) == 0 {
		if _, err := h.root.Lstat(StateFile); err != nil { // nothing came of it
			h.next.Files = nil
			h.tidy()
		}
	}
	h.unlock()
	h.disk.close()
}

// exclude takes the lock of the state, and notes the folders that are made for it.
func (h *home) exclude() error {
	h.made(stateLock)
	if err := h.root.MkdirAll(path.Dir(stateLock), 0o700); err != nil {
		return fmt.Errorf("cannot create the folder of the state: %w", diag.WithoutPath(err))
	}
	f, err := h.root.OpenFile(stateLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the state: %w", diag.WithoutPath(err))
	}
	err = lockFile(f)
	if err == nil {
		mine, errMine := f.Stat()
		there, errThere := h.root.Lstat(stateLock)
		if errMine != nil || errThere != nil || !os.SameFile(mine, there) {
			err = errors.New("it has just ended; try again")
		}
	}
	if err != nil {
		f.Close()
		return fmt.Errorf("another modec changes this home folder: %w", err)
	}
	h.locked, h.unlock = true, func() { f.Close() }
	h.sweep()
	return nil
}

// sweep removes what an interrupted change left half-written.
func (h *home) sweep() {
	h.unstage(StateFile)
	dir, err := h.root.Open(strings.TrimSuffix(originalDir, "/"))
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, n := range names {
		if swept(n) {
			h.root.Remove(originalDir + n)
		}
	}
}

// made notes the folders above a path that are not there yet.
func (h *home) made(p string) {
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if _, err := h.root.Lstat(dir); errors.Is(err, fs.ErrNotExist) && !slices.Contains(h.next.Folders, dir) {
			h.next.Folders = append(h.next.Folders, dir)
		}
	}
}

// records returns the records that may be true of a file: after an interruption there is
// more than one.
func (h *home) records(p string) (list []Installed) {
	if r, ok := h.had.Files[p]; ok {
		list = append(list, r)
	}
	return append(list, h.had.Before[p]...)
}

func originalOf(hash string) string { return originalDir + strings.TrimPrefix(hash, "sha256:") }

func policyOf(hash string) string { return policyDir + strings.TrimPrefix(hash, "sha256:") + ".json" }

// InstalledPolicy returns where an installation into a home folder keeps the compiled policy
// of the project at root.
func InstalledPolicy(home, root string, compiled []byte) contract.PolicyCopy {
	return contract.PolicyCopy{File: filepath.Join(home, filepath.FromSlash(policyOf(Sum(compiled)))), Root: root}
}

// original reads what was there before a record; nil where nothing was, or where the
// copy is gone.
func (h *home) original(r Installed) (data []byte, ok bool) {
	if r.Original == "" {
		return nil, true
	}
	data, err := h.read(originalOf(r.Original))
	if err != nil || Sum(data) != r.Original {
		return nil, false
	}
	return data, true
}

// restored returns a file as it would be without modec: the original where nothing
// changed since, and otherwise the file without modec's entries and with the values that
// they replaced. An entry that somebody edited is a person's by now. It returns nil for
// no file, and false where it cannot know.
func (h *home) restored(p string, have []byte) ([]byte, bool) {
	records := h.records(p)
	if have == nil {
		h.missed(p)
		return nil, true
	}
	if len(records) == 0 {
		return have, true
	}
	before, whole := h.before(p, have, records)
	if whole {
		return before, true
	}
	res, owned, ok := h.withoutEntries(p, have, records)
	if !ok {
		return nil, false
	}
	h.missing(p, owned[0], res.Taken)
	if before == nil || res.Data == nil {
		return res.Data, true
	}
	var replaced []string // places where modec's value replaced another
	for _, place := range res.Taken {
		if slices.ContainsFunc(owned, func(e jsonedit.Entries) bool {
			return e[place] != "" && e[place] != jsonedit.Container
		}) {
			replaced = append(replaced, place)
		}
	}
	back, err := jsonedit.Merge(res.Data, before, jsonedit.Pattern{Places: replaced}, nil, jsonedit.Keep)
	if err != nil || len(back.Conflicts) > 0 {
		return res.Data, true // a person's own word since
	}
	return back.Data, true
}

// before returns what was there before modec, as far as it is known. Where nothing
// changed since, that is the whole file to restore.
func (h *home) before(p string, have []byte, records []Installed) (before []byte, whole bool) {
	for _, r := range records {
		if r.Original == Sum(have) { // an interrupted change came to its end, or not to this file
			return have, true
		}
		data, ok := h.original(r)
		if !ok {
			h.diags.Warnf(diag.CannotWrite, diag.Pos{File: originalOf(r.Original)},
				"the copy of what %s was before is gone, and modec cannot put it back", p).
				Hint("modec's entries are taken out one by one")
			continue
		}
		if r.Written == Sum(have) {
			return data, true
		}
		if before == nil {
			before = data
		}
	}
	return before, false
}

// withoutEntries takes modec's entries out of a file. Entries that somebody edited stay.
func (h *home) withoutEntries(
	p string, have []byte, records []Installed,
) (res jsonedit.Result, owned []jsonedit.Entries, ok bool) {
	for _, r := range records {
		owned = append(owned, maps.Clone(r.Entries))
	}
	res, err := jsonedit.Merge(have, nil, jsonedit.Pattern{}, owned, jsonedit.Keep)
	if err == nil && len(res.Conflicts) > 0 {
		for _, x := range res.Conflicts {
			h.diags.Warnf(diag.Edited, diag.Pos{File: p, Line: x.Line, Col: 1},
				"somebody edited the entry %q since modec wrote it: it stays", x.Place)
			for _, e := range owned {
				delete(e, x.Place)
			}
		}
		res, err = jsonedit.Merge(have, nil, jsonedit.Pattern{}, owned, jsonedit.Keep)
	}
	if err != nil {
		unmerged(&h.diags, records[0].Target, p, err, mend)
		return res, nil, false
	}
	return res, owned, !conflicts(&h.diags, records[0].Target, p, res.Conflicts, "", "")
}

// missed keeps what was there before a file that somebody took away: it may come back.
func (h *home) missed(p string) {
	for _, r := range h.records(p) {
		if r.Original != "" {
			h.away[r.Original] = true
			h.diags.Warnf(diag.Edited, diag.Pos{File: p},
				"the file is gone; what was there before modec stays in ~/%s", originalOf(r.Original))
		}
	}
}

// missing warns of items that are not there any more as modec wrote them: a hook that
// somebody edited still runs.
func (h *home) missing(p string, entries jsonedit.Entries, taken []string) {
	n := 0
	for place, sum := range entries {
		if sum == "" && !slices.Contains(taken, place) {
			n++
		}
	}
	if n > 0 {
		h.diags.Warnf(diag.Edited, diag.Pos{File: p},
			"got a file without %d of the entries that modec wrote: somebody edited or removed them", n).
			Hint("look for what is left of them, such as `modec hook`")
	}
}

// told returns what was found in the home folder.
func (h *home) told() diag.List {
	for i := range h.diags {
		if p := &h.diags[i].Pos; p.File != "" {
			p.File = "~/" + p.File
		}
	}
	h.diags.Sort()
	return h.diags
}

// takeOut plans to bring a file back to what it would be without modec. Of one that is
// not there, what was kept stays: it may come back.
func (h *home) takeOut(p string) []Change {
	have, err := h.read(p)
	if errors.Is(err, fs.ErrNotExist) && h.next.Files[p].Original != "" {
		h.missed(p)
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.diags.Errorf(diag.CannotWrite, diag.Pos{File: p}, "%v", diag.WithoutPath(err))
		return nil
	}
	data, ok := h.restored(p, have)
	if !ok {
		return nil
	}
	c := Change{
		Target: h.next.Files[p].Target,
		Path:   p,
		Bytes:  len(data),
		SHA256: Sum(data),
		Action: Update,
		Merged: true,
		data:   data,
		have:   have,
	}
	delete(h.next.Files, p)
	switch {
	case have == nil:
		c.Action, c.SHA256 = Unchanged, "" // somebody removed it
	case data == nil:
		c.Action, c.SHA256 = Remove, ""
	case bytes.Equal(have, data):
		c.Action = Unchanged
	}
	return []Change{c}
}

// apply writes in an order that can be interrupted anywhere: a state with the
// records of before and after, what was there before, the files, and the state of after.
func (h *home) apply(changes []Change, kept []contract.File) error {
	for _, c := range changes { // of a run that was interrupted
		h.unstage(c.Path)
	}
	between := h.next
	between.Before = maps.Clone(h.next.Before)
	if between.Before == nil {
		between.Before = map[string][]Installed{}
	}
	for _, c := range changes {
		delete(h.next.Before, c.Path)
		delete(between.Before, c.Path)
		now := h.next.Files[c.Path]
		for _, r := range h.records(c.Path) {
			if r.Written != now.Written {
				between.Before[c.Path] = append(between.Before[c.Path], r)
			}
		}
	}
	if t := changed(changes); len(t.write)+len(t.remove) > 0 {
		if err := h.save(between); err != nil {
			return err
		}
		kept = slices.DeleteFunc(kept, func(o contract.File) bool { // by its hash
			have, err := h.read(o.Path)
			return err == nil && bytes.Equal(have, o.Data)
		})
		if err := h.commit(transaction{write: kept}); err != nil {
			return err
		}
		if err := h.commit(t); err != nil {
			return err
		}
	}
	if err := h.forget(); err != nil {
		return err
	}
	if err := h.save(h.next); err != nil {
		return err
	}
	h.tidy()
	return nil
}

// save writes the state, where it changes.
func (h *home) save(s state) error {
	if len(s.Files) == 0 && len(s.Before) == 0 {
		return h.remove(StateFile)
	}
	b, err := toml.Marshal(s)
	if err != nil {
		return err
	}
	b = append([]byte(stateHeader), b...)
	if have, err := h.read(StateFile); err == nil && bytes.Equal(have, b) {
		return nil
	}
	return h.commit(transaction{write: []contract.File{{Path: StateFile, Data: b}}})
}

// forget removes the originals that are in place again, and the policies that no hook reads
// any more. An original that no record names may be somebody's only copy, of a state that was
// lost.
func (h *home) forget() error {
	needed := map[string]bool{}
	for hash := range h.away {
		needed[originalOf(hash)] = true
	}
	for p, r := range h.next.Files {
		for _, r := range append([]Installed{r}, h.next.Before[p]...) {
			for _, file := range r.kept() {
				needed[file] = true
			}
		}
	}
	done := h.stale
	for p := range h.had.Files {
		done = append(done, h.records(p)...)
	}
	for p, list := range h.had.Before {
		if _, ok := h.had.Files[p]; !ok {
			done = append(done, list...)
		}
	}
	for _, r := range done {
		for _, file := range r.kept() {
			if needed[file] {
				continue
			}
			if err := h.remove(file); err != nil {
				return err
			}
		}
	}
	return nil
}

// tidy removes, once nothing is installed, the lock and the folders that modec made and
// that are empty.
func (h *home) tidy() {
	if len(h.next.Files) > 0 {
		return
	}
	h.root.Remove(stateLock) // while it is held: whoever opened it before sees that it is gone
	h.unlock()
	h.locked, h.unlock = false, func() {}
	own := append(h.next.Folders, strings.TrimSuffix(originalDir, "/"), strings.TrimSuffix(policyDir, "/"),
		strings.TrimSuffix(stateDir, "/"))
	slices.SortFunc(own, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range own {
		if info, err := h.root.Lstat(dir); err == nil && info.IsDir() {
			h.root.Remove(dir) // where it is empty
		}
	}
}
