package policy

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
)

// View returns the part of a project that a target emits, with the names that the target's
// files use: what has other targets is left out, whatever has a name for the targets has
// that name, and subjects may do what they may do for it ([ir.Project.For]). It returns the
// project itself where that is all of it.
//
// A server that is left out keeps what subjects deny or ask about under its own name, as a
// server that the user's own settings start, unless the target knows another one by that name.
// What subjects allow of it is left out with it.
//
// Where the target's agent has gateways in the place of the servers, the view has those: see [ir.Project.Gateways].
func View(p *ir.Project, target string) *ir.Project {
	return behind(p, ServersView(p, target), target, usable)
}

// HookView is [View] for one question: it decides alike, and no subject compiles to make it. A gateway has those tools
// too that nobody may use.
func HookView(p *ir.Project, target string) *ir.Project {
	return behind(p, ServersView(p, target), target, every)
}

// ServersView is [View] with the servers themselves, also where an agent has gateways in their place.
func ServersView(p *ir.Project, target string) *ir.Project {
	p = p.For(target)
	v := viewer{Project: p, target: target}
	if !v.differs() {
		return p
	}
	q := *p
	q.Servers, q.Modes, q.Roles = []ir.Server{}, []ir.Mode{}, []ir.Role{}
	for _, m := range p.Modes {
		if m.Place.For(target) {
			v.subject(&m.Can)
			m.Slug, m.Place = v.mode(m.Slug), v.place(m.Place)
			m.Restrictions = v.restrictions(m.Restrictions)
			q.Modes = append(q.Modes, m)
		}
	}
	if p.Everyone != nil {
		everyone := *p.Everyone
		v.subject(&everyone)
		q.Everyone = &everyone
	}
	q.Builtins = slices.Clone(p.Builtins)
	for i := range q.Builtins {
		v.subject(&q.Builtins[i].Can)
	}
	for _, r := range p.Roles {
		if r.Place.For(target) {
			v.subject(&r.Can)
			r.Name, r.Place = v.role(r.Name), v.place(r.Place)
			r.Modes = v.slugs(r.Modes)
			q.Roles = append(q.Roles, r)
		}
	}
	for _, s := range p.Servers {
		switch {
		case s.Place.For(target):
			s.Name, s.Place = v.server(s.Name), v.place(s.Place)
		case v.restricted[s.Name]:
			s = ir.Server{Name: s.Name, Pos: s.Pos, Type: ir.External, DefaultEnabled: true, Tools: s.Tools}
		default:
			continue
		}
		q.Servers = append(q.Servers, s)
	}
	q.Baseline = v.role(p.Baseline)
	q.Sort()
	return &q
}

// InView returns a subject by the names of a target's [View]; false where the target does not
// emit it.
func InView(p *ir.Project, target string, ref ir.SubjectRef) (ir.SubjectRef, bool) {
	v := viewer{Project: p, target: target}
	in := ir.SubjectRef{Mode: v.mode(ref.Mode), Role: v.role(ref.Role)}
	return in, (in.Mode == "") == (ref.Mode == "") && (in.Role == "") == (ref.Role == "")
}

// ActionInView returns an action by the names of a target's [View]; false where it is about a
// server or a mode that the target does not emit.
func ActionInView(p *ir.Project, target string, a Action) (Action, bool) {
	v := viewer{Project: p, target: target}
	switch a.Group {
	case ir.MCP:
		name := v.server(a.Server)
		if name == "" {
			return a, false
		}
		a.Server = name
	case ir.Modes:
		slug := v.mode(a.Arg)
		if slug == "" {
			return a, false
		}
		a.Arg = slug
	}
	return a, true
}

// SourceServer returns the name in the source of a server that a target's view has under another.
func SourceServer(source *ir.Project, target, name string) string {
	for i := range source.Servers {
		if sv := &source.Servers[i]; sv.Place.Name(target, sv.Name) == name {
			return sv.Name
		}
	}
	return name
}

// For returns the engine of a target's [View] of the project: this one where that is the
// project itself.
func (e *Engine) For(target string) *Engine { return e.On(target).viewed(target, View) }

// ForServers is For of a target's [ServersView].
func (e *Engine) ForServers(target string) *Engine {
	if len(e.project.Gateways[target]) == 0 {
		return e.For(target)
	}
	servers := func(p *ir.Project, _ string) *ir.Project { return ServersView(p, target) }
	return e.On(target).viewed(target+" servers", servers)
}

// On returns the engine of [ir.Project.For]: one for all targets for which no subject has rules of its own.
func (e *Engine) On(target string) *Engine {
	if target = cmp.Or(e.project.Starts[target], target); !slices.Contains(e.project.Agents(), target) {
		target = ""
	}
	return e.viewed("on "+target, func(p *ir.Project, _ string) *ir.Project { return p.For(target) })
}

// viewed returns the engine of a view.
func (e *Engine) viewed(name string, view func(*ir.Project, string) *ir.Project) *Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	if v := e.views[name]; v != nil {
		return v
	}
	v := e
	if e.closed != nil {
		v = e.closed.openedView(name, view, e.open)
	} else if p := view(e.project, name); p != e.project {
		v = New(p)
	}
	if e.views == nil {
		e.views = map[string]*Engine{}
	}
	e.views[name] = v
	return v
}

// openedView returns the engine of a view with some times open. Its digests are those of the view.
func (e *Engine) openedView(name string, view func(*ir.Project, string) *ir.Project, is func(ir.Times) bool) *Engine {
	v := e.viewed(name, view)
	v.times.mu.Lock()
	defer v.times.mu.Unlock()
	return v.opened(is)
}

// viewer makes a view.
type viewer struct {
	*ir.Project
	target string
	// restricted are the servers left out that subjects of the view deny or ask about.
	restricted map[string]bool
}

// differs reports whether the view is not the project itself.
func (v *viewer) differs() bool {
	of := func(pl *ir.Place) bool { return pl.As != "" || !pl.For(v.target) }
	return slices.ContainsFunc(v.Servers, func(s ir.Server) bool { return of(&s.Place) }) ||
		slices.ContainsFunc(v.Modes, func(m ir.Mode) bool { return of(&m.Place) }) ||
		slices.ContainsFunc(v.Roles, func(r ir.Role) bool { return of(&r.Place) })
}

// place returns the place of what is in the view.
func (v *viewer) place(pl ir.Place) ir.Place { return ir.Place{Order: pl.Order} }

// server returns the name of a server in the view, "" for one that is left out. A name that
// the inventory lacks stays.
func (v *viewer) server(name string) string {
	if s := v.Server(name); s != nil {
		return s.Place.Name(v.target, name)
	}
	return name
}

// mode does so for a mode. The built-in modes are in every view.
func (v *viewer) mode(slug string) string {
	if m := v.Mode(slug); m != nil {
		return m.Place.Name(v.target, slug)
	}
	return slug
}

// role does so for a role.
func (v *viewer) role(name string) string {
	if r := v.Role(name); r != nil {
		return r.Place.Name(v.target, name)
	}
	return name
}

// serverTaken reports whether a server of the view has a name.
func (v *viewer) serverTaken(name string) bool {
	return slices.ContainsFunc(v.Servers, func(s ir.Server) bool { return s.Place.Name(v.target, s.Name) == name })
}

// modeTaken reports whether a mode of the view has a slug.
func (v *viewer) modeTaken(slug string) bool {
	return slices.ContainsFunc(v.Modes, func(m ir.Mode) bool { return m.Place.Name(v.target, m.Slug) == slug })
}

// renamed returns the names in the view of the servers that a pattern matches by their own
// names only.
func (v *viewer) renamed(pattern string) (names []string) {
	for i := range v.Servers {
		s := &v.Servers[i]
		name := s.Place.Name(v.target, s.Name)
		if name != "" && Wildcard(pattern, s.Name) && !Wildcard(pattern, name) {
			names = append(names, name)
		}
	}
	return names
}

// isGlob reports whether a name of a server is a pattern.
func isGlob(name string) bool { return strings.ContainsAny(name, "*?") }

// slugs returns a list of modes in the view.
func (v *viewer) slugs(list *[]string) *[]string {
	if list == nil {
		return nil
	}
	out := []string{}
	for _, slug := range *list {
		if slug = v.mode(slug); slug != "" {
			out = append(out, slug)
		}
	}
	return &out
}

// subject puts what a subject may do into the view's names.
func (v *viewer) subject(can *ir.Can) {
	can.Modes = v.modeRules(can.Modes)
	if can.MCP == nil {
		return
	}
	t := *can.MCP
	t.Entries = nil
	for _, e := range can.MCP.Entries {
		name := v.server(e.Key)
		switch {
		case isGlob(e.Key):
			t.Entries = append(t.Entries, e)
			for _, also := range v.renamed(e.Key) {
				e.Key = also // still not literal: it opens no server that is off by default
				t.Entries = append(t.Entries, e)
			}
		case name != "":
			e.Key = name
			t.Entries = append(t.Entries, e)
		case !v.serverTaken(e.Key):
			if e, ok := restrictedEntry(e); ok {
				t.Entries = append(t.Entries, e)
				v.restrict(e.Key)
			}
		}
	}
	can.MCP = &t
}

// restrict keeps a server that is left out.
func (v *viewer) restrict(server string) {
	if v.restricted == nil {
		v.restricted = map[string]bool{}
	}
	v.restricted[server] = true
}

// restrictedEntry returns what an entry denies or asks about; false where that is nothing.
func restrictedEntry(e ir.MCPEntry) (ir.MCPEntry, bool) {
	allows := func(r ir.Rule) bool { return r.Decision > ir.Ask }
	e.Rules, e.Timed = slices.DeleteFunc(slices.Clone(e.Rules), allows), nil
	for _, d := range []**ir.Default{&e.Default, &e.Resources, &e.Prompts} {
		if *d != nil && (*d).Decision > ir.Ask {
			*d = nil
		}
	}
	return e, len(e.Rules) > 0 || e.Default != nil || e.Resources != nil || e.Prompts != nil
}

// modeRules returns the rules over modes in the view.
func (v *viewer) modeRules(t *ir.Table) *ir.Table {
	if t == nil {
		return nil
	}
	out := *t
	out.Rules, out.Timed = v.overModes(t.Rules), v.overModes(t.Timed)
	return &out
}

func (v *viewer) overModes(rules []ir.Rule) (out []ir.Rule) {
	for _, r := range rules {
		if r.Pattern.Kind == ir.Plain {
			slug := v.mode(r.Pattern.Text)
			if slug == "" && (r.Decision > ir.Ask || v.modeTaken(r.Pattern.Text)) {
				continue
			}
			if slug != "" {
				r.Pattern.Text = slug
			}
		}
		out = append(out, r)
	}
	return out
}

// restrictions returns restrictions in the view.
func (v *viewer) restrictions(r *ir.MCPRestrictions) *ir.MCPRestrictions {
	if r == nil {
		return nil
	}
	out := *r
	servers := func(list *[]ir.Item, of restriction) *[]ir.Item {
		if list == nil {
			return nil
		}
		items := []ir.Item{}
		for _, i := range *list {
			for _, name := range v.pattern(i.Name, of) {
				items = append(items, ir.Item{Name: name, Pos: i.Pos})
			}
		}
		return &items
	}
	tools := func(list *[]ir.ToolRef, of restriction) *[]ir.ToolRef {
		if list == nil {
			return nil
		}
		refs := []ir.ToolRef{}
		for _, t := range *list {
			for _, name := range v.pattern(t.Server, of) {
				refs = append(refs, ir.ToolRef{Server: name, Tool: t.Tool, Pos: t.Pos})
			}
		}
		return &refs
	}
	out.AllowedServers = servers(r.AllowedServers, permits)
	out.AllowedTools = tools(r.AllowedTools, permits)
	out.DisallowedServers = servers(r.DisallowedServers, refuses)
	out.DisallowedTools = tools(r.DisallowedTools, refuses)
	return &out
}

// restriction is what a list of restrictions says of the servers and tools in it.
type restriction bool

const (
	permits restriction = false
	refuses restriction = true
)

// pattern returns the patterns over servers that stand for one in the view. In a list that
// refuses, that of a server that is left out stays.
func (v *viewer) pattern(name string, in restriction) []string {
	if isGlob(name) {
		names := []string{name}
		for _, also := range v.renamed(name) {
			if s := v.byName(also); in == refuses || s.DefaultEnabled { // a name of its own would open it
				names = append(names, also)
			}
		}
		return names
	}
	own := v.server(name)
	switch {
	case own != "":
		return []string{own}
	case in == refuses && !v.serverTaken(name):
		v.restrict(name)
		return []string{name}
	}
	return nil
}

// byName returns the server with a name in the view.
func (v *viewer) byName(name string) *ir.Server {
	i := slices.IndexFunc(v.Servers, func(s ir.Server) bool { return s.Place.Name(v.target, s.Name) == name })
	return &v.Servers[i]
}
