package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/jsonedit"
	"modec.dev/modec/compiler/layout"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
)

// Edit is what somebody changed in an agent's file that modec writes.
type Edit struct {
	Pos  diag.Pos `json:"pos"`
	What string   `json:"what"`
	Why  string   `json:"why,omitempty" jsonschema:"why no patch of the source says it"`
	// Offer is set where nobody changed the file: the source can say in another way what it says.
	Offer bool `json:"offer,omitempty" jsonschema:"nobody changed the file: the source can say it for every agent"`
}

// Edited is a source with what people changed in the agents' files.
type Edited struct {
	Edits    []Edit
	Files    []contract.File // of the source, as the edits leave them
	Before   *compiler.Result
	Compiled *compiler.Result // with these files
	// Was decides as before, with the names that modes have in these files.
	Was *policy.Engine
	// Said are the agents' files of which the source then says everything: a build takes them over.
	Said map[string]originals.File
	// Repaired are what an import mended that the agents refuse.
	Repaired []contract.Note

	differ map[string]bool // the agents' files with an edit
}

// Differs reports whether an agent's file says something that the source of before does not.
func (e *Edited) Differs(file string) bool { return e.differ[file] }

// Edits compares the agents' files of a project that was built with what it makes of them, and says
// the difference in the source. Both are imported, so that what an import loses makes no difference.
// record has the files from before modec. Where no build was yet, the files are compared with these.
func Edits(ctx context.Context, req Request, of compiler.Request, record *originals.Record) (*Edited, diag.List) {
	of.FS = req.Root
	built, diags := compiler.Compile(ctx, of)
	if diags.HasErrors() {
		return nil, diags
	}
	lock, _ := fs.ReadFile(req.Root, output.LockFile)
	e := editor{ctx: ctx, req: req, of: of, record: record, built: built, asBuilt: output.AsBuilt(lock),
		wrote: output.Knows(lock)}
	if e.unbuilt = lock == nil; e.unbuilt {
		record = unpatched(record, req.Root)
		e.record = record
		made := sync.OnceValue(e.ejected)
		e.asBuilt = func(name string, data []byte) bool {
			o, ok := record.Original(name)
			return ok && bytes.Equal(o.Data, data) || data != nil &&
				slices.ContainsFunc(made(), func(files memfs.FS) bool { return bytes.Equal(files[name], data) })
		}
	}
	tree, _ := source.Load(req.Root, built.Config.Source)
	e.source = tree.Root
	changes, diags := e.changes(built)
	if e.unbuilt && len(changes) > 0 && !diags.HasErrors() {
		changes, diags = e.withoutBuilt(changes)
	}
	changes = e.withoutFollowing(changes)
	if diags.HasErrors() || len(changes) == 0 {
		return &Edited{Before: built, Compiled: built, Was: built.Policy}, diags
	}
	out, err := e.patch(changes)
	if err != nil {
		diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
		return nil, diags
	}
	return out, diags
}

// unpatched returns a record in which no file is as a patch would have the source say it that is not in place.
func unpatched(record *originals.Record, root fs.FS) *originals.Record {
	out := *record
	out.Files = map[string]originals.File{}
	for name, f := range record.Files {
		out.Files[name] = f.Unpatched(func(path string) ([]byte, error) { return fs.ReadFile(root, path) })
	}
	return &out
}

// ejected returns the files as `modec clean --keep` may have left them: as a build made them, and without hooks.
func (e *editor) ejected() []memfs.FS {
	out := []memfs.FS{e.base(e.built)}
	of := e.of
	of.Unhooked = true
	if res, diags := compiler.Compile(e.ctx, of); !diags.HasErrors() {
		out = append(out, e.base(res))
	}
	return out
}

type editor struct {
	ctx     context.Context
	req     Request
	of      compiler.Request
	record  *originals.Record
	built   *compiler.Result
	source  *source.Node
	after   map[string]*imports // by target: what the files on disk say
	asBuilt func(name string, data []byte) bool
	wrote   func(name string) bool // a build did, and noted it in the lock
	unbuilt bool
}

// change is an edit, and how the source comes to say it.
type change struct {
	Edit
	do func(*patcher) error // nil: Why says why not
	// subject is set for a rule or a default of a subject's, home is the file that is about the
	// subject alone, and from is the policy that the rule is of.
	subject, home, from string
	mode                bool      // it is a permission mode
	beside              bool      // it is about no decision of the subject
	copied              bool      // the subject of the source has the rule itself, beside the policy
	note                bool      // it is about what no import takes over
	unless              bool      // it is one only where a build of the patched source writes the file in another way
	files               []string  // that say it
	renames             [2]string // a mode's names, before and now
	about               string    // what is changed as a whole, where What says which parts of it
	target              string    // for which alone the source says it
	restated            *restated // by can, nil where the agent's files say it in the source's words
}

// isLeft reports whether a file that says a change says it again, or another one of the same whole. One that
// nobody changed says something else too, once the source is patched: a build writes it anew.
func (c *change) isLeft(l change) bool {
	same := l.What == c.What || c.about != "" && l.about == c.about
	return same && slices.ContainsFunc(l.files, func(f string) bool { return slices.Contains(c.files, f) })
}

// withoutBuilt returns those changes of what a migration read that are changes of what a build makes too: what an
// earlier build wrote, whose lock an eject took away, is no edit.
func (e *editor) withoutBuilt(changes []change) ([]change, diag.List) {
	left, diags := e.changes(e.built)
	return slices.DeleteFunc(changes, func(c change) bool { return !slices.ContainsFunc(left, c.isLeft) }), diags
}

// withoutFollowing returns the changes without those of rules that are written as they were, and that an import reads
// otherwise because of the permission mode that somebody changed: a build takes it into account by itself.
func (e *editor) withoutFollowing(changes []change) []change {
	p := &patcher{fsys: e.req.Root, dir: e.built.Config.Source, files: memfs.FS{}}
	made := 0
	for _, c := range changes {
		if c.mode && p.do(e.checked(c.do, e.opens)) == nil {
			made++
		}
	}
	if made == 0 || made == len(changes) {
		return changes
	}
	tree, err := p.tree()
	if err != nil {
		return changes
	}
	of := e.of
	of.FS = tree
	now, diags := compiler.Compile(e.ctx, of)
	if diags.HasErrors() {
		return changes
	}
	left, diags := e.changes(now)
	if diags.HasErrors() {
		return changes
	}
	return slices.DeleteFunc(changes, func(c change) bool {
		return c.subject != "" && !c.mode && !slices.ContainsFunc(left, c.isLeft)
	})
}

// lost returns what a build of a patched source leaves out, where that is one thing and was none before; else "".
func (e *editor) lost(now *compiler.Result) (why string) {
	losses := func(res *compiler.Result) (all diag.List) {
		for _, o := range res.Outputs {
			all = append(all, o.Losses...)
		}
		return all
	}
	before := losses(e.built)
	for _, d := range losses(now) {
		same := func(o diag.Diagnostic) bool { return o.Message == d.Message }
		switch {
		case slices.ContainsFunc(before, same):
		case why != "" && why != d.Message:
			return ""
		default:
			why = d.Message
		}
	}
	return why
}

// make makes changes, and says of each that the source cannot say why not. One that has to wait for another is
// tried again after it: what is taken out while rules name it is gone once they are.
func (e *editor) make(p *patcher, todo []*change, check func(compiler.Request) diag.List) {
	for made := true; made; {
		var failed []*change
		made = false
		for _, c := range todo {
			before := p.changed()
			err := p.do(e.checked(c.do, check))
			if err == nil && slices.EqualFunc(before, p.changed(), sameFile) {
				err = errSaid
			}
			unsaid := errors.Is(err, errUnsaid) || errors.Is(err, errNoList)
			switch {
			case errors.Is(err, errSaid), unsaid && c.Pos.Line == 0 && !e.writes(c.Pos.File):
				c.What, c.Why = "", "" // or it is gone from a file that no build writes any more, and from the source
			case err != nil:
				c.Why = err.Error()
				failed = append(failed, c)
			default:
				c.Why, made = "", true
			}
		}
		made, todo = made && len(failed) > 0, failed
	}
}

// sameFile reports whether two files have one name and one text.
func sameFile(a, b contract.File) bool { return a.Path == b.Path && bytes.Equal(a.Data, b.Data) }

func (e *editor) opens(of compiler.Request) diag.List {
	_, diags := compiler.Open(e.ctx, of)
	return diags
}

func (e *editor) compiles(of compiler.Request) diag.List {
	_, diags := compiler.Compile(e.ctx, of)
	return diags
}

// patch makes the changes that the source can say, and looks at what is built from it then: a change
// that does not come back is none that it says.
func (e *editor) patch(changes []change) (*Edited, error) {
	for check, compiling := e.opens, false; ; {
		p := &patcher{fsys: e.req.Root, dir: e.built.Config.Source, files: memfs.FS{}}
		var todo []*change
		for i := range changes {
			if c := &changes[i]; c.Why == "" {
				todo = append(todo, c)
			}
		}
		e.make(p, todo, check)
		changes = slices.DeleteFunc(changes, func(c change) bool { return c.What == "" })
		tree, err := p.tree()
		if err != nil {
			return nil, err
		}
		of := e.of
		of.FS = tree
		now, diags := compiler.Compile(e.ctx, of)
		switch {
		case diags.HasErrors() && !compiling: // look which of them nothing can be built with
			check, compiling = e.compiles, true
			continue
		case diags.HasErrors():
			return nil, diags.Err()
		}
		left, diags := e.changes(now)
		if diags.HasErrors() {
			return nil, diags.Err()
		}
		again := false
		for i := range changes {
			c := &changes[i]
			still := slices.ContainsFunc(left, c.isLeft) &&
				(c.restated == nil || c.restated.allows) // what else can says is proved: it has other words there
			if c.Why == "" && still {
				c.Why, again = "the agent's file would not say it after a build, whatever the source says of it", true
				if why := e.lost(now); why != "" {
					c.Why += ": " + why
				}
			}
		}
		if !again && !e.proveRestated(changes, now) {
			return e.result(p, now, e.withoutKept(changes, now)), nil
		}
	}
}

// withoutKept returns the changes without those of files that a build of the patched source leaves to the byte.
func (e *editor) withoutKept(changes []change, now *compiler.Result) []change {
	built := sync.OnceValue(func() memfs.FS { return e.base(now) })
	return slices.DeleteFunc(changes, func(c change) bool {
		if !c.unless {
			return false
		}
		data, err := contract.ReadImport(e.req.Root, c.Pos.File)
		return err == nil && bytes.Equal(built()[c.Pos.File], data)
	})
}

// checked returns a change that fails where a check of the source finds an error after it.
func (e *editor) checked(do func(*patcher) error, check func(compiler.Request) diag.List) func(*patcher) error {
	return func(p *patcher) error {
		if err := do(p); err != nil {
			return err
		}
		tree, err := p.tree()
		if err != nil {
			return err
		}
		of := e.of
		of.FS = tree
		for _, d := range check(of) {
			if d.Severity == diag.Error {
				return fmt.Errorf("the source would have an error: %s", d.Message)
			}
		}
		return nil
	}
}

func (e *editor) result(p *patcher, now *compiler.Result, changes []change) *Edited {
	out := &Edited{Files: p.changed(), Before: e.built, Compiled: now, Said: map[string]originals.File{},
		differ: map[string]bool{}}
	unsaid, names := map[string]bool{}, map[string]string{}
	for _, c := range changes {
		if c.Offer && c.Why != "" {
			continue // nobody asked for it
		}
		out.Edits = append(out.Edits, c.Edit)
		if c.renames[0] != "" && c.Why == "" {
			names[c.renames[0]] = c.renames[1]
		}
		for _, f := range c.files {
			unsaid[f], out.differ[f] = unsaid[f] || c.Why != "", true
		}
	}
	for name, some := range unsaid {
		data, err := contract.ReadImport(e.req.Root, name)
		if some || err != nil {
			continue
		}
		f := originals.File{Data: data}
		for _, in := range e.after {
			f.Taken = append(f.Taken, taken(in.notes, in.started, name)...)
		}
		out.Said[name] = f
	}
	for _, name := range slices.Sorted(maps.Keys(e.after)) {
		for _, n := range e.after[name].notes {
			if n.Kind == contract.Repaired {
				out.Repaired = append(out.Repaired, n)
			}
		}
	}
	slices.SortStableFunc(out.Edits, func(a, b Edit) int { return a.Pos.Compare(b.Pos) })
	out.Edits = slices.Compact(out.Edits)
	out.Was = e.named(names)
	return out
}

// named returns what the project decides that was built, with other names of some of its modes.
func (e *editor) named(names map[string]string) *policy.Engine {
	if len(names) == 0 {
		return e.built.Policy
	}
	return policy.New(e.built.Project.Renamed(names, nil))
}

// others returns the names of all targets but one.
func others(targets []contract.Target, but contract.Target) (names []string) {
	for _, t := range targets {
		if t.Name() != but.Name() {
			names = append(names, t.Name())
		}
	}
	return names
}

// changes returns what the files on disk say otherwise than what a project makes of them.
func (e *editor) changes(res *compiler.Result) (out []change, diags diag.List) {
	first := e.after == nil // the files do not change while the source is patched
	base := e.asRead()
	if !first || !e.unbuilt {
		base = e.base(res)
	}
	targets := make([]contract.Target, len(res.Outputs))
	for i, o := range res.Outputs {
		targets[i] = o.Target
	}
	if first {
		e.after = map[string]*imports{}
	}
	read := func(t contract.Target, root fs.FS, ignored func(context.Context, []string) []string) *imports {
		in, list := read(e.ctx, Request{Root: root, Targets: []contract.Target{t}, Ignored: ignored,
			Approved: e.req.Approved, Repair: e.req.Repair, Must: e.req.Must, ours: true,
			own: ownRules(res, t)})
		diags = append(diags, list...)
		for _, n := range ownRules(res, t) {
			in.verbatim(goneRule{target: n.Target, decision: n.Decision, text: n.Text})
		}
		e.rename(in, t, res)
		return in
	}
	importing := slices.DeleteFunc(slices.Clone(targets), func(t contract.Target) bool {
		_, ok := t.(contract.Importer)
		return !ok
	})
	if first {
		for _, t := range importing { // each is compared beside what the others say
			e.after[t.Name()] = read(t, e.req.Root, e.req.Ignored)
		}
	}
	for _, t := range importing {
		before := read(t, base, nil) // what a build makes is everybody's
		if diags.HasErrors() {
			return nil, diags
		}
		lost := func(file string) bool { return e.writes(file) && e.whole(file) } // else a build leaves the file
		d := differ{target: t, source: res.Project, policy: res.Policy, dialects: contract.Dialects(e.of.Targets),
			only: len(targets) == 1, others: others(targets, t), all: e.after, extends: e.extends, whole: lost,
			chosen: res.Input(t).Options.Chosen(),
			keeps:  func(s ir.Server, files []string) bool { return e.keeps(res, s, files) }}
		d.compare(before, e.after[t.Name()])
		out = append(out, d.decisive(before.project, e.after[t.Name()].project, e.req.Seed)...)
	}
	var once []change
	for _, c := range e.own(out) {
		i := slices.IndexFunc(once, func(o change) bool { return o.What == c.What && o.target == c.target })
		if i < 0 {
			once, i = append(once, c), len(once)
		}
		once[i].files = append(once[i].files, c.Pos.File)
	}
	if first {
		for _, t := range importing {
			once = append(once, e.sayable(res, t)...)
		}
	}
	return once, diags
}

// ownRules returns the rules of a target's own grammar that stay as they are in a project.
func ownRules(res *compiler.Result, t contract.Target) (own []ir.NativeRule) {
	add := func(list []ir.NativeRule) {
		for _, n := range list {
			if n.Own && n.Target == t.Name() {
				own = append(own, n)
			}
		}
	}
	for i := range res.Project.Roles {
		add(res.Project.Roles[i].Native)
	}
	for i := range res.Project.Modes {
		add(res.Project.Modes[i].Native)
	}
	return own
}

// own returns the changes without what only follows from others: a subject with a file of its own has
// what the files say of the whole project too, where no policy of the source has it.
func (e *editor) own(all []change) []change {
	follows := func(c change) bool {
		_, rest, _ := strings.Cut(c.What, ": ")
		return c.subject != "" && c.home != c.Pos.File && slices.ContainsFunc(all, func(o change) bool {
			_, same, _ := strings.Cut(o.What, ": ")
			return o.home == c.Pos.File && o.Pos == c.Pos && (same == rest || c.Pos.Line > 0)
		})
	}
	return slices.DeleteFunc(slices.Clone(all), func(c change) bool {
		policy, _ := strings.CutPrefix(c.from, policyPrefix)
		stated := policy != "" && e.source.Get("policies").Get(policy) != nil
		return e.unedited(c) || !stated && !c.copied && follows(c)
	})
}

// writes reports whether a build of the project writes a file. Of a change without a file that is not known.
func (e *editor) writes(file string) bool {
	return file == "" || slices.ContainsFunc(e.built.Files(), func(f contract.File) bool { return f.Path == file })
}

// extends reports whether a subject of the source has the rules of a policy from there. One of no policy
// of the source has none of them.
func (e *editor) extends(subject []string, policy string) bool {
	if e.source.Get("policies").Get(policy) == nil {
		return true
	}
	list := e.source.Get(subject[0]).Get(subject[1]).Get("extends")
	return list != nil && slices.ContainsFunc(list.Elems, func(n *source.Node) bool { return n.Text == policy })
}

// unedited reports whether a file is as a build left it. What people add to a file of their own too
// is there after a build as well, and only what no import takes over was said before.
func (e *editor) unedited(c change) bool {
	data, err := contract.ReadImport(e.req.Root, c.Pos.File)
	info, stat := fs.Stat(e.req.Root, cmp.Or(c.Pos.File, "."))
	if c.note && c.Pos.File != "" && stat == nil && info.IsDir() { // it is about the files there
		return e.unbuilt && !slices.ContainsFunc(e.built.Files(), func(f contract.File) bool {
			data, err := contract.ReadImport(e.req.Root, f.Path)
			return strings.HasPrefix(f.Path, c.Pos.File+"/") && (err != nil || !e.asBuilt(f.Path, data))
		})
	}
	return err == nil && e.asBuilt(c.Pos.File, data) && (e.whole(c.Pos.File) || c.note || e.unbuilt)
}

// whole reports whether a file is no one to which people add entries of their own, beside those of a build.
func (e *editor) whole(name string) bool {
	return !slices.ContainsFunc(e.built.Files(), func(f contract.File) bool {
		return f.Path == name && f.Places != nil
	})
}

// asRead returns the agents' files as a migration read them.
func (e *editor) asRead() memfs.FS {
	tree := memfs.FS{}
	for name, f := range e.record.Files {
		tree[name] = f.Data
	}
	return tree
}

// base returns the agents' files as a build makes them where nobody edits them afterwards.
func (e *editor) base(res *compiler.Result) memfs.FS {
	tree := e.asRead()
	maps.DeleteFunc(tree, func(name string, _ []byte) bool {
		_, err := fs.Stat(e.req.Root, name)
		return err != nil
	})
	e.takeBack(tree, res)
	styles := map[string]*layout.Style{}
	for _, o := range res.Outputs {
		if laid, ok := o.Target.(contract.LaidOut); ok {
			for _, f := range o.Files {
				styles[f.Path] = laid.Layout(f.Path)
			}
		}
	}
	for _, f := range res.Files() {
		if _, err := fs.Stat(e.req.Root, f.Path); err != nil && !e.unbuilt && !e.wrote(f.Path) {
			continue // the next build writes it for the first time: nobody took it out
		}
		data := f.Data
		if have, err := contract.ReadImport(e.req.Root, f.Path); err == nil && styles[f.Path] != nil {
			_, adopted := e.record.Original(f.Path)
			data = styles[f.Path].Keep(have, data, jsonedit.Rewrite, adopted) // what an agent ignores stays
		}
		if o, ok := e.record.Original(f.Path); ok && f.Places != nil {
			of := output.PatternOf(&f)
			owned := []jsonedit.Entries{jsonedit.Adopt(o.Data, of, o.Taken)}
			if merged, err := jsonedit.Merge(o.Data, f.Data, of, owned, true); err == nil {
				data = merged.Data
			}
		}
		if f.Stated != nil {
			o, _ := e.record.Original(f.Path)
			data = e.stated(&f, data, o.Data)
		}
		tree[f.Path] = data
	}
	maps.Copy(tree, contract.InMemory(res.Sessions()))
	return tree
}

// takeBack takes out what a build took over and a later one writes no more: files, and entries in files that people
// write too.
func (e *editor) takeBack(tree memfs.FS, res *compiler.Result) {
	for _, f := range e.built.Files() {
		o, known := e.record.Original(f.Path)
		made := func(x contract.File) bool { return x.Path == f.Path }
		if _, there := tree[f.Path]; !there || !known || slices.ContainsFunc(res.Files(), made) {
			continue
		}
		if f.Places == nil {
			delete(tree, f.Path)
			continue
		}
		of := output.PatternOf(&f)
		owned := []jsonedit.Entries{jsonedit.Adopt(o.Data, of, o.Taken)}
		if rest, err := jsonedit.Merge(o.Data, nil, of, owned, true); err == nil && rest.Data != nil {
			tree[f.Path] = rest.Data
		}
	}
}

// rename gives what a target's files name the names of the source.
func (e *editor) rename(in *imports, t contract.Target, res *compiler.Result) {
	p, from, name := in.project, e.built.Project, t.Name()
	servers, modes := map[string]string{}, map[string]string{}
	for i := range from.Servers {
		s := &from.Servers[i]
		servers[s.Place.Name(name, s.Name)] = s.Name
	}
	for i := range from.Modes {
		m := &from.Modes[i]
		modes[m.Place.Name(name, m.Slug)] = m.Slug
	}
	for i := range p.Servers {
		p.Servers[i].Name = cmp.Or(servers[p.Servers[i].Name], p.Servers[i].Name)
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		m.Slug = cmp.Or(modes[m.Slug], m.Slug)
		renameServers(&m.Can, m.Restrictions, servers)
		m.Can.RenameModes(modes)
	}
	opt := e.built.Input(t).Options
	emitted := res.FS()
	var roles []ir.Role
	for _, r := range p.Roles {
		renameServers(&r.Can, nil, servers)
		r.Can.RenameModes(modes)
		_, ours := emitted[r.Pos.File]
		i := slices.IndexFunc(from.Roles, func(x ir.Role) bool { return x.Place.Name(name, x.Name) == r.Name })
		switch {
		case r.Name == in.config.baseline: // of the target alone: the project's may be another agent's
			r.Name = cmp.Or(opt.Chosen(), from.Baseline)
		case e.chooses(t) && !ours && !e.known(r.Pos.File): // nobody knows what it said before
			in.notes = slices.DeleteFunc(in.notes, func(n contract.Note) bool { return n.Pos.File == r.Pos.File })
			continue
		case e.chooses(t) && ours:
			by := "subject"
			if c, ok := t.(contract.FileChooser); ok {
				by = c.ChosenBy(r.Pos.File)
			}
			r.Name = strings.TrimPrefix(cmp.Or(opt.String(by), from.Baseline), "role:")
		case i >= 0:
			r.Name = from.Roles[i].Name
		}
		roles = append(roles, r)
	}
	p.Roles = roles
}

// known reports whether a file was there before modec.
func (e *editor) known(file string) bool {
	_, ok := e.record.Original(file)
	return ok
}

// chooses reports whether a project says by an option which role the target's own files are for.
func (e *editor) chooses(t contract.Target) bool {
	return slices.ContainsFunc(t.Options(), func(o contract.Option) bool { return o.Holds })
}
