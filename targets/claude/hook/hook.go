// Package hook answers for modec when Claude Code asks before it runs a tool.
//
// [Answer] answers the payload of a PreToolUse hook, as `modec hook claude` does.
// [Judge] decides one call without a payload. [Group] returns what a built-in tool does.
//
// The package promises that a payload which it does not understand is refused: a call
// without a readable input, a tool with the name of no server, a subject that the policy
// does not have.
package hook

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// payload is what Claude Code sends to a PreToolUse hook. Other fields are ignored: the
// agent adds to them between versions.
type payload struct {
	Event     string         `json:"hook_event_name"`
	Mode      string         `json:"permission_mode"`
	Cwd       string         `json:"cwd"`
	Tool      string         `json:"tool_name"`
	ToolInput map[string]any `json:"tool_input"`
	// Agent is the subagent that the session runs as. Observed on 2.1.329 with --agent.
	Agent string `json:"agent_type"`
	// Timestamp is there where it is not Claude Code that asks.
	Timestamp json.RawMessage `json:"timestamp"`
}

// copilot reports whether GitHub's Copilot CLI asks: in a folder that its user trusts it runs the hooks of Claude
// Code's settings, too, and names the tools as Claude Code does. Observed on 1.0.102.
func (p *payload) copilot() bool { return p.Mode == "" && len(p.Timestamp) > 0 }

// asClaudes are the inputs that Copilot calls otherwise.
var asClaudes = map[ir.Group]struct{ copilots, claudes string }{
	ir.Read:  {"path", "file_path"},
	ir.Edit:  {"path", "file_path"},
	ir.Modes: {"agent_type", "subagent_type"},
}

// rename gives an input of Copilot's the name that Claude Code has for it. One that Copilot does not read says nothing.
func (p *payload) rename() {
	if of, ok := asClaudes[toolActions[p.Tool].group]; ok {
		p.ToolInput = maps.Clone(p.ToolInput)
		delete(p.ToolInput, of.claudes)
		if value, there := p.ToolInput[of.copilots]; there {
			p.ToolInput[of.claudes] = value
		}
	}
}

// opinion is what the policy says of a call.
type opinion struct {
	policy.Result
	none bool // the tool touches nothing
	// abstain means that an allow must not be answered: the agent's own rules decide.
	abstain bool
}

// toolAction is what a built-in tool does.
type toolAction struct {
	group ir.Group // "" for a tool that touches nothing
	judge func(*question) opinion
}

// toolActions contains every built-in tool of Claude Code 2.1.330: those of its reference
// (https://code.claude.com/docs/en/tools-reference) and those that it offered to a model in
// e2e/tools.test.mjs. What a tool does was judged by the description that it comes with. A
// tool that is neither here nor an MCP tool is unknown.
var toolActions = withHarmless(map[string]toolAction{
	"Read":                 {ir.Read, fileAction(ir.Read, "file_path")},
	"NotebookRead":         {ir.Read, fileAction(ir.Read, "notebook_path")},
	"LSP":                  {ir.Read, searchAction("", "filePath", "file_path", "path")},
	"Glob":                 {ir.Read, searchAction("pattern", "path")},
	"Grep":                 {ir.Read, searchAction("glob", "path")},
	"LS":                   {ir.Read, searchAction("", "path")},
	"Edit":                 {ir.Edit, fileAction(ir.Edit, "file_path")},
	"MultiEdit":            {ir.Edit, fileAction(ir.Edit, "file_path")},
	"Write":                {ir.Edit, fileAction(ir.Edit, "file_path")},
	"NotebookEdit":         {ir.Edit, fileAction(ir.Edit, "notebook_path")},
	"Bash":                 {ir.Command, bashAction},
	"Monitor":              {ir.Command, bashAction},
	"PowerShell":           {ir.Command, powerShellAction},
	"WebFetch":             {ir.Web, fetchAction},
	"WebSearch":            {ir.Web, searchWebAction},
	"Agent":                {ir.Modes, agentAction},
	"Task":                 {ir.Modes, agentAction},
	"Skill":                {ir.Modes, slugAction("skill", "command")},
	"SendMessage":          {ir.Modes, messageAction},
	"Workflow":             {ir.Modes, workflowAction},
	"ListMcpResourcesTool": {ir.MCP, resourceAction},
	"ReadMcpResourceTool":  {ir.MCP, resourceAction},
	// They begin work without a person (at a time of their own), leave the working directory
	// for one that git makes, or send something out: no group is about that.
	"Artifact":             {ir.Unknown, unknownAction},
	"CronCreate":           {ir.Unknown, unknownAction},
	"DesignSync":           {ir.Unknown, unknownAction},
	"EnterWorktree":        {ir.Unknown, unknownAction},
	"ExitWorktree":         {ir.Unknown, unknownAction},
	"PushNotification":     {ir.Unknown, unknownAction},
	"RemoteTrigger":        {ir.Unknown, unknownAction},
	"ScheduleWakeup":       {ir.Unknown, unknownAction},
	"SendUserFile":         {ir.Unknown, unknownAction},
	"ShareOnboardingGuide": {ir.Unknown, unknownAction},
})

// withHarmless adds the tools that touch nothing, which the importer knows too.
func withHarmless(actions map[string]toolAction) map[string]toolAction {
	for _, name := range format.HarmlessTools {
		actions[name] = toolAction{"", noAction}
	}
	return actions
}

// Group returns the tool group of a built-in tool, "" for one that touches nothing. It
// reports false for a tool of no group: one that Claude Code does not have, and one that
// can.unknown decides.
func Group(tool string) (ir.Group, bool) {
	a, ok := toolActions[tool]
	return a.group, ok && a.group != ir.Unknown
}

// Tools lists the tools in the table, sorted.
func Tools() []string { return slices.Sorted(maps.Keys(toolActions)) }

// Judge decides a call of a tool in the project's folder. The input is as Claude Code
// writes it. A search that may meet what the subject may not read is an ask at most: the
// hook leaves it to Claude Code's own rules.
func Judge(req contract.HookRequest, tool string, input map[string]any) (policy.Result, error) {
	q := question{HookRequest: req, payload: payload{Cwd: req.Root, Tool: tool, ToolInput: input}, disk: req.Disk()}
	var err error
	if q.subject, err = req.Policy.Subject(req.Subject); err != nil {
		return policy.Result{}, err
	}
	o := q.opinion()
	switch {
	case o.none:
		o.Result = policy.Result{Decision: ir.Allow, Rule: nothing}
	case o.abstain && o.Decision == ir.Allow:
		o.Decision, o.Rule = ir.Ask, o.Rule+", and some of what is below may not be read"
	}
	return o.Result, nil
}

// question is a payload with what is needed to answer it.
type question struct {
	contract.HookRequest
	payload
	subject *policy.Subject
	disk    *contract.Disk
}

// Answer answers a PreToolUse payload: one JSON object and exit code 0, or a refusal.
func Answer(req contract.HookRequest) contract.HookAnswer {
	q := question{HookRequest: req, disk: req.Disk()}
	if err := contract.ReadPayload(req.Payload, &q.payload); err != nil {
		return contract.Refuse("the payload is not a JSON object of Claude Code: " + err.Error())
	}
	if q.Event != "PreToolUse" || q.Tool == "" || q.ToolInput == nil {
		return contract.Refuse(fmt.Sprintf(
			"got the event %q for the tool %q, want PreToolUse with a tool and its input", q.Event, q.Tool))
	}
	if q.copilot() { // whose own questions an allow would take away
		q.rename()
		req.MayAllow = false
	}
	s, err := req.Policy.Subject(req.Subject)
	if err != nil {
		return contract.Refuse(err.Error())
	}
	q.subject = s
	q.enterWorktree()
	o := q.opinion()
	if pair, ok := q.inMode(); ok && pair.Decision < min(o.Decision, ir.Allow) {
		o = pair
	}
	judged := q.judged(&o)
	switch {
	case o.none,
		o.Decision == ir.Agent,
		o.Decision == ir.Allow && (o.abstain || !req.MayAllow || q.Mode == format.Plan):
		return contract.NoOpinion().With(judged, ir.Agent)
	}
	if o.Decision == ir.Ask && q.Mode == format.DontAsk { // Claude Code would ask a person in this mode too
		o.Result = policy.Result{Rule: o.Explanation() + ", and dontAsk asks about nothing", Pos: o.Pos}
	}
	return answer(req.Subject, q.Tool, o.Result).With(judged, o.Decision)
}

// judged returns the call for the record.
func (q *question) judged(o *opinion) *contract.Judgement {
	j := &contract.Judgement{Tool: q.Tool, Group: toolActions[q.Tool].group, Input: q.ToolInput, Result: o.Result}
	rest, mcp := strings.CutPrefix(q.Tool, "mcp__")
	switch {
	case o.none:
		j.Result = policy.Result{Decision: ir.Allow, Rule: nothing}
	case mcp:
		j.Group = ir.MCP
		name, _, _ := strings.Cut(rest, "__")
		j.Server = q.server(name)
	case j.Group == "":
		j.Group = ir.Unknown
	}
	if mode := q.mode(q.Agent); q.Policy.Project().Mode(mode) != nil {
		j.Mode = mode
	}
	j.About = func() string { return q.about(j) }
	return j
}

// about returns what the call is about, as a rule would name it; "" where it is about several things, or about none
// that a rule can name.
func (q *question) about(j *contract.Judgement) string {
	switch j.Group {
	case ir.MCP:
		_, name, _ := strings.Cut(strings.TrimPrefix(q.Tool, "mcp__"), "__")
		if sv := q.Policy.Project().Server(j.Server); sv != nil {
			if tools := q.toolsNamed(sv, name); len(tools) == 1 {
				return tools[0]
			}
		}
	case ir.Read, ir.Edit:
		if file, ok := q.text("file_path", "notebook_path"); ok && file != "" {
			return q.disk.Own(q.Cwd, file)
		}
	case ir.Command:
		if line, ok := q.text("command"); ok && q.Tool != "PowerShell" {
			return line
		}
	case ir.Web:
		raw, _ := q.text("url")
		host, _ := contract.WebHost(raw)
		return host
	case ir.Modes:
		if name, ok := q.text("subagent_type"); ok {
			return q.mode(name)
		}
	}
	return ""
}

// nothing is the rule of a tool that no rule is about.
const nothing = "a tool that touches nothing"

// enterWorktree takes the work tree of git for the project where the session is in one. The
// project of the main work tree stays guarded. The tool EnterWorktree goes there in a session,
// and `claude --worktree` begins in one.
func (q *question) enterWorktree() {
	if q.Worktree == nil || !filepath.IsAbs(q.Cwd) {
		return
	}
	if root, ok := q.Worktree(q.Cwd); ok && root != q.Root {
		q.disk.Main, q.disk.Root = q.Root, root
	}
}

// inMode returns what the policy says of a role in the mode that the session runs as. It
// reports false where the session runs as none that the policy has.
func (q *question) inMode() (opinion, bool) {
	ref := ir.SubjectRef{Role: q.Subject.Role, Mode: q.mode(q.Agent)}
	if ref.Role == "" || q.Subject.Mode != "" || q.Policy.Project().Mode(ref.Mode) == nil {
		return opinion{}, false
	}
	s, err := q.Policy.Subject(ref)
	if err != nil {
		return denied(err.Error()), true
	}
	pair := *q
	pair.subject = s
	o := pair.opinion()
	return o, !o.none
}

// mode returns the slug of the mode that has a subagent's name, or the name where no mode has it.
func (q *question) mode(name string) string {
	if slug := contract.Slug(name); q.Policy.Project().Mode(slug) != nil {
		return slug
	}
	return name
}

func answer(ref ir.SubjectRef, tool string, r policy.Result) contract.HookAnswer {
	reason := "modec: " + ref.String()
	switch r.Decision {
	case ir.Ask:
		reason += " asks first about " + tool
	case ir.Allow:
		reason += " may use " + tool
	default:
		reason += " may not use " + tool + " here"
	}
	reason += ", by " + r.Explanation()
	if p := r.Pos.String(); p != "" {
		reason += " (" + p + ")"
	}
	b, _ := json.Marshal(map[string]any{"hookSpecificOutput": map[string]string{"hookEventName": "PreToolUse",
		"permissionDecision": r.Decision.String(), "permissionDecisionReason": reason}}) // texts alone
	return contract.HookAnswer{Stdout: append(b, '\n')}
}

func (q *question) opinion() opinion {
	if a, ok := toolActions[q.Tool]; ok {
		return a.judge(q)
	}
	if rest, ok := strings.CutPrefix(q.Tool, "mcp__"); ok {
		return q.mcp(rest)
	}
	return unknownAction(q)
}

// text returns the first of the named inputs that is there. It reports false for an
// input that is not a text: the call is then refused.
func (q *question) text(names ...string) (string, bool) {
	for _, n := range names {
		if v, ok := q.ToolInput[n]; ok {
			s, ok := v.(string)
			return s, ok
		}
	}
	return "", false
}

func denied(why string) opinion {
	return opinion{Result: policy.Result{Decision: ir.Deny, Rule: why}}
}

func missing(name string) opinion { return denied("a call without a readable " + name) }

func noAction(*question) opinion { return opinion{none: true} }

func fileAction(g ir.Group, name string) func(*question) opinion {
	return func(q *question) opinion {
		p, ok := q.text(name)
		if !ok || p == "" {
			return missing(name)
		}
		return opinion{Result: q.file(g, p)}
	}
}

// searchAction judges a search below a folder, by default the working directory, and below the
// folders outside of it at which its glob begins. It may meet paths that the subject may not
// read. The agent's own rules leave those out, so that they decide instead of an allow.
func searchAction(glob string, names ...string) func(*question) opinion {
	return func(q *question) opinion {
		p, ok := q.text(names...)
		if !ok || p == "" {
			p = "."
		}
		o := opinion{Result: q.file(ir.Read, p)}
		pattern, _ := q.text(glob)
		for _, folder := range contract.FoldersOf(pattern) {
			if !filepath.IsAbs(folder) && !policy.IsRooted(folder) {
				folder = p + "/" + folder
			}
			if r := q.file(ir.Read, folder); r.Decision < o.Decision {
				o.Result = r
			}
		}
		o.abstain = q.subject.Restricts(ir.Read)
		return o
	}
}

// file decides a path.
func (q *question) file(g ir.Group, p string) policy.Result {
	return q.disk.Decide(q.subject, policy.Action{Group: g, Arg: p}, q.Cwd)
}

func bashAction(q *question) opinion {
	line, ok := q.text("command")
	if !ok || line == "" {
		return missing("command")
	}
	if policy.NeedsPerson(line) {
		return denied(contract.NeedsPerson)
	}
	r := q.disk.Decide(q.subject, policy.Action{Group: ir.Command, Arg: line}, q.Cwd)
	if q.disk.Main != "" && r.Decision == ir.Allow && q.subject.Outside(ir.Edit).Decision == ir.Allow {
		r = policy.Result{Decision: ir.Ask, Rule: "a command that may write to the main work tree", Pos: r.Pos}
	}
	return opinion{Result: r}
}

// powerShellAction judges a line that is not one of a POSIX shell. Patterns do not apply
// to it, and it gets at most an ask.
func powerShellAction(q *question) opinion {
	line, ok := q.text("command")
	switch {
	case !ok:
		return missing("command")
	case policy.NeedsPerson(line):
		return denied(contract.NeedsPerson)
	}
	for _, r := range q.subject.Rules(ir.Command) {
		if r.Decision == ir.Deny {
			o := denied("a PowerShell line, which cannot be checked for " + r.Pattern.String())
			o.Pos = r.Pos
			return o
		}
	}
	d := q.subject.Default(ir.Command)
	if d.Decision == ir.Allow {
		d.Decision = ir.Ask
	}
	return opinion{Result: d}
}

func fetchAction(q *question) opinion {
	raw, ok := q.text("url")
	if !ok || raw == "" {
		return missing("url")
	}
	host, ok := contract.WebHost(raw)
	if !ok {
		return missing("url")
	}
	return opinion{Result: q.subject.Decide(policy.Action{Group: ir.Web, Arg: host})}
}

func searchWebAction(q *question) opinion { return opinion{Result: Search(q.subject)} }

// Search decides a search of the web, which names no host. In a group that is left to Claude Code the
// hosts of a list are about fetching alone, as they are in its own rules.
func Search(s *policy.Subject) policy.Result {
	r := s.Default(ir.Web)
	everything := func(r ir.Rule) bool { return r.Pattern.Everything() }
	if r.Decision == ir.Agent && !slices.ContainsFunc(s.Rules(ir.Web), everything) {
		return r
	}
	return s.Decide(policy.Action{Group: ir.Web, Arg: ""})
}

func slugAction(names ...string) func(*question) opinion {
	return func(q *question) opinion {
		slug, ok := q.text(names...)
		if !ok {
			return missing(names[0])
		}
		return opinion{Result: q.subject.Decide(policy.Action{Group: ir.Modes, Arg: slug})}
	}
}

func agentAction(q *question) opinion {
	name, ok := q.text("subagent_type")
	if !ok {
		return missing("subagent_type")
	}
	return opinion{Result: q.subject.Decide(policy.Action{Group: ir.Modes, Arg: q.mode(name)})}
}

// messageAction judges a message to an agent, which goes by a name that the session gave it: it
// resumes a subagent that has ended, and reaches other sessions on the machine.
func messageAction(q *question) opinion {
	return opinion{Result: q.subject.Decide(policy.Action{Group: ir.Modes, Arg: contract.UnknownMode})}
}

// workflowAction judges a script that starts subagents of any name. Where the subject may not
// start each of them, a person is asked. Observed on 2.1.330: a subagent that a rule denies by
// its name starts in no script, and one that a rule asks about does. What a mode denies is in no
// rule: then no script runs in it.
func workflowAction(q *question) opinion {
	o := messageAction(q)
	names := q.Policy.Project().ModeNames()
	for _, r := range q.subject.Rules(ir.Modes) {
		names = append(names, r.Pattern.Text)
	}
	for _, slug := range names {
		r := q.subject.Decide(policy.Action{Group: ir.Modes, Arg: slug})
		limit := ir.Ask
		if r.Decision == ir.Deny && q.Subject.Mode != "" {
			limit = ir.Deny
		}
		if r.Decision < ir.Allow && o.Decision > limit {
			o.Result, o.Decision = r, limit
		}
	}
	return o
}

func unknownAction(q *question) opinion { return opinion{Result: q.subject.UnknownTool()} }

// server returns the inventory's name of a server from the one that Claude Code writes.
func (q *question) server(name string) string {
	if i := q.serverNamed(name); i >= 0 {
		return q.Policy.Project().Servers[i].Name
	}
	return name
}

// serverNamed finds a server of the inventory by its name in mcp__SERVER__TOOL, -1 for none.
func (q *question) serverNamed(name string) int {
	return slices.IndexFunc(q.Policy.Project().Servers, func(s ir.Server) bool { return rule.Name(s.Name) == name })
}

func resourceAction(q *question) opinion {
	name, ok := q.text("server")
	if !ok {
		return missing("server")
	}
	a := policy.Action{Group: ir.MCP, Kind: policy.Resource, Server: q.server(rule.Name(name)), Arg: "*"}
	return opinion{Result: q.subject.Decide(a)}
}

// mcp decides SERVER__TOOL. A server's name, and a tool's, may contain "__", and two tools may
// have one name here: every reading is decided, and the lowest decision holds.
func (q *question) mcp(rest string) opinion {
	p := q.Policy.Project()
	var lowest *policy.Result
	add := func(r policy.Result) {
		if lowest == nil || r.Decision < lowest.Decision {
			lowest = &r
		}
	}
	sure := false
	for i := range p.Servers {
		sv := &p.Servers[i]
		tool, ok := strings.CutPrefix(rest, rule.Name(sv.Name)+"__")
		if !ok || tool == "" {
			continue
		}
		tools := q.toolsNamed(sv, tool)
		sure = sure || len(tools) > 0 || !strings.Contains(tool, "__")
		if len(tools) == 0 {
			tools = []string{tool}
		}
		for _, t := range tools {
			add(q.subject.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t, Args: q.args()}))
		}
	}
	if !sure { // a server of which the inventory knows a part of the name may be another
		for at := 0; ; at += len("__") {
			i := strings.Index(rest[at:], "__")
			if i < 0 {
				break
			}
			if at += i; q.serverNamed(rest[:at]) < 0 {
				add(q.unlisted(rest[:at], rest[at+len("__"):]))
			}
		}
	}
	if lowest == nil {
		add(q.unlisted(rest, ""))
	}
	return opinion{Result: *lowest}
}

// args returns the arguments of the call of a server's tool, "" where they are not known.
func (q *question) args() string {
	if q.AnyArgs {
		return ""
	}
	return string(contract.JSONLine(q.ToolInput))
}

// toolsNamed returns the tools of a server that have a name in mcp__SERVER__TOOL: of those that the inventory has, and
// that an allow names where it does not have all.
func (q *question) toolsNamed(sv *ir.Server, name string) (tools []string) {
	for i := range sv.Tools {
		tools = append(tools, sv.Tools[i].Name)
	}
	for _, t := range q.subject.KnownTools(sv.Name) {
		if !slices.Contains(tools, t) {
			tools = append(tools, t)
		}
	}
	return slices.DeleteFunc(tools, func(t string) bool { return rule.Name(t) != name })
}

// unlisted decides a tool of a server that the inventory does not have.
func (q *question) unlisted(server, tool string) policy.Result {
	r := q.subject.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool, Args: q.args()})
	if r.Decision == ir.Allow {
		r.Decision = ir.Ask
	}
	if q.Policy.Project().ClosedInventory && q.subject.Default(ir.MCP).Decision == ir.Deny {
		r.Decision = ir.Deny
	}
	return r
}
