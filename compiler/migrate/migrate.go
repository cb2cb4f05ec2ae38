// Package migrate turns the files that a team already has into a source. [Run] lets each
// target import its own files, joins what they understood, renders it as CUE, compiles
// that, and proves that neither the new source nor its artifacts permit more than the
// original files. It returns the new files and writes nothing.
package migrate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/render"
)

// Request says what to migrate.
type Request struct {
	Root    fs.FS // the repository
	Home    fs.FS // the user's home folder; nil: nothing is imported from it
	Name    string
	Targets []contract.Target // every target there is, in printing order
	// From limits the import to one format; "": any.
	From  string
	Files []string // below Root; nil: those that the importers look for
	Args  []string // a command line in place of files
	// Approved and Repair are those of contract.Source.
	Approved []ir.Group
	Repair   bool
	Out      string // the folder of the data files, relative to Root
	Today    time.Time
	Seed     uint64
	// Must reports whether a file has to load, since a source stands for it already: where its agent refuses
	// it, nothing is imported. nil: the import does without such a file, as the agent does.
	Must func(file string) bool
	// Took reports whether an earlier import took in a file into which no build writes; nil: none.
	Took func(file string) bool
	// Ignored returns those of some paths below Root that git ignores; nil: none.
	Ignored func(ctx context.Context, paths []string) []string
	// Below returns the files in any folder of Root that have one of some names, from there; nil: none.
	Below func(ctx context.Context, names []string) []string
	// Tracked returns the paths below Root that git has and a glob matches; nil: none.
	Tracked func(ctx context.Context, glob string) []string
	// Progress is called while the result is proved; nil: not called.
	Progress func(done, total int)

	ours        bool            // contract.Source.Ours
	own         []ir.NativeRule // contract.Source.Own
	judged      bool            // what is read is judged: of which targets the project is does not matter
	withSecrets bool            // what states a secret is read too
	join        *joining        // the project to which the files come; nil: they make one
}

// Result is a migrated project.
type Result struct {
	Project  *ir.Project     // as the importers understood it
	Files    []contract.File // the source, and modec.toml where there was none
	Report   Report
	Compiled *compiler.Result
	FS       fs.FS // the project with the new files

	started map[string][]string // by file: the servers that it says how to start
	role    string              // that the files say of a session without a role
}

// Report says what became of the files.
type Report struct {
	Files   []string        `json:"files"`   // the files that were read
	Targets []string        `json:"targets"` // the targets of the new project
	Modes   []string        `json:"modes"`
	Roles   []string        `json:"roles"`
	Servers []string        `json:"servers"`
	Notes   []contract.Note `json:"notes"`
	// Seen are the files of agents that are there and were not read.
	Seen []Seen `json:"seen"`
	// Silent are the files that were read and neither permit, ask about nor deny anything.
	Silent []string `json:"silent"`
	Rules  Share    `json:"rules"` // how many of the rules were understood
	Proof  []Proof  `json:"proof"` // one for each file that decides
	// Narrower says what the new project permits less than the files did, and why.
	Narrower []Narrowing `json:"narrower"`
}

// Share is a part of a whole.
type Share struct {
	Understood int `json:"understood"`
	Of         int `json:"of"`
}

// Percent returns the share, 100 for an empty whole.
func (s Share) Percent() float64 {
	if s.Of == 0 {
		return 100
	}
	return 100 * float64(s.Understood) / float64(s.Of)
}

// Taken names what of a file the new source stands for: its rules as they are written, and its
// servers. What was left as it is is not among them, nor is a server, a deny or an ask that was refused. An
// allow that was refused is: in its file it would permit what the source does not. Rules of sessions
// without a role stay in their file where such sessions have another role of the project.
func (r *Result) Taken(file string) []string {
	notes := r.Report.Notes
	if r.Beside() != "" {
		of := func(n contract.Note) bool { return n.Subject == "role "+r.role }
		notes = slices.DeleteFunc(slices.Clone(notes), of)
	}
	return taken(notes, r.started, file)
}

// Beside returns the role of what the files say of sessions without a role, where the project has
// another one for them; "" where it has not.
func (r *Result) Beside() string {
	if p := r.Compiled.Project; p.Role(r.role) == nil || p.Baseline == r.role {
		return ""
	}
	return r.role
}

func taken(notes []contract.Note, started map[string][]string, file string) (names []string) {
	for _, n := range notes {
		holds := strings.HasPrefix(n.What, "deny ") || strings.HasPrefix(n.What, "ask ")
		stays := n.Kind == contract.Left || n.Kind == contract.Secret ||
			n.Kind == contract.Refused && n.Subject == "server "+n.What // an entry that no build writes again
		if n.Rule && n.Pos.File == file && !stays && (n.Kind != contract.Refused || !holds) {
			names = append(names, n.What)
		}
	}
	return append(names, started[file]...)
}

// Formats returns the formats that From may name, with the importer of each.
func Formats(all []contract.Target) map[string]contract.Importer {
	out := map[string]contract.Importer{}
	for _, t := range all {
		if im, ok := t.(contract.Importer); ok {
			for _, f := range im.Formats() {
				out[f] = im
			}
		}
	}
	return out
}

// Run migrates. A rule by which the new source would permit more than the original is taken out
// of the import and noted. The result is nil when a diagnostic is an error: a file that its agent
// would not load, a source that does not compile, or a decision that is still wider than the
// original's.
func Run(ctx context.Context, req Request) (*Result, diag.List) {
	in, diags := read(ctx, req)
	seen := in.seen(ctx, req)
	switch {
	case diags.HasErrors():
	case in.empty() && len(in.without) > 0:
		diags = append(diags, in.without...)
	default:
		diags = append(diags, in.check(req, seen)...)
	}
	if diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	dropTwice(in.project)
	open := -1 // what is narrower where groups are left out, once that is known
	for refusals, stays, mends := 0, 0, 0; ; {
		res, found, list := in.attempt(ctx, req)
		switch {
		case in.config.partial && (list.HasErrors() || res.narrower() >= open):
			in.config.partial = false // it keeps no more
		case res == nil && refusals < mostRefusals && in.refuse(list):
			if refusals++; in.empty() {
				diags = append(diags, in.check(req, seen)...)
				return nil, diags
			}
		case !list.HasErrors() && stays < mostStays && in.stay(req, res):
			stays++
		case list.HasErrors() && res != nil && mends < mostMends && in.mend(found, res.Compiled.Project):
			mends++
		case open < 0 && !list.HasErrors() && res.narrower() > 0:
			open, in.config.partial = res.narrower(), true
		default:
			diags = append(diags, list...)
			diags.Sort()
			if diags.HasErrors() {
				return nil, diags
			}
			if diags = append(diags, in.written(res.Compiled)...); diags.HasErrors() {
				return nil, diags
			}
			res.Report.Seen = seen
			return res, diags
		}
	}
}

// attempt renders, compiles and proves what was imported. It returns what is wider than the
// original files, each of which is an error too. The result is nil where there is none to
// compare.
func (in *imports) attempt(ctx context.Context, req Request) (*Result, []difference, diag.List) {
	render, targets := in.render, in.config.names()
	only := targets
	if req.join != nil {
		render, only = func(req Request) ([]contract.File, memfs.FS, diag.List) { return req.join.render(in, req) }, nil
	}
	files, tree, diags := render(req)
	if diags.HasErrors() {
		return nil, nil, diags
	}
	compiled, list := compiler.Compile(ctx, compiler.Request{
		FS: tree, Targets: req.Targets, Only: only, Today: req.Today,
	})
	if diags = append(diags, list...); diags.HasErrors() {
		return nil, nil, diags
	}
	res := &Result{Project: in.project, Files: files, Compiled: compiled, FS: tree, started: in.started,
		role: in.config.baseline}
	res.Report.Files = in.files
	res.report(in.merger, targets)
	var found []difference
	res.Report.Proof, res.Report.Narrower, found, list = prove(ctx, compiled, req.Root, in.left(req, res),
		in.originals, req.Seed, req.Progress)
	in.locate(res.Report.Narrower, compiled.Project)
	res.Report.mask(in.secrets)
	return res, found, append(diags, list...)
}

// narrower counts what is built permits less than the files did.
func (r *Result) narrower() (n int) {
	for i := range r.Report.Proof {
		n += r.Report.Proof[i].Built.Narrower
	}
	return n
}

// AgentFiles returns the files of a project that [Run] would import, sorted.
func AgentFiles(ctx context.Context, req Request) []string {
	in, _ := read(ctx, of(req))
	slices.Sort(in.files)
	return slices.Compact(in.files)
}

// of returns a request for all that a project has.
func of(req Request) Request {
	return Request{Root: req.Root, Targets: req.Targets, Ignored: req.Ignored, Repair: req.Repair}
}

// Importable returns the files of a project of which [Run] would make modes, roles or servers, or
// which it would refuse, sorted.
func Importable(ctx context.Context, req Request) []string {
	in, diags := read(ctx, of(req))
	if in.empty() && len(in.without) == 0 && !diags.HasErrors() {
		return nil
	}
	for _, d := range in.without {
		in.files = append(in.files, d.Pos.File)
	}
	slices.Sort(in.files)
	return slices.Compact(in.files)
}

// imports is what the importers read, joined.
type imports struct {
	*merger
	files     []string
	originals []original
	config    projectConfig
	secrets   []string        // what the files state in clear text, and the source must not
	personal  map[string]bool // files that were not read, since they belong to one person
	without   diag.List       // why agents refuse files that the import does without
	mendable  map[string]bool // which of these an import that mends reads
}

// empty reports whether nothing was imported of which a source could be made.
func (in *imports) empty() bool {
	p := in.project
	return len(p.Modes)+len(p.Roles)+len(p.Servers) == 0
}

// read lets each target import the files that the team shares.
func read(ctx context.Context, req Request) (in *imports, diags diag.List) {
	team := readable(req)
	for {
		in, diags = importAll(req, team)
		in.personal = team.private()
		if !team.hide(ctx, req) {
			return in, diags
		}
	}
}

// importAll lets each target import its files below a root.
func importAll(req Request, root fs.FS) (*imports, diag.List) {
	in := &imports{merger: newMerger(), config: projectConfig{name: req.Name}, mendable: map[string]bool{}}
	from := contract.Source{
		Root: root, Home: req.Home, Format: req.From, Files: req.Files, Args: req.Args,
		Approved: req.Approved, Repair: req.Repair, Ours: req.ours, Own: req.own,
		Loaded: req.judged,
	}
	var diags diag.List
	if req.join != nil {
		req.join.seed(in.merger, from)
	}
	formats := Formats(req.Targets)
	for _, t := range req.Targets {
		im, ok := t.(contract.Importer)
		if !ok || !req.join.has(t) || req.From != "" && formats[req.From] != im {
			continue
		}
		got, list, without := doWithout(im, from, req.Must)
		maps.Copy(in.mendable, mendable(im, from, without))
		for _, l := range []diag.List{list, without} {
			for i := range l {
				l[i].Target = cmp.Or(l[i].Target, t.Name())
			}
		}
		in.without = append(in.without, without...)
		diags = append(diags, list...)
		if len(got.Files) == 0 && len(got.Notes) == 0 {
			continue
		}
		diags = append(diags, collisions(got.Project, t.Name())...)
		leaveNULs(&got)
		if !req.withSecrets {
			in.secrets = append(in.secrets, withhold(&got, t.Name())...)
		}
		role, roles := in.add(got, t.Name())
		got.Options = req.join.options(got.Options, roles)
		in.config.baseline = cmp.Or(in.config.baseline, req.join.role(role, got.Options))
		in.files = append(in.files, got.Files...)
		if judged, ok := t.(contract.Judged); ok {
			for _, o := range got.Originals {
				in.originals = append(in.originals, original{judged, o})
			}
		}
		in.config.targets = append(in.config.targets, configTarget{t.Name(), got.Options})
	}
	if req.join != nil {
		req.join.harvest(in.merger)
	}
	in.finish(len(in.allTargets(req)) > 1)
	in.restate(req)
	return in, diags
}

// allTargets returns the names of the targets of the new project, those of a modec.toml that
// is there included.
func (in *imports) allTargets(req Request) []string {
	names := in.config.names()
	if req.judged {
		return names
	}
	text, err := contract.ReadImport(req.Root, config.File)
	if err != nil {
		return names
	}
	var table struct {
		Targets map[string]any `toml:"targets"`
	}
	if toml.Unmarshal(text, &table) == nil {
		names = slices.AppendSeq(names, maps.Keys(table.Targets))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// check reports files that no importer took, and an import of nothing.
func (in *imports) check(req Request, seen []Seen) (diags diag.List) {
	for _, f := range req.Files {
		if !slices.Contains(in.files, path.Clean(f)) {
			diags.Errorf(diag.UnknownFormat, diag.Pos{File: f}, "no importer knows a file of this name").
				Hint("`--from FORMAT` names the agent that it belongs to")
		}
	}
	if len(diags) == 0 && in.empty() {
		found := diags.Errorf(diag.NothingToMigrate, diag.Pos{},
			"found no file of an agent with a mode, a role or a server").
			Hint("name the files, or look into the home folder as well with `--user`")
		for _, n := range in.notes {
			what := n.What + ": "
			if n.What == n.Pos.File {
				what = ""
			}
			if n.Kind != contract.Understood {
				found = found.Related(n.Pos, "not taken: "+strings.TrimSuffix(what+n.Why, ": "))
			}
		}
		for _, x := range seen {
			found = found.Related(diag.Pos{File: x.Path}, "not taken: "+x.Why)
		}
	}
	return diags
}

// render returns the new files, and the project with them.
func (in *imports) render(req Request) ([]contract.File, memfs.FS, diag.List) {
	var diags diag.List
	files, err := render.Source(in.project, req.Out, in.comments, contract.Dialects(req.Targets))
	if err != nil {
		diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
		return nil, nil, diags
	}
	tree, hasConfig, diags := existing(req)
	if !hasConfig {
		data, err := in.config.toml(in.project, req.Out)
		if err != nil {
			diags.Errorf(diag.BadModel, diag.Pos{File: config.File}, "%v", err)
		}
		files = append(files, contract.File{Path: config.File, Data: data})
	}
	in.apart(files, tree)
	for _, f := range files {
		tree[f.Path] = f.Data
	}
	in.beside(req, tree)
	return files, tree, diags
}

// apart gives the servers a file of their own where a source has some already, and nothing else of what is new.
func (in *imports) apart(files []contract.File, tree memfs.FS) {
	at := -1
	for i := range files {
		switch _, taken := tree[files[i].Path]; {
		case !taken:
		case path.Base(files[i].Path) != render.ServersFile:
			return
		default:
			at = i
		}
	}
	if at >= 0 && len(in.config.targets) > 0 {
		f := &files[at]
		f.Path = path.Join(path.Dir(f.Path), "servers-"+in.config.targets[0].name+path.Ext(f.Path))
	}
}

// beside adds the files with the entries of external servers, which are judged with the source.
func (in *imports) beside(req Request, tree memfs.FS) {
	for i := range in.project.Servers {
		for file := range in.project.Servers[i].Entries {
			if data, err := contract.ReadImport(req.Root, file); err == nil {
				tree[file] = data
			}
		}
	}
}

// report fills the report but for its files and its proof.
func (r *Result) report(m *merger, targets []string) {
	rep, p := &r.Report, m.project
	rep.Targets, rep.Modes, rep.Roles, rep.Servers = targets, []string{}, []string{}, []string{}
	for i := range p.Modes {
		rep.Modes = append(rep.Modes, p.Modes[i].Slug)
	}
	for i := range p.Roles {
		rep.Roles = append(rep.Roles, p.Roles[i].Name)
	}
	for i := range p.Servers {
		rep.Servers = append(rep.Servers, p.Servers[i].Name)
	}
	slices.Sort(rep.Files)
	rep.Files = slices.Compact(rep.Files)
	rep.Notes = slices.Clone(m.notes)
	slices.SortStableFunc(rep.Notes, func(a, b contract.Note) int { return a.Pos.Compare(b.Pos) })
	rep.Notes = slices.CompactFunc(rep.Notes, func(a, b contract.Note) bool { return a == b })
	rules := map[string]bool{}
	for _, n := range rep.Notes {
		if n.Rule {
			rules[n.Pos.File] = true
			rep.Rules.Of++
			if n.Kind == contract.Understood {
				rep.Rules.Understood++
			}
		}
	}
	rep.Silent = slices.DeleteFunc(slices.Clone(rep.Files), func(f string) bool { return rules[f] || m.texts(f) })
}

// texts reports whether a file is one of a mode's rules files, which are texts.
func (m *merger) texts(file string) bool {
	return slices.ContainsFunc(m.project.Modes, func(mode ir.Mode) bool {
		return slices.ContainsFunc(mode.Rules, func(r ir.RuleFile) bool { return r.Pos.File == file })
	})
}

// dropTwice removes the rules that a list has twice: two lines of a file may say the same.
func dropTwice(p *ir.Project) {
	drop := func(can *ir.Can) {
		for _, g := range ir.Groups {
			for _, list := range listsOf(can, g) {
				type rule struct {
					ir.Decision
					ir.Pattern
					from string
				}
				seen := map[rule]bool{}
				*list = slices.DeleteFunc(slices.Clone(*list), func(r ir.Rule) bool {
					key := rule{r.Decision, r.Pattern, r.From}
					twice := seen[key]
					seen[key] = true
					return twice
				})
			}
		}
	}
	for i := range p.Modes {
		drop(&p.Modes[i].Can)
	}
	for i := range p.Roles {
		drop(&p.Roles[i].Can)
	}
}

// existing returns the project that is already there, so that the new files
// compile beside it.
func existing(req Request) (tree memfs.FS, hasConfig bool, diags diag.List) {
	root, out := req.Root, req.Out
	tree = memfs.FS{}
	text, err := contract.ReadImport(root, config.File)
	if err != nil {
		return tree, false, nil
	}
	tree[config.File] = text
	if folder, ok := sourceFolder(text); ok && path.Clean(folder) != path.Clean(out) {
		diags.Errorf(diag.BadConfig, diag.Pos{File: config.File},
			"the source of this project is in %q, not in %q", folder, out).
			Hintf("write there with `--out %s`", folder)
	}
	err = fs.WalkDir(root, path.Clean(out), func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := contract.ReadImport(root, name)
		if err == nil {
			tree[name] = data
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		diags.Errorf(diag.UnreadableFile, diag.Pos{File: out}, "cannot be read: %v", err)
	}
	return tree, true, diags
}

// sourceFolder returns the folder of the data files that a modec.toml names; false for a
// file that cannot be read, which compiling it reports.
func sourceFolder(text []byte) (string, bool) {
	var table struct {
		Source string `toml:"source"`
	}
	if err := toml.Unmarshal(text, &table); err != nil {
		return "", false
	}
	return cmp.Or(table.Source, defaultSource), true
}

// defaultSource is the folder of the data files of a modec.toml that names none.
const defaultSource = "modec"

// projectConfig is the modec.toml of a new project.
type projectConfig struct {
	name     string
	baseline string // the role of a session that names none
	partial  bool   // a group stays of which a target cannot say all
	targets  []configTarget
}

type configTarget struct {
	name    string
	options map[string]any
}

func (c *projectConfig) names() []string {
	var names []string
	for _, t := range c.targets {
		names = append(names, t.name)
	}
	return names
}

// projectTable is the first part of modec.toml.
type projectTable struct {
	Name     string `toml:"name"`
	Source   string `toml:"source,omitempty"`
	Baseline string `toml:"baseline,omitempty"`
}

// partialTable is there where a group would be left out that the files had.
type partialTable struct {
	Partial string `toml:"partial" comment:"A group stays of which files cannot say all, and a build tells what."`
}

// inventoryTable is the last part of modec.toml before the targets. Nobody knows yet whether the inventory
// is complete, so that it is open.
type inventoryTable struct {
	Inventory string `toml:"inventory" comment:"Write \"closed\" once the source lists every tool of every server."`
}

// toml writes modec.toml, a paragraph for each part.
func (c *projectConfig) toml(p *ir.Project, out string) ([]byte, error) {
	top := projectTable{Name: c.name}
	if out != defaultSource {
		top.Source = out
	}
	if p.Role(c.baseline) != nil {
		top.Baseline = c.baseline
	}
	type part struct {
		header string
		table  any
	}
	parts := []part{{table: top}}
	if c.partial {
		parts = append(parts, part{table: partialTable{"keep"}})
	}
	parts = append(parts, part{table: inventoryTable{"open"}})
	for _, t := range c.targets {
		parts = append(parts, part{"[targets." + t.name + "]\n", t.options})
	}
	var b bytes.Buffer
	for i, x := range parts {
		if i > 0 {
			b.WriteByte('\n')
		}
		text, err := toml.Marshal(x.table)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", config.File, err)
		}
		b.WriteString(x.header)
		b.Write(text)
	}
	return b.Bytes(), nil
}
