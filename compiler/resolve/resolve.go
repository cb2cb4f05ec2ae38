// Package resolve turns the data of a source into the model. [Resolve] decodes the rules,
// applies inheritance and checks every reference. The data fits the schema already, and its
// text files are read.
//
// CUE decides about shape, Go about references: a CUE type made of the set of modes takes 45
// seconds at a thousand of them.
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
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/source"
)

// Settings are what modec.toml and the targets add to the source.
type Settings struct {
	Name            string
	ClosedInventory bool
	Unsaid          *ir.Default
	Baseline        string
	Audit           *ir.Audit // nil: there is none
	Enforced        diag.Pos  // where it says that hooks decide; the zero Pos: they do not
	// Known are the names of every target that there is.
	Known []string
	// Starts are the targets that start the agent of another one, which has its rules there too.
	Starts map[string]string
	// Dialects are the targets whose rule grammar a role may use.
	Dialects []contract.Dialect
}

// subjectKind is a kind of subject. A policy is one too here, because it can be extended.
type subjectKind string

const (
	modeKind   subjectKind = "mode"
	roleKind   subjectKind = "role"
	policyKind subjectKind = "policy"
	// everyoneKind is the kind of one subject, the ceiling over the others.
	everyoneKind subjectKind = "everyone"
)

// section names the section of the source with the subjects of a kind.
var section = map[subjectKind]string{modeKind: "modes", roleKind: "roles", policyKind: "policies"}

// extendable are the kinds that a kind may extend, in the order in which a name is looked up.
var extendable = map[subjectKind][]subjectKind{
	modeKind:     {policyKind, modeKind},
	roleKind:     {policyKind, roleKind},
	policyKind:   {policyKind},
	everyoneKind: {policyKind},
}

// subject is a mode, a role or a policy that is being resolved.
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
	can     ir.Can                  // its own, and after unite also its parents'
	agents  map[string]*ir.Can      // the same with what it may do for one target alone
	fields  map[string]source.Field // inherited fields that were looked up
	sugar   []sugarRule             // its native rules that the neutral vocabulary can express
	native  []ir.NativeRule         // its other native rules
	written []ir.NativeRule         // all of them, as they stand in the source
}

// walkState is the state of a subject in the walk over parents.
type walkState uint8

const (
	unvisited walkState = iota
	onTheWay
	visited
)

func (s *subject) String() string { return strings.TrimSpace(string(s.kind) + " " + s.name) }

// resolver makes the model.
type resolver struct {
	settings Settings
	texts    map[string]string // the text files that the source names, by path
	diags    diag.List
	project  *ir.Project
	subjects map[subjectKind]map[string]*subject
	builtins map[subjectKind]map[string]*subject
	referred map[string]bool // built-in modes that the source refers to
}

// Resolve returns the model of data that fits the schema. texts are the text files that the
// data names. After an error the model is incomplete.
func Resolve(data *source.Node, texts map[string]string, settings Settings) (*ir.Project, diag.List) {
	r := &resolver{
		settings: settings, texts: texts, referred: map[string]bool{},
		project: &ir.Project{
			Version: ir.Version, Name: settings.Name, Baseline: settings.Baseline,
			ClosedInventory: settings.ClosedInventory, Unsaid: settings.Unsaid,
			Servers: []ir.Server{}, Modes: []ir.Mode{}, Roles: []ir.Role{},
		},
		subjects: map[subjectKind]map[string]*subject{},
		builtins: map[subjectKind]map[string]*subject{},
	}
	r.servers(data.Get("servers"))
	r.project.Audit = r.settings.Audit
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
	if s := r.subjects[everyoneKind][""]; s != nil {
		r.everyone(s)
	}
	if !settings.Enforced.IsZero() {
		r.enforced()
	}
	for _, s := range all {
		switch s.kind {
		case modeKind:
			r.project.Modes = append(r.project.Modes, r.mode(s))
		case roleKind:
			r.project.Roles = append(r.project.Roles, r.role(s))
		}
	}
	r.builtinModes()
	policy.AddClosedTimes(r.project)
	r.project.Sort()
	r.checkNames()
	r.diags.Sort()
	return r.project, r.diags
}

// declare collects what the source defines, by kind and name.
func (r *resolver) declare(data *source.Node) {
	r.subjects[everyoneKind] = map[string]*subject{}
	if f, ok := data.Lookup(ir.OfEveryone); ok {
		r.subjects[everyoneKind][""] = &subject{kind: everyoneKind, pos: f.Pos, node: f.Node, path: ir.OfEveryone}
	}
	for kind, sec := range section {
		r.subjects[kind] = map[string]*subject{}
		if n := data.Get(sec); n != nil {
			for _, f := range n.Fields {
				r.subjects[kind][f.Name] = &subject{
					kind: kind, name: f.Name, pos: f.Pos, node: f.Node, path: sec + "." + diag.Label(f.Name),
				}
			}
		}
	}
}

// declared returns what the source defines: everyone, policies, modes and roles, each by name.
func (r *resolver) declared() []*subject {
	var all []*subject
	for _, kind := range []subjectKind{everyoneKind, policyKind, modeKind, roleKind} {
		for _, name := range slices.Sorted(maps.Keys(r.subjects[kind])) {
			all = append(all, r.subjects[kind][name])
		}
	}
	return all
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

// unextended adds the policies that no subject extends.
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

// servers adds the inventory.
func (r *resolver) servers(n *source.Node) {
	if n == nil {
		return
	}
	for _, f := range n.Fields {
		d := f.Node
		s := ir.Server{
			Name: f.Name, Pos: f.Pos, Type: text(d.Get("type")),
			Command: text(d.Get("command")), Args: texts(d.Get("args")),
			Cwd: text(d.Get("cwd")), Env: textMap(d.Get("env")),
			URL: text(d.Get("url")), Headers: textMap(d.Get("headers")), Entries: textMap(d.Get("entries")),
			DefaultEnabled: text(d.Get("defaultEnabled")) != "false", Tools: []ir.Tool{},
			Place: r.place(d, "servers."+diag.Label(f.Name)),
		}
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
				s.Tools = append(s.Tools, ir.Tool{
					Name: t.Name, Pos: t.Pos,
					Description: text(t.Node.Get("description")), Risk: text(t.Node.Get("risk")),
				})
			}
		}
		slices.SortFunc(s.Tools, func(a, b ir.Tool) int { return cmp.Compare(a.Name, b.Name) })
		r.project.Servers = append(r.project.Servers, s)
	}
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

// parent returns the subject that a name in extends refers to. What the source defines comes
// before what is built in, and the subject itself comes last, so that a mode can extend the
// built-in mode of the same name.
func (r *resolver) parent(s *subject, e *source.Node, at string) *subject {
	var found, own *subject
	for _, kind := range extendable[s.kind] {
		switch p := r.subjects[kind][e.Text]; {
		case p == nil || s.builtin:
		case p == s:
			own = s
		case found != nil:
			r.diags.Errorf(diag.AmbiguousParent, e.Pos,
				"%q is the name of a %s and of a %s; rename one of them", e.Text, found.kind, p.kind).
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

// parentNames returns the names that a kind may extend.
func (r *resolver) parentNames(kind subjectKind) []string {
	var names []string
	for _, k := range extendable[kind] {
		names = append(names, slices.Collect(maps.Keys(r.subjects[k]))...)
		names = append(names, r.builtinNames(k)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// decode reads what a subject and its built-in parents may do by themselves.
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
	if s.kind == roleKind || s.kind == modeKind {
		r.ownRules(s)
	}
}

// unite adds what a subject inherits. way are the subjects that led to it.
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
		for target := range p.agents {
			if s.agents[target] == nil {
				s.has(target, union(&s.can, &ir.Can{}))
			}
		}
	}
	for _, p := range s.parents {
		s.inherit(p, &s.can, &p.can)
		for target, own := range s.agents {
			s.inherit(p, own, cmp.Or(p.agents[target], &p.can))
		}
		inheritNative(s, p)
	}
	s.each(settle)
}

// inherit adds a parent's permissions to those of the subject.
func (s *subject) inherit(p *subject, can, parent *ir.Can) {
	if at, ok := s.places[p]; ok {
		parent = placed(parent, at)
	}
	inherit(can, parent, p.String())
}

// has sets what the subject may do for a target.
func (s *subject) has(target string, can *ir.Can) {
	if s.agents == nil {
		s.agents = map[string]*ir.Can{}
	}
	s.agents[target] = can
}

// each calls f with what the subject may do, anywhere and for each target.
func (s *subject) each(f func(*ir.Can)) {
	f(&s.can)
	for _, own := range s.agents {
		f(own)
	}
}

// cycle reports that the way to a subject leads through it, and removes the last link, so
// that the rest can be checked.
func (r *resolver) cycle(s *subject, way []*subject) {
	i := slices.Index(way, s)
	if i < 0 {
		return
	}
	circle := way[i:]
	var names []string
	for _, x := range circle {
		names = append(names, x.name)
	}
	names = append(names, s.name)
	d := r.diags.Errorf(diag.InheritanceCycle, s.extendsPos(),
		"these extend each other in a circle: %s", strings.Join(names, " extends ")).
		Path(s.path + ".extends")
	for i, x := range circle[1:] {
		d.Related(x.extendsPos(), x.String()+" extends "+names[i+2])
	}
	last := way[len(way)-1]
	last.parents = slices.DeleteFunc(slices.Clone(last.parents), func(p *subject) bool { return p == s })
}

// extendsPos returns the place where a subject says what it extends.
func (s *subject) extendsPos() diag.Pos {
	if e := s.node.Get("extends"); e != nil {
		return e.Pos
	}
	return s.pos
}
