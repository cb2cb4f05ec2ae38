package lastmatch

import (
	"errors"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

var (
	readPaths    = grammar{group: ir.Read, rule: listPath}
	editPaths    = grammar{group: ir.Edit, rule: listPath}
	commandLines = grammar{group: ir.Command, rule: listCommand, text: true}
	webAddresses = grammar{group: ir.Web, rule: listHost, text: true}
)

// listPath adds a rule about paths.
func listPath(w *writer, _ *policy.Subject, s *side, r ir.Rule) error {
	p, err := w.pathsOf(r)
	if err != nil {
		return err
	}
	switch r.Decision {
	case ir.Allow:
		s.allow = append(s.allow, p)
	case ir.Ask:
		h := held{hold: p}
		whole := r
		whole.Decision = ir.Allow
		if one, err := w.pathsOf(whole); err == nil {
			h.ask = &one
		}
		s.ask = append(s.ask, h)
	default:
		s.deny = append(s.deny, p.patterns...)
	}
	return nil
}

// listHost adds a rule about hosts.
func listHost(_ *writer, _ *policy.Subject, s *side, r ir.Rule) error {
	host, below := strings.CutPrefix(r.Pattern.Text, "*.")
	if r.Decision == ir.Deny {
		s.deny = append(s.deny, "*"+host+"*")
		return nil
	}
	own := part{patterns: []string{"https://" + host, "https://" + host + "/*"}, exact: true}
	if r.Decision == ir.Ask {
		h := held{hold: part{patterns: []string{"*" + host + "*"}}}
		if !below && plainHost().MatchString(host) {
			h.ask = &own
		}
		s.ask = append(s.ask, h)
		return nil
	}
	if below || !plainHost().MatchString(host) {
		return errors.New("an address that only begins alike may be another one")
	}
	s.allow = append(s.allow, own)
	return nil
}

var plainHost = lazy.Regexp(`\A[a-z0-9-]+(\.[a-z0-9-]+)*\.?[a-z-][a-z0-9-]*\z`)

// web compiles the group web. A search has no host that a rule could name.
func (w *writer) web() {
	sides, ok := w.sides(&webAddresses)
	if !ok {
		w.key(format.WebFetch, ir.Deny, nil)
	} else {
		list, base := w.entries(sides, w.rest(ir.Web, sides))
		w.key(format.WebFetchAddress, base, list)
	}
	w.key(format.WebSearch, decidedOn(w.subject, policy.Action{Group: ir.Web}), nil)
}

// edits compiles the group edit.
func (w *writer) edits() {
	sides, ok := w.sides(&editPaths)
	if !ok {
		w.key(format.Edit, ir.Deny, nil)
		return
	}
	rest := w.rest(ir.Edit, sides)
	list, base := w.entries(sides, w.toAgent(rest))
	if rest == ir.Agent && base == ir.Allow {
		base = ir.Agent
	}
	w.key(format.Edit, base, w.beyond(ir.Edit, base, list))
	for _, file := range w.agent.Protected {
		if decidedOn(w.subject, policy.Action{Group: ir.Edit, Arg: file}) == ir.Allow {
			w.loss(ir.Edit, w.agent.Codes.Protected, w.pos, "%s asks before it writes %s, whatever is allowed",
				w.agent.Title, file).
				Hint("answer it, or have nobody write the file").
				Needless()
		}
	}
}

// reads compiles the group read. What searches below folders cannot be held to a list.
func (w *writer) reads() {
	sides, ok := w.sides(&readPaths)
	base := ir.Deny
	var list []entry
	if ok {
		if base = w.rest(ir.Read, sides); base == ir.Agent {
			for i := range sides { // by itself the agent asks about these alone
				env := []part{{patterns: []string{"*.env", "*.env.*"}}}
				sides[i].allow = slices.DeleteFunc(slices.Clone(sides[i].allow), func(p part) bool {
					return !w.meets(p, env)
				})
			}
		}
		list, base = w.entries(sides, base)
		list = w.beyond(ir.Read, base, list)
	}
	w.key(format.Read, base, w.resources(base, w.secret(base, list)))
	if base == ir.Agent {
		return
	}
	for _, key := range w.agent.Searches {
		w.key(key, base, nil)
	}
	if base > ir.Deny && len(list) > 0 && w.ref.Mode == "" {
		w.Diags.Notef(w.agent.Codes.Search, w.pos, "grep and glob look below folders: they show what %s may not read",
			w.ref).
			Hint("list such files in .ignore").
			Target(w.agent.Name).
			Subject(w.ref.String())
	}
}

// secret puts before a list the files that only a pattern of their own allows.
func (w *writer) secret(base ir.Decision, list []entry) []entry {
	if base != ir.Allow {
		return list
	}
	var out []entry
	for _, pattern := range w.agent.Secret {
		out = append(out, entry{pattern, ir.Allow})
	}
	return append(out, list...)
}

// beyond puts what is decided outside of the project before the entries that deny, and what is decided of the
// project's folder itself, which "*" matches too, behind them.
func (w *writer) beyond(g ir.Group, base ir.Decision, list []entry) []entry {
	list = w.outwards(g, base, list)
	if g == ir.Edit { // no tool edits a folder
		return list
	}
	root, have := decidedOn(w.subject, policy.Action{Group: g, Arg: "."}), base
	for _, e := range list {
		if format.Match(e.pattern, "") {
			have = e.decision
		}
	}
	if root < min(have, ir.Allow) {
		list = append(list, entry{"", root})
	}
	return list
}

func (w *writer) outwards(g ir.Group, base ir.Decision, list []entry) []entry {
	out := w.outside(g)
	if out >= min(base, ir.Allow) && !slices.ContainsFunc(list, func(e entry) bool { return e.decision > out }) {
		return list
	}
	if w.outside(g) == ir.Deny && w.outside(other(g)) == ir.Deny {
		return list // the key for all that is outside denies it
	}
	if out == ir.Agent {
		return list
	}
	at := slices.IndexFunc(list, func(e entry) bool {
		return e.decision == ir.Deny && !strings.HasPrefix(e.pattern, "..")
	})
	if at < 0 {
		at = len(list)
	}
	for i := at; i < len(list); i++ {
		if list[i].decision > ir.Deny {
			at = i + 1
		}
	}
	var before, beyond []entry
	for _, e := range list[:at] { // the last one that matches decides
		switch {
		case e.decision < out && strings.HasPrefix(e.pattern, ".."):
			beyond = append(beyond, e)
			continue
		case e.decision < out && strings.HasPrefix(e.pattern, "*"):
			beyond = append(beyond, entry{"../" + e.pattern, e.decision})
		}
		before = append(before, e)
	}
	return slices.Concat(before, []entry{{"..", out}, {"../*", out}}, beyond, list[at:])
}

func other(g ir.Group) ir.Group {
	if g == ir.Read {
		return ir.Edit
	}
	return ir.Read
}

// outside returns what is decided of a file outside of the project.
func (w *writer) outside(g ir.Group) ir.Decision {
	return decided(w.subject.UnmatchedOutside(g))
}

// resources adds the resources of MCP servers, which are read by the rules of files.
func (w *writer) resources(base ir.Decision, list []entry) []entry {
	resource := func(server string) ir.Decision {
		every := policy.Action{Group: ir.MCP, Server: server, Kind: policy.Resource}
		one := every
		one.Arg = "x"
		d := min(decidedOn(w.subject, every), decidedOn(w.subject, one))
		if open, err := w.in.Policy.Opened().Subject(w.ref); err == nil { // what a time opens may say less of these
			d = min(d, decidedOn(open, one))
		}
		return d
	}
	rest := resource(contract.UnknownServer)
	of := func(d ir.Decision) ir.Decision {
		if d == ir.Agent {
			return ir.Allow
		}
		return d
	}
	var out []entry
	add := func(server string, d ir.Decision, lower bool) {
		if lower {
			out = append(out, entry{resourcesOf(server, "*"), ir.Deny})
		}
		if d > ir.Deny { // a file may have the name of a resource: only what no path has is opened
			out = append(out, entry{resourcesOf(server, "*://*"), d})
		}
	}
	if of(rest) != of(base) || len(list) > 0 && of(rest) < ir.Allow {
		add("", of(rest), of(base) > ir.Deny || len(list) > 0)
	}
	for i := range w.in.Project.Servers {
		sv := &w.in.Project.Servers[i]
		if d := of(resource(sv.Name)); d != of(rest) {
			add(sv.Name, d, d < of(rest))
		}
	}
	return append(list, out...)
}

// resourcesOf returns a pattern of the resources of a server, "" for all.
func resourcesOf(server, uris string) string {
	if server == "" {
		return "mcp:" + uris
	}
	return format.ResourcePattern(server, uris)
}

// servers compiles the group mcp.
func (w *writer) servers() {
	var all []*ir.Server
	for i := range w.in.Project.Servers {
		all = append(all, &w.in.Project.Servers[i])
	}
	// A key about a server is one about those whose names begin with it, too: they stand behind it.
	slices.SortStableFunc(all, func(a, b *ir.Server) int {
		switch x, y := format.Sanitized(a.Name)+"_", format.Sanitized(b.Name)+"_"; {
		case strings.HasPrefix(y, x):
			return -1
		case strings.HasPrefix(x, y):
			return 1
		}
		return 0
	})
	w.leaves = w.leavesServers(all)
	w.elsewhere()
	for _, sv := range all {
		w.server(sv)
	}
	for _, sv := range all {
		w.collisions(sv)
	}
}

// elsewhere puts before all other keys what rules say of tools of servers that the inventory does not have.
func (w *writer) elsewhere() {
	if w.in.Project.ClosedInventory {
		return
	}
	var keys []keyed
	rules := w.subject.UnlistedToolRules(contract.UnknownServer)
	for _, d := range []ir.Decision{ir.Ask, ir.Deny} {
		for _, r := range rules {
			key := "*_" + pattern(r.Pattern.Text)
			if r.Decision != d || d >= w.toAgent(w.floor) {
				continue
			}
			base := d
			if slices.ContainsFunc(w.agent.Denied, func(tool string) bool { return format.Match(key, tool) }) {
				base = ir.Deny
			}
			keys = slices.DeleteFunc(keys, func(k keyed) bool { return k.key == key })
			keys = append(keys, keyed{key: key, base: base})
		}
	}
	w.keys = append(keys, w.keys...)
}

// leavesServers reports whether a subject says nothing of any server, and its file nothing but what is said in
// the agent's own words.
func (w *writer) leavesServers(all []*ir.Server) bool {
	if w.floor != ir.Agent || len(w.own) == 0 && len(w.keys) > 0 {
		return false
	}
	for _, sv := range all {
		for _, t := range append([]ir.Tool{{Name: contract.UnknownTool}}, sv.Tools...) {
			a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}
			if decidedOn(w.subject, a) != ir.Agent {
				return false
			}
		}
	}
	return true
}

// server compiles what a subject may do with one server.
func (w *writer) server(sv *ir.Server) {
	of := func(tool string) ir.Decision {
		return decidedOn(w.subject, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool})
	}
	rest := of(contract.UnknownTool)
	if w.leaves {
		rest = ir.Allow
	} else {
		w.tool(format.Sanitized(sv.Name)+"_*", w.toAgent(rest))
	}
	tools := sv.Tools
	if !w.subject.ListsTools(sv) {
		rules := w.subject.UnlistedToolRules(sv.Name)
		most := min(rest, ir.Allow) // what those behind hold back
		for _, d := range []ir.Decision{ir.Allow, ir.Ask, ir.Deny} {
			for _, r := range rules {
				switch {
				case r.Decision != d:
				case d > rest && w.opens(sv, &r):
					most = max(most, d)
					w.unlistedTools(sv, r)
				case d < most:
					r.Decision = min(d, rest)
					w.unlistedTools(sv, r)
				}
			}
		}
		for _, name := range w.subject.PermittedTools(sv.Name) {
			if format.Sanitized(name) == name {
				tools = append(slices.Clip(tools), ir.Tool{Name: name})
			}
		}
	}
	for _, d := range []ir.Decision{ir.Allow, ir.Ask, ir.Deny} {
		for _, t := range tools {
			own := of(t.Name)
			if w.toAgent(own) == d && w.decides(format.ToolKey(sv.Name, t.Name)) != d {
				w.tool(format.ToolKey(sv.Name, t.Name), d)
			}
		}
	}
}

// opens reports whether a rule over names of tools that the inventory does not list permits each of them that no
// other rule is about, and a key can say so. One that takes any letters behind others is none: [writer.collisions]
// would lower it.
func (w *writer) opens(sv *ir.Server, r *ir.Rule) bool {
	text := r.Pattern.Text
	return r.Pattern.Kind == ir.Plain && pattern(text) == text && (w.ref.Role == "" || w.ref.Mode == "") &&
		!format.Match(text, contract.UnknownTool) &&
		decidedOn(w.subject, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.AnyTool(text)}) == r.Decision
}

// unlistedTools writes a rule over names of tools that the inventory does not list.
func (w *writer) unlistedTools(sv *ir.Server, r ir.Rule) {
	if r.Pattern.Kind == ir.Plain {
		w.tool(format.Sanitized(sv.Name)+"_"+pattern(r.Pattern.Text), r.Decision)
		return
	}
	w.loss(ir.MCP, w.agent.Codes.Unlisted, r.Pos, "%s knows no risk of a tool: %s decides about every tool of %q that "+
		"the inventory does not list", w.agent.Title, r.Pattern, sv.Name).
		Hintf("list the server's tools: `modec inventory %s --update`", sv.Name)
	w.tool(format.Sanitized(sv.Name)+"_*", r.Decision)
}

// pattern returns a pattern over tools, with the signs that are replaced as any one.
func pattern(text string) string {
	return strings.Map(func(c rune) rune {
		if c == '*' || c == '?' || format.Sanitized(string(c)) == string(c) {
			return c
		}
		return '?'
	}, text)
}

// toAgent returns a decision, what the agent does by itself with what is left to it.
func (w *writer) toAgent(d ir.Decision) ir.Decision {
	if d == ir.Agent {
		return ir.Allow
	}
	return d
}

// collisions lowers what another server's tool of the same key opened.
func (w *writer) collisions(sv *ir.Server) {
	for _, t := range append([]ir.Tool{{Name: contract.UnknownTool}}, sv.Tools...) {
		d := w.toAgent(decidedOn(w.subject, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}))
		if key := format.ToolKey(sv.Name, t.Name); w.decides(key) > d {
			if t.Name == contract.UnknownTool {
				key = format.Sanitized(sv.Name) + "_*"
			}
			w.tool(key, d)
		}
	}
}

// agents compiles the group modes.
func (w *writer) agents() {
	rest := decidedOn(w.subject, policy.Action{Group: ir.Modes, Arg: contract.UnknownMode})
	var list []entry
	for _, d := range []ir.Decision{ir.Allow, ir.Ask, ir.Deny} {
		for _, slug := range w.in.Project.ModeNames() {
			own := decidedOn(w.subject, policy.Action{Group: ir.Modes, Arg: slug})
			if own == rest || w.toAgent(own) != d {
				continue
			}
			name := w.nameOf(slug)
			if misread(name) { // it would stand before what holds for all
				if name = hidden(name); d > w.toAgent(rest) {
					continue
				}
			}
			list = append(list, entry{name, d})
		}
	}
	w.key(format.Task, rest, list)
	w.key(format.Skill, rest, nil)
}

// place returns where to report something: at a rule, or at the subject.
func (w *writer) place(at diag.Pos) diag.Pos {
	if at.IsZero() {
		return w.pos
	}
	return at
}
