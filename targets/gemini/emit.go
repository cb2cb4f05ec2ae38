package gemini

import (
	"fmt"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// emitter compiles one project.
type emitter struct {
	in    contract.Input
	files []contract.File
	diags diag.List
}

// writer writes the rules of one subject.
type writer struct {
	*emitter
	ref      ir.SubjectRef
	subject  *policy.Subject
	subagent string // the mode of a role in a mode
	pos      diag.Pos
	rules    []rule
	denies   map[string]bool // what lists deny
	session  *writer         // of a subagent: the session that it works in
}

// Emit compiles a policy for each role and each mode, an agent for each mode, and the settings of
// the project.
func (gemini) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in}
	p := in.Project
	for i := range p.Roles {
		e.role(&p.Roles[i])
	}
	for i := range p.Modes {
		e.mode(&p.Modes[i])
	}
	e.settings()
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	return e.files, e.diags
}

const title = "# What %s may do in Gemini CLI, compiled by modec: edit the source, and run `modec build`.\n" +
	"# Start it as `gemini --policy %s --admin-policy %[2]s`.\n"

// role writes the policy of a role, with that of each mode that it may enter.
func (e *emitter) role(r *ir.Role) {
	ref := ir.SubjectRef{Role: r.Name}
	w, ok := e.compile(ref, r.Pos, "", nil)
	if !ok {
		return
	}
	e.extras(r.Extra, nil)
	e.texts(r)
	rules := w.rules
	var denied map[string]bool // by the role itself; nil: no mode has been looked at
	for i := range e.in.Project.Modes {
		m := &e.in.Project.Modes[i]
		own := agentName(m)
		if r.Modes != nil && !slices.Contains(*r.Modes, m.Slug) || !format.AgentName(own) || e.listed(m) {
			continue
		}
		if in, ok := e.compile(ir.SubjectRef{Role: r.Name, Mode: m.Slug}, r.Pos, own, w); ok {
			if denied == nil {
				denied = hoisted(rules)
			}
			rules = append(rules, slices.DeleteFunc(in.rules, func(r rule) bool { return denied[r.denial()] })...)
		}
	}
	e.policy(ref, rules)
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

// hoisted puts what lists of a session deny above all else, and returns it: it need not be said again of a subagent.
func hoisted(rules []rule) map[string]bool {
	said := map[string]bool{}
	for i := range rules {
		if r := &rules[i]; r.denial() != "" {
			said[r.denial()] = true
			r.rank = always
		}
	}
	return said
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
		restricts := func(r ir.Rule) bool { return !(holds && r.DeniesAll()) && r.Pos.File != ir.GuardsFile }
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

func (e *emitter) policy(ref ir.SubjectRef, rules []rule) {
	if len(rules) == 0 {
		return
	}
	file := format.PolicyFile(ref)
	for i := range rules {
		if expr := rules[i].expr; expr != "" && !format.Safe(expr) {
			e.diags.Errorf(codeExpression, diag.Pos{}, "an expression of %s is longer than Gemini CLI takes", ref).
				Hint("write shorter lists").
				Target(name)
			return
		}
	}
	e.files = append(e.files, contract.File{Path: file,
		Data: text(fmt.Sprintf(title, contract.Comment(ref.String()), contract.ShellQuote(file)), rules)})
}

// compile returns the rules of a subject.
func (e *emitter) compile(ref ir.SubjectRef, at diag.Pos, subagent string, session *writer) (*writer, bool) {
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, diag.Pos{}, "%v", err)
		return nil, false
	}
	w := &writer{emitter: e, ref: ref, subject: s, subagent: subagent, pos: at, denies: map[string]bool{},
		session: session}
	w.lists(&editPaths)
	w.reads()
	w.commands()
	w.web()
	w.servers()
	w.agents()
	w.others()
	return w, true
}

func (w *writer) add(r rule) {
	r.subagent = w.subagent
	w.rules = append(w.rules, r)
}

// loss warns that a subject may do less in a group than the source says. A role in a mode loses nothing
// that one of the two does not.
func (w *writer) loss(g ir.Group, code diag.Code, at diag.Pos, message string, args ...any) diag.Builder {
	to := &w.diags
	if w.subagent != "" {
		to = &diag.List{}
	}
	return to.Warnf(code, w.place(at), message, args...).
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
	sides, ok := w.muted().sides(&g)
	rest := w.rest(ir.Command, sides)
	held := rest != ir.Agent
	if !held && (w.holdsFiles(ir.Edit) || w.holdsFiles(ir.Read)) {
		held = true
		w.add(rule{tools: commandLines.tools, expr: format.Key(format.CommandArg) + `[^\x00]*[<>]`, decision: ir.Deny,
			rank: refused, told: commandLines.told})
	}
	if ok && held && rest > ir.Deny {
		w.loss(ir.Command, codeLine, w.subject.Default(ir.Command).Pos,
			"no expression judges the file behind a redirect: lines with one are refused").
			Hint("have the agent write files by its own tools").
			Needless()
	}
}

// holdsFiles reports whether a group of paths holds anything back.
func (w *writer) holdsFiles(g ir.Group) bool {
	if decidedOn(w.subject, policy.Action{Group: g, Arg: "/modec-unlisted"}) < ir.Allow { // outside of the project
		return true
	}
	for _, s := range w.stated(g) {
		if s.Restricts(g) || decided(s.Default(g)) < ir.Allow || decided(s.Outside(g)) < ir.Allow {
			return true
		}
	}
	return false
}

// reads compiles the group read. What searches below folders cannot be held to a list.
func (w *writer) reads() {
	w.lists(&readPaths)
	sides, ok := w.muted().sides(&readPaths)
	rest := w.rest(ir.Read, sides)
	if !ok {
		rest = ir.Deny
	}
	if rest == ir.Agent {
		return
	}
	w.add(rule{tools: format.Searches, decision: rest, rank: byGroup})
	if rest > ir.Deny && restricted(sides) && w.subagent == "" {
		w.diags.Notef(codeSearch, w.pos,
			"grep_search and glob look below folders: they show what %s may not read", w.ref).
			Hint("list such files in .geminiignore").
			Target(name).
			Subject(w.ref.String())
	}
}

// muted returns a writer that reports nothing.
func (w *writer) muted() *writer {
	m := *w
	m.emitter = &emitter{in: w.in}
	return &m
}

// servers compiles the group mcp.
func (w *writer) servers() {
	elsewhere := policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool}
	unlisted := decidedOn(w.subject, elsewhere)
	resources := ir.Agent
	for i := range w.in.Project.Servers {
		sv := &w.in.Project.Servers[i]
		w.server(sv, unlisted)
		resources = min(resources, decidedOn(w.subject, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: "x",
			Kind: policy.Resource}))
	}
	elsewhere.Kind = policy.Resource
	resources = min(resources, decidedOn(w.subject, elsewhere))
	if unlisted != ir.Agent {
		w.add(rule{tools: []string{format.EveryMCP}, decision: unlisted, rank: byGroup})
	}
	if resources != ir.Agent {
		w.add(rule{tools: format.Resources, decision: resources, rank: byGroup})
	}
}

// server compiles what a subject may do with one server.
func (w *writer) server(sv *ir.Server, unlisted ir.Decision) {
	rest := decidedOn(w.subject, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool})
	if !w.subject.ListsTools(sv) {
		for _, r := range w.subject.UnlistedToolRules(sv.Name) {
			if r.Decision < min(rest, ir.Allow) { // an allow holds nothing back
				w.loss(ir.MCP, codeUnlisted, r.Pos, "Gemini CLI has no patterns of tool names: %s decides "+
					"about every tool of %q that the inventory does not list", r.Pattern, sv.Name).
					Hintf("list the server's tools: `modec inventory %s --update`", sv.Name)
				rest = r.Decision
			}
		}
	}
	by := map[ir.Decision][]string{}
	for _, t := range sv.Tools {
		d := decidedOn(w.subject, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
		if d == ir.Agent && (rest != ir.Agent || unlisted != ir.Agent) {
			d = ir.Ask // as Gemini CLI does
		}
		if d != ir.Agent && d != rest {
			by[d] = append(by[d], t.Name)
		}
	}
	for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
		if len(by[d]) > 0 {
			w.add(rule{tools: by[d], server: sv.Name, decision: d, rank: permitted})
		}
	}
	if rest == ir.Agent && unlisted != ir.Agent {
		rest = ir.Ask
	}
	if rest != ir.Agent {
		w.add(rule{tools: []string{format.Every}, server: sv.Name, decision: rest, rank: byGroup + 1})
	}
}

// agents compiles the group modes.
func (w *writer) agents() {
	rest := decidedOn(w.subject, policy.Action{Group: ir.Modes, Arg: contract.UnknownMode})
	by := map[ir.Decision][]string{}
	for _, slug := range w.in.Project.ModeNames() {
		d := decidedOn(w.subject, policy.Action{Group: ir.Modes, Arg: slug})
		slug = w.agentOf(slug)
		if d != rest && d != ir.Agent && format.AgentName(slug) && !slices.Contains(by[d], slug) {
			by[d] = append(by[d], slug)
		}
	}
	for _, d := range []ir.Decision{ir.Deny, ir.Ask, ir.Allow} {
		for _, part := range chunks(by[d], mostParts("", 1)) {
			w.add(rule{tools: []string{format.Invoke}, expr: format.Key(format.AgentArg) + either(part) + format.End,
				decision: d, rank: permitted})
		}
	}
	if rest != ir.Agent {
		w.add(rule{tools: []string{format.Invoke, format.Skill}, decision: rest, rank: byAgent})
	}
}

// others compiles what is decided about tools that belong to no group. What a subject leaves to the agent
// is then said as Gemini CLI has it by itself.
func (w *writer) others() {
	unknown := decided(w.subject.UnknownTool())
	if unknown == ir.Agent {
		if w.subagent == "" {
			return
		}
		unknown = ir.Ask // as Gemini CLI does, whatever the session may do
	}
	w.add(rule{tools: []string{format.Every}, decision: unknown, rank: byDefault})
	w.add(rule{tools: format.Harmless, decision: ir.Allow, rank: byGroup})
	for _, d := range []ir.Decision{ir.Ask, ir.Allow} {
		var tools []string
		for _, own := range byItself {
			if own.decision == d && !slices.ContainsFunc(w.rules, func(r rule) bool {
				ofGroup := r.rank == byGroup || r.rank == byAgent
				return r.server == "" && r.expr == "" && ofGroup && slices.Contains(r.tools, own.tool)
			}) {
				tools = append(tools, own.tool)
			}
		}
		if len(tools) > 0 {
			w.add(rule{tools: tools, decision: d, rank: byDefault + 1})
		}
	}
}

// byItself is what Gemini CLI does with its tools where no rule says more.
var byItself = []struct {
	tool     string
	decision ir.Decision
}{
	{format.ReadFile, ir.Allow}, {"glob", ir.Allow}, {"grep_search", ir.Allow}, {"list_directory", ir.Allow},
	{"replace", ir.Ask}, {"write_file", ir.Ask}, {format.Shell, ir.Ask}, {format.WebFetch, ir.Ask},
	{format.WebSearch, ir.Allow}, {format.EveryMCP, ir.Ask}, {"list_mcp_resources", ir.Allow},
	{"read_mcp_resource", ir.Allow}, {format.Invoke, ir.Allow}, {format.Skill, ir.Ask},
}
