package claude

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// payload is what Claude Code sends to a PreToolUse hook. Fields that are not
// needed are ignored: the agent adds to them between versions.
type payload struct {
	Event     string         `json:"hook_event_name"`
	Mode      string         `json:"permission_mode"`
	Cwd       string         `json:"cwd"`
	Tool      string         `json:"tool_name"`
	ToolInput map[string]any `json:"tool_input"`
}

// opinion is what the policy says of a call. abstain says that an allow must
// not be answered: the agent's own rules decide.
type opinion struct {
	policy.Result
	none    bool // the tool touches nothing
	abstain bool
}

// toolAction is what a built-in tool does: the group that it belongs to, "" for one
// that touches nothing, and how a call of it is judged.
type toolAction struct {
	group ir.Group
	judge func(*question) opinion
}

// toolActions maps every built-in tool of Claude Code 2.1.329 to what it does
// (https://code.claude.com/docs/en/tools-reference). A tool that is not here
// and is no MCP tool is unknown.
var toolActions = map[string]toolAction{
	"Read":                 {ir.Read, fileAction(ir.Read, "file_path")},
	"NotebookRead":         {ir.Read, fileAction(ir.Read, "notebook_path")},
	"LSP":                  {ir.Read, searchAction("filePath", "file_path", "path")},
	"Glob":                 {ir.Read, searchAction("path")},
	"Grep":                 {ir.Read, searchAction("path")},
	"LS":                   {ir.Read, searchAction("path")},
	"Edit":                 {ir.Edit, fileAction(ir.Edit, "file_path")},
	"MultiEdit":            {ir.Edit, fileAction(ir.Edit, "file_path")},
	"Write":                {ir.Edit, fileAction(ir.Edit, "file_path")},
	"NotebookEdit":         {ir.Edit, fileAction(ir.Edit, "notebook_path")},
	"Bash":                 {ir.Command, bashAction},
	"Monitor":              {ir.Command, bashAction},
	"PowerShell":           {ir.Command, powerShellAction},
	"WebFetch":             {ir.Web, fetchAction},
	"WebSearch":            {ir.Web, searchWebAction},
	"Agent":                {ir.Modes, slugAction("subagent_type")},
	"Task":                 {ir.Modes, slugAction("subagent_type")},
	"Skill":                {ir.Modes, slugAction("skill", "command")},
	"ListMcpResourcesTool": {ir.MCP, resourceAction},
	"ReadMcpResourceTool":  {ir.MCP, resourceAction},
	"AskUserQuestion":      {"", noAction},
	"EndConversation":      {"", noAction},
	"EnterPlanMode":        {"", noAction},
	"ExitPlanMode":         {"", noAction},
	"ListAgents":           {"", noAction},
	"ReportFindings":       {"", noAction},
	"StructuredOutput":     {"", noAction},
	"TaskCreate":           {"", noAction},
	"TaskGet":              {"", noAction},
	"TaskList":             {"", noAction},
	"TaskOutput":           {"", noAction},
	"TaskStop":             {"", noAction},
	"TaskUpdate":           {"", noAction},
	"TodoWrite":            {"", noAction},
	"ToolSearch":           {"", noAction},
	"WaitForMcpServers":    {"", noAction},
}

// ToolGroup returns the tool group of a built-in tool, "" for one that touches
// nothing; false for a tool that Claude Code does not have.
func ToolGroup(tool string) (ir.Group, bool) {
	a, ok := toolActions[tool]
	return a.group, ok
}

// Judge decides a call of a tool by its input as Claude Code writes it, in the project's
// folder. A search that may meet what the subject may not read is an ask at most: the
// hook leaves it to Claude Code's own rules.
func Judge(req contract.HookRequest, tool string, input map[string]any) (policy.Result, error) {
	q := question{HookRequest: req, payload: payload{Cwd: req.Root, Tool: tool, ToolInput: input}}
	var err error
	if q.subject, err = req.Policy.Subject(req.Subject); err != nil {
		return policy.Result{}, err
	}
	o := q.opinion()
	switch {
	case o.none:
		o.Result = policy.Result{Decision: ir.Allow, Rule: "a tool that touches nothing"}
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
}

// Hook answers a PreToolUse payload: one JSON object and exit code 0, or a
// refusal.
func (claude) Hook(req contract.HookRequest) contract.HookAnswer {
	q := question{HookRequest: req}
	d := json.NewDecoder(bytes.NewReader(req.Payload))
	if err := d.Decode(&q.payload); err != nil {
		return contract.Refuse("the payload is no JSON object of Claude Code: " + err.Error())
	}
	if q.Event != "PreToolUse" || q.Tool == "" || q.ToolInput == nil {
		return contract.Refuse(fmt.Sprintf("got the event %q for the tool %q, want PreToolUse with a tool and its input", q.Event, q.Tool))
	}
	s, err := req.Policy.Subject(req.Subject)
	if err != nil {
		return contract.Refuse(err.Error())
	}
	q.subject = s
	o := q.opinion()
	switch {
	case o.none, o.Decision == ir.Allow && (o.abstain || !req.MayAllow || q.Mode == "plan"):
		return contract.HookAnswer{Stdout: []byte("{}\n")}
	}
	return answer(req.Subject, q.Tool, o.Result)
}

func answer(ref ir.SubjectRef, tool string, r policy.Result) contract.HookAnswer {
	reason := fmt.Sprintf("modec: %s may not use %s here", ref, tool)
	switch r.Decision {
	case ir.Ask:
		reason = fmt.Sprintf("modec: %s asks first about %s", ref, tool)
	case ir.Allow:
		reason = fmt.Sprintf("modec: %s may use %s", ref, tool)
	}
	reason += ", by " + r.Rule
	if p := r.Pos.String(); p != "" {
		reason += " (" + p + ")"
	}
	b, err := json.Marshal(map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName": "PreToolUse", "permissionDecision": r.Decision.String(), "permissionDecisionReason": reason}})
	if err != nil {
		return contract.Refuse(err.Error())
	}
	return contract.HookAnswer{Stdout: append(b, '\n')}
}

func (q *question) opinion() opinion {
	if a, ok := toolActions[q.Tool]; ok {
		return a.judge(q)
	}
	if rest, ok := strings.CutPrefix(q.Tool, "mcp__"); ok {
		return q.mcp(rest)
	}
	return opinion{Result: q.subject.UnknownTool()}
}

// text returns the first of the named inputs that is there. An input that is
// no text is reported as missing: the call is then refused.
func (q *question) text(names ...string) (string, bool) {
	for _, n := range names {
		if v, ok := q.ToolInput[n]; ok {
			s, ok := v.(string)
			return s, ok
		}
	}
	return "", false
}

func missing(name string) opinion {
	return opinion{Result: policy.Result{Decision: ir.Deny, Rule: "a call without a readable " + name}}
}

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

// searchAction judges a search below a folder, the working directory where none
// is named. It may meet paths that the subject may not read: then the agent's
// own rules, which leave those out, decide instead of an allow.
func searchAction(names ...string) func(*question) opinion {
	return func(q *question) opinion {
		p, ok := q.text(names...)
		if !ok || p == "" {
			p = "."
		}
		o := opinion{Result: q.file(ir.Read, p)}
		o.abstain = slices.ContainsFunc(q.subject.Rules(ir.Read), func(r ir.Rule) bool { return r.Decision < ir.Allow })
		return o
	}
}

// file decides a path as written and with its links resolved; the lower holds.
func (q *question) file(g ir.Group, p string) policy.Result {
	abs := p
	switch {
	case filepath.IsAbs(p) && !strings.ContainsRune(p, 0):
	case policy.Elsewhere(p):
		return q.subject.DecideFile(g, p, "")
	default:
		if !filepath.IsAbs(q.Cwd) {
			return policy.Result{Decision: ir.Deny, Rule: "a relative path without a working directory"}
		}
		abs = filepath.Join(q.Cwd, p)
	}
	return contract.DecideAt(q.subject, g, q.Root, abs, q.Resolve)
}

func bashAction(q *question) opinion {
	line, ok := q.text("command")
	if !ok || line == "" {
		return missing("command")
	}
	dir, err := q.Resolve(q.Cwd)
	if err != nil || !filepath.IsAbs(q.Cwd) {
		return opinion{Result: policy.Result{Decision: ir.Deny, Rule: "a working directory that cannot be resolved"}}
	}
	root, err := q.Resolve(q.Root)
	if err != nil {
		return opinion{Result: policy.Result{Decision: ir.Deny, Rule: "a project root that cannot be resolved"}}
	}
	dir = policy.Relative(root, dir)
	r := q.subject.DecideCommand(dir, line)
	if path.IsAbs(dir) && r.Decision > ir.Ask {
		r = policy.Result{Decision: ir.Ask, Rule: "a command outside the project", Pos: r.Pos}
	}
	return opinion{Result: r}
}

// powerShellAction judges a line that is no POSIX shell: no pattern is tried on
// it, and it gets at most an ask.
func powerShellAction(q *question) opinion {
	if _, ok := q.text("command"); !ok {
		return missing("command")
	}
	for _, r := range q.subject.Rules(ir.Command) {
		if r.Decision == ir.Deny {
			return opinion{Result: policy.Result{Decision: ir.Deny, Rule: "a PowerShell line, which cannot be checked for " + r.Pattern.String(), Pos: r.Pos}}
		}
	}
	d := q.subject.Default(ir.Command)
	d.Decision = min(d.Decision, ir.Ask)
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

func searchWebAction(q *question) opinion {
	return opinion{Result: q.subject.Decide(policy.Action{Group: ir.Web, Arg: ""})}
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

// server finds the inventory's server by the name that Claude Code writes.
func (q *question) server(name string) string {
	p := q.Policy.Project()
	for i := range p.Servers {
		if Name(p.Servers[i].Name) == name {
			return p.Servers[i].Name
		}
	}
	return name
}

func resourceAction(q *question) opinion {
	name, ok := q.text("server")
	if !ok {
		return missing("server")
	}
	return opinion{Result: q.subject.Decide(policy.Action{Group: ir.MCP, Kind: policy.Resource, Server: q.server(Name(name)), Arg: "*"})}
}

// mcp decides server__tool. A server's name may hold "__": every reading is
// decided and the lowest holds.
func (q *question) mcp(rest string) opinion {
	p := q.Policy.Project()
	var lowest *policy.Result
	for i := range p.Servers {
		tool, ok := strings.CutPrefix(rest, Name(p.Servers[i].Name)+"__")
		if !ok || tool == "" {
			continue
		}
		for _, t := range p.Servers[i].Tools {
			if Name(t.Name) == tool {
				tool = t.Name
			}
		}
		r := q.subject.Decide(policy.Action{Group: ir.MCP, Server: p.Servers[i].Name, Arg: tool})
		if lowest == nil || r.Decision < lowest.Decision {
			lowest = &r
		}
	}
	if lowest == nil {
		server, tool, _ := strings.Cut(rest, "__")
		r := q.subject.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
		if r.Decision = min(r.Decision, ir.Ask); p.ClosedInventory && r.Decision > ir.Deny && q.subject.Default(ir.MCP).Decision == ir.Deny {
			r.Decision = ir.Deny
		}
		lowest = &r
	}
	return opinion{Result: *lowest}
}
