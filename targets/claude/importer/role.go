package importer

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// session is what a role is made of.
type session struct {
	name   string
	at     diag.Pos
	layers []format.Layer      // in the order in which they are laid over each other
	flags  *format.CommandLine // over the layers; nil: none
	// servers are those of a session that has no others. nil: it has the project's.
	servers []string
}

// state is what an import knows of a session beside its rules: the mode, and which tools
// the session has.
type state struct {
	mode             string // "" where nothing says one
	noAuto, noBypass bool
	denied           []rule.Tools // by deny rules without content
	lists            []format.ToolList
}

// settle replaces a mode by the one that it means or that holds where it is disabled.
func (s *state) settle() {
	switch {
	case s.mode == format.Manual, s.mode == format.Delegate,
		s.mode == format.Bypass && s.noBypass, s.mode == format.Auto && s.noAuto:
		s.mode = format.Default
	}
}

// enter lays a subagent over its session. Its own mode holds unless the session has one
// that Claude Code does not let a subagent lower.
func (s *state) enter(a *format.Agent) {
	s.lists = append(s.lists, a.ToolLists()...)
	switch s.mode {
	case format.Bypass, format.AcceptEdits, format.Auto:
		return
	}
	if mode, ok := format.ModeOf(a.Root.Get("permissionMode")); ok {
		s.mode = mode
	}
}

// has reports whether a session has a tool. A rule or a list takes a tool away. Grep and
// Glob are there where --tools names them or Bash is not, LSP where a list names it.
// Observed on 2.1.329.
func (s *state) has(tool string) bool {
	taken := func(name string) bool {
		return slices.ContainsFunc(s.denied, func(t rule.Tools) bool { return t.Has(name) })
	}
	leftOut := func(l format.ToolList) bool { return !l.Leaves(tool) }
	if taken(tool) || tool == "Agent" && taken("Task") || slices.ContainsFunc(s.lists, leftOut) {
		return false
	}
	switch tool {
	case "Grep", "Glob":
		flagged := func(l format.ToolList) bool { return l.NamesBuiltIn(tool) }
		return slices.ContainsFunc(s.lists, flagged) || !s.has("Bash")
	case "LSP":
		return slices.ContainsFunc(s.lists, func(l format.ToolList) bool { return l.Names(tool) })
	}
	return true
}

// leaves reports whether the lists leave a tool.
func (s *state) leaves(tool string) bool {
	return !slices.ContainsFunc(s.lists, func(l format.ToolList) bool { return !l.Leaves(tool) })
}

func (s *state) hasAny(tools ...string) bool { return slices.ContainsFunc(tools, s.has) }

// roleReader collects what settings files and flags say of one role.
type roleReader struct {
	*importer
	role    ir.Role
	subject string
	rules   importedRules
	agent   string // the subagent as which the session runs
	agentAt diag.Pos
}

// role makes a role of a session. The rules are nil where a file does not load.
func (im *importer) role(from session) (ir.Role, *importedRules) {
	r := &roleReader{importer: im, role: ir.Role{Name: from.name, Pos: from.at}, subject: "role " + from.name}
	o := from.outline()
	r.rules.beyond, r.rules.besides = im.opensBeyond(&o), o.besides()
	r.rules.runsAll, r.rules.ofFiles = o.runsAll(), from.flags == nil
	for _, l := range from.layers {
		if !r.layer(l) {
			return r.role, nil
		}
	}
	r.rules.folder = ""
	if from.flags != nil {
		r.flags(from.flags)
	}
	r.rules.settle()
	r.rules.inMode()
	role := &r.role
	role.PermissionMode, role.PermissionModePos = r.rules.mode, r.rules.modePos
	r.rules.into(&role.Can, role, "")
	role.Native = r.rules.kept
	if r.rules.alone {
		role.Targets = []string{"claude"}
	}
	unlisted := &ir.Default{Decision: ir.Agent, Pos: from.at}
	if r.agent != "" && !r.asAgent(usually(r.rules.mode, from.at)) {
		if from.flags != nil && from.flags.Agent != "" {
			im.diags.Errorf(CodeImport, from.at, "no file of the project describes the agent %q", r.agent)
			return *role, nil
		}
		im.out.Note(contract.Refused, r.agentAt, r.subject, "agent "+r.agent,
			"no file describes it: Claude Code then runs the session as usual")
	}
	r.rules.questions(&role.Can, from.at)
	if r.rules.mode == format.DontAsk {
		role.Can.OutsideRead = r.rules.opensOutside(ir.Read)
		role.Can.OutsideEdit = r.rules.opensOutside(ir.Edit)
	}
	if r.rules.mode != format.Bypass {
		guardCommands(&role.Can, role.Pos, cmp.Or(r.rules.mode, format.Default))
		questionProtected(&role.Can, role.Pos, cmp.Or(r.rules.mode, format.Default))
	}
	if from.flags == nil && r.rules.mode == "" && r.rules.asks() {
		im.out.Note(contract.NeedsDecision, from.at, r.subject, "no defaultMode", "a session may start in auto, "+
			"which asks about nothing: a build writes \"default\" beside the rules that ask")
	}
	if from.servers != nil {
		strictly(&role.Can, slices.Sorted(slices.Values(from.servers)), unlisted)
	}
	r.limit(unlisted)
	return *role, &r.rules
}

// layer reads a settings file. It reports false for one that Claude Code does not load.
func (r *roleReader) layer(l format.Layer) bool {
	r.rules.folder = l.Folder
	before := len(r.out.Notes)
	s, err := format.ReadSettings(l.File, l.Data)
	if err != nil {
		r.out.Refuse(l.File)
		r.diags.Errorf(CodeImport, format.PlaceOf(l.File, err), "Claude Code does not load the settings: %s",
			strings.TrimPrefix(located.Reason(err), l.File+": "))
		return false
	}
	if s.Mode != nil && !r.mode(s.Mode, l) {
		return false
	}
	r.rules.noAuto = r.rules.noAuto || s.NoAuto
	for _, item := range s.Rules {
		r.listed(item)
	}
	for _, m := range s.Root.Fields() {
		r.key(m)
	}
	for _, m := range s.Root.Get("permissions").Fields() {
		r.permission(m)
	}
	if r.noted[l.File] {
		r.out.Notes = r.out.Notes[:before]
	}
	r.noted[l.File] = true
	r.rules.noBypass = r.rules.noBypass || s.NoBypass
	if agent, _ := s.Agent.Str(); agent != "" {
		r.agent, r.agentAt = agent, s.Agent.Line()
	}
	return true
}

// mode reads defaultMode. It reports false for one for which Claude Code does not load the
// file.
func (r *roleReader) mode(v *located.Value, l format.Layer) bool {
	mode, ok := format.ModeOf(v)
	switch {
	case !ok:
		r.out.Refuse(l.File)
		r.diags.Errorf(CodeImport, v.Line(), "got the mode %q, want %s: Claude Code does not load the whole file",
			mode, format.ModeNames).
			Path("permissions.defaultMode")
		return false
	case l.Project && mode == format.Auto:
		r.out.NoteRule(contract.Refused, v.Pos, r.subject, "defaultMode auto",
			"Claude Code does not take it from a file of the project")
	default:
		r.out.NoteRule(contract.Understood, v.Pos, r.subject, "defaultMode "+mode, "")
		r.rules.mode, r.rules.modePos = mode, v.Pos
	}
	return true
}

// listed reads an item of a list of rules.
func (r *roleReader) listed(item format.Listed) {
	text, ok := item.Str()
	if !ok {
		r.out.NoteRule(contract.Refused, item.Pos, r.subject, item.List.String(), "Claude Code takes texts only")
		return
	}
	if item.Comment != "" {
		r.out.Comments[item.Pos] = item.Comment
	}
	r.rule(written{item.List, text, item.Pos, item.List.String() + " " + text})
}

// left notes a key that stays in its file.
func (r *roleReader) left(m located.Member, why string) {
	r.out.Note(contract.Left, m.Pos, r.subject, m.Key, why)
}

// key reads a member of a settings file.
func (r *roleReader) key(m located.Member) {
	switch m.Key {
	case "permissions", "$schema", "agent":
	case "env":
		r.env(m)
	case "enableAllProjectMcpServers", "enabledMcpjsonServers", "disabledMcpjsonServers":
		r.left(m, "whether a server is started, not what it may do")
	case "hooks":
		if !onlyModecs(m.Value) {
			r.left(m, "a program decides, which the source cannot say")
		}
	case "sandbox":
		why := "no permission of a mode or role"
		alone := m.Value.Get("autoAllowBashIfSandboxed")
		if m.Value.Get("enabled").True() && (alone == nil || alone.True()) {
			why = "what runs in the sandbox is not asked about: it stays in the file, and so does what that permits"
		}
		r.left(m, why)
	case "disableAllHooks":
		why := "no hook is turned off by it: it stays in the file"
		if m.Value.True() {
			why = "every hook is off, modec's too: it stays in the file, and a build that needs a hook stops at it"
		}
		r.left(m, why)
	default:
		r.left(m, "no permission of a mode or role")
	}
}

func (r *roleReader) env(m located.Member) {
	for _, e := range m.Value.Fields() {
		text, ok := e.Value.Str()
		if !ok {
			r.out.Note(contract.Refused, e.Pos, r.subject, "env "+e.Key, "the source takes texts only")
			continue
		}
		if format.Disarms(e.Key) {
			r.out.Note(contract.Left, e.Pos, r.subject, "env "+e.Key,
				"it may undo what settings hold: it stays in the file")
			continue
		}
		if r.role.Env == nil {
			r.role.Env = map[string]string{}
		}
		r.role.Env[e.Key] = text
	}
}

// permission reads a member of permissions.
func (r *roleReader) permission(m located.Member) {
	switch m.Key {
	case "defaultMode", "allow", "ask", "deny":
	case "disableBypassPermissionsMode", "disableAutoMode":
		r.left(m, "it stays in the file: no session may go over to that mode")
	case "blockReadsOutsideWorkingDirectories":
		if !m.Value.True() {
			r.left(m, "only true means something")
			return
		}
		r.rules.outside = true
		r.out.NoteRule(contract.Understood, m.Pos, r.subject, m.Key, "")
	case "additionalDirectories":
		r.left(m, "the source knows one project folder: what lies outside is asked about or denied")
	default:
		r.left(m, "Claude Code ignores this key")
	}
}

// onlyModecs reports whether no hook is another one than modec's own.
func onlyModecs(hooks *located.Value) bool {
	return !slices.ContainsFunc(hooks.Fields(), func(event located.Member) bool {
		return slices.ContainsFunc(event.Value.List(), func(entry *located.Value) bool {
			return len(entry.Get("hooks").List()) > 0 && !modecsHook(entry)
		})
	})
}

// modecsHook reports whether all that an entry of hooks runs is modec itself.
func modecsHook(entry *located.Value) bool {
	list := entry.Get("hooks").List()
	return len(list) > 0 && !slices.ContainsFunc(list, func(h *located.Value) bool {
		line, _ := h.Get("command").Str()
		_, err := contract.ParseHookLine(line)
		return err != nil
	})
}

// theirs returns the entries of an event's hooks that run something else than modec.
func theirs(event *located.Value) (list []any) {
	for _, entry := range event.List() {
		if !modecsHook(entry) {
			list = append(list, entry.Any())
		}
	}
	return list
}

// withoutModecs returns hooks without modec's own, which every build writes again.
func withoutModecs(hooks *located.Value) any {
	all, ok := hooks.Any().(map[string]any)
	if !ok {
		return hooks.Any()
	}
	for _, event := range hooks.Fields() {
		if slices.ContainsFunc(event.Value.List(), modecsHook) {
			if all[event.Key] = theirs(event.Value); len(theirs(event.Value)) == 0 {
				delete(all, event.Key)
			}
		}
	}
	return all
}

// flags adds what the flags of a command line say.
func (r *roleReader) flags(c *format.CommandLine) {
	understood := func(what string) {
		r.out.NoteRule(contract.Understood, r.role.Pos, r.subject, what, "")
	}
	if c.Mode != "" {
		r.rules.mode, r.rules.modePos = c.Mode, r.role.Pos
		understood(c.ModeWritten)
	}
	for _, text := range c.Allowed {
		r.rule(written{ir.Allow, text, r.role.Pos, "--allowedTools " + text})
	}
	for _, text := range c.Disallowed {
		r.rule(written{ir.Deny, text, r.role.Pos, "--disallowedTools " + text})
	}
	if c.Tools != nil {
		if names := c.BuiltIns(); names != nil {
			r.role.Tools = names
			r.rules.lists = append(r.rules.lists, format.NewToolList(format.OfferedBuiltIn, *names))
		}
		understood("--tools " + strings.Join(*c.Tools, ","))
	}
	if c.Strict {
		understood("--strict-mcp-config")
	}
	if c.Agent != "" {
		r.agent, r.agentAt = c.Agent, r.role.Pos
	}
}

// asAgent limits a role to the tools of the subagent as which its session runs. It reports
// false where no file of the project or of the user describes the subagent.
func (r *roleReader) asAgent(unlisted *ir.Default) bool {
	for _, f := range r.agentFiles() {
		data, err := contract.ReadImport(f.fsys, f.name)
		if err != nil {
			continue
		}
		a, err := format.ReadAgent(f.at, data)
		if err != nil || a.Name != r.agent {
			continue
		}
		r.file(f.fsys, f.name, f.at)
		r.tree[format.AgentsFolder+"/modec-agent.md"] = data
		r.rules.lists = append(r.rules.lists, a.ToolLists()...)
		if a.Root.Get("tools") != nil || a.Root.Get("disallowedTools") != nil {
			t := r.agentServers(agentOf{a, r.subject}, &r.rules.state, unlisted)
			toolsInto(t, r.rules.neutral)
			r.role.Can.MCP = t
		}
		r.out.NoteRule(contract.Understood, r.agentAt, r.subject, "agent "+r.agent,
			"its tools limit the session; its prompt is its own mode's")
		return true
	}
	return false
}

// limit denies the groups of which a session has no tool: other agents have no list of
// tools.
func (r *roleReader) limit(unlisted *ir.Default) {
	if len(r.rules.lists) == 0 {
		return
	}
	can, at := &r.role.Can, r.role.Pos
	for g, t := range tablesOf(can) {
		tools := format.Tools[g]
		if g == ir.Web {
			tools = []string{"WebFetch"} // a search names no host
		}
		if !r.rules.hasAny(tools...) {
			*t = denied(at)
		}
	}
	can.Unknown = &ir.Default{Decision: ir.Deny, Pos: at}
	if !r.rules.has("ReadMcpResourceTool") {
		if can.MCP == nil {
			can.MCP = &ir.MCPTable{Default: unlisted}
		}
		withoutResources(can.MCP, at)
	}
}

// withoutResources denies the resources of every server.
func withoutResources(t *ir.MCPTable, at diag.Pos) {
	none := &ir.Default{Decision: ir.Deny, Pos: at}
	for i := range t.Entries {
		t.Entries[i].Resources = none
	}
	def := ir.Default{Decision: ir.Agent, Pos: at}
	if t.Default != nil {
		def = *t.Default
	}
	if def.Decision > ir.Deny {
		t.Entries = append([]ir.MCPEntry{{Key: "*", Pos: at, Default: &def, Resources: none}}, t.Entries...)
	}
}

// strictly leaves a role the servers of its own list alone.
func strictly(can *ir.Can, names []string, unlisted *ir.Default) {
	t := can.MCP
	if t == nil {
		t = &ir.MCPTable{}
	}
	own := &ir.MCPTable{Default: &ir.Default{Decision: ir.Deny, Pos: unlisted.Pos}, Rules: t.Rules}
	for _, name := range names {
		e := ir.MCPEntry{Key: name, Literal: true, Pos: unlisted.Pos, Default: cmp.Or(t.Default, unlisted)}
		for _, of := range t.Entries {
			if of.Key == name || !of.Literal && policy.Wildcard(of.Key, name) {
				e.Rules = append(e.Rules, of.Rules...)
				if of.Literal {
					e.Default, e.Pos = cmp.Or(of.Default, unlisted), of.Pos
				}
			}
		}
		own.Entries = append(own.Entries, e)
	}
	can.MCP = own
}

// usually returns the decision of a tool that a session has.
func usually(mode string, at diag.Pos) *ir.Default {
	d := ir.Agent
	switch mode {
	case format.Bypass:
		d = ir.Allow
	case format.DontAsk:
		d = ir.Deny
	}
	return &ir.Default{Decision: d, Pos: at}
}
