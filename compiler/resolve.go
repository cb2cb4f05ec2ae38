package compiler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Settings are what modec.toml says of the source.
type Settings struct {
	Name            string
	ClosedInventory bool
	Baseline        string
	Guards          []string // globs that the targets own
	Config          []byte   // modec.toml, for the source hash
}

// subjectKind is what can be extended.
type subjectKind string

const (
	modeKind   subjectKind = "mode"
	roleKind   subjectKind = "role"
	policyKind subjectKind = "policy"
)

// section is where the source keeps the subjects of a kind.
var section = map[subjectKind]string{modeKind: "modes", roleKind: "roles", policyKind: "policies"}

// extendable lists the kinds that a kind may extend, in the order in which a
// name is looked up.
var extendable = map[subjectKind][]subjectKind{modeKind: {policyKind, modeKind}, roleKind: {policyKind, roleKind}, policyKind: {policyKind}}

// subject is a mode, a role or a policy on its way to the model.
type subject struct {
	kind    subjectKind
	name    string
	pos     diag.Pos
	node    *node
	path    string
	builtin bool
	places  map[*subject]diag.Pos // where it extends its built-in parents
	parents []*subject

	state  int              // of the walk for cycles: 0 new, 1 on the way, 2 done
	can    ir.Can           // united
	fields map[string]field // inherited fields that were looked up
	sugar  []sugarRule
	rules  []ir.ClaudeRule
}

func (s *subject) String() string { return string(s.kind) + " " + s.name }

type resolver struct {
	*loader
	shapes   *shapes
	project  *ir.Project
	subjects map[subjectKind]map[string]*subject
	builtins map[subjectKind]map[string]*subject
	referred map[string]bool   // built-in modes that the source refers to
	prompts  map[string]string // prompt files that were read, by path
}

// Load reads a source, checks it against the schema, applies inheritance and
// checks every reference. The project is nil when a diagnostic is an error.
func Load(src Source, settings Settings) (*ir.Project, diag.List) {
	l, err := newLoader(src, settings.Config)
	if err != nil {
		return nil, diag.List{{Code: diag.NoProject, Message: fmt.Sprintf("got folder %q, which cannot be opened: %v", src.Root, pathErr(err))}}
	}
	defer l.close()
	data := l.data()
	if data == nil {
		l.diags.Sort()
		return nil, l.diags
	}
	sh, err := loadShapes()
	if err != nil {
		return nil, diag.List{{Code: diag.BadSchema, Message: err.Error()}}
	}
	r := &resolver{loader: l, shapes: sh, referred: map[string]bool{}, prompts: map[string]string{},
		project:  &ir.Project{Version: ir.Version, Name: settings.Name, ClosedInventory: settings.ClosedInventory, Baseline: settings.Baseline, Servers: []ir.Server{}, Modes: []ir.Mode{}, Roles: []ir.Role{}},
		subjects: map[subjectKind]map[string]*subject{}, builtins: map[subjectKind]map[string]*subject{}}
	if r.check(data) {
		r.resolve(data, settings)
	}
	r.diags.Sort()
	if r.diags.HasErrors() {
		return nil, r.diags
	}
	r.project.SourceHash = l.sum()
	return r.project, r.diags
}

func (r *resolver) resolve(data *node, settings Settings) {
	r.servers(data.get("servers"))
	for kind, sec := range section {
		r.subjects[kind] = map[string]*subject{}
		if n := data.get(sec); n != nil {
			for _, f := range n.fields {
				r.subjects[kind][f.name] = &subject{kind: kind, name: f.name, pos: f.pos, node: f.node, path: sec + "." + label(f.name)}
			}
		}
	}
	for i, g := range append(slices.Clone(ir.GuardedPaths), settings.Guards...) {
		rule := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: g}, Pos: diag.Pos{File: ir.GuardsFile, Line: i + 1}}
		if !slices.ContainsFunc(r.project.Guards, func(x ir.Rule) bool { return covers(x.Pattern.Text, g) }) {
			r.project.Guards = append(r.project.Guards, rule)
		}
	}
	for _, kind := range []subjectKind{policyKind, modeKind, roleKind} {
		for _, name := range slices.Sorted(maps.Keys(r.subjects[kind])) {
			r.link(r.subjects[kind][name])
		}
	}
	for _, kind := range []subjectKind{policyKind, modeKind, roleKind} {
		for _, name := range slices.Sorted(maps.Keys(r.subjects[kind])) {
			r.unite(r.subjects[kind][name], nil)
		}
	}
	r.unextended()
	for _, slug := range slices.Sorted(maps.Keys(r.subjects[modeKind])) {
		r.project.Modes = append(r.project.Modes, r.mode(r.subjects[modeKind][slug]))
	}
	for _, name := range slices.Sorted(maps.Keys(r.subjects[roleKind])) {
		r.project.Roles = append(r.project.Roles, r.role(r.subjects[roleKind][name]))
	}
	for _, slug := range slices.Sorted(maps.Keys(r.referred)) {
		s := r.builtin(modeKind, slug)
		r.link(s)
		r.unite(s, nil)
		m := r.mode(s)
		m.Builtin = true
		r.project.Builtins = append(r.project.Builtins, m)
	}
}

// unextended notes the policies that nobody extends.
func (r *resolver) unextended() {
	used := map[*subject]bool{}
	for _, subjects := range r.subjects {
		for _, s := range subjects {
			for _, p := range s.parents {
				used[p] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.subjects[policyKind])) {
		if s := r.subjects[policyKind][name]; !used[s] && !s.builtin {
			r.project.Unextended = append(r.project.Unextended, ir.Item{Name: name, Pos: s.pos})
		}
	}
}

// covers reports whether a guard holds all that another one would.
func covers(guard, other string) bool {
	below, folder := strings.CutSuffix(guard, "**")
	return guard == other || folder && strings.HasPrefix(other, below)
}

func (r *resolver) servers(n *node) {
	if n == nil {
		return
	}
	for _, f := range n.fields {
		d := f.node
		s := ir.Server{Name: f.name, Pos: f.pos, Type: text(d.get("type")), Command: text(d.get("command")), Args: texts(d.get("args")), Cwd: text(d.get("cwd")), Env: textMap(d.get("env")),
			URL: text(d.get("url")), Headers: textMap(d.get("headers")), DefaultEnabled: text(d.get("defaultEnabled")) != "false", Tools: []ir.Tool{}}
		if s.Type == "" {
			s.Type = map[bool]string{true: "stdio", false: "http"}[s.Command != ""]
		}
		fmt.Sscan(text(d.get("timeout")), &s.TimeoutSeconds)
		if tools := d.get("tools"); tools != nil {
			for _, t := range tools.fields {
				s.Tools = append(s.Tools, ir.Tool{Name: t.name, Pos: t.pos, Description: text(t.node.get("description")), Risk: text(t.node.get("risk"))})
			}
		}
		slices.SortFunc(s.Tools, func(a, b ir.Tool) int { return cmp.Compare(a.Name, b.Name) })
		r.project.Servers = append(r.project.Servers, s)
	}
	slices.SortFunc(r.project.Servers, func(a, b ir.Server) int { return cmp.Compare(a.Name, b.Name) })
}

// link finds the parents of a subject.
func (r *resolver) link(s *subject) {
	if s.state != 0 || s.parents != nil {
		return
	}
	for i, e := range elems(s.node.get("extends")) {
		at := fmt.Sprintf("%s.extends[%d]", s.path, i)
		parent := r.parent(s, e, at)
		if parent == nil {
			r.unknown(diag.UnknownParent, string(s.kind)+" or policy", e, at, r.parentNames(s.kind))
			continue
		}
		if parent.builtin {
			r.link(parent)
		}
		s.parents = append(s.parents, parent)
		if parent.builtin && !s.builtin {
			if s.places == nil {
				s.places = map[*subject]diag.Pos{}
			}
			s.places[parent] = e.pos
		}
	}
}

// parent looks a name up: what the source defines before what is built in, and
// the subject itself last, so that a mode can build on the built-in one of its
// name.
func (r *resolver) parent(s *subject, e *node, at string) *subject {
	var found, own *subject
	for _, kind := range extendable[s.kind] {
		switch p := r.subjects[kind][e.text]; {
		case p == nil || s.builtin:
		case p == s:
			own = s
		case found != nil:
			r.diags.Errorf(diag.AmbiguousParent, e.pos, "got %q, which is a %s and a %s, want distinct names", e.text, found.kind, p.kind).
				Path(at).
				Related(found.pos, found.String()).
				Related(p.pos, p.String())
		default:
			found = p
		}
	}
	for _, kind := range extendable[s.kind] {
		if found == nil {
			found = r.builtin(kind, e.text)
		}
	}
	if found == nil {
		return own
	}
	return found
}

func (r *resolver) parentNames(kind subjectKind) []string {
	var names []string
	for _, k := range extendable[kind] {
		names = append(names, slices.Collect(maps.Keys(r.subjects[k]))...)
		names = append(names, r.builtinNames(k)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unite applies inheritance to what a subject may do: parents first, so that
// each is done once.
func (r *resolver) unite(s *subject, way []*subject) {
	switch s.state {
	case 2:
		return
	case 1:
		r.cycle(s, way)
		return
	}
	s.state = 1
	for _, p := range s.parents {
		r.unite(p, append(way[:len(way):len(way)], s))
	}
	s.state = 2
	s.can = r.decodeCan(s.node.get("can"), s.path)
	if s.kind == roleKind {
		r.sugar(s)
	}
	for _, p := range s.parents {
		can := &p.can
		if at, ok := s.places[p]; ok {
			can = placed(can, at)
		}
		inherit(&s.can, can, p.String())
		inheritSugar(s, p)
	}
	settle(&s.can)
}

func (r *resolver) cycle(s *subject, way []*subject) {
	i := slices.Index(way, s)
	if i < 0 {
		return
	}
	var names []string
	d := diag.Diagnostic{Code: diag.InheritanceCycle, Pos: way[i].extendsPos(), Path: s.path + ".extends"}
	for _, x := range way[i:] {
		names = append(names, x.name)
		if x != way[i] {
			d.Related = append(d.Related, diag.Related{Pos: x.extendsPos(), Message: x.String() + " extends on"})
		}
	}
	last := way[len(way)-1] // the link back goes, so that the rest can be checked
	last.parents = slices.DeleteFunc(slices.Clone(last.parents), func(p *subject) bool { return p == s })
	d.Message = "got a cycle, " + strings.Join(append(names, s.name), " extends ") + ", want none"
	r.diags = append(r.diags, d)
}

func (s *subject) extendsPos() diag.Pos {
	if e := s.node.get("extends"); e != nil {
		return e.pos
	}
	return s.pos
}

// Guards lists the paths that every subject of a project is kept from editing:
// modec's own, the agents', and what the targets own.
func Guards(all []contract.Target) []string {
	var list []string
	add := func(g string) {
		if !slices.ContainsFunc(list, func(x string) bool { return covers(x, g) }) {
			list = append(list, g)
		}
	}
	for _, g := range ir.GuardedPaths {
		add(g)
	}
	for _, t := range all {
		for _, g := range t.Owns() {
			add(g)
		}
	}
	return list
}
