package lastmatch

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// Emitter compiles one project for an agent.
type Emitter struct {
	Files []contract.File
	Diags diag.List

	agent *Agent
	in    contract.Input
	root  string // of the project, where a session is started; "": relative to it
	// copies are outside the repository, where a session is started; nil: it reads what a build wrote.
	copies *contract.Copies
	*known
}

// writer writes the permission of one subject.
type writer struct {
	*Emitter
	ref     ir.SubjectRef
	subject *policy.Subject
	pos     diag.Pos
	floor   ir.Decision // "*" at the beginning; Agent: nothing
	keys    []keyed
	decided []string      // the keys of the agent's that the source decides, or leaves to its own rules
	floored []string      // those of them of which floor says all
	own     []format.Rule // in the agent's own words
	halves  []half        // of a role in a mode, that have such rules
	leaves  bool          // it says nothing of any server
	said    contract.Object
}

// keyed is a key of a permission: what no pattern names, and the patterns.
type keyed struct {
	key  string
	base ir.Decision
	list []entry
	says bool // the base is written also where the floor is the same
}

// New returns the emitter of a project for an agent.
func New(a *Agent, in contract.Input) *Emitter {
	return &Emitter{agent: a, in: in, known: newKnown(in)}
}

// Emitted returns the files, none where the source has an error.
func (e *Emitter) Emitted() ([]contract.File, diag.List) {
	if e.Diags.HasErrors() {
		return nil, e.Diags
	}
	return e.Files, e.Diags
}

// compile returns the permission of a subject, and reports what it loses.
func (e *Emitter) compile(ref ir.SubjectRef, at diag.Pos) (*writer, bool) {
	c, ok := e.subjects[ref]
	if !ok {
		quiet := e.quiet()
		c.writer, c.ok = quiet.compiled(ref, at)
		c.diags = quiet.Diags
		e.subjects[ref] = c
	}
	e.Diags = append(e.Diags, c.diags...)
	if !c.ok {
		return nil, false
	}
	w := *c.writer
	w.Emitter = e
	return &w, true
}

func (e *Emitter) compiled(ref ir.SubjectRef, at diag.Pos) (*writer, bool) {
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		e.Diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return nil, false
	}
	w := &writer{Emitter: e, ref: ref, subject: s, pos: at, own: e.ownOf(ref), halves: e.ownHalves(ref)}
	w.floor = w.least()
	w.reads()
	w.edits()
	w.commands()
	w.web()
	w.agents()
	w.servers()
	w.others()
	w.said = w.object()
	return w, true
}

// least returns what is decided about whatever has no key: tools that belong to no group, and those of servers that
// the inventory does not have. No pattern tells them apart.
func (w *writer) least() ir.Decision {
	unknown := decided(w.subject.UnknownTool())
	servers := decidedOn(w.subject, policy.Action{Group: ir.MCP, Server: contract.UnknownServer,
		Arg: contract.UnknownTool})
	if unknown == ir.Ask { // a tool of a plugin runs unasked
		unknown = ir.Deny
		w.loss(ir.Unknown, w.agent.Codes.Unlisted, w.pos, "%s asks about no tool of a plugin: those that belong to no "+
			"group are denied", w.agent.Title).
			Hint("say can.unknown: \"allow\", or \"deny\"")
	}
	return min(unknown, servers)
}

// loss warns that a subject may do less in a group than the source says. A role in a mode loses nothing
// that one of the two does not.
func (w *writer) loss(g ir.Group, code diag.Code, at diag.Pos, message string, args ...any) diag.Builder {
	if w.ref.Role != "" && w.ref.Mode != "" {
		return diag.Build(&diag.Diagnostic{})
	}
	return w.Diags.Warnf(code, w.place(at), message, args...).
		Target(w.agent.Name).
		Subject(w.ref.String()).
		Loses(diag.Narrowing, string(g))
}

// decided returns what a result of the source means to an agent, which has no permission modes.
func decided(r policy.Result) ir.Decision { return r.WithoutPermissionMode() }

func decidedOn(s *policy.Subject, a policy.Action) ir.Decision { return decided(s.Decide(a)) }

// key adds a key. What is left to the agent is said where a floor would take it away.
func (w *writer) key(key string, base ir.Decision, list []entry) {
	w.decided = append(w.decided, key)
	says := false
	base, list = w.bounded(key, base, list)
	if key == format.Bash && base != ir.Agent && len(w.halves) == 0 {
		list = append(w.ownLines(), list...)
	}
	if base == ir.Agent {
		own := w.ownEntries(key)
		if len(own) > 0 && len(list) == 0 { // its own rules decide
			return
		}
		list = append(own, list...) // and else what no list says
		switch {
		case w.floor == ir.Agent && len(list) == 0:
			return
		case w.floor == ir.Agent:
			w.keys = append(w.keys, keyed{key: key, base: base, list: list})
			return
		case key == format.Read:
			list = append([]entry{{"*.env", ir.Ask}, {"*.env.*", ir.Ask}, {"*.env.example", ir.Allow}}, list...)
			base = ir.Allow
		case key == format.Outside:
			base = ir.Ask
		case key == format.Bash && len(w.agent.Unasked) > 0:
			base = ir.Ask
			says = slices.Contains(w.in.Beside, w.agent.Reads) // which permits there what it does unasked itself
			for i, pattern := range w.agent.Unasked {
				list = slices.Insert(list, i, entry{pattern, ir.Allow})
			}
		default:
			base = ir.Allow
		}
	}
	if key == format.WebFetchAddress && len(list) == 0 {
		key = format.WebFetch
	}
	if len(list) > 0 || base != w.floor || key == format.Outside {
		w.keys = append(w.keys, keyed{key, base, list, says})
		return
	}
	w.floored = append(w.floored, key)
}

// ownLines returns the lines that the rules in the agent's own words decide, each as a whole, and the source leaves to
// the agent: no other spelling of what the source holds back is among them.
func (w *writer) ownLines() (list []entry) {
	for _, e := range w.ownEntries(format.Bash) {
		line := policy.Action{Group: ir.Command, Arg: e.pattern}
		if !strings.ContainsAny(e.pattern, "*?") && decidedOn(w.subject, line) == ir.Agent {
			list = append(list, entry{e.pattern, format.Last(w.own, format.Bash, e.pattern).Decision})
		}
	}
	return list
}

// ownEntries returns what the rules in the agent's own words say of a key.
func (w *writer) ownEntries(key string) (list []entry) {
	for _, r := range w.own {
		if r.Key == key && r.Form != format.Listed {
			list = append(list, entry{r.Pattern, r.Decision})
		}
	}
	return list
}

// tool adds a key of tools of MCP servers.
func (w *writer) tool(key string, d ir.Decision) {
	if w.alreadySays(key, d) && !strings.HasSuffix(key, "*") {
		return
	}
	w.keys = slices.DeleteFunc(w.keys, func(k keyed) bool { return k.key == key })
	if !w.alreadySays(key, d) || strings.HasSuffix(key, "*") && w.floor != ir.Agent && d != w.floor {
		w.keys = append(w.keys, keyed{key: key, base: d})
	}
}

// alreadySays reports whether the keys so far decide so about each tool that a key names.
func (w *writer) alreadySays(key string, d ir.Decision) bool {
	if !strings.ContainsAny(key, "*?") {
		return w.decides(key) == d
	}
	for _, k := range slices.Backward(w.keys) {
		switch {
		case len(k.list) > 0:
		case policy.WildcardCovers(k.key, key):
			return k.base == d
		case k.base != d && alikeUntilWild(k.key, key): // it may decide about some of them
			return false
		}
	}
	return w.toAgent(w.floor) == d
}

// alikeUntilWild reports whether two keys are alike as far as neither has a wildcard.
func alikeUntilWild(a, b string) bool {
	until := func(key string) string {
		if i := strings.IndexAny(key, "*?"); i >= 0 {
			key = key[:i]
		}
		return key
	}
	a, b = until(a), until(b)
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}

// decides returns what the keys so far decide about a tool of a server.
func (w *writer) decides(key string) ir.Decision {
	for i := len(w.keys) - 1; i >= 0; i-- {
		if len(w.keys[i].list) == 0 && format.Match(w.keys[i].key, key) {
			return w.keys[i].base
		}
	}
	if w.floor != ir.Agent {
		return w.floor
	}
	return ir.Allow
}

// others compiles what is outside of the project, and the tools that every session needs.
func (w *writer) others() {
	read, edit := w.outside(ir.Read), w.outside(ir.Edit)
	out := max(read, edit)
	if read == ir.Agent || edit == ir.Agent {
		if out = min(read, edit); out > ir.Ask {
			out = ir.Agent // the agent asks
		} else {
			out = ir.Ask
		}
	}
	w.key(format.Outside, out, nil)
	if w.floor < ir.Allow {
		for _, key := range w.agent.Harmless {
			w.key(key, ir.Allow, nil)
		}
	}
}

// object returns a permission as JSON, nil where it says nothing.
func (w *writer) object() contract.Object {
	o := contract.Object{}
	if w.floor != ir.Agent {
		o = append(o, format.Every, format.Word(w.floor))
	}
	for _, k := range w.keys {
		if len(k.list) == 0 {
			o = append(o, k.key, format.Word(k.base))
			continue
		}
		entries := k.list
		if (k.base != w.floor || k.says) && k.base != ir.Agent {
			entries = append([]entry{{format.Every, k.base}}, entries...)
		}
		last := make(map[string]int, len(entries))
		for i, e := range entries {
			last[e.pattern] = i
		}
		list := make(contract.Object, 0, 2*len(entries))
		for i, e := range entries {
			if i == last[e.pattern] { // a reader leaves a member that stands twice where it stood first
				list = append(list, e.pattern, format.Word(e.decision))
			}
		}
		o = append(o, k.key, list)
	}
	return o
}

// Session is what a session consists of.
type Session struct {
	Start  string // the agent that it starts as
	Agents contract.Object
	// Usable reports whether it has a server.
	Usable func(*ir.Server) bool
	// Instructions are files that every agent is told.
	Instructions []string
	// Hook is the plugin by which it asks modec, nil: it does not.
	Hook *contract.File
}

// Role writes the file of a role's sessions: the role as an agent, and the role in each mode that it may enter.
func (e *Emitter) Role(r *ir.Role) {
	w, ok := e.compile(ir.SubjectRef{Role: r.Name}, r.Pos)
	if !ok {
		return
	}
	e.extras(r.Extra[e.agent.Name])
	e.texts(r)
	if s, ok := e.roleSession(r, w); ok {
		e.session(ir.SubjectRef{Role: r.Name}, s)
	}
}

// roleSession returns the sessions of a role; false for a role that says nothing.
func (e *Emitter) roleSession(r *ir.Role, w *writer) (Session, bool) {
	says := w.says()
	subjects := []*policy.Subject{w.subject}
	s := Session{Start: r.Name}
	taken := slices.Contains(e.agent.Taken, r.Name)
	var modes contract.Object
	for i := range e.in.Project.Modes {
		m := &e.in.Project.Modes[i]
		if !e.enters(w.subject, r, m) {
			continue
		}
		in, ok := e.compile(ir.SubjectRef{Role: r.Name, Mode: m.Slug}, r.Pos)
		if !ok {
			return s, false
		}
		subjects = append(subjects, in.subject)
		modes = append(modes, e.agentName(m), e.agentObject(m, in))
		if e.agentName(m) == s.Start {
			taken = true
		}
	}
	if !says {
		return s, false
	}
	if taken {
		s.Start += "-role"
	}
	o := contract.Object{}
	if r.Description != "" {
		o = append(o, "description", r.Description)
	}
	o = append(append(o, "mode", "primary"), w.permissions()...)
	s.Agents = append(contract.Object{s.Start, o}, modes...)
	s.Hook = e.sessionHook(w.ref)
	s.Usable = func(sv *ir.Server) bool {
		return slices.ContainsFunc(subjects, func(s *policy.Subject) bool { return contract.Usable(s, sv) })
	}
	return s, true
}

// sessionHook returns the plugin of a subject's sessions, nil for none.
func (e *Emitter) sessionHook(ref ir.SubjectRef) *contract.File {
	if !e.in.Listens() {
		return nil
	}
	return &contract.File{Path: format.SessionHook(e.agent.Name, ref),
		Data: format.HookText(map[string]string{format.Every: e.in.SessionHook(e.agent.Name, ref) + e.in.HookEnd("")})}
}

// enters reports whether the sessions of a role have a mode.
func (e *Emitter) enters(s *policy.Subject, r *ir.Role, m *ir.Mode) bool {
	return e.named(m) && r.Enters(m.Slug) &&
		decidedOn(s, policy.Action{Group: ir.Modes, Arg: m.Slug}) > ir.Deny
}

// modeSession returns the sessions of a mode by itself, with the modes to which it hands work.
func (e *Emitter) modeSession(m *ir.Mode, w *writer) (Session, bool) {
	s := Session{Start: e.agentName(m), Agents: contract.Object{e.agentName(m), e.agentObject(m, w)}}
	s.Hook = e.sessionHook(w.ref)
	subjects := []*policy.Subject{w.subject}
	for i := range e.in.Project.Modes {
		n := &e.in.Project.Modes[i]
		into := policy.Action{Group: ir.Modes, Arg: n.Slug}
		if n.Slug == m.Slug || !e.named(n) || decidedOn(w.subject, into) == ir.Deny {
			continue
		}
		other, ok := e.compile(ir.SubjectRef{Mode: n.Slug}, n.Pos)
		if !ok {
			return s, false
		}
		subjects = append(subjects, other.subject)
		s.Agents = append(s.Agents, e.agentName(n), e.agentObject(n, other))
	}
	s.Usable = func(sv *ir.Server) bool {
		return slices.ContainsFunc(subjects, func(s *policy.Subject) bool { return contract.Usable(s, sv) })
	}
	return s, true
}

// session writes the file of a session.
func (e *Emitter) session(ref ir.SubjectRef, s Session) {
	e.Files = append(e.Files, contract.File{Path: e.agent.SessionFile(ref), Data: e.SessionText(s)})
	if s.Hook != nil {
		e.Files = append(e.Files, *s.Hook)
	}
}

// Alone returns the agents of a session, in which the agent's own ones are off.
func (e *Emitter) Alone(s Session) contract.Object {
	agents := s.Agents
	for _, own := range e.agent.BuiltIn {
		if !has(agents, own) {
			agents = append(agents, own, contract.Object{"disable", literalTrue})
		}
	}
	return agents
}

// SessionText returns the file of a session.
func (e *Emitter) SessionText(s Session) []byte {
	o := contract.Object{"$schema", e.agent.Schema}
	if len(s.Agents) > 0 {
		o = append(o, "default_agent", s.Start, "agent", e.Alone(s))
	}
	if len(s.Instructions) > 0 {
		o = append(o, "instructions", s.Instructions)
	}
	if s.Hook != nil {
		at := s.Hook.Path
		if e.copies != nil {
			at = e.copies.Put(*s.Hook)
		}
		o = append(o, "plugin", []string{at})
	}
	if servers := e.of(s); len(servers) > 0 {
		o = append(o, "mcp", servers)
	}
	return Text(o)
}

// of returns the servers of a session, none where its subject says nothing.
func (e *Emitter) of(s Session) contract.Object {
	if s.Usable == nil {
		return nil
	}
	return e.servers(s.Usable)
}

// literalTrue is what a flag says in a file.
const literalTrue = true

func has(o contract.Object, key string) bool {
	for i := 0; i < len(o); i += 2 {
		if o[i] == key {
			return true
		}
	}
	return false
}

// Project is what every session of a project reads.
type Project struct {
	// Permissions are the members that say what the baseline may do.
	Permissions contract.Object
	// Own is set where rules in the agent's own words are among them, and Can where the source says something, too.
	Own, Can bool
	// Modes are the agents of the modes, which the baseline may enter.
	Modes   contract.Object
	Servers contract.Object
	// Keys are those of the permissions of a mode, by the name of its agent: alone, and in sessions of the baseline.
	Keys map[string][]string
}

// Project compiles what every session reads: the modes, the servers, and the baseline. It writes the files of the
// sessions of modes by themselves, and the plugin of all. It fails where the source has an error.
func (e *Emitter) Project() (out Project, ok bool) {
	p := e.in.Project
	base := p.Role(e.everybody())
	var of *writer
	if base != nil {
		if of, ok = e.quiet().compile(ir.SubjectRef{Role: base.Name}, base.Pos); !ok {
			return out, false
		}
		out.Permissions = of.permissions()
		out.Own, out.Can = len(of.own) > 0, len(of.said) > 0
	}
	out.Keys = map[string][]string{}
	lines := map[string]string{} // of the plugin
	if base != nil {
		lines[format.Every] = e.in.ProjectHook(e.agent.Name, of.ref) + e.in.HookEnd("")
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		w, ok := e.compile(ir.SubjectRef{Mode: m.Slug}, m.Pos)
		if !ok || !e.usableName(m) {
			continue
		}
		if base == nil { // a session is none of the source's, but in a mode
			lines[e.agentName(m)] = e.in.ProjectHook(e.agent.Name, w.ref) + e.in.HookEnd("")
		}
		alone := names(w.said)
		if base != nil {
			if s, ok := e.quiet().modeSession(m, w); ok {
				e.session(ir.SubjectRef{Mode: m.Slug}, s)
			}
			if !e.enters(of.subject, base, m) {
				continue
			}
			if w, ok = e.compile(ir.SubjectRef{Role: base.Name, Mode: m.Slug}, m.Pos); !ok {
				continue
			}
			w.own = e.ownRules(m.Native, m.Extra) // those of the role stand above
		}
		e.extras(m.Extra[e.agent.Name])
		if file, ok := e.word(m, fileField); ok && e.agent.Own != nil {
			e.Files = append(e.Files, contract.File{Path: file, Data: e.markdown(m, e.shownAgent(m, w))})
			continue
		}
		out.Keys[e.agentName(m)] = append(alone, names(w.said)...)
		out.Modes = append(out.Modes, e.agentName(m), e.shownAgent(m, w))
	}
	out.Servers = e.servers(e.shared)
	if e.in.Listens() && len(lines) > 0 {
		e.Files = append(e.Files, contract.File{Path: e.agent.Hook, Data: format.HookText(lines)})
	}
	return out, true
}

// Baseline returns the sessions of the baseline; false where it says nothing.
func (e *Emitter) Baseline() (Session, bool) {
	e = e.quiet()
	r := e.in.Project.Role(e.everybody())
	if r == nil {
		return Session{}, false
	}
	w, ok := e.compile(ir.SubjectRef{Role: r.Name}, r.Pos)
	if !ok {
		return Session{}, false
	}
	return e.roleSession(r, w)
}

// quiet returns an emitter that reports nothing.
func (e *Emitter) quiet() *Emitter {
	return &Emitter{agent: e.agent, in: e.in, root: e.root, copies: e.copies, known: e.known}
}

// everybody returns the role of every session of the project, "" for none.
func (e *Emitter) everybody() string {
	return e.in.Everybody(&e.Diags, e.agent.Name, e.agent.Codes.UnknownSubject)
}

// texts reports what a role gives a session beside permissions.
func (e *Emitter) texts(r *ir.Role) {
	contract.LeaveOut(&e.Diags, e.agent.Codes.NativeRule, e.agent.Name, "role "+r.Name, r.Native...)
	if r.Name == e.quiet().everybody() && (r.AppendSystemPrompt != "" || len(r.Env) > 0) {
		e.Diags.Warnf(e.agent.Codes.RoleText, r.Pos,
			"%s gives no session appendSystemPrompt and env of a role: they are left out there", e.File()).
			Hintf("start it by `modec run %s -- %s`, or write instructions into AGENTS.md", r.Name, e.agent.Name).
			Target(e.agent.Name).
			Subject("role "+r.Name).
			Loses(diag.Text, "")
	}
}

// agentObject returns the agent of a mode in the file of a session, which lies elsewhere than the one that every
// session reads.
func (e *Emitter) agentObject(m *ir.Mode, w *writer) contract.Object {
	own, told := e.word(m, "prompt")
	if told {
		own = elsewhere(own, path.Join(e.root, path.Dir(e.File())))
	}
	return e.agentOf(m, w, own, told)
}

// shownAgent returns the agent of a mode in a file that every session reads.
func (e *Emitter) shownAgent(m *ir.Mode, w *writer) contract.Object {
	own, told := e.word(m, "prompt")
	return e.agentOf(m, w, own, told)
}

// agentOf returns the agent of a mode. Where it is told something in the agent's own words, that is its prompt.
func (e *Emitter) agentOf(m *ir.Mode, w *writer, own string, told bool) contract.Object {
	o := contract.Object{}
	if d := description(m); d != "" {
		o = append(o, "description", d)
	}
	o = append(o, e.settings(m)...)
	p := prompt(m)
	if told {
		p = referring(own)
	}
	if p != "" {
		o = append(o, "prompt", p)
	}
	return append(o, w.permissions()...)
}

// agentName returns the name of a mode's agent: its slug, or what has signs that no slug has.
func (e *Emitter) agentName(m *ir.Mode) string {
	if own, ok := e.word(m, "name"); ok {
		return own
	}
	return m.Slug
}

// nameOf returns the name of the agent of any mode.
func (e *Emitter) nameOf(slug string) string {
	if m := e.in.Project.Mode(slug); m != nil {
		return e.agentName(m)
	}
	return slug
}

func (e *Emitter) named(m *ir.Mode) bool { return !slices.Contains(e.agent.Reserved, e.agentName(m)) }

// usableName reports a mode that no agent can be.
func (e *Emitter) usableName(m *ir.Mode) bool {
	if e.named(m) {
		return true
	}
	e.Diags.Warnf(e.agent.Codes.AgentName, m.Pos, "%s has an agent of its own by the name %q: the mode is left out",
		e.agent.Title, m.Slug).
		Hintf("give it another name for %s (as)", e.agent.Title).
		Target(e.agent.Name).
		Subject("mode "+m.Slug).
		Loses(diag.Text, "")
	return false
}

// description says when to use a mode.
func description(m *ir.Mode) string {
	return joined("\n", m.Description, m.WhenToUse)
}

// prompt is the text of an agent.
func prompt(m *ir.Mode) string {
	parts := []string{m.RoleDefinition, m.CustomInstructions}
	for _, r := range m.Rules {
		parts = append(parts, r.Text)
	}
	return joined("\n\n", parts...)
}

func joined(between string, texts ...string) string {
	var parts []string
	for _, s := range texts {
		if s = strings.TrimSpace(s); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, between)
}

// shared reports whether everybody's list has a server.
func (e *Emitter) shared(s *ir.Server) bool {
	if e.in.Reach.Server(s.Name).Any() == ir.Deny {
		return false
	}
	return s.DefaultEnabled || e.opened(s)
}

// opened reports whether a written exception puts a server into the list that is off by default.
func (e *Emitter) opened(s *ir.Server) bool {
	if e.in.Shares(&e.Diags, e.agent.Name, s) {
		return true
	}
	if e.in.Reach.Server(s.Name).Any() > ir.Deny {
		e.Diags.Notef(e.agent.Codes.ServerOff, s.Pos, "the server %q is off by default: sessions that modec starts "+
			"have it, and those that read %s alone have not", s.Name, e.File()).
			Hintf("start them by `modec run ROLE -- %s`", e.agent.Name).
			Target(e.agent.Name)
	}
	return false
}

// servers returns a list of servers.
func (e *Emitter) servers(usable func(*ir.Server) bool) contract.Object {
	all := contract.Object{}
	for i := range e.in.Project.Servers {
		s := &e.in.Project.Servers[i]
		if s.Type == ir.External || !usable(s) {
			continue
		}
		o := contract.Object{}
		if s.Type == "stdio" {
			command := []string{refs(s.Command)}
			for _, a := range s.Args {
				command = append(command, refs(a))
			}
			o = append(o, "type", "local", "command", command)
			if len(s.Env) > 0 {
				o = append(o, "environment", allRefs(s.Env))
			}
			if s.Cwd != "" {
				o = append(o, "cwd", refs(s.Cwd))
			}
		} else {
			o = append(o, "type", "remote", "url", refs(s.URL))
			if len(s.Headers) > 0 {
				o = append(o, "headers", allRefs(s.Headers))
			}
		}
		if s.TimeoutSeconds > 0 {
			o = append(o, "timeout", s.TimeoutSeconds*1000)
		}
		all = append(all, s.Name, o)
	}
	return all
}

// reference stands for the brace of a reference while a file is written.
const reference = "\ufdd0"

func refs(s string) string {
	return contract.ExpandRefs(s, func(name string) string { return reference + "env:" + name + "}" })
}

func allRefs(all map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range all {
		out[k] = refs(v)
	}
	return out
}

// Text writes a file. "{env:" and "{file:" are replaced wherever they stand in one: no text but a reference has them.
func Text(o contract.Object) []byte {
	data := contract.JSON(o)
	for _, word := range []string{"env:", "file:"} {
		data = replaced(data, "{"+word, `\u007b`+word)
	}
	return replaced(data, reference, "{")
}

// replaced returns a text with another word in the place of one, without a copy where it has none.
func replaced(data []byte, word, by string) []byte {
	if !bytes.Contains(data, []byte(word)) {
		return data
	}
	return bytes.ReplaceAll(data, []byte(word), []byte(by))
}
