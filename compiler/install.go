package compiler

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/artifact"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/merge"
	"modec.dev/modec/compiler/verify"
)

// Where a home folder keeps what was put into it, and what was there before.
const (
	stateDir    = ".local/state/modec/"
	StateFile   = stateDir + "install.toml"
	originalDir = stateDir + "original/"
	stateLock   = stateDir + "lock"
)

// stateVersion is the version of the state's form.
const stateVersion = 1

const stateHeader = `# Written by modec install. It tells what is modec's in your home folder;
# modec uninstall takes it out.
`

// state is StateFile. It is written twice by each change: before the files, when it
// holds what was and what will be, and after them.
type state struct {
	Version int                  `toml:"version"`
	Modec   string               `toml:"modec"`           // version of modec that installed last
	Files   map[string]Installed `toml:"files,omitempty"` // by their path
	// Before are the records that may still be true of a file, of changes that were not
	// finished, the latest first.
	Before map[string][]Installed `toml:"before,omitempty"`
	// Folders are those that modec made.
	Folders []string `toml:"folders,omitempty,multiline"`
}

// Installed is one file of a home folder that holds entries of modec.
type Installed struct {
	Target  string `toml:"target"`
	Project string `toml:"project"` // its folder
	Subject string `toml:"subject"`
	// Written is the hash of the file as modec left it: where it still is, the
	// original takes its place again.
	Written string `toml:"written"`
	// Original is the hash of what was there before, by which it is kept below
	// originalDir; "" where nothing was.
	Original string        `toml:"original,omitempty"`
	Entries  merge.Entries `toml:"entries"`
}

// InstallOptions say where an installation goes.
type InstallOptions struct {
	Home    string // the home folder; it has to be there
	Version string // of modec, for the state
	Force   bool   // replace entries that modec did not write, until they are taken out
	DryRun  bool   // plan only
	// Targets are those that are installed or taken out.
	Targets []contract.Target

	step     func() // called before each change of the disk, for tests
	unjudged bool   // for tests of the files alone
}

// home is a home folder that is read and written.
type home struct {
	writer
	had    state           // as it was read
	next   state           // as it will be
	stale  []Installed     // records that the disk shows not to be true
	away   map[string]bool // originals of files that are not there: they stay
	locked bool            // by this process
	unlock func()
}

// openHome reads the state of a home folder, and keeps others from changing it.
func openHome(opt InstallOptions) (*home, diag.List) {
	h := &home{writer: writer{opt: WriteOptions{Dir: opt.Home, Version: opt.Version, Force: opt.Force, DryRun: opt.DryRun}, mode: 0o600, step: opt.step}, unlock: func() {}}
	info, err := os.Stat(opt.Home)
	if err != nil || !info.IsDir() {
		err = fmt.Errorf("got no home folder at %s", opt.Home)
	} else if err = h.open(); err == nil && !opt.DryRun {
		err = h.exclude()
	}
	if err != nil {
		h.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
		h.close()
		return nil, h.diags
	}
	data, err := h.read(StateFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		h.diags.Errorf(diag.BadLock, diag.Pos{File: StateFile}, "cannot be read: %v", pathErr(err))
	default:
		d := toml.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&h.had); err != nil || h.had.Version != stateVersion {
			h.diags.Errorf(diag.BadLock, diag.Pos{File: StateFile}, "got a state of the installation that cannot be read, or a newer modec's").
				Hint("what was there before lies in " + originalDir + "; put it back, and remove the state")
		}
	}
	if h.diags.HasErrors() {
		defer h.close()
		return nil, h.told()
	}
	h.settle()
	h.away = map[string]bool{}
	h.next = state{Version: stateVersion, Modec: opt.Version, Files: maps.Clone(h.had.Files), Before: maps.Clone(h.had.Before), Folders: append(slices.Clone(h.had.Folders), h.next.Folders...)}
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
	if h.root != nil {
		h.root.Close()
	}
}

// exclude takes the lock of the state, and notes the folders that are made for it.
func (h *home) exclude() error {
	h.made(stateLock)
	if err := h.root.MkdirAll(path.Dir(stateLock), 0o700); err != nil {
		return fmt.Errorf("cannot create the folder of the state: %w", pathErr(err))
	}
	f, err := h.root.OpenFile(stateLock, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write the state: %w", pathErr(err))
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
	h.root.Remove(temp(StateFile))
	dir, err := h.root.Open(strings.TrimSuffix(originalDir, "/"))
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, n := range names {
		if strings.HasSuffix(n, temp("")) {
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

// records are those that may be true of a file: after an interruption more than one.
func (h *home) records(p string) (list []Installed) {
	if r, ok := h.had.Files[p]; ok {
		list = append(list, r)
	}
	return append(list, h.had.Before[p]...)
}

func originalOf(hash string) string { return originalDir + strings.TrimPrefix(hash, "sha256:") }

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

// restored returns a file as it would be without modec: the original, where nothing
// changed since, else what is there without modec's entries and with the values that
// they replaced. An entry that somebody edited is a person's by now. nil: no file;
// false: it cannot be told.
func (h *home) restored(p string, have []byte) ([]byte, bool) {
	records := h.records(p)
	if have == nil {
		h.missed(p)
		return nil, true
	}
	if len(records) == 0 {
		return have, true
	}
	var before []byte // what was there, as far as it is known
	for _, r := range records {
		if r.Original == Sum(have) { // an interrupted change came to its end, or not to this file
			return have, true
		}
		data, ok := h.original(r)
		if !ok {
			h.diags.Warnf(diag.CannotWrite, diag.Pos{File: originalOf(r.Original)}, "got no copy of what was there before %s, want it to put it back", p).
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
	var owned []merge.Entries
	for _, r := range records {
		owned = append(owned, maps.Clone(r.Entries))
	}
	res, err := merge.Merge(have, nil, nil, owned, false)
	if err == nil && len(res.Conflicts) > 0 {
		for _, x := range res.Conflicts {
			h.diags.Warnf(diag.Edited, diag.Pos{File: p, Line: x.Line, Col: 1}, "got an entry %q that was edited since modec wrote it: it stays", x.Place)
			for _, e := range owned {
				delete(e, x.Place)
			}
		}
		res, err = merge.Merge(have, nil, nil, owned, false)
	}
	if err != nil {
		h.unmerged(records[0].Target, p, err)
		return nil, false
	}
	if h.conflicts(records[0].Target, p, res.Conflicts, "") {
		return nil, false
	}
	h.missing(p, owned[0], res.Taken)
	if before == nil || res.Data == nil {
		return res.Data, true
	}
	var replaced []string // where modec's value stood in the place of another
	for _, place := range res.Taken {
		if slices.ContainsFunc(owned, func(e merge.Entries) bool { return e[place] != "" && e[place] != merge.Container }) {
			replaced = append(replaced, place)
		}
	}
	back, err := merge.Merge(res.Data, before, replaced, nil, false)
	if err != nil || len(back.Conflicts) > 0 {
		return res.Data, true // a person's own word since
	}
	return back.Data, true
}

// missed keeps what was there before a file that somebody took away: it may come back.
func (h *home) missed(p string) {
	for _, r := range h.records(p) {
		if r.Original != "" {
			h.away[r.Original] = true
			h.diags.Warnf(diag.Edited, diag.Pos{File: p}, "got no file, want it to put back what was there before, which stays in ~/%s", originalOf(r.Original))
		}
	}
}

// missing tells of items that are not there any more as modec wrote them: a hook that
// somebody edited goes on to run.
func (h *home) missing(p string, entries merge.Entries, taken []string) {
	n := 0
	for place, sum := range entries {
		if sum == "" && !slices.Contains(taken, place) {
			n++
		}
	}
	if n > 0 {
		h.diags.Warnf(diag.Edited, diag.Pos{File: p}, "got a file without %d of the entries that modec wrote: somebody edited or removed them", n).
			Hint("look for what is left of them, such as `modec hook`")
	}
}

// Install puts a subject's files for the agents of a compiled project into a home
// folder: all of them or none. What is there is merged with and kept. The diagnostics
// tell what the installed files permit beyond the source, which is a person's own.
func (r *Result) Install(ref ir.SubjectRef, root string, opt InstallOptions) ([]Change, diag.List) {
	h, diags := openHome(opt)
	if diags.HasErrors() {
		return nil, diags
	}
	defer h.close()
	var changes []Change
	var originals []contract.File
	judged := map[string]contract.File{} // what is judged, by the artifact
	names := map[string]string{}         // of the installed files, by the artifact
	for _, t := range opt.Targets {
		installer, ok := t.(contract.Installer)
		if !ok {
			continue
		}
		files, list := installer.Install(r.Input(t), ref, root)
		diags = append(diags, list...)
		kept := map[string]bool{}
		for _, f := range files {
			kept[f.Path] = true
			if !slices.Contains(installer.Home(), f.Path) {
				h.diags.Errorf(diag.ForeignPath, diag.Pos{}, "got the path %q, want one that the target owns", f.Path).
					Target(t.Name())
				continue
			}
			c, original, ok := h.add(t.Name(), f)
			if !ok {
				continue
			}
			in := Installed{Target: t.Name(), Project: root, Subject: ref.String(), Written: c.SHA256, Entries: c.entries}
			if original != nil {
				in.Original = Sum(original)
				originals = append(originals, contract.File{Path: originalOf(in.Original), Data: original})
			}
			h.made(f.Path)
			h.next.Files[f.Path] = in
			changes = append(changes, c)
			if res, err := merge.Merge(original, f.Artifact.Data, f.Shared, nil, true); err == nil && len(res.Conflicts) == 0 {
				judged[f.Artifact.Path], names[f.Artifact.Path] = contract.File{Path: f.Artifact.Path, Data: res.Data}, "~/"+f.Path
			}
		}
		for _, p := range slices.Sorted(maps.Keys(h.next.Files)) {
			if h.next.Files[p].Target == t.Name() && !kept[p] && slices.Contains(installer.Home(), p) {
				changes = append(changes, h.takeOut(p)...)
			}
		}
	}
	if h.diags.HasErrors() || diags.HasErrors() {
		return nil, append(h.told(), diags...)
	}
	if !opt.DryRun {
		if err := h.apply(changes, originals); err != nil {
			diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
			return nil, diags
		}
	}
	if diags = append(h.told(), diags...); opt.unjudged {
		return changes, diags
	}
	return changes, append(diags, r.judgeInstalled(ref, opt.Targets, judged, names)...)
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

// add merges one file, and returns what was there before modec.
func (h *home) add(name string, f contract.HomeFile) (c Change, original []byte, ok bool) {
	have, err := h.read(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.diags.Errorf(diag.CannotWrite, diag.Pos{File: f.Path}, "%v", pathErr(err))
		return c, nil, false
	}
	if original, ok = h.restored(f.Path, have); !ok {
		return c, nil, false
	}
	refuse := func(message, hint string) (Change, []byte, bool) {
		h.diags.Errorf(diag.CannotMerge, diag.Pos{File: f.Path}, "%s", message).Hint(hint).Target(name)
		return Change{}, nil, false
	}
	if f.Strict && original != nil && !json.Valid(original) {
		return refuse("got a file that is no strict JSON, want one: the agent loads nothing of it, comments and trailing commas included", "mend it, or move it away")
	}
	if f.Off != "" && original != nil {
		if v, err := artifact.JSON(f.Path, original); err == nil && v.Get(f.Off).True() {
			return refuse(fmt.Sprintf("got %s, under which the agent runs no hook, want it out", f.Off), "the hook is what holds the subject")
		}
	}
	base := original
	if base == nil {
		base = f.Start
	}
	res, err := merge.Merge(base, f.Data, f.Shared, nil, h.opt.Force)
	if err != nil {
		h.unmerged(name, f.Path, err)
		return c, nil, false
	}
	if h.conflicts(name, f.Path, res.Conflicts, "take it out, or `--force` replaces it until `modec uninstall`") {
		return c, nil, false
	}
	c = Change{Target: name, Path: f.Path, Bytes: len(res.Data), SHA256: Sum(res.Data), Action: Update, Shared: true, data: res.Data, have: have, entries: res.Entries}
	switch {
	case have == nil:
		c.Action = Create
	case bytes.Equal(have, res.Data):
		c.Action = Unchanged
	}
	return c, original, true
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
		h.diags.Errorf(diag.CannotWrite, diag.Pos{File: p}, "%v", pathErr(err))
		return nil
	}
	data, ok := h.restored(p, have)
	if !ok {
		return nil
	}
	c := Change{Target: h.next.Files[p].Target, Path: p, Bytes: len(data), SHA256: Sum(data), Action: Update, Shared: true, data: data, have: have}
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

// apply writes in an order that can be interrupted anywhere: a state that holds the
// records of before and after, what was there before, the files, and the state of after.
func (h *home) apply(changes []Change, originals []contract.File) error {
	for _, c := range changes { // of a run that was interrupted
		h.root.Remove(temp(c.Path))
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
	var files []contract.File
	for _, c := range changes {
		if c.Action == Create || c.Action == Update {
			files = append(files, contract.File{Path: c.Path, Data: c.data})
		}
	}
	removed := slices.ContainsFunc(changes, func(c Change) bool { return c.Action == Remove })
	if len(files) > 0 || removed {
		if err := h.save(between); err != nil {
			return err
		}
		for _, o := range originals {
			if _, err := h.read(o.Path); err == nil {
				continue // by its hash
			}
			if err := h.put([]contract.File{o}); err != nil {
				return err
			}
		}
		if err := h.put(files); err != nil {
			return err
		}
		for _, c := range changes {
			if c.Action == Remove {
				h.changes()
				if err := h.root.Remove(c.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("cannot remove %s: %w", c.Path, pathErr(err))
				}
			}
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
		h.changes()
		if err := h.root.Remove(StateFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the state: %w", pathErr(err))
		}
		return nil
	}
	b, err := toml.Marshal(s)
	if err != nil {
		return err
	}
	b = append([]byte(stateHeader), b...)
	if have, err := h.read(StateFile); err == nil && bytes.Equal(have, b) {
		return nil
	}
	return h.put([]contract.File{{Path: StateFile, Data: b}})
}

// forget removes the originals that are in place again. One that no record names may be
// somebody's only copy, of a state that was lost.
func (h *home) forget() error {
	needed := maps.Clone(h.away)
	for p, r := range h.next.Files {
		needed[r.Original] = true
		for _, r := range h.next.Before[p] {
			needed[r.Original] = true
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
		if r.Original == "" || needed[r.Original] {
			continue
		}
		h.changes()
		if err := h.root.Remove(originalOf(r.Original)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove what was kept: %w", pathErr(err))
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
	own := append(h.next.Folders, strings.TrimSuffix(originalDir, "/"), strings.TrimSuffix(stateDir, "/"))
	slices.SortFunc(own, func(a, b string) int { return len(b) - len(a) })
	for _, dir := range own {
		if info, err := h.root.Lstat(dir); err == nil && info.IsDir() {
			h.root.Remove(dir) // where it is empty
		}
	}
}

// Uninstall brings the files of a home folder back to what they would be without
// modec: to the byte where nothing changed since, else without modec's entries.
func Uninstall(opt InstallOptions) ([]Change, diag.List) {
	h, diags := openHome(opt)
	if diags.HasErrors() {
		return nil, diags
	}
	defer h.close()
	var changes []Change
	for _, p := range slices.Sorted(maps.Keys(h.next.Files)) {
		if slices.ContainsFunc(opt.Targets, func(t contract.Target) bool {
			i, ok := t.(contract.Installer)
			return ok && t.Name() == h.next.Files[p].Target && slices.Contains(i.Home(), p)
		}) {
			changes = append(changes, h.takeOut(p)...)
		}
	}
	if h.diags.HasErrors() || opt.DryRun {
		return changes, h.told()
	}
	if err := h.apply(changes, nil); err != nil {
		h.diags.Errorf(diag.CannotWrite, diag.Pos{}, "%v", err)
	}
	return changes, h.told()
}

// judgeInstalled holds the installed files against the source, each in the place of
// the artifact that says the same. What is wider then is a person's own.
func (r *Result) judgeInstalled(ref ir.SubjectRef, targets []contract.Target, judged map[string]contract.File, names map[string]string) diag.List {
	files, compiled := memfs.FS{}, memfs.FS{}
	for _, f := range r.Files() {
		compiled[f.Path] = f.Data
	}
	maps.Copy(files, compiled)
	for p, f := range judged {
		files[p] = f.Data
	}
	req := verify.Request{Policy: r.Policy, Seed: 1, Subjects: []ir.SubjectRef{ref}}
	for _, t := range targets {
		if j, ok := t.(contract.Judged); ok {
			req.Targets = append(req.Targets, verify.Target{Target: j, Input: r.Input(t), Files: files, Compiled: compiled})
		}
	}
	report, err := verify.Run(req)
	if err != nil {
		var diags diag.List
		diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return diags
	}
	var diags diag.List
	for _, d := range report.Diagnostics {
		if name, ok := names[d.Pos.File]; ok {
			d.Pos.File = name
			diags = append(diags, d)
		}
	}
	for i := range report.Surfaces {
		diags = append(diags, ownRules(&report.Surfaces[i], names)...)
	}
	return diags
}

// ownRules tells once of each rule of a person what it permits beyond the source.
func ownRules(s *verify.Surface, names map[string]string) (diags diag.List) {
	type rule struct {
		at diag.Pos
		by string
	}
	var order []rule
	found := map[rule][]verify.Finding{}
	for _, f := range s.Findings {
		r := rule{f.At, f.By}
		if found[r] == nil {
			order = append(order, r)
		}
		found[r] = append(found[r], f)
	}
	for _, r := range order {
		f, more := found[r][0], ""
		if n := len(found[r]) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more like it", n)
		}
		at := r.at
		at.File = cmp.Or(names[at.File], at.File)
		diags.Warnf(diag.ForeignWidening, at, "got an entry of your own, %s: %s %q%s is %s, and %s by the source", r.by, f.Group, f.Action, more, f.Artifact, f.Source).
			Hint("take it out, or say in the source what it permits").
			Target(s.Target).
			Subject(f.Subject).
			Loses(diag.Widening, string(f.Group)).
			Related(f.Pos, "decided by "+f.Rule)
	}
	return diags
}
