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
	"slices"
	"testing/fstest"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler/artifact"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/merge"
	"modec.dev/modec/compiler/target"
	"modec.dev/modec/compiler/verify"
)

// Where a home folder keeps what was put into it, and what was there before.
const (
	stateDir    = ".local/state/modec/"
	StateFile   = stateDir + "install.toml"
	originalDir = stateDir + "original/"
)

// stateVersion is the version of the state's form.
const stateVersion = 1

const stateHeader = `# Written by modec install. It tells what is modec's in your home folder;
# modec uninstall takes it out.
`

// state is StateFile.
type state struct {
	Version int                  `toml:"version"`
	Modec   string               `toml:"modec"` // version of modec that installed last
	Files   map[string]Installed `toml:"files"` // by their path
}

// Installed is one file of a home folder that holds entries of modec.
type Installed struct {
	Target  string `toml:"target"`
	Project string `toml:"project"` // its folder
	Subject string `toml:"subject"`
	// Written are the hashes of the file as modec left it: where it still is, the
	// original takes its place again.
	Written []string `toml:"written,multiline"`
	// Original is the hash of what was there before, kept below originalDir; "" where
	// nothing was.
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
	Targets []target.Target
}

// home is a home folder that is read and written.
type home struct {
	writer
	state state
	raw   []byte // of the state
}

// openHome reads the state of a home folder.
func openHome(opt InstallOptions) (*home, diag.List) {
	h := &home{writer: writer{opt: WriteOptions{Dir: opt.Home, Version: opt.Version, Force: opt.Force, DryRun: opt.DryRun}, mode: 0o600}}
	info, err := os.Stat(opt.Home)
	if err != nil || !info.IsDir() {
		err = fmt.Errorf("got no home folder at %s", opt.Home)
	} else {
		err = h.open()
	}
	if err != nil {
		h.diags.Errorf(diag.Pos{}, "cannot-write", "", "%v", err)
		return nil, h.diags
	}
	data, err := h.read(StateFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		h.diags.Errorf(diag.Pos{File: StateFile}, "bad-lock", "", "cannot be read: %v", pathErr(err))
	default:
		d := toml.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		if err := d.Decode(&h.state); err != nil || h.state.Version != stateVersion {
			h.diags = append(h.diags, diag.Diagnostic{Code: "bad-lock", Pos: diag.Pos{File: StateFile}, Message: "got a state of the installation that cannot be read, or a newer modec's", Hint: "what was there before lies in " + originalDir + "; put it back, and remove the state"})
		}
	}
	if h.diags.HasErrors() {
		h.root.Close()
		return nil, h.told()
	}
	h.raw = data
	h.state.Version, h.state.Modec = stateVersion, opt.Version
	if h.state.Files == nil {
		h.state.Files = map[string]Installed{}
	}
	return h, nil
}

// restored returns a file as it would be without modec: the original, where nothing
// changed since, else what is there without modec's entries and with the values that
// they replaced. An entry that somebody edited is a person's by now. nil: no file;
// false: it cannot be told.
func (h *home) restored(p string, have []byte) ([]byte, bool) {
	in, ok := h.state.Files[p]
	if !ok || have == nil {
		return have, true
	}
	var original []byte
	if in.Original != "" {
		b, err := h.read(originalDir + p)
		if err != nil || Sum(b) != in.Original {
			h.diags.Warnf(diag.Pos{File: originalDir + p}, "cannot-write", "modec's entries are taken out one by one", "got no copy of what was there before, want it to put it back")
		} else {
			original = b
		}
	}
	if slices.Contains(in.Written, Sum(have)) && (in.Original == "") == (original == nil) {
		return original, true
	}
	entries := maps.Clone(in.Entries)
	res, err := merge.Merge(have, nil, nil, []merge.Entries{entries}, false)
	if err == nil && len(res.Conflicts) > 0 {
		for _, x := range res.Conflicts {
			h.diags.Warnf(diag.Pos{File: p, Line: x.Line, Col: 1}, "edited", "", "got an entry %q that was edited since modec wrote it: it stays", x.Place)
			delete(entries, x.Place)
		}
		res, err = merge.Merge(have, nil, nil, []merge.Entries{entries}, false)
	}
	if err != nil {
		h.unmerged(in.Target, p, err)
		return nil, false
	}
	if h.conflicts(in.Target, p, res.Conflicts, "") {
		return nil, false
	}
	if original == nil || res.Data == nil {
		return res.Data, true
	}
	var replaced []string
	for _, place := range entries.Places() {
		if v := entries[place]; v != "" && v != merge.Container {
			replaced = append(replaced, place)
		}
	}
	back, err := merge.Merge(res.Data, original, replaced, nil, false)
	if err != nil || len(back.Conflicts) > 0 {
		return res.Data, true // a person's own word since
	}
	return back.Data, true
}

// Install puts a subject's files for the agents of a compiled project into a home
// folder: all of them or none. What is there is merged with and kept. The diagnostics
// tell what the installed files permit beyond the source, which is a person's own.
func (r *Result) Install(ref ir.SubjectRef, root string, opt InstallOptions) ([]Change, diag.List) {
	h, diags := openHome(opt)
	if diags.HasErrors() {
		return nil, diags
	}
	defer h.root.Close()
	var changes []Change
	var originals []target.File
	judged := map[string]target.File{} // what is judged, by the artifact
	names := map[string]string{}       // of the installed files, by the artifact
	for _, t := range opt.Targets {
		installer, ok := t.(target.Installer)
		if !ok {
			continue
		}
		files, list := installer.Install(r.Input(t), ref, root)
		diags = append(diags, list...)
		kept := map[string]bool{}
		for _, f := range files {
			kept[f.Path] = true
			if !slices.Contains(installer.Home(), f.Path) {
				h.diags = append(h.diags, diag.Diagnostic{Code: "foreign-path", Target: t.Name(), Message: fmt.Sprintf("got the path %q, want one that the target owns", f.Path)})
				continue
			}
			c, original, ok := h.add(t.Name(), f)
			if !ok {
				continue
			}
			in := h.state.Files[f.Path]
			in.Target, in.Project, in.Subject, in.Entries = t.Name(), root, ref.String(), c.entries
			in.Written = append(slices.DeleteFunc(in.Written, func(sum string) bool { return sum != Sum(c.have) || sum == c.SHA256 }), c.SHA256)
			if in.Original = ""; original != nil {
				in.Original = Sum(original)
				originals = append(originals, target.File{Path: originalDir + f.Path, Data: original})
			}
			h.state.Files[f.Path] = in
			changes = append(changes, c)
			if res, err := merge.Merge(original, f.Artifact.Data, f.Shared, nil, true); err == nil {
				judged[f.Artifact.Path], names[f.Artifact.Path] = target.File{Path: f.Artifact.Path, Data: res.Data}, "~/"+f.Path
			}
		}
		for _, p := range slices.Sorted(maps.Keys(h.state.Files)) {
			if h.state.Files[p].Target == t.Name() && !kept[p] {
				changes = append(changes, h.takeOut(p)...)
			}
		}
	}
	if h.diags.HasErrors() || diags.HasErrors() {
		return nil, append(h.told(), diags...)
	}
	if !opt.DryRun {
		if err := h.apply(changes, originals); err != nil {
			diags.Errorf(diag.Pos{}, "cannot-write", "", "%v", err)
			return nil, diags
		}
	}
	diags = append(h.told(), diags...)
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
func (h *home) add(name string, f target.HomeFile) (c Change, original []byte, ok bool) {
	have, err := h.read(f.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.diags.Errorf(diag.Pos{File: f.Path}, "cannot-write", "", "%v", pathErr(err))
		return c, nil, false
	}
	if original, ok = h.restored(f.Path, have); !ok {
		return c, nil, false
	}
	if f.Strict && original != nil && !json.Valid(original) {
		_, err := artifact.JSON(f.Path, original)
		h.diags = append(h.diags, diag.Diagnostic{Code: "cannot-merge", Pos: artifact.PlaceOf(f.Path, err), Target: name, Message: "got a file that is no strict JSON, want one: the agent loads nothing of it, comments and trailing commas included", Hint: "mend it, or move it away"})
		return c, nil, false
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

// takeOut plans to bring a file back to what it would be without modec.
func (h *home) takeOut(p string) []Change {
	have, err := h.read(p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		h.diags.Errorf(diag.Pos{File: p}, "cannot-write", "", "%v", pathErr(err))
		return nil
	}
	data, ok := h.restored(p, have)
	if !ok {
		return nil
	}
	c := Change{Target: h.state.Files[p].Target, Path: p, Bytes: len(data), SHA256: Sum(data), Action: Update, Shared: true, data: data, have: have}
	delete(h.state.Files, p)
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

// apply writes what was there before and the state, then the files: whenever it stops,
// the next installation or uninstallation knows each file.
func (h *home) apply(changes []Change, originals []target.File) error {
	var files []target.File
	for _, o := range originals {
		if have, err := h.read(o.Path); err != nil || !bytes.Equal(have, o.Data) {
			files = append(files, o)
		}
	}
	b, err := toml.Marshal(h.state)
	if err != nil {
		return err
	}
	if b = append([]byte(stateHeader), b...); len(h.state.Files) > 0 && !bytes.Equal(b, h.raw) {
		files = append(files, target.File{Path: StateFile, Data: b})
	}
	for _, c := range changes {
		if c.Action == Create || c.Action == Update {
			files = append(files, target.File{Path: c.Path, Data: c.data})
		}
	}
	if len(files) > 0 {
		if err := h.put(files); err != nil {
			return err
		}
	}
	for _, c := range changes {
		if c.Action == Remove {
			if err := h.remove(c.Path); err != nil {
				return err
			}
		}
		if h.state.Files[c.Path].Original == "" {
			if err := h.remove(originalDir + c.Path); err != nil {
				return err
			}
		}
	}
	if len(h.state.Files) == 0 {
		return h.remove(StateFile)
	}
	return nil
}

// Uninstall brings the files of a home folder back to what they would be without
// modec: to the byte where nothing changed since, else without modec's entries.
func Uninstall(opt InstallOptions) ([]Change, diag.List) {
	h, diags := openHome(opt)
	if diags.HasErrors() {
		return nil, diags
	}
	defer h.root.Close()
	var changes []Change
	for _, p := range slices.Sorted(maps.Keys(h.state.Files)) {
		if slices.ContainsFunc(opt.Targets, func(t target.Target) bool {
			i, ok := t.(target.Installer)
			return ok && t.Name() == h.state.Files[p].Target && slices.Contains(i.Home(), p)
		}) {
			changes = append(changes, h.takeOut(p)...)
		}
	}
	if h.diags.HasErrors() || opt.DryRun {
		return changes, h.told()
	}
	if err := h.apply(changes, nil); err != nil {
		h.diags.Errorf(diag.Pos{}, "cannot-write", "", "%v", err)
	}
	return changes, h.told()
}

// judgeInstalled holds the installed files against the source, each in the place of
// the artifact that says the same. What is wider then is a person's own.
func (r *Result) judgeInstalled(ref ir.SubjectRef, targets []target.Target, judged map[string]target.File, names map[string]string) diag.List {
	files, compiled := fstest.MapFS{}, fstest.MapFS{}
	for _, f := range r.Files() {
		compiled[f.Path] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
	}
	maps.Copy(files, compiled)
	for p, f := range judged {
		files[p] = &fstest.MapFile{Data: f.Data, Mode: 0o644}
	}
	req := verify.Request{Policy: r.Policy, Seed: 1, Subjects: []ir.SubjectRef{ref}}
	for _, t := range targets {
		if j, ok := t.(target.Judged); ok {
			req.Targets = append(req.Targets, verify.Target{Target: j, Input: r.Input(t), Files: files, Compiled: compiled})
		}
	}
	report, err := verify.Run(req)
	if err != nil {
		var diags diag.List
		diags.Errorf(diag.Pos{}, "bad-pattern", "", "%v", err)
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
		diags = append(diags, diag.Diagnostic{Severity: diag.Warning, Code: "foreign-widening", Pos: at, Target: s.Target, Subject: f.Subject, Group: string(f.Group), Loss: diag.Widening,
			Message: fmt.Sprintf("got an entry of your own, %s: %s %q%s is %s, and %s by the source", r.by, f.Group, f.Action, more, f.Artifact, f.Source),
			Hint:    "take it out, or say in the source what it permits", Related: []diag.Related{{Pos: f.Pos, Message: "decided by " + f.Rule}}})
	}
	return diags
}
