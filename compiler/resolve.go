package compiler

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

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
	parents []*subject

	state int    // of the walk for cycles: 0 new, 1 on the way, 2 done
	can   ir.Can // united
	sugar []sugarRule
	rules []ir.ClaudeRule
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
		return nil, diag.List{{Code: "no-project", Message: fmt.Sprintf("got folder %q, which cannot be opened: %v", src.Root, pathErr(err))}}
	}
	defer l.root.Close()
	data := l.data()
	if data == nil {
		l.diags.Sort()
		return nil, l.diags
	}
	sh, err := loadShapes()
	if err != nil {
		return nil, diag.List{{Code: "bad-schema", Message: err.Error()}}
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

// check applies the schema to each server, mode, role and policy. It returns
// false where a whole section cannot be used.
func (r *resolver) check(data *node) bool {
	usable := true
	for _, f := range data.fields {
		if !slices.Contains(topLevel, f.name) {
			r.diags = append(r.diags, diag.Diagnostic{Code: "unknown-field", Pos: f.pos, Path: f.name,
				Message: fmt.Sprintf("got unknown field %q, want one of %s", f.name, diag.Quote(topLevel)), Hint: diag.DidYouMean(f.name, topLevel)})
			continue
		}
		if f.node.kind != structKind {
			if usable = false; f.node.kind != broken {
				r.diags.Errorf(f.node.pos, "wrong-type", f.name, "got %s, want a struct", f.node.typed())
			}
			continue
		}
		folded := map[string]field{}
		for _, item := range f.node.fields {
			at := f.name + "." + label(item.name)
			r.checkName(f.name, item, at)
			if f.name != "policies" {
				key := strings.ToLower(item.name)
				if other, ok := folded[key]; ok {
					r.diags = append(r.diags, diag.Diagnostic{Code: "case-collision", Pos: item.pos, Path: at, Message: fmt.Sprintf("got %q beside %q, want names that differ in more than case", item.name, other.name),
						Related: []diag.Related{{Pos: other.pos, Message: "the other one"}}})
				}
				folded[key] = item
			}
			r.shapes.of[f.name].check(item.node, at, &r.diags)
			if item.node.kind != structKind {
				*item.node = node{kind: structKind, pos: item.node.pos} // its name still exists
				continue
			}
			if f.name == "servers" {
				r.checkTransport(item, at)
				if tools := item.node.get("tools"); tools != nil && tools.kind == structKind {
					for _, t := range tools.fields {
						r.checkName("tools", t, at+".tools."+label(t.name))
					}
				}
			}
		}
	}
	return usable
}

var topLevel = []string{"servers", "modes", "roles", "policies"}

// nameRules say what a name may be, by section.
var nameRules = map[string]struct {
	re   *regexp.Regexp
	code string
	want string
}{
	"modes":    {regexp.MustCompile(`^[a-zA-Z0-9-]+$`), "bad-slug", "letters, digits and dashes"},
	"roles":    {regexp.MustCompile(`^\S(.{0,62}\S)?$`), "bad-name", "1 to 64 characters without white space around them"},
	"policies": {regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), "bad-name", "1 to 64 letters, digits, dashes and underscores"},
	"servers":  {regexp.MustCompile(`^[^:*]{0,255}[^\s:*][^:*]{0,255}$`), "bad-name", "1 to 256 characters, not only white space, without \":\" and \"*\""},
	"tools":    {regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`), "bad-name", "1 to 128 letters, digits, \"_\", \".\" and \"-\""},
}

var reservedServers = []string{"default", "allow", "ask", "deny", "resources", "prompts"}

func (r *resolver) checkName(sec string, f field, at string) {
	rule := nameRules[sec]
	switch {
	case !rule.re.MatchString(f.name) || len([]rune(f.name)) > 256:
		r.diags.Errorf(f.pos, rule.code, at, "got %q, want %s", short(f.name), rule.want)
	case sec == "servers" && slices.Contains(reservedServers, f.name):
		r.diags.Errorf(f.pos, "bad-name", at, "got %q, which can.mcp reserves, want another name", f.name)
	}
}

func (r *resolver) checkTransport(f field, at string) {
	n := f.node
	command, url, typ := n.get("command"), n.get("url"), text(n.get("type"))
	switch {
	case command == nil && url == nil && (n.wrote("command") || n.wrote("url")):
	case command == nil && url == nil:
		r.diags.Errorf(n.pos, "missing-field", at, "got neither command nor url, want one of them")
	case command != nil && url != nil:
		r.diags.Errorf(url.pos, "bad-transport", at+".url", "got url beside command, want one of them")
	case command != nil && typ != "" && typ != "stdio", url != nil && typ == "stdio":
		r.diags.Errorf(n.get("type").pos, "bad-transport", at+".type", "got type %q, want one that fits: stdio with command, http or sse with url", typ)
	}
	for _, name := range map[bool][]string{true: {"headers"}, false: {"args", "env", "cwd"}}[command != nil] {
		if x := n.get(name); x != nil && (command != nil) != (url != nil) {
			r.diags.Errorf(x.pos, "bad-transport", at+"."+name, "got %s, want it only on a server with %s", name, map[bool]string{true: "url", false: "command"}[command != nil])
		}
	}
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
	for i, g := range append(slices.Clone(guarded), settings.Guards...) {
		rule := ir.Rule{Decision: ir.Deny, Pattern: ir.Pattern{Text: g}, Pos: diag.Pos{File: "modec:guards", Line: i + 1}}
		if !slices.ContainsFunc(r.project.Guards, func(x ir.Rule) bool { return x.Pattern == rule.Pattern }) {
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

// guarded are the paths that no subject may edit unless it opens them: the
// source itself and every agent's own rules.
var guarded = []string{
	"modec.toml", "modec.lock", "modec/**", ".modec/**",
	".claude/**", ".cursor/**", ".roo/**", ".zoo/**", ".roomodes", ".zoomodes", ".mcp.json",
	"CLAUDE.md", "AGENTS.md", ".vscode/**", ".git/**",
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
			r.unknown("unknown-parent", string(s.kind)+" or policy", e, at, r.parentNames(s.kind))
			continue
		}
		if parent.builtin {
			r.link(parent)
		}
		s.parents = append(s.parents, parent)
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
			r.diags = append(r.diags, diag.Diagnostic{Code: "ambiguous-parent", Pos: e.pos, Path: at, Message: fmt.Sprintf("got %q, which is a %s and a %s, want distinct names", e.text, found.kind, p.kind),
				Related: []diag.Related{{Pos: found.pos, Message: found.String()}, {Pos: p.pos, Message: p.String()}}})
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
		inherit(&s.can, &p.can, p.String())
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
	d := diag.Diagnostic{Code: "inheritance-cycle", Pos: way[i].extendsPos(), Path: s.path + ".extends"}
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

func (r *resolver) unknown(code, what string, n *node, path string, known []string) {
	slices.Sort(known)
	known = slices.Compact(known)
	shown := known
	const most = 12
	more := ""
	if len(shown) > most {
		shown, more = shown[:most], " …"
	}
	want := "want one of " + diag.Quote(shown) + more
	if len(known) == 0 {
		want = "want one that the source defines"
	}
	r.diags = append(r.diags, diag.Diagnostic{Code: code, Pos: n.pos, Path: path, Message: fmt.Sprintf("got unknown %s %q, %s", what, short(n.text), want), Hint: diag.DidYouMean(n.text, known)})
}

// modeRef checks a slug that refers to a mode.
func (r *resolver) modeRef(n *node, path string) {
	if r.subjects[modeKind][n.text] != nil {
		return
	}
	if r.builtin(modeKind, n.text) != nil {
		r.referred[n.text] = true
		return
	}
	r.unknown("unknown-mode", "mode", n, path, append(slices.Collect(maps.Keys(r.subjects[modeKind])), r.builtinNames(modeKind)...))
}

// serverRef checks a key of can.mcp or a pattern of a restriction.
func (r *resolver) serverRef(name string, pos diag.Pos, path string) {
	var names []string
	found := false
	for i := range r.project.Servers {
		names = append(names, r.project.Servers[i].Name)
		found = found || wildcard(name, r.project.Servers[i].Name)
	}
	switch {
	case found || name == "*":
	case strings.ContainsAny(name, "*?"):
		r.diags.Warnf(pos, "matches-nothing", path, "got %q, which matches no server of the inventory", name)
	default:
		r.unknown("unknown-server", "server", &node{text: name, pos: pos}, path, names)
	}
}

// toolRefs checks the tool names of an entry of can.mcp.
func (r *resolver) toolRefs(e ir.MCPEntry, n *node, path string) {
	for _, l := range lists {
		for i, t := range elems(n.get(l.name)) {
			if !strings.HasPrefix(t.text, "@") {
				r.toolRef(e.Key, t.text, t.pos, fmt.Sprintf("%s.%s[%d]", path, l.name, i))
			}
		}
	}
}

func (r *resolver) toolRef(server, tool string, pos diag.Pos, path string) {
	if tool == "*" {
		return
	}
	var names []string
	servers, listed := 0, false
	for i := range r.project.Servers {
		s := &r.project.Servers[i]
		if !wildcard(server, s.Name) {
			continue
		}
		servers++
		for j := range s.Tools {
			listed = true
			names = append(names, s.Tools[j].Name)
			if wildcard(tool, s.Tools[j].Name) {
				return
			}
		}
	}
	switch {
	case servers == 0, !listed && !r.project.ClosedInventory:
	case strings.ContainsAny(tool, "*?"):
		r.diags.Warnf(pos, "matches-nothing", path, "got %q, which matches no tool of %s", tool, server)
	default:
		r.unknown("unknown-tool", "tool", &node{text: tool, pos: pos}, path, names)
	}
}

// wildcard matches "*" and "?".
func wildcard(pattern, s string) bool {
	p, star, mark := 0, -1, 0
	i := 0
	for i < len(s) {
		switch {
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]) && pattern[p] != '*':
			p, i = p+1, i+1
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case star >= 0:
			p, mark = star+1, mark+1
			i = mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// inherited returns the node of a field: the subject's own, else the parents'
// in the order written; two parents that disagree are an error.
func (r *resolver) inherited(s *subject, name string) *node { return r.inheritedField(s, name).node }

// inheritedField is inherited for a field that may be written under one of
// several names.
func (r *resolver) inheritedField(s *subject, names ...string) field {
	for _, name := range names {
		if n := s.node.get(name); n != nil {
			return field{name: name, node: n}
		}
	}
	var found field
	var from *subject
	for _, p := range s.parents {
		if p.kind == policyKind {
			continue
		}
		f := r.inheritedField(p, names...)
		switch {
		case f.node == nil:
		case found.node == nil:
			found, from = f, p
		case f.name != found.name || !equal(found.node, f.node):
			r.diags = append(r.diags, diag.Diagnostic{Code: "parents-disagree", Pos: s.extendsPos(), Path: s.path + "." + names[0],
				Message: fmt.Sprintf("got two values of %s, from %s and %s, want the subject to say which", names[0], from, p),
				Related: []diag.Related{{Pos: found.node.pos, Message: from.String()}, {Pos: f.node.pos, Message: p.String()}}})
		}
	}
	return found
}

// text returns a text field, written in place or in a file. ok is false when
// the subject has none; a file that cannot be read or says nothing is reported.
func (r *resolver) text(s *subject, name string) (text string, ok bool) {
	own, file := s.node.get(name), s.node.get(name+"File")
	if own != nil && file != nil {
		r.diags = append(r.diags, diag.Diagnostic{Code: "conflict", Pos: file.pos, Path: s.path + "." + name + "File", Message: fmt.Sprintf("got %sFile beside %s, want one of them", name, name),
			Related: []diag.Related{{Pos: own.pos, Message: "the text is here"}}})
	}
	switch f := r.inheritedField(s, name, name+"File"); {
	case f.node == nil:
		return "", false
	case f.name == name:
		return f.node.text, true
	default:
		text, ok := r.prompt(f.node, s.path+"."+f.name)
		if ok && strings.TrimSpace(text) == "" {
			r.diags.Errorf(f.node.pos, "bad-value", s.path+"."+f.name, "got %q, which is empty, want text in it", f.node.text)
		}
		return text, true
	}
}

// prompt reads the file that a field names: relative to the file that names
// it, inside the project.
func (r *resolver) prompt(n *node, at string) (string, bool) {
	name := path.Join(path.Dir(n.pos.File), n.text)
	if path.IsAbs(n.text) || strings.ContainsAny(n.text, "\\\x00") || name == ".." || strings.HasPrefix(name, "../") {
		r.diags.Errorf(n.pos, "path-outside", at, "got %q, want a file inside the project", n.text)
		return "", false
	}
	if text, ok := r.prompts[name]; ok {
		return text, true
	}
	b, ok := r.read(name, n.pos)
	if !ok {
		return "", false
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(b), "\uFEFF"), "\r\n", "\n")
	r.prompts[name] = text
	return text, true
}

func (r *resolver) mode(s *subject) ir.Mode {
	m := ir.Mode{Slug: s.name, Pos: s.pos, Name: text(s.node.get("name")), Can: s.can,
		Description: text(r.inherited(s, "description")), WhenToUse: text(r.inherited(s, "whenToUse")), Model: text(r.inherited(s, "model")),
		Restrictions: decodeRestrictions(r.inherited(s, "mcpRestrictions")), Extra: decodeExtra(r.inherited(s, "extra")), Builtin: s.builtin}
	var ok bool
	m.CustomInstructions, _ = r.text(s, "customInstructions")
	if m.RoleDefinition, ok = r.text(s, "roleDefinition"); !ok && !s.node.wrote("roleDefinition") && !s.node.wrote("roleDefinitionFile") {
		r.diags.Errorf(s.node.pos, "missing-field", s.path, "got no roleDefinition, want roleDefinition or roleDefinitionFile")
	}
	r.restrictionRefs(s, m.Restrictions)
	seen := map[string]diag.Pos{}
	for i, n := range elems(r.inherited(s, "rules")) {
		at := fmt.Sprintf("%s.rules[%d]", s.path, i)
		name := path.Base(n.text)
		if other, ok := seen[name]; ok {
			r.diags = append(r.diags, diag.Diagnostic{Code: "duplicate-rules-file", Pos: n.pos, Path: at, Message: fmt.Sprintf("got a second file called %q, want distinct names", name), Related: []diag.Related{{Pos: other, Message: "the first one"}}})
		}
		seen[name] = n.pos
		text, _ := r.prompt(n, at)
		m.Rules = append(m.Rules, ir.RuleFile{Name: name, Text: text, Pos: n.pos})
	}
	return m
}

func (r *resolver) restrictionRefs(s *subject, m *ir.MCPRestrictions) {
	if m == nil || s.node.get("mcpRestrictions") == nil {
		return
	}
	at := s.path + ".mcpRestrictions"
	r.conflicts(m, at)
	own := s.node.get("mcpRestrictions")
	for _, p := range s.parents {
		if n := r.inherited(p, "mcpRestrictions"); n != nil && !equal(n, own) {
			r.diags = append(r.diags, diag.Diagnostic{Code: "restrictions-replaced", Pos: own.pos, Path: at, Message: fmt.Sprintf("got mcpRestrictions that would replace those of %s, want them in one place", p),
				Hint: "a mode may add to what its parents hold back and never undo it: `can.mcp` adds denies", Related: []diag.Related{{Pos: n.pos, Message: "inherited from here"}}})
		}
	}
	for _, l := range []*[]ir.Item{m.AllowedServers, m.DisallowedServers} {
		if l != nil {
			for _, i := range *l {
				r.serverRef(i.Name, i.Pos, at)
			}
		}
	}
	for _, l := range []*[]ir.ToolRef{m.AllowedTools, m.DisallowedTools} {
		if l != nil {
			for _, t := range *l {
				r.serverRef(t.Server, t.Pos, at)
				r.toolRef(t.Server, t.Tool, t.Pos, at)
			}
		}
	}
}

func (r *resolver) role(s *subject) ir.Role {
	r.sweeten(s)
	mode := r.inherited(s, "permissionMode")
	role := ir.Role{Name: s.name, Pos: s.pos, Can: s.can, Description: text(r.inherited(s, "description")), PermissionMode: text(mode),
		Env: textMap(r.inherited(s, "env")), ClaudeRules: s.rules, Extra: decodeExtra(r.inherited(s, "extra"))}
	if mode != nil {
		role.PermissionModePos = mode.pos
	}
	role.AppendSystemPrompt, _ = r.text(s, "appendSystemPrompt")
	if n := r.inherited(s, "tools"); n != nil {
		l := texts(n)
		role.Tools = &l
	}
	if n := r.inherited(s, "modes"); n != nil {
		for i, e := range n.elems {
			r.modeRef(e, fmt.Sprintf("%s.modes[%d]", s.path, i))
		}
		l := texts(n)
		role.Modes = &l
	}
	if n := r.inherited(s, "claims"); n != nil {
		role.Claims = map[string][]string{}
		for _, f := range n.fields {
			values := texts(f.node)
			if f.node.kind == stringKind {
				values = []string{f.node.text}
			}
			slices.Sort(values)
			role.Claims[f.name] = slices.Compact(values)
		}
	}
	return role
}
