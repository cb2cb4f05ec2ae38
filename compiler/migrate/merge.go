package migrate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
)

// merger joins what several importers understood into one project. What two agents define
// equally is one definition, for both of their targets. What they define in different ways
// stays apart: the second one is NAME-TARGET, and keeps its name in the files of its target.
type merger struct {
	project  *ir.Project
	notes    []contract.Note
	comments map[diag.Pos]string
	limited  map[diag.Pos]bool   // what an importer keeps to its own target
	started  map[string][]string // by file: the servers that it says how to start, by the names that they have there
}

func newMerger() *merger {
	return &merger{
		project:  &ir.Project{Version: ir.Version, Servers: []ir.Server{}, Modes: []ir.Mode{}, Roles: []ir.Role{}},
		comments: map[diag.Pos]string{}, limited: map[diag.Pos]bool{}, started: map[string][]string{},
	}
}

// add joins an import of a target's files to those before. It returns the role of a session
// that names none, by its name in the joined project, and the new names of those that have one.
func (m *merger) add(im contract.Imported, target string) (baseline string, roles map[string]string) {
	m.notes = append(m.notes, im.Notes...)
	maps.Copy(m.comments, im.Comments)
	p := im.Project
	if p == nil {
		return im.Baseline, nil
	}
	for i := range p.Servers {
		if s := &p.Servers[i]; s.Type != ir.External {
			m.started[s.Pos.File] = append(m.started[s.Pos.File], cmp.Or(s.As, s.Name))
		}
	}
	servers := join(m, target, &m.project.Servers, p.Servers, serverKind, patterns(p))
	for i := range p.Modes {
		renameServers(&p.Modes[i].Can, p.Modes[i].Restrictions, servers)
	}
	for i := range p.Roles {
		renameServers(&p.Roles[i].Can, nil, servers)
	}
	modes := join(m, target, &m.project.Modes, p.Modes, modeKind, nil)
	for i := range p.Roles {
		p.Roles[i].Can.RenameModes(modes)
		for j, slug := range deref(p.Roles[i].Modes) {
			(*p.Roles[i].Modes)[j] = cmp.Or(modes[slug], slug)
		}
	}
	for i := range m.project.Modes {
		if mode := &m.project.Modes[i]; slices.Equal(mode.Targets, []string{target}) {
			mode.Can.RenameModes(modes)
		}
	}
	roles = join(m, target, &m.project.Roles, p.Roles, roleKind, nil)
	return cmp.Or(roles[im.Baseline], im.Baseline), roles
}

// collisions reports modes of one target whose names differ only in case: a source has one of them, and a build would
// take the other one out of the target's files.
func collisions(p *ir.Project, target string) (diags diag.List) {
	if p == nil {
		return nil
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		for j := range p.Modes[:i] {
			if o := &p.Modes[j]; strings.EqualFold(o.Slug, m.Slug) {
				diags.Errorf(diag.CaseCollision, m.Pos,
					"%q differs from %q only in case, and a source can have one of them", m.Slug, o.Slug).
					Related(o.Pos, "the other one").
					Hint("give one of them another name in the agent's file, and run `modec migrate` again").
					Target(target)
			}
		}
	}
	return diags
}

// kind says how servers, modes or roles are joined.
type kind[T any] struct {
	word  string
	name  func(*T) *string
	pos   func(*T) diag.Pos
	place func(*T) *ir.Place
	same  func(a, b *T) bool
	unite func(a, b *T) // adds to the first of two equal ones what the second one knows beside
}

var serverKind = kind[ir.Server]{
	word:  "server",
	name:  func(s *ir.Server) *string { return &s.Name },
	pos:   func(s *ir.Server) diag.Pos { return s.Pos },
	place: func(s *ir.Server) *ir.Place { return &s.Place },
	same:  sameServer,
	unite: uniteServers,
}

var modeKind = kind[ir.Mode]{
	word:  "mode",
	name:  func(m *ir.Mode) *string { return &m.Slug },
	pos:   func(m *ir.Mode) diag.Pos { return m.Pos },
	place: func(m *ir.Mode) *ir.Place { return &m.Place },
	same: func(a, b *ir.Mode) bool {
		x, y := *a, *b
		x.Place, y.Place = ir.Place{}, ir.Place{}
		return fingerprint(x) == fingerprint(y)
	},
}

var roleKind = kind[ir.Role]{
	word:  "role",
	name:  func(r *ir.Role) *string { return &r.Name },
	pos:   func(r *ir.Role) diag.Pos { return r.Pos },
	place: func(r *ir.Role) *ir.Place { return &r.Place },
	same: func(a, b *ir.Role) bool {
		x, y := *a, *b
		x.Place, y.Place = ir.Place{}, ir.Place{}
		return fingerprint(x) == fingerprint(y)
	},
}

// join adds the definitions of a target to those before, and returns the new names of those
// that have one. globs are the patterns that have to match a new name where they match the old.
func join[T any](m *merger, target string, to *[]T, more []T, k kind[T], globs []string) map[string]string {
	renamed := map[string]string{}
	for i := range more {
		x := &more[i]
		name, pl := *k.name(x), k.place(x)
		if pl.Targets != nil {
			m.limited[k.pos(x)] = true
		}
		pl.Targets = []string{target}
		called := func(name string) func(T) bool {
			return func(y T) bool { return strings.EqualFold(*k.name(&y), name) }
		}
		before := slices.IndexFunc(*to, called(name))
		if before < 0 {
			*to = append(*to, *x)
			continue
		}
		old := &(*to)[before]
		switch {
		case slices.Contains(k.place(old).Targets, target):
			m.notes = append(m.notes, contract.Note{
				Kind: contract.Conflict, Pos: k.pos(x), Subject: k.word + " " + name, What: name,
				Why: fmt.Sprintf("its name differs only in case from %s: that one holds", k.pos(old)),
			})
			renamed[name] = *k.name(old)
		case *k.name(old) == name && k.place(old).As == pl.As && k.same(old, x):
			k.place(old).Targets = append(k.place(old).Targets, target)
			slices.Sort(k.place(old).Targets)
			if k.unite != nil {
				k.unite(old, x)
			}
		default:
			apart := free(name, target, globs, func(n string) bool {
				return slices.ContainsFunc(*to, called(n)) || slices.ContainsFunc(more, called(n))
			})
			m.notes = append(m.notes, contract.Note{
				Kind: contract.Apart, Pos: k.pos(x), Subject: k.word + " " + name, What: name,
				Why: fmt.Sprintf("it differs from %s: it is %q, for %s alone", k.pos(old), apart, target),
			})
			renamed[name], pl.As, *k.name(x) = apart, cmp.Or(pl.As, name), apart
			*to = append(*to, *x)
		}
	}
	return renamed
}

// free returns a name for what has another one in the files of a target.
func free(name, target string, globs []string, taken func(string) bool) string {
	fits := func(n string) bool {
		return !taken(n) && !slices.ContainsFunc(globs, func(g string) bool {
			return policy.Wildcard(g, name) && !policy.Wildcard(g, n)
		})
	}
	for _, n := range []string{name + "-" + target, target + "-" + name} {
		if fits(n) {
			return n
		}
	}
	for i := 2; ; i++ {
		if n := fmt.Sprintf("%s-%s-%d", name, target, i); !taken(n) {
			return n
		}
	}
}

// patterns returns the patterns over servers in a project.
func patterns(p *ir.Project) (globs []string) {
	add := func(s string) {
		if strings.ContainsAny(s, "*?") {
			globs = append(globs, s)
		}
	}
	of := func(can *ir.Can) {
		if can.MCP != nil {
			for _, e := range can.MCP.Entries {
				add(e.Key)
			}
		}
	}
	for i := range p.Modes {
		of(&p.Modes[i].Can)
		if r := p.Modes[i].Restrictions; r != nil {
			for _, x := range slices.Concat(deref(r.AllowedServers), deref(r.DisallowedServers)) {
				add(x.Name)
			}
			for _, x := range slices.Concat(deref(r.AllowedTools), deref(r.DisallowedTools)) {
				add(x.Server)
			}
		}
	}
	for i := range p.Roles {
		of(&p.Roles[i].Can)
	}
	return globs
}

// renameServers replaces the names of servers in what a subject may do.
func renameServers(can *ir.Can, r *ir.MCPRestrictions, names map[string]string) {
	if len(names) == 0 {
		return
	}
	name := func(s *string) { *s = cmp.Or(names[*s], *s) }
	if can.MCP != nil {
		t := *can.MCP
		t.Entries = slices.Clone(t.Entries)
		for i := range t.Entries {
			name(&t.Entries[i].Key)
		}
		can.MCP = &t
	}
	if r == nil {
		return
	}
	for _, l := range []*[]ir.Item{r.AllowedServers, r.DisallowedServers} {
		for i := range deref(l) {
			name(&(*l)[i].Name)
		}
	}
	for _, l := range []*[]ir.ToolRef{r.AllowedTools, r.DisallowedTools} {
		for i := range deref(l) {
			name(&(*l)[i].Server)
		}
	}
}

// deref returns a list, nil for one that is not there.
func deref[T any](l *[]T) []T {
	if l == nil {
		return nil
	}
	return *l
}

// finish ends the joining for a project with one target, or with several: with one target
// nothing says where it is emitted, but for what its importer keeps to the target.
func (m *merger) finish(several bool) {
	order(m.project.Servers, serverKind)
	order(m.project.Modes, modeKind)
	if several { // of each it is said where it is emitted
		m.notes = slices.DeleteFunc(m.notes, func(n contract.Note) bool { return n.Why == contract.OnlyAgent })
	} else {
		alone(m, m.project.Servers, serverKind)
		alone(m, m.project.Modes, modeKind)
		alone(m, m.project.Roles, roleKind)
	}
	m.project.Sort()
}

func alone[T any](m *merger, list []T, k kind[T]) {
	for i := range list {
		if !m.limited[k.pos(&list[i])] {
			k.place(&list[i]).Targets = nil
		}
	}
}

// order numbers what stands in files whose own order is not the alphabetical one.
func order[T any](list []T, k kind[T]) {
	slices.SortStableFunc(list, func(a, b T) int { return k.pos(&a).Compare(k.pos(&b)) })
	name := func(x *T) string { return cmp.Or(k.place(x).As, *k.name(x)) }
	own := map[string]bool{} // files with an order of their own
	last := map[string]string{}
	for i := range list {
		file := k.pos(&list[i]).File
		if n := name(&list[i]); n < last[file] {
			own[file] = true
		} else {
			last[file] = n
		}
	}
	next := 0
	for i := range list {
		if own[k.pos(&list[i]).File] {
			next += 10
			n := next
			k.place(&list[i]).Order = &n
		}
	}
}

// places matches the places in the JSON of a model.
var places = lazy.Regexp(`"[a-zA-Z]*[pP]os":\{[^{}]*\},?`)

// fingerprint returns a text that is the same for values that differ in places only.
func fingerprint(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%p", &v) // not the same as any other
	}
	return string(places().ReplaceAll(data, nil))
}

// sameServer reports whether two servers are started or reached in the same way.
func sameServer(a, b *ir.Server) bool {
	return a.Type == b.Type && a.URL == b.URL && a.Command == b.Command && slices.Equal(a.Args, b.Args) &&
		a.Cwd == b.Cwd && maps.Equal(a.Env, b.Env) && maps.Equal(a.Headers, b.Headers) &&
		a.TimeoutSeconds == b.TimeoutSeconds && a.DefaultEnabled == b.DefaultEnabled && sameEntries(a, b)
}

// sameEntries reports whether the entries of two external servers have one shape.
func sameEntries(a, b *ir.Server) bool {
	shapes := slices.Concat(slices.Collect(maps.Values(a.Entries)), slices.Collect(maps.Values(b.Entries)))
	return (len(a.Entries) == 0) == (len(b.Entries) == 0) && len(slices.Compact(shapes)) < 2
}

// uniteServers adds the files that the second server's entry lies in, and its tools, each with the
// higher risk.
func uniteServers(a, b *ir.Server) {
	if len(b.Entries) > 0 {
		a.Entries = maps.Clone(a.Entries)
		maps.Copy(a.Entries, b.Entries)
	}
	a.Tools = slices.Clone(a.Tools)
	for _, t := range b.Tools {
		old := a.Tool(t.Name)
		if old == nil {
			a.AddTool(t)
			continue
		}
		old.Description = cmp.Or(old.Description, t.Description)
		if risks[t.Risk] > risks[old.Risk] {
			old.Risk = t.Risk
		}
	}
}

var risks = map[string]int{"read": 1, "write": 2, "destructive": 3}
