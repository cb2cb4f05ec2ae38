package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/source"
)

// Settings are what modec.toml and the targets say of the source.
type Settings struct {
	Name            string
	ClosedInventory bool
	Baseline        string
	Guards          []string // globs that the targets own
	// Dialects are the targets whose agents have a rule grammar of their own.
	Dialects []contract.Dialect
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
	node    *source.Node
	path    string
	builtin bool
	places  map[*subject]diag.Pos // where it extends its built-in parents
	parents []*subject

	decoded bool
	state   walkState
	can     ir.Can                  // its own, then united with its parents'
	fields  map[string]source.Field // inherited fields that were looked up
	sugar   []sugarRule             // what its native rules say in the neutral vocabulary
	native  []ir.NativeRule         // what they say to their agent alone
}

// walkState is where the walk over parents is with a subject.
type walkState uint8

const (
	unvisited walkState = iota
	onTheWay
	visited
)

func (s *subject) String() string { return string(s.kind) + " " + s.name }

type resolver struct {
	settings Settings
	texts    map[string]string // the text files that the source names, by path
	diags    diag.List
	project  *ir.Project
	subjects map[subjectKind]map[string]*subject
	builtins map[subjectKind]map[string]*subject
	referred map[string]bool // built-in modes that the source refers to
}

// Resolve turns data that fits the schema into the model: it decodes the rules, applies
// inheritance and checks every reference. texts are the text files that the data
// names. After an error the model is incomplete.
func Resolve(data *source.Node, texts map[string]string, settings Settings) (*ir.Project, diag.List) {
	r := &resolver{settings: settings, texts: texts, referred: map[string]bool{},
		project: &ir.Project{Version: ir.Version, Name: settings.Name, ClosedInventory: settings.ClosedInventory,
			Baseline: settings.Baseline, Servers: []ir.Server{}, Modes: []ir.Mode{}, Roles: []ir.Role{}},
		subjects: map[subjectKind]map[string]*subject{}, builtins: map[subjectKind]map[string]*subject{}}
	r.servers(data.Get("servers"))
	r.guards()
	r.declare(data)
	all := r.declared()
	for _, s := range all {
		r.link(s)
	}
	for _, s := range all {
		r.decode(s)
	}
	for _, s := range all {
		r.unite(s, nil)
	}
	r.unextended()
	for _, s := range all {
		switch s.kind {
		case modeKind:
			r.project.Modes = append(r.project.Modes, r.mode(s))
		case roleKind:
			r.project.Roles = append(r.project.Roles, r.role(s))
		}
	}
	r.builtinModes()
	r.diags.Sort()
	return r.project, r.diags
}

// declare notes what the source defines, by kind and name.
func (r *resolver) declare(data *source.Node) {
	for kind, sec := range section {
		r.subjects[kind] = map[string]*subject{}
		if n := data.Get(sec); n != nil {
			for _, f := range n.Fields {
				r.subjects[kind][f.Name] = &subject{kind: kind, name: f.Name, pos: f.Pos, node: f.Node,
					path: sec + "." + diag.Label(f.Name)}
			}
		}
	}
}

// declared lists what the source defines: policies, modes and roles, each by name.
func (r *resolver) declared() []*subject {
	var all []*subject
	for _, kind := range []subjectKind{policyKind, modeKind, roleKind} {
		for _, name := range slices.Sorted(maps.Keys(r.subjects[kind])) {
			all = append(all, r.subjects[kind][name])
		}
	}
	return all
}

func (r *resolver) guards() {
	for i, g := range append(slices.Clone(ir.GuardedPaths), r.settings.Guards...) {
		rule := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: g}, Pos: diag.Pos{File: ir.GuardsFile, Line: i + 1}}
		if !slices.ContainsFunc(r.project.Guards, func(x ir.Rule) bool { return covers(x.Pattern.Text, g) }) {
			r.project.Guards = append(r.project.Guards, rule)
		}
	}
}

// builtinModes adds the built-in modes that the source refers to.
func (r *resolver) builtinModes() {
	for _, slug := range slices.Sorted(maps.Keys(r.referred)) {
		s := r.builtin(modeKind, slug)
		r.link(s)
		r.decode(s)
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

func (r *resolver) servers(n *source.Node) {
	if n == nil {
		return
	}
	for _, f := range n.Fields {
		d := f.Node
		s := ir.Server{Name: f.Name, Pos: f.Pos, Type: text(d.Get("type")), Command: text(d.Get("command")), Args: texts(d.Get("args")), Cwd: text(d.Get("cwd")), Env: textMap(d.Get("env")),
			URL: text(d.Get("url")), Headers: textMap(d.Get("headers")), DefaultEnabled: text(d.Get("defaultEnabled")) != "false", Tools: []ir.Tool{}}
		switch {
		case s.Type != "":
		case s.Command != "":
			s.Type = "stdio"
		default:
			s.Type = "http"
		}
		fmt.Sscan(text(d.Get("timeout")), &s.TimeoutSeconds)
		if tools := d.Get("tools"); tools != nil {
			for _, t := range tools.Fields {
				s.Tools = append(s.Tools, ir.Tool{Name: t.Name, Pos: t.Pos, Description: text(t.Node.Get("description")), Risk: text(t.Node.Get("risk"))})
			}
		}
		slices.SortFunc(s.Tools, func(a, b ir.Tool) int { return cmp.Compare(a.Name, b.Name) })
		r.project.Servers = append(r.project.Servers, s)
	}
	slices.SortFunc(r.project.Servers, func(a, b ir.Server) int { return cmp.Compare(a.Name, b.Name) })
}

// link finds the parents of a subject.
func (r *resolver) link(s *subject) {
	if s.state != unvisited || s.parents != nil {
		return
	}
	for i, e := range elems(s.node.Get("extends")) {
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
			s.places[parent] = e.Pos
		}
	}
}

// parent looks a name up: what the source defines before what is built in, and
// the subject itself last, so that a mode can build on the built-in one of its
// name.
func (r *resolver) parent(s *subject, e *source.Node, at string) *subject {
	var found, own *subject
	for _, kind := range extendable[s.kind] {
		switch p := r.subjects[kind][e.Text]; {
		case p == nil || s.builtin:
		case p == s:
			own = s
		case found != nil:
			r.diags.Errorf(diag.AmbiguousParent, e.Pos, "got %q, which is a %s and a %s, want distinct names", e.Text, found.kind, p.kind).
				Path(at).
				Related(found.pos, found.String()).
				Related(p.pos, p.String())
		default:
			found = p
		}
	}
	for _, kind := range extendable[s.kind] {
		if found == nil {
			found = r.builtin(kind, e.Text)
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

// decode reads what a subject itself may do, and its built-in parents.
func (r *resolver) decode(s *subject) {
	if s.decoded {
		return
	}
	s.decoded = true
	for _, p := range s.parents {
		if p.builtin {
			r.decode(p)
		}
	}
	s.can = r.decodeCan(s.node.Get("can"), s.path)
	if s.kind == roleKind {
		r.nativeRules(s)
	}
}

// unite applies inheritance to what a subject may do: parents first, so that
// each is done once.
func (r *resolver) unite(s *subject, way []*subject) {
	switch s.state {
	case visited:
		return
	case onTheWay:
		r.cycle(s, way)
		return
	}
	s.state = onTheWay
	for _, p := range s.parents {
		r.unite(p, append(way[:len(way):len(way)], s))
	}
	s.state = visited
	for _, p := range s.parents {
		can := &p.can
		if at, ok := s.places[p]; ok {
			can = placed(can, at)
		}
		inherit(&s.can, can, p.String())
		inheritNative(s, p)
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
	if e := s.node.Get("extends"); e != nil {
		return e.Pos
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
