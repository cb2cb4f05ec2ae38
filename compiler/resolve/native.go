package resolve

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/source"
)

// sugarRule is a native rule that the neutral vocabulary can express. It is kept apart from a
// role's `can` until every role has inherited. It decides only what it matches: in a group
// that only such rules mention, the rest is as unsaid as before.
type sugarRule struct {
	group  ir.Group
	server string // mcp only: a name of the inventory, or a glob
	rule   ir.Rule
}

// nativeRules reads a role's own rules in the grammars of agents. A rule becomes a neutral one
// where its dialect can translate it; any other stays a rule for its agent alone.
func (r *resolver) nativeRules(s *subject) {
	for _, dialect := range r.settings.Dialects {
		for _, l := range dialect.RuleLists() {
			if l.Field == "" {
				continue
			}
			for i, n := range elems(s.node.Get(l.Field)) {
				r.nativeRule(s, dialect, l.Decision, n, diag.Join(s.path, diag.Index(l.Field, i)))
			}
		}
	}
}

// ownRules reads agents.NAME: its rules in the agent's own words, and its can.
func (r *resolver) ownRules(s *subject) {
	targets := elems(s.node.Get("targets"))
	for _, f := range fields(s.node.Get("agents")) {
		at := diag.Join(s.path, "agents."+f.Name)
		if !r.isTarget(&source.Node{Text: f.Name, Pos: f.Pos}, at) {
			continue
		}
		reads := func(t *source.Node) bool { return t.Text == f.Name || r.settings.Starts[t.Text] == f.Name }
		if len(targets) > 0 && !slices.ContainsFunc(targets, reads) {
			r.diags.Errorf(diag.BadValue, f.Pos, "%s is not emitted for %s: its targets name others", s, f.Name).
				Path(at)
		}
		for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
			if list := f.Node.Get("native").Get(d.String()); list != nil {
				r.ownList(s, f.Name, d, list, diag.Join(at, "native."+d.String()))
			}
		}
		if can := f.Node.Get("can"); can != nil {
			r.ownCan(s, f.Name, can, at)
		}
		r.ownSettings(s, f.Name, fields(f.Node.Get("settings")), "", at)
	}
}

// ownSettings checks the keys of agents.NAME.settings: a target takes those that permit nothing and start nothing.
func (r *resolver) ownSettings(s *subject, target string, keys []source.Field, below, at string) {
	role := s.kind == roleKind
	takes := contract.SettingKeys(target, role)
	for _, f := range keys {
		key := below + f.Name
		inside := func(k string) bool { return strings.HasPrefix(k, key+".") }
		switch {
		case slices.Contains(takes, key):
		case f.Node.Kind == source.Struct && slices.ContainsFunc(takes, inside):
			r.ownSettings(s, target, f.Node.Fields, key+".", at)
		default:
			why, hint := contract.RefusedSetting(target, key, role)
			r.diags.Errorf(diag.BadSetting, f.Pos, "agents.%s.settings.%s is refused: %s", target, key, why).
				Path(diag.Join(at, "settings."+key)).Hint(hint)
		}
	}
}

// ownCan reads agents.NAME.can.
func (r *resolver) ownCan(s *subject, agent string, n *source.Node, at string) {
	if other := r.settings.Starts[agent]; other != "" {
		r.diags.Errorf(diag.BadValue, n.Pos, "%s starts %s, whose rules hold there too", agent, other).
			Path(at+".can").Hintf("write it in agents.%s", other)
		return
	}
	own := r.decodeCan(n, at)
	s.has(agent, union(&s.can, &own))
	r.project.Starts = r.settings.Starts
}

// ownList reads a list of rules for one agent alone.
func (r *resolver) ownList(s *subject, agent string, d ir.Decision, n *source.Node, at string) {
	for _, dialect := range r.settings.Dialects {
		for _, l := range dialect.RuleLists() {
			if dialect.Name() != agent || l.Decision != d || s.kind == modeKind && !l.Modes {
				continue
			}
			for i, rule := range elems(n) {
				r.ownRule(s, dialect, d, rule, diag.Index(at, i))
			}
			return
		}
	}
	r.diags.Errorf(diag.BadValue, n.Pos, "%s has no rules of its own for a %s to %s", agent, s.kind, d).Path(at).
		Hint("say it in can")
}

// ownRule reads a rule that stays one for its agent alone, whatever the neutral vocabulary can say.
func (r *resolver) ownRule(s *subject, dialect contract.Dialect, d ir.Decision, n *source.Node, at string) {
	_, _, err := dialect.TranslateRule(n.Text, d, inventory{r, n.Pos, at, dialect.Name()})
	if err != nil {
		r.diags.Errorf(dialect.BadRule(), n.Pos, "got %q: %v", diag.Short(n.Text), err).Path(at)
		return
	}
	s.native = append(s.native, ir.NativeRule{
		Target: dialect.Name(), Decision: d, Text: n.Text, Pos: n.Pos, Own: true})
}

func (r *resolver) nativeRule(s *subject, dialect contract.Dialect, d ir.Decision, n *source.Node, at string) {
	s.written = append(s.written, ir.NativeRule{Target: dialect.Name(), Decision: d, Text: n.Text, Pos: n.Pos})
	inv := inventory{r, n.Pos, at, dialect.Name()}
	neutral, ok, err := dialect.TranslateRule(n.Text, d, inv)
	switch {
	case err != nil:
		r.diags.Errorf(dialect.BadRule(), n.Pos, "got %q: %v", diag.Short(n.Text), err).Path(at)
	case ok:
		for _, x := range neutral {
			rule := ir.Rule{Decision: d, Pattern: x.Pattern, Pos: n.Pos}
			s.sugar = append(s.sugar, sugarRule{x.Group, inv.own(x.Server), rule})
		}
	default:
		s.native = append(s.native, ir.NativeRule{Target: dialect.Name(), Decision: d, Text: n.Text, Pos: n.Pos})
	}
}

// inventory is the inventory as a dialect sees it. It reports unknown names at the place of
// the native rule.
type inventory struct {
	*resolver
	pos    diag.Pos
	at     string
	target string // of the dialect
}

// Servers returns the servers by the names that the dialect's agent knows them by. One that
// the agent does not have keeps its own, unless another one has it there.
func (i inventory) Servers() []ir.Server {
	all := i.project.Servers
	if !slices.ContainsFunc(all, func(s ir.Server) bool { return s.As != "" }) {
		return all
	}
	var out []ir.Server
	for _, s := range all {
		own := s.Name
		if s.Name = cmp.Or(s.Place.Name(i.target, own), own); i.own(s.Name) == own {
			out = append(out, s)
		}
	}
	return out
}

// own returns the name in the source of a server that the dialect's agent knows by a name.
func (i inventory) own(name string) string {
	for _, s := range i.project.Servers {
		if s.Place.Name(i.target, s.Name) == name {
			return s.Name
		}
	}
	return name
}

func (i inventory) Mode(slug string) bool { return i.subjects[modeKind][slug] != nil }

func (i inventory) UnknownServer(name string, known []string) bool {
	i.unknown(diag.UnknownServer, "server", &source.Node{Text: name, Pos: i.pos}, i.at, known)
	return true
}

func (i inventory) Tool(server, tool string) { i.toolRef(i.own(server), tool, i.pos, i.at) }

// inheritNative adds a parent's native rules, each once.
func inheritNative(s, parent *subject) {
	for _, x := range parent.sugar {
		x.rule.From = cmp.Or(x.rule.From, parent.String())
		same := func(y sugarRule) bool {
			return y.group == x.group && y.server == x.server &&
				y.rule.Pos == x.rule.Pos && y.rule.Pattern == x.rule.Pattern
		}
		if !slices.ContainsFunc(s.sugar, same) {
			s.sugar = append(s.sugar, x)
		}
	}
	for _, c := range parent.native {
		c.From = cmp.Or(c.From, parent.String())
		if !slices.ContainsFunc(s.native, func(x ir.NativeRule) bool { return x.Pos == c.Pos && x.Text == c.Text }) {
			s.native = append(s.native, c)
		}
	}
}

// sweeten adds a role's translated rules, its own and inherited ones, to what it may do. A
// group that the role did not mention gets a written default.
func (r *resolver) sweeten(s *subject, can *ir.Can) {
	tables := map[ir.Group]**ir.Table{
		ir.Read: &can.Read, ir.Edit: &can.Edit,
		ir.Command: &can.Command, ir.Web: &can.Web, ir.Modes: &can.Modes,
	}
	for _, x := range s.sugar {
		if x.group == ir.MCP {
			r.sweetenMCP(can, x)
			continue
		}
		t := tables[x.group]
		if *t == nil {
			*t = &ir.Table{}
		}
		(*t).Rules = ownFirst((*t).Rules, x.rule)
	}
	settle(can)
}

// sweetenMCP adds a translated rule about a server.
func (r *resolver) sweetenMCP(can *ir.Can, x sugarRule) {
	if can.MCP == nil {
		can.MCP = &ir.MCPTable{}
	}
	t := can.MCP
	same := func(e ir.MCPEntry) bool { return e.Key == x.server && e.From == x.rule.From }
	i := slices.IndexFunc(t.Entries, same)
	if i < 0 {
		i = len(t.Entries)
		literal := !strings.ContainsAny(x.server, "*?")
		e := ir.MCPEntry{Key: x.server, Literal: literal, Pos: x.rule.Pos, From: x.rule.From}
		sv := r.project.Server(x.server)
		known := slices.ContainsFunc(t.Entries, func(e ir.MCPEntry) bool { return e.Key == x.server })
		if !known && literal && sv != nil && !sv.DefaultEnabled { // the tools that it does not name stay off
			e.Default = &ir.Default{Decision: ir.Deny, Pos: sv.Pos}
		}
		t.Entries = append(t.Entries, e)
	}
	t.Entries[i].Rules = ownFirst(t.Entries[i].Rules, x.rule)
}

// ownFirst adds a rule, an own one before the inherited ones.
func ownFirst(rules []ir.Rule, x ir.Rule) []ir.Rule {
	i := len(rules)
	if x.From == "" {
		if j := slices.IndexFunc(rules, func(r ir.Rule) bool { return r.From != "" }); j >= 0 {
			i = j
		}
	}
	return slices.Insert(rules, i, x)
}
