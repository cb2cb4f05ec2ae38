package opencode

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
	"modec.dev/modec/targets/opencode/format"
)

// emitter compiles one project.
type emitter struct {
	in    contract.Input
	root  string         // of the project, where a session is started; "": relative to it
	space *regular.Space // of the texts that patterns match
	files []contract.File
	diags diag.List
}

// writer writes the permission of one subject.
type writer struct {
	*emitter
	ref     ir.SubjectRef
	subject *policy.Subject
	pos     diag.Pos
	floor   ir.Decision // "*" at the beginning; Agent: nothing
	keys    []keyed
	own     []format.Rule // in opencode's own words
	leaves  bool          // it says nothing of any server
}

// keyed is a key of a permission: what no pattern names, and the patterns.
type keyed struct {
	key  string
	base ir.Decision
	list []entry
}

func newEmitter(in contract.Input) *emitter {
	return &emitter{in: in, space: regular.New(regular.SetOf(func(rune) bool { return true }))}
}

// Emit compiles a file for the sessions of each role, and the one that every session reads.
func (opencode) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := newEmitter(in)
	p := in.Project
	for i := range p.Roles {
		e.role(&p.Roles[i])
	}
	e.project()
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return e.files, e.diags
}

// compile returns the permission of a subject.
func (e *emitter) compile(ref ir.SubjectRef, at diag.Pos) (*writer, bool) {
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return nil, false
	}
	w := &writer{emitter: e, ref: ref, subject: s, pos: at, own: e.ownOf(ref)}
	w.floor = w.least()
	w.reads()
	w.edits()
	w.commands()
	w.web()
	w.agents()
	w.servers()
	w.others()
	return w, true
}

// least returns what is decided about whatever has no key: tools that belong to no group, and those of servers that
// the inventory does not have. No pattern tells them apart.
func (w *writer) least() ir.Decision {
	unknown := decided(w.subject.UnknownTool())
	servers := decidedOn(w.subject, policy.Action{Group: ir.MCP, Server: contract.UnknownServer,
		Arg: contract.UnknownTool})
	if unknown == ir.Ask { // opencode runs a tool of a plugin unasked
		unknown = ir.Deny
		w.loss(ir.Unknown, codeUnlisted, w.pos, "opencode asks about no tool of a plugin: those that belong to no "+
			"group are denied").
			Hint("say can.unknown: \"allow\", or \"deny\"")
	}
	return min(unknown, servers)
}

// loss warns that a subject may do less in a group than the source says. A role in a mode loses nothing
// that one of the two does not.
func (w *writer) loss(g ir.Group, code diag.Code, at diag.Pos, message string, args ...any) diag.Builder {
	to := &w.diags
	if w.ref.Role != "" && w.ref.Mode != "" {
		to = &diag.List{}
	}
	return to.Warnf(code, w.place(at), message, args...).
		Target(name).
		Subject(w.ref.String()).
		Loses(diag.Narrowing, string(g))
}

// decided returns what a result of the source means to opencode.
func decided(r policy.Result) ir.Decision { return contract.Decision(opencode{}, &r) }

func decidedOn(s *policy.Subject, a policy.Action) ir.Decision { return decided(s.Decide(a)) }

// key adds a key. What is left to opencode is said where a floor would take it away.
func (w *writer) key(key string, base ir.Decision, list []entry) {
	if base == ir.Agent {
		said := func(r format.Rule) bool { return r.Key == key && r.Form != format.Listed }
		switch {
		case slices.ContainsFunc(w.own, said) && len(list) == 0: // its own rules decide
			return
		case w.floor == ir.Agent && len(list) == 0:
			return
		case w.floor == ir.Agent:
			w.keys = append(w.keys, keyed{key, base, list})
			return
		case key == format.Read:
			list = append([]entry{{"*.env", ir.Ask}, {"*.env.*", ir.Ask}, {"*.env.example", ir.Allow}}, list...)
			base = ir.Allow
		case key == format.Outside:
			base = ir.Ask
		default:
			base = ir.Allow
		}
	}
	if key == format.WebFetchAddress && len(list) == 0 {
		key = format.WebFetch
	}
	if len(list) > 0 || base != w.floor || key == format.Outside {
		w.keys = append(w.keys, keyed{key, base, list})
	}
}

// tool adds a key of tools of MCP servers.
func (w *writer) tool(key string, d ir.Decision) {
	if w.decides(key) == d && !strings.HasSuffix(key, "*") {
		return
	}
	w.keys = slices.DeleteFunc(w.keys, func(k keyed) bool { return k.key == key })
	if d != w.decides(key) || strings.HasSuffix(key, "*") && d != w.floor {
		w.keys = append(w.keys, keyed{key, d, nil})
	}
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
			out = ir.Agent // opencode asks
		} else {
			out = ir.Ask
		}
	}
	w.key(format.Outside, out, nil)
	if w.floor < ir.Allow {
		for _, key := range format.Harmless {
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
		list := contract.Object{}
		if k.base != w.floor && k.base != ir.Agent {
			list = append(list, format.Every, format.Word(k.base))
		}
		for _, e := range k.list {
			list = append(list, e.pattern, format.Word(e.decision))
		}
		o = append(o, k.key, list)
	}
	return o
}

// session is what a session consists of.
type session struct {
	start  string // the agent that it starts as
	agents contract.Object
	usable func(*ir.Server) bool
	// instructions are files that every agent is told.
	instructions []string
}

// role writes the file of a role's sessions: the role as an agent, and the role in each mode that it may enter.
func (e *emitter) role(r *ir.Role) {
	w, ok := e.compile(ir.SubjectRef{Role: r.Name}, r.Pos)
	if !ok {
		return
	}
	e.extras(r.Extra, orderField)
	e.texts(r)
	if s, ok := e.roleSession(r, w); ok {
		e.session(ir.SubjectRef{Role: r.Name}, s)
	}
}

// roleSession returns the sessions of a role; false for a role that says nothing.
func (e *emitter) roleSession(r *ir.Role, w *writer) (session, bool) {
	says := w.says()
	subjects := []*policy.Subject{w.subject}
	s := session{start: r.Name}
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
		modes = append(modes, agentName(m), e.agent(m, in))
		if agentName(m) == s.start {
			s.start += "-role"
		}
	}
	if !says {
		return s, false
	}
	o := contract.Object{}
	if r.Description != "" {
		o = append(o, "description", r.Description)
	}
	o = append(append(o, "mode", "primary"), w.permissions()...)
	s.agents = append(contract.Object{s.start, o}, modes...)
	s.usable = func(sv *ir.Server) bool {
		return slices.ContainsFunc(subjects, func(s *policy.Subject) bool { return contract.Usable(s, sv) })
	}
	return s, true
}

// enters reports whether the sessions of a role have a mode.
func (e *emitter) enters(s *policy.Subject, r *ir.Role, m *ir.Mode) bool {
	return e.named(m) && (r.Modes == nil || slices.Contains(*r.Modes, m.Slug)) &&
		decidedOn(s, policy.Action{Group: ir.Modes, Arg: m.Slug}) > ir.Deny
}

// modeSession returns the sessions of a mode by itself, with the modes to which it hands work.
func (e *emitter) modeSession(m *ir.Mode, w *writer) (session, bool) {
	s := session{start: agentName(m), agents: contract.Object{agentName(m), e.agent(m, w)}}
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
		s.agents = append(s.agents, agentName(n), e.agent(n, other))
	}
	s.usable = func(sv *ir.Server) bool {
		return slices.ContainsFunc(subjects, func(s *policy.Subject) bool { return contract.Usable(s, sv) })
	}
	return s, true
}

// session writes the file of a session: opencode's own agents are off in it.
func (e *emitter) session(ref ir.SubjectRef, s session) {
	e.files = append(e.files, contract.File{Path: format.SessionFile(ref), Data: e.sessionText(s)})
}

func (e *emitter) sessionText(s session) []byte {
	agents := s.agents
	for _, own := range format.BuiltIn {
		if !has(agents, own) {
			agents = append(agents, own, contract.Object{"disable", literalTrue})
		}
	}
	o := contract.Object{"$schema", format.Schema, "default_agent", s.start, "agent", agents}
	if len(s.instructions) > 0 {
		o = append(o, "instructions", s.instructions)
	}
	if servers := e.servers(s.usable); len(servers) > 0 {
		o = append(o, "mcp", servers)
	}
	return text(o)
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

// project writes the file that every session reads: the modes, the servers, and the permission of the baseline.
func (e *emitter) project() {
	p := e.in.Project
	o := contract.Object{"$schema", format.Schema}
	places := []string{"/$schema"}
	base := p.Role(e.everybody())
	var of *writer
	if base != nil {
		var ok bool
		if of, ok = e.quiet().compile(ir.SubjectRef{Role: base.Name}, base.Pos); !ok {
			return
		}
		for member := of.permissions(); len(member) > 0; member = member[2:] {
			o = append(o, member[:2]...)
			places = append(places, fmt.Sprint("/", member[0]))
		}
	}
	var agents contract.Object
	for i := range p.Modes {
		m := &p.Modes[i]
		w, ok := e.compile(ir.SubjectRef{Mode: m.Slug}, m.Pos)
		if !ok || !e.usableName(m) {
			continue
		}
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
		e.extras(m.Extra, slices.Sorted(maps.Keys(extraFields))...)
		if file, ok := m.Extra[name].Fields["file"].(string); ok {
			e.files = append(e.files, contract.File{Path: file, Data: markdown(m, e.shownAgent(m, w))})
			continue
		}
		agents = append(agents, agentName(m), e.shownAgent(m, w))
	}
	if len(agents) > 0 {
		o, places = append(o, "agent", agents), append(places, "/agent/*")
	}
	if servers := e.servers(e.shared); len(servers) > 0 {
		o, places = append(o, "mcp", servers), append(places, "/mcp/*")
	}
	if len(o) == 2 {
		return
	}
	e.files = append(e.files, contract.File{Path: e.configFile(), Data: text(o), Places: places,
		Keys:  slices.Concat(serverKeys, sourceKeys, slices.Sorted(maps.Keys(extraFields)), e.others()),
		Whole: []string{"/permission", "/tools"}, Once: []string{"/$schema"}, Alike: alike})
}

// quiet returns an emitter that reports nothing.
func (e *emitter) quiet() *emitter { return &emitter{in: e.in, root: e.root, space: e.space} }

// everybody returns the role of every session of the project, "" for none.
func (e *emitter) everybody() string {
	return e.in.Everybody(&e.diags, name, codeUnknownSubject)
}

// texts reports what a role gives a session beside permissions.
func (e *emitter) texts(r *ir.Role) {
	for _, n := range r.Native {
		if n.Target == name {
			continue
		}
		e.diags.Warnf(codeNativeRule, n.Pos, "the rule %q is for %s alone: it is left out", n.Text, n.Target).
			Hint("say it in can, where every target understands it").
			Target(name).
			Subject("role "+r.Name).
			Loses(diag.Text, "")
	}
	if r.Name == e.quiet().everybody() && (r.AppendSystemPrompt != "" || len(r.Env) > 0) {
		e.diags.Warnf(codeRoleText, r.Pos,
			"opencode.json gives no session appendSystemPrompt and env of a role: they are left out there").
			Hintf("start it by `modec run %s -- opencode`, or write instructions into AGENTS.md", r.Name).
			Target(name).
			Subject("role "+r.Name).
			Loses(diag.Text, "")
	}
}

// agent returns the agent of a mode in the file of a session, which lies elsewhere than the one that every session
// reads.
func (e *emitter) agent(m *ir.Mode, w *writer) contract.Object {
	own, told := m.Extra[name].Fields["prompt"].(string)
	if told {
		own = elsewhere(own, path.Join(e.root, path.Dir(e.configFile())))
	}
	return agentOf(m, w, own, told)
}

// shownAgent returns the agent of a mode in a file that every session reads.
func (e *emitter) shownAgent(m *ir.Mode, w *writer) contract.Object {
	own, told := m.Extra[name].Fields["prompt"].(string)
	return agentOf(m, w, own, told)
}

// agentOf returns the agent of a mode. Where it is told something in opencode's own words, that is its prompt.
func agentOf(m *ir.Mode, w *writer, own string, told bool) contract.Object {
	o := contract.Object{}
	if d := description(m); d != "" {
		o = append(o, "description", d)
	}
	o = append(o, settings(m)...)
	p := prompt(m)
	if told {
		p = referring(own)
	}
	if p != "" {
		o = append(o, "prompt", p)
	}
	return append(o, w.permissions()...)
}

// settings returns what the agent of a mode has that no other agent than opencode's does.
func settings(m *ir.Mode) (o contract.Object) {
	x := m.Extra[name].Fields
	for _, key := range slices.Sorted(maps.Keys(x)) {
		if extraFields[key].member {
			o = append(o, key, x[key])
		}
	}
	other, _ := x["other"].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(other)) {
		if !has(o, key) {
			o = append(o, key, other[key])
		}
	}
	return o
}

// permissions returns the members of an agent, or of a file, that say what a subject may do.
func (w *writer) permissions() (o contract.Object) {
	if list := listedTools(w.own); len(list) > 0 {
		o = append(o, "tools", list)
	}
	if !w.says() {
		return nil
	}
	if p := w.withOwn(); len(p) > 0 {
		o = append(o, "permission", p)
	}
	return o
}

// says reports whether a subject says anything.
func (w *writer) says() bool { return len(w.object()) > 0 || len(w.own) > 0 }

// agentName returns the name of a mode's agent: its slug, or what has signs that no slug has.
func agentName(m *ir.Mode) string {
	if own, ok := m.Extra[name].Fields["name"].(string); ok {
		return own
	}
	return m.Slug
}

// nameOf returns the name of the agent of any mode.
func (e *emitter) nameOf(slug string) string {
	if m := e.in.Project.Mode(slug); m != nil {
		return agentName(m)
	}
	return slug
}

// internal are agents that opencode runs by itself.
var internal = []string{"compaction", "summary", "title"}

func (e *emitter) named(m *ir.Mode) bool { return !slices.Contains(internal, agentName(m)) }

// usableName reports a mode that no agent can be.
func (e *emitter) usableName(m *ir.Mode) bool {
	if e.named(m) {
		return true
	}
	e.diags.Warnf(codeAgentName, m.Pos, "opencode has an agent of its own by the name %q: the mode is left out",
		m.Slug).
		Hint("give it another name for opencode (as)").
		Target(name).
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

// extraFields are the members of extra.opencode of a mode; member is set for those that its agent has by the same name.
var extraFields = map[string]struct {
	is     func(any) bool
	member bool
}{
	"color": {isText, ofAgent}, "hidden": {isFlag, ofAgent}, "mode": {isText, ofAgent}, "model": {isText, ofAgent},
	"steps": {isNumber, ofAgent}, "temperature": {isNumber, ofAgent}, "top_p": {isNumber, ofAgent},
	"variant": {isText, ofAgent}, "file": {isAgentFile, ofModec}, "name": {isText, ofModec},
	"order": {isList, ofModec}, "other": {isObject, ofModec}, "prompt": {isText, ofModec},
}

const (
	ofAgent = true
	ofModec = false
)

func isText(v any) bool { _, ok := v.(string); return ok }
func isFlag(v any) bool { _, ok := v.(bool); return ok }
func isList(v any) bool { _, err := texts(v); return err == nil }
func isNumber(v any) bool {
	switch v.(type) {
	case float64, int, int64:
		return true
	}
	return false
}

// isAgentFile reports whether a file is one in which opencode looks for an agent.
func isAgentFile(v any) bool {
	file, ok := v.(string)
	return ok && fs.ValidPath(file) && format.InAgents(file)
}

// isObject reports further members of an agent: none that modec writes.
func isObject(v any) bool {
	o, ok := v.(map[string]any)
	for key := range o {
		ok = ok && !slices.Contains(sourceKeys, key)
	}
	return ok
}

// sourceKeys are the members of an agent that the source says.
var sourceKeys = []string{"description", "disable", "permission", "prompt", "tools"}

// extras checks what a subject says for opencode alone; fields are those that it may have.
func (e *emitter) extras(all map[string]ir.Extra, fields ...string) {
	x := all[name]
	for _, key := range slices.Sorted(maps.Keys(x.Fields)) {
		if is := extraFields[key].is; is == nil || !slices.Contains(fields, key) || !is(x.Fields[key]) {
			e.diags.Errorf(codeUnknownExtra, x.Pos, "extra.opencode.%s: opencode knows no such setting", key).
				Hint("it may have " + strings.Join(fields, ", ") + ", and the lists of rules allow, ask and deny").
				Target(name)
		}
	}
}

// shared reports whether everybody's list has a server.
func (e *emitter) shared(s *ir.Server) bool {
	if e.in.Reach.Server(s.Name).Any() == ir.Deny {
		return false
	}
	return s.DefaultEnabled || e.opened(s)
}

// opened reports whether a written exception puts a server into the list that is off by default.
func (e *emitter) opened(s *ir.Server) bool {
	if e.in.Shares(&e.diags, name, s) {
		return true
	}
	if e.in.Reach.Server(s.Name).Any() > ir.Deny {
		e.diags.Notef(codeServerOff, s.Pos, "the server %q is off by default: sessions that modec starts have it, and "+
			"those that read opencode.json alone have not", s.Name).
			Hint("start them by `modec run ROLE -- opencode`").
			Target(name)
	}
	return false
}

// servers returns a list of servers.
func (e *emitter) servers(usable func(*ir.Server) bool) contract.Object {
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

// text writes a file. opencode replaces "{env:" and "{file:" wherever they stand in it: no text but a reference has
// them.
func text(o contract.Object) []byte {
	data := contract.JSON(o)
	for _, word := range []string{"env:", "file:"} {
		data = bytes.ReplaceAll(data, []byte("{"+word), []byte(`\u007b`+word))
	}
	return bytes.ReplaceAll(data, []byte(reference), []byte("{"))
}
