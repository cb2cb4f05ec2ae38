// Package migrate turns the files that a team already has into a source: it
// lets each target import its own, joins what they understood, writes it as CUE,
// compiles that, and proves on the result that nothing was widened. Nothing of it
// touches the disk.
package migrate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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
	"modec.dev/modec/compiler/resolve"
)

// Request says what to migrate.
type Request struct {
	Root    fs.FS // the repository
	Home    fs.FS // the user's home folder; nil: it is not looked at
	Name    string
	Targets []contract.Target // every target there is, in printing order
	// From is a format that some importer knows; "" is any.
	From  string
	Files []string // below Root; nil: whatever the importers look for
	Args  []string // a command line in place of files
	// Approved and Repair: see target.Source.
	Approved []ir.Group
	Repair   bool
	Out      string // the folder of the data files, relative to Root
	Today    time.Time
	Seed     uint64
	// Options are settings of [targets.NAME] beside those of the importers, by the
	// target's name.
	Options map[string]map[string]any
	// Progress is called while the result is proved; nil: not called.
	Progress func(done, total int)
}

// Result is a migrated project.
type Result struct {
	Project  *ir.Project     // as it was understood
	Files    []contract.File // the source, and modec.toml where there was none
	Report   Report
	Compiled *compiler.Result
	FS       fs.FS // the project as it will be: the source that was compiled
}

// Report tells what became of what was read.
type Report struct {
	Files   []string        `json:"files"`   // that were read
	Targets []string        `json:"targets"` // that the new project compiles for
	Modes   []string        `json:"modes"`
	Roles   []string        `json:"roles"`
	Servers []string        `json:"servers"`
	Notes   []contract.Note `json:"notes"`
	Rules   Share           `json:"rules"` // those that are understood, of all
	Proof   []Proof         `json:"proof"` // one a file that decides
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

// Formats lists what From may be, with the importer of each.
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

// Run migrates. The result is nil when a diagnostic is an error: a file that
// its agent would not load, a source that does not compile, a decision that
// would be wider than the original's.
func Run(ctx context.Context, req Request) (*Result, diag.List) {
	m := newMerger()
	res := &Result{Project: m.project}
	var diags diag.List
	configs := projectConfig{name: req.Name}
	var originals []original
	taken := map[string]bool{}
	formats, guards := Formats(req.Targets), resolve.Guards(req.Targets)
	for _, t := range req.Targets {
		im, ok := t.(contract.Importer)
		if !ok || req.From != "" && formats[req.From] != im {
			continue
		}
		got, list := im.Import(contract.Source{Root: req.Root, Home: req.Home, Format: req.From, Files: req.Files, Args: req.Args, Approved: req.Approved, Guards: guards, Repair: req.Repair})
		for i := range list {
			if list[i].Target == "" {
				list[i].Target = t.Name()
			}
		}
		diags = append(diags, list...)
		if len(got.Files) == 0 && len(got.Notes) == 0 {
			continue
		}
		m.add(got)
		configs.baseline = cmp.Or(configs.baseline, got.Baseline)
		res.Report.Files = append(res.Report.Files, got.Files...)
		for _, f := range got.Files {
			taken[f] = true
		}
		if judged, ok := t.(contract.Judged); ok {
			for _, o := range got.Originals {
				originals = append(originals, original{judged, o})
			}
		}
		options := maps.Clone(got.Options)
		for k, v := range req.Options[t.Name()] {
			if options == nil {
				options = map[string]any{}
			}
			options[k] = v
		}
		configs.add(t, options)
	}
	for _, f := range req.Files {
		if !taken[path.Clean(f)] && !diags.HasErrors() {
			diags.Errorf(diag.UnknownFormat, diag.Pos{File: f}, "got a file that no importer knows by its name, want one of an agent").
				Hint("`--from` says whose it is")
		}
	}
	if diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	p := m.project
	if len(p.Modes)+len(p.Roles)+len(p.Servers) == 0 {
		diags.Errorf(diag.NothingToMigrate, diag.Pos{}, "got no file that holds a mode, a role or a server, want one of an agent").
			Hint("name the files, or `--user` looks into the home folder too")
		return nil, diags
	}
	dropGuards(p, guards)
	files, err := render.Source(p, req.Out, m.comments, contract.Dialects(req.Targets))
	if err != nil {
		diags.Errorf(diag.BadModel, diag.Pos{}, "%v", err)
		return nil, diags
	}
	tree, hasConfig, list := existing(req.Root, req.Out)
	diags = append(diags, list...)
	if !hasConfig {
		files = append(files, contract.File{Path: config.File, Data: configs.toml(p, req.Out)})
	}
	for _, f := range files {
		tree[f.Path] = f.Data
	}
	compiled, list := compiler.Compile(ctx, compiler.Request{FS: tree, Targets: req.Targets, Only: configs.names(), Today: req.Today})
	diags = append(diags, list...)
	if diags.HasErrors() {
		diags.Sort()
		return nil, diags
	}
	res.Files, res.Compiled, res.FS = files, compiled, tree
	res.report(m, configs.names())
	proof, list := prove(ctx, compiled, originals, req.Seed, req.Progress)
	res.Report.Proof = proof
	diags = append(diags, list...)
	diags.Sort()
	if diags.HasErrors() {
		return nil, diags
	}
	return res, diags
}

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
	rep.Notes = m.notes
	slices.SortStableFunc(rep.Notes, func(a, b contract.Note) int { return a.Pos.Compare(b.Pos) })
	rep.Notes = slices.CompactFunc(rep.Notes, func(a, b contract.Note) bool { return a == b })
	for _, n := range rep.Notes {
		if n.Rule {
			rep.Rules.Of++
			if n.Kind == contract.Understood {
				rep.Rules.Understood++
			}
		}
	}
}

// dropGuards takes out what every project denies anyway: a guard's deny wins over
// whatever else is said of its paths.
func dropGuards(p *ir.Project, guards []string) {
	drop := func(can *ir.Can) {
		if can.Edit == nil {
			return
		}
		t := *can.Edit
		t.Rules = slices.DeleteFunc(slices.Clone(t.Rules), func(r ir.Rule) bool {
			return r.Pattern.Kind == ir.Plain && slices.ContainsFunc(guards, func(g string) bool { return guardHolds(g, r.Pattern.Text) })
		})
		can.Edit = &t
	}
	for i := range p.Modes {
		drop(&p.Modes[i].Can)
	}
	for i := range p.Roles {
		drop(&p.Roles[i].Can)
	}
}

// guardHolds reports whether every path of a pattern is one of a guard. Both are
// compared as text, in the forms in which a name and what lies below it are
// written.
func guardHolds(guard, pattern string) bool {
	folder, below := strings.CutSuffix(guard, "/**")
	rest := pattern
	if name := strings.TrimPrefix(rest, "**/"); !strings.Contains(strings.TrimSuffix(name, "/**"), "/") {
		if strings.Contains(guard, "/") && name != rest {
			return false // at any depth, and the guard at the root
		}
		rest = name
	}
	rest = strings.TrimPrefix(rest, "/")
	if !below {
		return rest == guard || strings.TrimSuffix(rest, "/**") == guard
	}
	return strings.HasPrefix(rest, folder+"/") && !strings.Contains(rest, "..")
}

// existing returns the project that is already there, so that the new files
// compile beside it.
func existing(root fs.FS, out string) (tree memfs.FS, hasConfig bool, diags diag.List) {
	tree = memfs.FS{}
	text, err := contract.ReadImport(root, config.File)
	if err != nil {
		return tree, false, nil
	}
	tree[config.File] = text
	var table struct {
		Source string `toml:"source"`
	}
	if err := toml.Unmarshal(text, &table); err == nil && table.Source != "" && path.Clean(table.Source) != path.Clean(out) || err == nil && table.Source == "" && path.Clean(out) != "modec" {
		diags.Errorf(diag.BadConfig, diag.Pos{File: config.File}, "got the source folder %q, want %q, which is written to", table.Source, out)
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

// projectConfig collects what modec.toml says.
type projectConfig struct {
	name     string
	baseline string // the role of a session that names none
	targets  []configTarget
}

type configTarget struct {
	name    string
	options map[string]any
}

func (c *projectConfig) add(t contract.Target, options map[string]any) {
	c.targets = append(c.targets, configTarget{t.Name(), options})
}

func (c *projectConfig) names() []string {
	var names []string
	for _, t := range c.targets {
		names = append(names, t.name)
	}
	return names
}

// toml writes modec.toml. Nobody knows yet that the inventory is complete, so
// that it is open.
func (c *projectConfig) toml(p *ir.Project, out string) []byte {
	var b bytes.Buffer
	set := func(key string, value any) {
		var line bytes.Buffer
		e := json.NewEncoder(&line) // JSON's texts, lists, numbers and booleans are TOML's too
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			panic(fmt.Sprintf("an option that TOML cannot say: %v", err)) // a defect of the importer, never of its input
		}
		fmt.Fprintf(&b, "%s = %s", key, line.Bytes())
	}
	set("name", c.name)
	if out != "modec" {
		set("source", out)
	}
	if p.Role(c.baseline) != nil {
		set("baseline", c.baseline)
	}
	b.WriteString("\n# Servers may offer tools that the source does not list. Where it lists all of\n# them, \"closed\" lets the targets say more.\n")
	set("inventory", "open")
	for _, t := range c.targets {
		fmt.Fprintf(&b, "\n[targets.%s]\n", t.name)
		for _, k := range slices.Sorted(maps.Keys(t.options)) {
			set(k, t.options[k])
		}
	}
	return b.Bytes()
}
