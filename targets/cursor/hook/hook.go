// Package hook answers Cursor's hooks from the compiled policy: `modec hook cursor`.
//
// [Answer] takes one payload and returns one JSON object with exit code 0, or a refusal
// with exit code 2. Where the policy leaves the call to Cursor, and where the hook may not
// answer allow, the object has no permission: Cursor's engine takes it for no opinion, on
// each of these events. Answer refuses what it does not understand: an event that cannot
// refuse, a payload that is not an object, a path or an address that cannot be read.
//
// The payloads are those that the agent engine of @cursor/sdk 1.0.32 sends, and those
// that Cursor's documentation describes (cursor.com/docs, autumn 2026).
package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// payload is what Cursor sends to its hooks: the union of the events' fields.
// Other fields are ignored; versions add to them.
type payload struct {
	Event        string          `json:"hook_event_name"`
	Roots        []string        `json:"workspace_roots"`
	Cwd          string          `json:"cwd"`
	Command      string          `json:"command"` // a shell line, or an MCP server's command line
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"` // an object; a text that contains JSON for MCP
	ServerName   string          `json:"mcp_server_name"`
	ServerURL    string          `json:"mcp_server_url"`
	URL          string          `json:"url"`
	FilePath     string          `json:"file_path"`
	SubagentType string          `json:"subagent_type"`
}

// question is a payload with what is needed to answer it.
type question struct {
	contract.HookRequest
	payload
	input   map[string]json.RawMessage // tool_input of preToolUse
	subject *policy.Subject
	disk    *contract.Disk
}

// handler decides an event.
type handler struct {
	decide func(*question) policy.Result
	ask    askAnswer
	groups []ir.Group // those about which Cursor asks it
}

// askAnswer is what an ask of the policy becomes.
type askAnswer string

const (
	canAsk    askAnswer = "ask"
	cannotAsk askAnswer = "deny" // the event has no answer that asks
)

// events are those that can refuse. A command line may also read and write files.
// preToolUse also sees what is typed into a running shell, and the resources of MCP servers.
var events = map[string]handler{
	"beforeShellExecution": {shell, canAsk, []ir.Group{ir.Command, ir.Read, ir.Edit}},
	"beforeMCPExecution":   {mcpTool, canAsk, []ir.Group{ir.MCP}},
	"beforeReadFile":       {readFile, cannotAsk, []ir.Group{ir.Read}},
	"beforeTabFileRead":    {readFile, cannotAsk, []ir.Group{ir.Read}},
	"subagentStart":        {subagent, cannotAsk, []ir.Group{ir.Modes}},
	preToolUse: {tool, cannotAsk,
		[]ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.MCP, ir.Unknown}},
}

// Events returns the events by which Cursor asks about the groups, sorted.
func Events(groups []ir.Group) []string {
	var out []string
	for name, h := range events {
		if slices.ContainsFunc(groups, func(g ir.Group) bool { return slices.Contains(h.groups, g) }) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Left reports whether a subject leaves a whole group to Cursor.
func Left(s *policy.Subject, servers []ir.Server, g ir.Group) bool {
	left := func(r policy.Result) bool { return r.WithoutPermissionMode() == ir.Agent }
	switch g {
	case ir.Unknown:
		return left(s.UnknownTool())
	case ir.MCP:
		names := []string{contract.UnknownServer}
		for i := range servers {
			names = append(names, servers[i].Name)
			for _, t := range servers[i].Tools {
				if !left(s.Decide(policy.Action{Group: g, Server: servers[i].Name, Arg: t.Name})) {
					return false
				}
			}
		}
		return !slices.ContainsFunc(names, func(server string) bool {
			says := func(k policy.MCPKind) bool {
				return !left(s.Decide(policy.Action{Group: g, Server: server, Arg: contract.UnknownTool, Kind: k}))
			}
			return says(policy.Tool) || says(policy.Resource) || says(policy.Prompt) ||
				len(s.UnlistedToolRules(server)) > 0
		})
	case ir.Read, ir.Edit: // what lies outside the project too
		return left(s.Default(g)) && len(s.Rules(g)) == 0 && left(s.Decide(policy.Action{Group: g, Arg: ".."}))
	}
	return left(s.Default(g)) && len(s.Rules(g)) == 0
}

// Answer answers one payload.
func Answer(req contract.HookRequest) contract.HookAnswer {
	q := question{HookRequest: req, disk: req.Disk()}
	if err := contract.ReadPayload(req.Payload, &q.payload); err != nil {
		return contract.Refuse("the payload is not a JSON object of Cursor: " + err.Error())
	}
	event, ok := events[q.Event]
	if !ok {
		return contract.Refuse(fmt.Sprintf("got the event %q, want one that can refuse", q.Event))
	}
	s, err := req.Policy.Subject(req.Subject)
	if err != nil {
		return contract.Refuse(err.Error())
	}
	q.subject = s
	r := event.decide(&q)
	judged := q.judged(r)
	switch {
	case r.Decision == ir.Agent, r.Decision == ir.Allow && !req.MayAllow:
		return contract.NoOpinion().With(judged, ir.Agent)
	case r.Decision == ir.Allow:
		return contract.HookAnswer{Stdout: []byte(`{"permission":"allow"}` + "\n")}.With(judged, ir.Allow)
	case r.Decision == ir.Ask && event.ask == canAsk:
		return q.answer("ask", "has to ask first", r).With(judged, ir.Ask)
	case r.Decision == ir.Ask:
		return q.answer("deny", "has to ask first, and Cursor cannot ask here", r).With(judged, ir.Deny)
	}
	return q.answer("deny", "may not do this", r).With(judged, ir.Deny)
}

// judged returns the call for the record.
func (q *question) judged(r policy.Result) *contract.Judgement {
	groups := events[q.Event].groups
	j := &contract.Judgement{Tool: cmp.Or(q.ToolName, q.Event), Server: q.ServerName, Result: r}
	if q.Event != preToolUse {
		j.Group = groups[0]
	}
	j.Input = input{q.Command, q.ToolInput, q.URL, q.FilePath, q.SubagentType}
	j.About = func() string { return q.about(j.Group) }
	if j.Group == ir.MCP {
		if servers := q.named(q.ServerName); len(servers) == 1 {
			j.Server = servers[0]
		}
	}
	return j
}

// about returns what the call is about, as a rule would name it; "" where it is about several things, or about none
// that a rule can name. What preToolUse is about has an event of its own, or no group.
func (q *question) about(g ir.Group) string {
	switch g {
	case ir.MCP:
		return strings.TrimPrefix(q.ToolName, "MCP:")
	case ir.Read:
		if q.FilePath != "" && len(q.roots()) == 1 {
			return q.disk.Own(q.roots()[0], q.FilePath)
		}
	case ir.Command:
		return q.Command
	case ir.Modes:
		return q.SubagentType
	}
	return ""
}

// input are the arguments of a call.
type input struct {
	Command  string          `json:"command,omitempty"`
	Input    json.RawMessage `json:"tool_input,omitempty"`
	URL      string          `json:"url,omitempty"`
	File     string          `json:"file_path,omitempty"`
	Subagent string          `json:"subagent_type,omitempty"`
}

// preToolUse is the event that every tool has.
const preToolUse = "preToolUse"

func (q *question) answer(permission, what string, r policy.Result) contract.HookAnswer {
	message := fmt.Sprintf("modec: %s %s, by %s", q.Subject, what, r.Explanation())
	if p := r.Pos.String(); p != "" {
		message += " (" + p + ")"
	}
	return contract.HookAnswer{Stdout: contract.JSON(contract.Object{
		"permission", permission, "user_message", message, "agent_message", message,
	})}
}

func refused(rule string) policy.Result { return policy.Result{Rule: rule} }

// decided returns a result with what it means to Cursor, which lacks permission modes.
func decided(r policy.Result) policy.Result {
	r.Decision = r.WithoutPermissionMode()
	return r
}

// unheld is the result to which those are added that an action needs.
var unheld = policy.Result{Decision: ir.Allow}

// both returns the result of an action that needs two.
func both(a, b policy.Result) policy.Result {
	if a.Decision != b.Decision && ir.Both(a.Decision, b.Decision) == b.Decision {
		return b
	}
	return a
}

func (q *question) left(g ir.Group) bool { return Left(q.subject, q.Policy.Project().Servers, g) }

// roots returns the folders at which a relative path may start.
func (q *question) roots() []string {
	roots := q.Roots
	if len(roots) == 0 {
		roots = []string{q.Root}
	}
	if q.Cwd != "" {
		roots = append(slices.Clip(roots), q.Cwd)
	}
	return roots
}

// file decides a path from every folder at which it may start.
func (q *question) file(g ir.Group, p string) policy.Result {
	r := decided(q.disk.Decide(q.subject, policy.Action{Group: g, Arg: p}, q.roots()...))
	switch {
	case q.left(g) && !q.disk.Met():
		return abstain(q)
	case p == "":
		return refused("a call without a readable path")
	case strings.Contains(p, "://"):
		return refused("a path written as an address") // the engine reads file:// as a path
	}
	return r
}

func readFile(q *question) policy.Result { return q.file(ir.Read, q.FilePath) }

func shell(q *question) policy.Result { return q.line(q.Command) }

// line decides a command line in the folder that it runs in.
func (q *question) line(line string) policy.Result {
	if line == "" {
		return refused("a shell call without a readable command")
	}
	if policy.NeedsPerson(line) {
		return refused(contract.NeedsPerson)
	}
	folders := []string{q.Cwd}
	if q.Cwd == "" {
		folders = q.roots()
	}
	return decided(q.disk.Decide(q.subject, policy.Action{Group: ir.Command, Arg: line}, folders...))
}

func subagent(q *question) policy.Result { return q.mode(q.SubagentType) }

func (q *question) mode(slug string) policy.Result {
	if slug == "" && !q.left(ir.Modes) {
		return refused("a subagent without a type")
	}
	return decided(q.subject.Decide(policy.Action{Group: ir.Modes, Arg: slug}))
}
