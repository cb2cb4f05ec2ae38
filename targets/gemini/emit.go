package gemini

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// emitter compiles one project.
type emitter struct {
	in       contract.Input
	files    []contract.File
	diags    diag.List
	subjects []subjectRules
	agents   []rule // of all modes, as which agents work
	// distinct are the tools about which some subject decides otherwise than about others of their servers.
	distinct map[toolOf]bool
	byServer map[string][]ir.Tool // the tools of each, as named returns them
	// unsaid is the lowest that some role leaves to its permission mode, or to the project's unsaid.
	unsaid map[ir.Group]ir.Decision
}

// subjectRules are the rules of a session.
type subjectRules struct {
	ref   ir.SubjectRef
	rules []rule
}

// toolOf is a tool of a server.
type toolOf struct{ server, tool string }

// writer writes the rules of one subject.
type writer struct {
	*emitter
	ref     ir.SubjectRef
	subject *policy.Subject
	mode    *ir.Mode // nil for a role
	can     *ir.Can
	pos     diag.Pos
	rules   []rule
	rest    rank // of what no list names
}

// Emit compiles a policy for each role and each mode, one for the agents of all modes, an agent for each mode, and the
// settings of the project.
func (gemini) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in}
	p := in.Project
	always := func(ir.Group) bool { return true }
	for i := range p.Roles {
		e.role(&p.Roles[i])
		contract.LosesTimes(&e.diags, "gemini", "role "+p.Roles[i].Name, &p.Roles[i].Can, always)
	}
	for i := range p.Modes {
		e.mode(&p.Modes[i])
		contract.LosesTimes(&e.diags, "gemini", "mode "+p.Modes[i].Slug, &p.Modes[i].Can, always)
	}
	e.policies()
	e.settings()
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return e.files, e.diags
}

const (
	title = "# What %s may do in Gemini CLI, compiled by modec: edit the source, and run `modec build`.\n" +
		reading
	titleOfAgents = "# What the modes may do as agents in Gemini CLI, compiled by modec: edit the source, and run " +
		"`modec build`.\n# Every session has these rules beside its own, and the stricter one decides.\n" + reading
	reading = "# The matching rule of the highest priority decides: 900 denies, 800 asks, 700 and 600 allow, and " +
		"what is below\n# decides about the rest.\n"
)

// role writes the policy of a role. What it may do in a mode is the lower of what its rules and those of the mode's
// agent say.
func (e *emitter) role(r *ir.Role) {
	ref := ir.SubjectRef{Role: r.Name}
	w, ok := e.compile(ref, r.Pos, nil)
	if !ok {
		return
	}
	e.texts(r)
	e.subjects = append(e.subjects, subjectRules{ref, w.rules})
}

// agent adds the rules of a mode as an agent in any session. An agent starts no other.
func (e *emitter) agent(m *ir.Mode, w *writer) {
	if !format.AgentName(format.AgentOf(m)) {
		return
	}
	listed := e.listed(m) // the agent's list says all but what the session's permission mode decides
	for _, r := range w.rules {
		if listed && !r.inside {
			continue
		}
		r.subagent, r.inside = format.AgentOf(m), false
		r.tools = slices.DeleteFunc(slices.Clone(r.tools), func(t string) bool { return t == format.Invoke })
		if len(r.tools) > 0 {
			e.agents = append(e.agents, r)
		}
	}
}

// texts reports what a role gives a session beside permissions: no option of Gemini CLI takes it. A file that
// GEMINI_SYSTEM_MD names replaces the whole prompt.
func (e *emitter) texts(r *ir.Role) {
	for field, has := range map[string]bool{"appendSystemPrompt": r.AppendSystemPrompt != "", "env": len(r.Env) > 0} {
		if has {
			e.diags.Warnf(codeRoleText, r.Pos, "Gemini CLI starts no session with %s of a role: it is left out", field).
				Hint("write instructions into GEMINI.md, and variables into .gemini/.env").
				Target(name).
				Subject("role "+r.Name).
				Loses(diag.Text, "")
		}
	}
}

// listed reports whether an agent's list of tools alone holds what its mode says: each group is there or not, and
// whether somebody is asked is left to the session.
func (e *emitter) listed(m *ir.Mode) bool {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
	if err != nil {
		return false
	}
	own := ownTools(m)
	holds := own != nil && !slices.Contains(own, any(format.Every)) || own == nil && decided(s.UnknownTool()) == ir.Deny
	said := func(d ir.Decision) bool { return d == ir.Agent || d == ir.Deny && holds }
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
		restricts := func(r ir.Rule) bool { return !(holds && r.DeniesAll()) }
		if slices.ContainsFunc(s.Rules(g), restricts) || !said(decided(s.Default(g))) {
			return false
		}
	}
	if !said(decided(s.UnknownTool())) {
		return false
	}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		for _, t := range append([]ir.Tool{{Name: contract.UnknownTool}}, sv.Tools...) {
			d := decidedOn(s, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
			// A list that cannot name a tool is not written, unless the mode names its tools itself.
			if !said(d) || holds && (d == ir.Agent || own == nil) && !format.Named(sv.Name, t.Name) {
				return false
			}
		}
	}
	return true
}

// policies writes the policies of all subjects, and that of the agents.
func (e *emitter) policies() {
	for _, of := range e.subjects {
		head := fmt.Sprintf(title, contract.Comment(of.ref.String()))
		e.write(format.PolicyFile(of.ref), of.ref.String(), head, of.rules)
		if e.in.Listens() && len(of.rules) > 0 {
			data := contract.JSON(e.sessionSettings(of.ref))
			e.files = append(e.files, contract.File{Path: format.SessionSettings(of.ref), Data: data})
		}
	}
	e.write(format.AgentsPolicy, "the modes", titleOfAgents, e.agents)
}

// projectPolicies writes the policies of a subject's sessions for the settings of the project too, and returns them.
func (e *emitter) projectPolicies(ref ir.SubjectRef) (paths []string) {
	for _, f := range e.filesOf(ref) {
		f.Path = format.ProjectPolicy(f.Path)
		e.files, paths = append(e.files, f), append(paths, f.Path)
	}
	return paths
}

// write writes a policy, where it has rules.
func (e *emitter) write(file, of, title string, rules []rule) {
	if len(rules) == 0 {
		return
	}
	for i := range rules {
		if expr := rules[i].expr; expr != "" && !format.Safe(expr) {
			e.diags.Errorf(codeExpression, diag.Pos{}, "an expression of %s is longer than Gemini CLI takes", of).
				Hint("write shorter lists").
				Target(name)
			return
		}
	}
	e.files = append(e.files, contract.File{Path: file, Data: text(title, rules)})
}

// compile returns the rules of a subject, a role or a mode.
func (e *emitter) compile(ref ir.SubjectRef, at diag.Pos, m *ir.Mode) (*writer, bool) {
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return nil, false
	}
	w := &writer{emitter: e, ref: ref, subject: s, mode: m, pos: at, rest: restOfRole}
	if m != nil {
		w.can, w.rest = &m.Can, restOfMode
	} else {
		w.can = &e.in.Project.Role(ref.Role).Can
	}
	w.lists(&editPaths)
	w.reads()
	w.commands()
	w.web()
	w.servers()
	w.invoked()
	w.left()
	w.others()
	return w, true
}

func (w *writer) add(r rule) { w.rules = append(w.rules, r) }

// plainly decides about tools of a group whatever their arguments.
func (w *writer) plainly(g ir.Group, tools []string, d ir.Decision, late bool) {
	switch {
	case d == ir.Agent:
	case late:
		w.add(rule{tools: tools, decision: d, rank: w.lateRank(g)})
	default:
		w.add(rule{tools: tools, decision: d, rank: w.rank(d)})
	}
}

// loss warns that a subject may do less in a group than the source says.
func (w *writer) loss(g ir.Group, code diag.Code, at diag.Pos, message string, args ...any) diag.Builder {
	return w.diags.Warnf(code, w.place(at), message, args...).
		Target(name).
		Subject(w.ref.String()).
		Loses(diag.Narrowing, string(g))
}

// decided returns what a result of the source means to Gemini CLI.
func decided(r policy.Result) ir.Decision { return contract.Decision(gemini{}, &r) }

func decidedOn(s *policy.Subject, a policy.Action) ir.Decision { return decided(s.Decide(a)) }

// commands compiles the group command.
func (w *writer) commands() {
	g := commandLines
	g.list = w.listCommand
	w.lists(&g)
}

// reads compiles the group read. What searches below folders cannot be held to a list.
func (w *writer) reads() {
	s := w.lists(&readPaths)
	w.plainly(ir.Read, format.Searches, s.rest, s.late)
	if s.rest > ir.Deny && s.rest < ir.Agent && !s.plain() {
		w.diags.Notef(codeSearch, w.pos,
			"grep_search and glob look below folders: they show what %s may not read", w.ref).
			Hint("list such files in .geminiignore").
			Target(name).
			Subject(w.ref.String())
	}
}

// rankMCP returns the rank of what is said of a server's tools, by what is more and less particular.
func (w *writer) rankMCP(level rank, server string, r *policy.Result, d ir.Decision) rank {
	switch _, late := w.split(r, ir.MCP); {
	case late:
		return w.lateRank(ir.MCP) + (level-everyServer)/10
	case w.off(server, r):
		return serverOff
	}
	return level.below(d)
}

// off reports whether a result only says that a server is off by default: in a role in a mode the other half may open
// it.
func (e *emitter) off(server string, r *policy.Result) bool {
	sv := e.in.Project.Server(server)
	return sv != nil && !sv.DefaultEnabled && r.Decision == ir.Deny && r.Pos == sv.Pos
}

// gives reports whether a result may give way to what the other half of a role in a mode states.
func (e *emitter) gives(server string, r *policy.Result) bool {
	return r.Decision == ir.Agent || r.Quiet() || e.off(server, r)
}

// servers compiles the group mcp.
func (w *writer) servers() {
	elsewhere := policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool}
	unlisted := w.subject.Decide(elsewhere)
	if !w.in.Project.ClosedInventory {
		if lowered := lower(w.subject, elsewhere.Server, &unlisted); lowered != nil {
			w.loss(ir.MCP, codeUnlisted, lowered.Pos, "Gemini CLI has no patterns of tool names: %s decides about "+
				"every tool of the servers that the inventory does not have", lowered.Pattern).
				Hint("list all servers with their tools, and write inventory = \"closed\" in modec.toml")
		}
	}
	least, late := ir.Agent, true
	resource := func(server, arg string) {
		r := w.subject.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: arg, Kind: policy.Resource})
		least = min(least, decided(r))
		_, gives := w.split(&r, ir.MCP)
		late = late && (gives || w.off(server, &r))
	}
	for i := range w.in.Project.Servers {
		w.server(&w.in.Project.Servers[i], &unlisted)
		resource(w.in.Project.Servers[i].Name, "x")
	}
	resource(elsewhere.Server, elsewhere.Arg)
	if d := decided(unlisted); d != ir.Agent {
		w.add(rule{tools: []string{format.EveryMCP}, decision: d, rank: w.rankMCP(everyServer, "", &unlisted, d)})
	}
	w.plainly(ir.MCP, format.Resources, least, late)
}

// server compiles what a subject may do with one server.
func (w *writer) server(sv *ir.Server, unlisted *policy.Result) {
	of := w.subject.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool})
	rest, lowered := restOf(w.subject, sv, &of)
	if lowered != nil {
		w.loss(ir.MCP, codeUnlisted, lowered.Pos, "Gemini CLI has no patterns of tool names: %s decides "+
			"about every tool of %q that the inventory does not list", lowered.Pattern, sv.Name).
			Hintf("list the server's tools: `modec inventory %s --update`", sv.Name)
	}
	type kind struct {
		decision ir.Decision
		rank     rank
	}
	said := rest != ir.Agent || decided(*unlisted) != ir.Agent
	every := w.rankMCP(oneServer, sv.Name, &of, rest)
	by := map[kind][]string{}
	add := func(tool string, level rank, r *policy.Result, d ir.Decision) {
		k := kind{d, w.rankMCP(level, sv.Name, r, d)}
		switch {
		case d == ir.Agent: // as Gemini CLI does, where the mode or the role says nothing of it
			k = kind{ir.Ask, askedOfOne}
		case level == oneTool && said && d < rest && k.rank < every: // what gives way does not to its own server
			k.rank = oneTool.below(d)
		}
		by[k] = append(by[k], tool)
	}
	for _, t := range w.named(sv) {
		r := w.subject.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
		d := decided(r)
		if w.isDistinct(sv.Name, t.Name) && !w.off(sv.Name, &r) && (d != ir.Agent || said) {
			add(t.Name, oneTool, &r, d)
		}
	}
	if said {
		add(format.Every, oneServer, &of, rest)
	}
	kinds := slices.SortedFunc(maps.Keys(by), func(a, b kind) int {
		return cmp.Or(int(b.rank-a.rank), int(a.decision)-int(b.decision))
	})
	for _, k := range kinds {
		w.add(rule{tools: by[k], server: sv.Name, decision: k.decision, rank: k.rank})
	}
}

// restOf returns what is decided about the tools of a server that the inventory does not list, and the rule that
// lowers it where Gemini CLI has no such rule.
func restOf(s *policy.Subject, sv *ir.Server, of *policy.Result) (rest ir.Decision, lowered *ir.Rule) {
	if !s.ListsTools(sv) {
		lowered = lower(s, sv.Name, of)
	}
	return decided(*of), lowered
}

// lower makes what is decided about tools that nobody lists the least that a rule decides about some of them, and
// returns that rule.
func lower(s *policy.Subject, server string, of *policy.Result) (lowered *ir.Rule) {
	for _, r := range s.UnlistedToolRules(server) {
		if r.Decision < min(decided(*of), ir.Allow) { // an allow holds nothing back
			lowered = &r
			*of = policy.Result{Decision: r.Decision, Pos: r.Pos}
		}
	}
	return lowered
}

// named returns the tools of a server that the inventory lists, and those that some subject permits by name: what one
// says of such a tool stands before what another says of its server.
func (e *emitter) named(sv *ir.Server) []ir.Tool {
	if tools, ok := e.byServer[sv.Name]; ok {
		return tools
	}
	tools := slices.Clone(sv.Tools)
	for _, ref := range e.in.Project.Subjects() {
		s, err := e.in.Policy.Subject(ref)
		if err != nil {
			continue // whoever compiles it says so
		}
		for _, t := range s.NamedTools(sv) {
			if !slices.ContainsFunc(tools, func(x ir.Tool) bool { return x.Name == t.Name }) {
				tools = append(tools, t)
			}
		}
	}
	if e.byServer == nil {
		e.byServer = map[string][]ir.Tool{}
	}
	e.byServer[sv.Name] = tools
	return tools
}

// isDistinct reports whether some subject says otherwise about a tool than about the tools of its server that the
// inventory does not list. What is said of a server does not hold for such a tool: each subject names it.
func (e *emitter) isDistinct(server, tool string) bool {
	if e.distinct == nil {
		e.distinct = map[toolOf]bool{}
		for _, ref := range e.in.Project.Subjects() {
			s, err := e.in.Policy.Subject(ref)
			if err != nil {
				continue // whoever compiles it says so
			}
			for i := range e.in.Project.Servers {
				sv := &e.in.Project.Servers[i]
				of := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool})
				rest, _ := restOf(s, sv, &of)
				for _, t := range e.named(sv) {
					r := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
					if decided(r) != rest || e.gives(sv.Name, &r) != e.gives(sv.Name, &of) {
						e.distinct[toolOf{sv.Name, t.Name}] = true
					}
				}
			}
		}
	}
	return e.distinct[toolOf{server, tool}]
}

// invoked compiles the group modes.
func (w *writer) invoked() {
	unlisted := w.subject.Decide(policy.Action{Group: ir.Modes, Arg: contract.UnknownMode})
	rest := decided(unlisted)
	by := map[ir.Decision][]string{}
	for _, slug := range w.in.Project.ModeNames() {
		d := decidedOn(w.subject, policy.Action{Group: ir.Modes, Arg: slug})
		if d == rest || d == ir.Agent {
			continue
		}
		slug = w.agentOf(slug)
		if said := d < ir.Allow || format.AgentName(slug); said && !slices.Contains(by[d], slug) {
			by[d] = append(by[d], slug)
		}
	}
	for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
		for _, part := range chunks(by[d], mostParts(1)) {
			w.add(rule{tools: []string{format.Invoke}, expr: format.Key(format.AgentArg) + either(part) + format.End,
				decision: d, rank: oneAgent})
		}
	}
	if rest != ir.Agent {
		w.add(rule{tools: []string{format.Invoke}, decision: rest, rank: everyAgent})
	}
	_, late := w.split(&unlisted, ir.Modes)
	w.plainly(ir.Modes, []string{format.Skill}, rest, late)
}

// others compiles what is decided about tools that belong to no group. What a subject leaves to the agent
// is then said as Gemini CLI has it by itself.
func (w *writer) others() {
	of := w.subject.UnknownTool()
	unknown, inside := decided(of), false
	if unknown == ir.Agent {
		if w.mode == nil || w.can.Unknown == nil {
			return
		}
		unknown, inside = ir.Ask, true // as Gemini CLI does, whatever the role leaves to its permission mode
	}
	level := byDefault
	if w.can.Unknown != nil { // else it gives way to what the other half of a role in a mode writes
		level = byDefaultSaid
	}
	w.add(rule{tools: []string{format.Every}, decision: unknown, rank: level.below(unknown), inside: inside})
	w.add(rule{tools: format.Harmless, decision: ir.Allow, rank: harmless, inside: inside})
	w.itself(itself, inside, func(tool string) bool {
		return !slices.ContainsFunc(w.rules, func(r rule) bool {
			return r.server == "" && r.expr == "" && (inside || !r.inside) && slices.Contains(r.tools, tool)
		})
	})
}

// itself writes what Gemini CLI does by itself with some tools.
func (w *writer) itself(at rank, inside bool, has func(tool string) bool) {
	for _, d := range []ir.Decision{ir.Ask, ir.Allow} {
		var tools []string
		for _, own := range byItself {
			if own.decision == d && has(own.tool) {
				tools = append(tools, own.tool)
			}
		}
		if len(tools) > 0 {
			w.add(rule{tools: tools, decision: d, rank: at, inside: inside})
		}
	}
}

// left writes what Gemini CLI does by itself in groups of which a mode leaves something to it, for an agent in sessions
// whose permission mode would decide.
func (w *writer) left() {
	if w.mode == nil {
		return
	}
	of := map[string]bool{}
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.MCP, ir.Modes} {
		if r := w.subject.Default(g); r.Decision == ir.Agent && w.states(g) && w.leastUnsaid(g) < ir.Agent {
			for _, tool := range toolsOf[g] {
				of[tool] = true
			}
		}
	}
	const inside = true // the agent's session alone
	w.itself(byGemini, inside, func(tool string) bool { return of[tool] })
}

// toolsOf are the tools of groups.
var toolsOf = map[ir.Group][]string{
	ir.Read: append([]string{format.ReadFile}, format.Searches...), ir.Edit: format.Edits, ir.Command: {format.Shell},
	ir.Web: {format.WebFetch, format.WebSearch}, ir.MCP: append([]string{format.EveryMCP}, format.Resources...),
	ir.Modes: {format.Skill},
}

// leastUnsaid returns the lowest that the permission mode of some role decides in a group, or the project's unsaid.
func (e *emitter) leastUnsaid(g ir.Group) ir.Decision {
	if e.unsaid == nil {
		e.unsaid = map[ir.Group]ir.Decision{}
		for _, g := range ir.Groups {
			e.unsaid[g] = ir.Agent
		}
		for i := range e.in.Project.Roles {
			s, err := e.in.Policy.Subject(ir.SubjectRef{Role: e.in.Project.Roles[i].Name})
			if err != nil {
				continue // whoever compiles it says so
			}
			for _, g := range ir.Groups {
				if r := s.Default(g); r.Decision == ir.Agent || r.Quiet() {
					e.unsaid[g] = min(e.unsaid[g], decided(r))
				}
			}
		}
	}
	return e.unsaid[g]
}

// byItself is what Gemini CLI does with its tools where no rule says more.
var byItself = []struct {
	tool     string
	decision ir.Decision
}{
	{format.ReadFile, ir.Allow}, {"glob", ir.Allow}, {"grep_search", ir.Allow}, {"list_directory", ir.Allow},
	{readMany, ir.Ask}, {"replace", ir.Ask}, {"write_file", ir.Ask}, {format.Shell, ir.Ask}, {format.WebFetch, ir.Ask},
	{format.WebSearch, ir.Allow}, {format.EveryMCP, ir.Ask}, {"list_mcp_resources", ir.Allow},
	{"read_mcp_resource", ir.Allow}, {format.Invoke, ir.Allow}, {format.Skill, ir.Ask},
}
