package codex

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/codex/format"
	"modec.dev/modec/targets/codex/hook"
	"modec.dev/modec/targets/internal/persona"
)

// emitter compiles one project.
type emitter struct {
	in    contract.Input
	files []contract.File
	diags diag.List
	// sessions are those of all subjects, in the order of the source.
	sessions []session
}

func newEmitter(in contract.Input) *emitter { return &emitter{in: in} }

// session is a subject as which Codex is started.
type session struct {
	*emitter
	ref     ir.SubjectRef
	subject *policy.Subject
	pos     diag.Pos
	hooked  bool
	config  contract.Object
}

// Emit compiles a configuration for each role and each mode, an agent for each mode, and the servers of the project.
func (codex) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := newEmitter(in)
	p := in.Project
	for i := range p.Roles {
		r := &p.Roles[i]
		contract.LeaveOut(&e.diags, codeNativeRule, name, "role "+r.Name, r.Native...)
		e.subject(ir.SubjectRef{Role: r.Name}, r.Pos)
	}
	for i := range p.Modes {
		m := &p.Modes[i]
		e.subject(ir.SubjectRef{Mode: m.Slug}, m.Pos)
		e.agent(m)
	}
	e.project()
	e.requirements()
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return e.files, e.diags
}

const title = "# What %s may do in Codex, compiled by modec: edit the source, and run `modec build`.\n" +
	"# Start it by `modec run %s -- codex`.\n\n"

// subject writes the configuration of a session.
func (e *emitter) subject(ref ir.SubjectRef, at diag.Pos) {
	o, ok := e.config(ref, at)
	if !ok || len(o) == 0 {
		return
	}
	name := ref.Role
	if name == "" {
		name = ref.Mode
	}
	head := fmt.Appendf(nil, title, contract.Comment(ref.String()), contract.Comment(contract.ShellQuote(name)))
	e.files = append(e.files, contract.File{Path: format.SubjectFile(ref), Data: append(head, contract.TOML(o)...)})
}

// config returns the configuration of a session, empty where the subject says nothing.
func (e *emitter) config(ref ir.SubjectRef, at diag.Pos) (contract.Object, bool) {
	subject, err := e.in.Policy.Subject(ref)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return nil, false
	}
	s := &session{emitter: e, ref: ref, subject: subject, pos: at}
	s.hooked = e.in.Hooked() && s.says()
	o := s.texts()
	if s.says() {
		o = append(o, s.keys()...)
	}
	s.config = o
	e.sessions = append(e.sessions, *s)
	return o, true
}

// says reports whether the subject says anything of what it may do.
func (s *session) says() bool {
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes} {
		if !contract.Leaves(s.subject, g) {
			return true
		}
	}
	return s.unknown() != ir.Agent || !s.leavesServers()
}

func (s *session) unknown() ir.Decision {
	r := s.subject.UnknownTool()
	return decided(&r)
}

// leavesServers reports whether the subject says nothing of MCP.
func (s *session) leavesServers() bool {
	for _, name := range append(contract.StartedFor(s.in.Project, s.subject), contract.UnknownServer) {
		for _, kind := range []policy.MCPKind{policy.Tool, policy.Resource, policy.Prompt} {
			a := policy.Action{Group: ir.MCP, Server: name, Arg: contract.UnknownTool, Kind: kind}
			if s.decide(a) != ir.Agent {
				return false
			}
		}
		if sv := s.in.Project.Server(name); sv != nil && slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool {
			return s.tool(name, t.Name) != ir.Agent
		}) || len(s.subject.UnlistedToolRules(name)) > 0 {
			return false
		}
	}
	return true
}

// decided returns what a result of the source means to Codex.
func decided(r *policy.Result) ir.Decision { return contract.Decision(codex{}, r) }

func (s *session) decide(a policy.Action) ir.Decision {
	r := s.subject.Decide(a)
	return decided(&r)
}

func (s *session) tool(server, tool string) ir.Decision {
	return s.decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
}

// runsAll reports whether every command may run, and do what it does.
func (s *session) runsAll() bool {
	return contract.Opens(s.subject, ir.Command) && hook.Touches(s.subject)
}

// keys returns what holds the session.
func (s *session) keys() (o contract.Object) {
	features := contract.Object{}
	off := func(feature string) { features = append(features, feature, false) }
	edit, command := !contract.Denies(s.subject, ir.Edit), !contract.Denies(s.subject, ir.Command)
	if !s.hooked && edit && !contract.Leaves(s.subject, ir.Edit) {
		edit = !s.loses(ir.Edit, codeEdit, "no sandbox says which files %s may edit", "it edits none")
	}
	if !s.hooked && command && !s.runsAll() {
		command = !s.loses(ir.Command, codeCommands, "no rule of Codex says which commands %s may run", "it runs none")
	}
	o = append(o, s.sandbox(edit)...)
	o = append(o, s.search()...)
	if s.in.Listens() {
		features = append(features, "hooks", true)
	}
	if !command {
		off("shell_tool")
	}
	if s.images() == ir.Deny {
		off(format.ViewImage)
	}
	if len(features) > 0 {
		o = append(o, "features", features)
	}
	if !s.hands() {
		o = append(o, "agents", contract.Object{"enabled", false})
	}
	if list := s.servers(); len(list) > 0 {
		o = append(o, "mcp_servers", list)
	}
	if s.in.Listens() {
		o = append(o, "hooks", s.hookLines())
	}
	return o
}

// sandbox returns the keys by which Codex asks about commands and edits, and stops what is not asked about.
func (s *session) sandbox(edit bool) (o contract.Object) {
	box := format.ReadOnly
	if edit {
		box = format.Workspace
	}
	switch asked := s.hooked && hook.AsksCommands(s.subject); {
	case asked: // no policy: Codex asks about every command and edit in a folder that is not trusted
	case s.hooked && edit: // every edit is one that the sandbox stops
		o, box = append(o, "approval_policy", string(format.OnRequest)), format.ReadOnly
	case edit:
		o = append(o, "approval_policy", string(format.OnRequest))
	default:
		o = append(o, "approval_policy", contract.Object{"granular", contract.Object{
			"sandbox_approval", false, "rules", true, "mcp_elicitations", true}})
	}
	return append(o, "sandbox_mode", string(box))
}

// search returns the key for the search of the web, which nothing asks about and no list of hosts holds. The agents of
// a session search as it does.
func (s *session) search() contract.Object {
	const key = "web_search"
	off := contract.Object{key, format.Searches[0]}
	switch {
	case contract.Denies(s.subject, ir.Web):
		return off
	case !contract.Opens(s.subject, ir.Web) && s.loses(ir.Web, codeWeb,
		"Codex searches the web without asking, and by no list of hosts", "%s does not"):
		return off
	}
	for _, in := range s.inModes() {
		if !contract.Opens(in.subject, ir.Web) && s.loses(ir.Web, codeWeb, "an agent of Codex searches the web as "+
			"its session does, and mode "+in.ref.Mode+" may not search", "%s does not") {
			return off
		}
	}
	if contract.Leaves(s.subject, ir.Web) {
		return nil
	}
	return contract.Object{key, "live"}
}

// inModes returns the session in each mode to whose agent it may hand work.
func (s *session) inModes() (all []session) {
	r := s.in.Project.Role(s.ref.Role)
	if r == nil || contract.Denies(s.subject, ir.Modes) || !s.hooked {
		return nil
	}
	for i := range s.in.Project.Modes {
		m := &s.in.Project.Modes[i]
		if !r.Enters(m.Slug) {
			continue
		}
		in := session{ref: ir.SubjectRef{Role: r.Name, Mode: m.Slug}}
		var err error
		if in.subject, err = s.in.Policy.Subject(in.ref); err == nil {
			all = append(all, in)
		}
	}
	return all
}

// images returns whether the session looks at images: the only tool that reads files and runs no command.
func (s *session) images() ir.Decision {
	switch {
	case contract.Denies(s.subject, ir.Read):
		return ir.Deny
	case s.hooked || contract.Leaves(s.subject, ir.Read) || contract.Opens(s.subject, ir.Read),
		!s.loses(ir.Read, codeRead, "no setting says which files %s may look at", "it looks at no image"):
		return ir.Allow
	}
	return ir.Deny
}

// hands reports whether the session hands work to agents.
func (s *session) hands() bool {
	if s.hooked {
		return !contract.Denies(s.subject, ir.Modes)
	}
	if contract.Denies(s.subject, ir.Modes) {
		return false
	}
	if contract.Opens(s.subject, ir.Modes) && len(s.in.Project.Modes) == 0 {
		return true
	}
	return !s.loses(ir.Modes, codeAgents, "an agent may do what its session may", "%s hands work to none")
}

// loses reports, with its loss, whether the subject may do less in a group than the source says: it does, unless
// somebody keeps the group.
func (s *session) loses(g ir.Group, code diag.Code, lack, then string) bool {
	at := s.subject.Default(g).Pos
	if at.IsZero() {
		at = s.pos
	}
	named := func(text string) string { return strings.ReplaceAll(text, "%s", s.ref.String()) }
	if s.in.Keeps(&s.diags, name, s.ref, g, at, "%s", named(lack)) {
		return false
	}
	s.diags.Warnf(code, at, "%s: %s", named(lack), named(then)).
		Hint(ways[code]).
		Target(name).
		Subject(s.ref.String()).
		Loses(diag.Narrowing, string(g))
	return true
}

// ways are what keeps a loss.
var ways = map[diag.Code]string{
	codeEdit:     "let hooks hold it: hooks = \"enforce\" in modec.toml",
	codeCommands: "let hooks hold it: hooks = \"enforce\" in modec.toml",
	codeRead:     "let hooks hold it: hooks = \"enforce\" in modec.toml",
	codeAgents:   "let hooks hold it: hooks = \"enforce\" in modec.toml",
	codeWeb:      "give the agent a server that fetches pages: its tools are asked about, and the gateway holds them",
}

// texts returns what a session is told, and its variables.
func (s *session) texts() (o contract.Object) {
	p := s.in.Project
	if m := p.Mode(s.ref.Mode); m != nil {
		return contract.Object{"developer_instructions", persona.Prompt(m)}
	}
	r := p.Role(s.ref.Role)
	if r == nil {
		return nil
	}
	if text := strings.TrimSpace(r.AppendSystemPrompt); text != "" {
		o = append(o, "developer_instructions", text+"\n")
	}
	if len(r.Env) > 0 {
		set := contract.Object{}
		for _, key := range slices.Sorted(maps.Keys(r.Env)) {
			set = append(set, key, r.Env[key])
		}
		o = append(o, "shell_environment_policy", contract.Object{"set", set})
	}
	return o
}
