package copilot

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/copilot/format"
)

// emitter compiles one project.
type emitter struct {
	in    contract.Input
	files []contract.File
	diags diag.List
}

func newEmitter(in contract.Input) *emitter { return &emitter{in: in} }

// session is a subject as which Copilot is started.
type session struct {
	*emitter
	ref     ir.SubjectRef
	subject *policy.Subject
	pos     diag.Pos
	hooked  bool
	// groups are those of which the session has the tools.
	groups map[ir.Group]bool
}

// Emit compiles a session for each role and each mode, an agent for each mode, and the servers of the project.
func (copilot) Emit(in contract.Input) ([]contract.File, diag.List) {
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
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return e.files, e.diags
}

// subject writes the session of a subject.
func (e *emitter) subject(ref ir.SubjectRef, at diag.Pos) {
	s := e.session(ref, at)
	if s == nil {
		return
	}
	s.reportServers()
	if o := s.members(); len(o) > 0 {
		e.files = append(e.files, contract.File{Path: format.SubjectFile(ref), Data: contract.JSON(o)})
	}
}

// session returns a subject with what it may do, nil where that is not known.
func (e *emitter) session(ref ir.SubjectRef, at diag.Pos) *session {
	subject, err := e.in.Policy.Subject(ref)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return nil
	}
	s := &session{emitter: e, ref: ref, subject: subject, pos: at}
	s.hooked = e.in.Hooked() && s.says()
	s.groups = s.has()
	return s
}

// members returns what a session is started with, nothing where the subject says nothing.
func (s *session) members() (o contract.Object) {
	if s.limited() {
		if args := s.args(); len(args) > 0 {
			o = append(o, format.ArgsKey, args)
		}
		if s.listens() {
			o = append(o, format.HooksKey, s.hookLines(true))
		}
	}
	if r := s.in.Project.Role(s.ref.Role); r != nil {
		if text := strings.TrimSpace(r.AppendSystemPrompt); text != "" {
			o = append(o, format.InstructionsKey, text)
		}
	}
	if list := s.servers(); len(list) > 0 && (len(o) > 0 || s.says()) {
		o = append(o, format.ServersKey, list)
	}
	return o
}

// limited reports whether anything limits the tools of the session.
func (s *session) limited() bool {
	_, listed := s.written()
	return s.says() || listed
}

// groups are those that tools of Copilot's own do.
var groups = []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.Modes}

// says reports whether the subject says anything of what it may do.
func (s *session) says() bool {
	for _, g := range groups {
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
		if s.tool(name, contract.UnknownTool) != ir.Agent {
			return false
		}
		if sv := s.in.Project.Server(name); sv != nil && slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool {
			return s.tool(name, t.Name) != ir.Agent
		}) || len(s.subject.UnlistedToolRules(name)) > 0 {
			return false
		}
	}
	return true
}

// decided returns what a result of the source means to Copilot.
func decided(r *policy.Result) ir.Decision { return contract.Decision(copilot{}, r) }

// listens reports whether the session has modec's hook, which may only observe.
func (s *session) listens() bool { return s.in.Listens() && s.says() }

func (s *session) tool(server, tool string) ir.Decision {
	r := s.subject.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
	return decided(&r)
}

// unhooked reports whether options alone say what the subject does with a group that it does not deny.
func (s *session) unhooked(g ir.Group) bool {
	switch {
	case !contract.Opens(s.subject, g):
		return false
	case g == ir.Command:
		return contract.Opens(s.subject, ir.Read) && contract.Opens(s.subject, ir.Edit) &&
			contract.Opens(s.subject, ir.Web)
	case g == ir.Modes: // an agent may do what its session may
		return len(s.in.Project.Modes) == 0
	}
	return true
}

// has returns the groups of which the session has the tools, and reports those that it lacks without a hook.
func (s *session) has() map[ir.Group]bool {
	all := map[ir.Group]bool{}
	for _, g := range groups {
		switch {
		case contract.Denies(s.subject, g):
		case s.hooked || !s.says() || s.unhooked(g):
			all[g] = true
		default:
			l := lost[g]
			lack := strings.ReplaceAll(l.lack, "%s", s.ref.String())
			all[g] = s.in.Keeps(&s.diags, name, s.ref, g, s.placeOf(g), "%s", lack)
			if !all[g] {
				s.loss(g, l.code, "%s: %s", lack, strings.ReplaceAll(l.then, "%s", s.ref.String()))
			}
		}
	}
	return all
}

// lost are what a session without a hook does not do.
var lost = map[ir.Group]struct {
	code       diag.Code
	lack, then string
}{
	ir.Read:    {codeRead, "no option of Copilot says which files %s may read", "it reads none"},
	ir.Edit:    {codeEdit, "no option of Copilot says which files %s may edit", "it edits none"},
	ir.Command: {codeCommands, "no option of Copilot says which commands %s may run", "it runs none"},
	ir.Web:     {codeWeb, "no option of Copilot says what %s may fetch", "it fetches nothing"},
	ir.Modes:   {codeAgents, "an agent may do what its session may", "%s hands work to none"},
}

// placeOf returns where the subject says what it may do in a group, or is written.
func (s *session) placeOf(g ir.Group) diag.Pos { return cmp.Or(s.subject.Default(g).Pos, s.pos) }

// loss warns that the subject may do less in a group than the source says.
func (s *session) loss(g ir.Group, code diag.Code, message string, args ...any) {
	s.diags.Warnf(code, s.placeOf(g), message, args...).
		Hint("let hooks hold it: hooks = \"enforce\" in modec.toml").
		Target(name).
		Subject(s.ref.String()).
		Loses(diag.Narrowing, string(g))
}

// args returns the options of a session: what it does not have, and without a hook also what needs no question.
func (s *session) args() (args []string) {
	option := func(name string, list []string) {
		if len(list) > 0 {
			args = append(args, name+"="+strings.Join(list, ","))
		}
	}
	if own, listed := s.written(); listed {
		if !slices.Contains(own, "*") {
			option(format.Available, names(own))
		}
	} else if s.hooked {
		option(format.Excluded, s.lacks())
	} else {
		option(format.Available, s.only())
		if s.runsAll() {
			option(format.Allows, []string{format.AllowShell})
		}
		if s.permits(ir.Edit) {
			option(format.Allows, []string{format.AllowWrite})
		}
		if s.permits(ir.Web) {
			args = append(args, format.AllowURLs)
		}
		for _, rule := range s.allowedTools() {
			option(format.Allows, []string{rule})
		}
	}
	if s.tool(contract.UnknownServer, contract.UnknownTool) == ir.Deny {
		args = append(args, format.NoBuiltins)
	}
	return args
}

// permits reports whether a group is permitted as a whole, and not left to Copilot.
func (s *session) permits(g ir.Group) bool {
	d := s.subject.Default(g)
	return contract.Opens(s.subject, g) && decided(&d) == ir.Allow
}

// runsAll reports whether every command may run, and do what it does.
func (s *session) runsAll() bool {
	for _, g := range []ir.Group{ir.Command, ir.Read, ir.Edit, ir.Web} {
		if !s.permits(g) {
			return false
		}
	}
	return true
}

// lacks returns the tools that the session does not have.
func (s *session) lacks() (tools []string) {
	for _, g := range groups {
		if !s.groups[g] {
			tools = append(tools, format.Tools[g]...)
		}
	}
	return tools
}

// only returns the tools that the session has, nil for those of Copilot's own and of any server.
func (s *session) only() (tools []string) {
	if s.unknown() >= ir.Allow && s.tool(contract.UnknownServer, contract.UnknownTool) >= ir.Allow &&
		!slices.ContainsFunc(groups, func(g ir.Group) bool { return !s.groups[g] }) && len(s.refused()) == 0 {
		return nil
	}
	for _, g := range groups {
		if s.groups[g] {
			tools = append(tools, format.Tools[g]...)
		}
	}
	for _, t := range format.Harmless {
		if !slices.Contains(tools, t) {
			tools = append(tools, t)
		}
	}
	for i := range s.in.Project.Servers {
		sv := &s.in.Project.Servers[i]
		list, all := s.toolsOf(sv)
		if all {
			tools = append(tools, sv.Name+"/*")
		}
		for _, t := range list {
			if !all {
				tools = append(tools, format.ToolName(sv.Name, t))
			}
		}
	}
	return tools
}
