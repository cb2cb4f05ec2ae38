// Package hook answers Cursor's hooks from the compiled policy: `modec hook cursor`.
//
// [Answer] takes one payload and returns one JSON object with exit code 0, or a refusal
// with exit code 2. Where it has no opinion, or may not answer allow, the object has no
// permission. It refuses what it does not understand: an event that cannot refuse, a
// payload that is not an object, a path or an address that cannot be read.
//
// The payloads are those that the agent engine of @cursor/sdk 1.0.32 sends, and those
// that Cursor's documentation describes (cursor.com/docs, autumn 2026).
package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
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
}

// verdict is what the policy says, or no opinion.
type verdict struct {
	policy.Result
	none bool
}

// handler decides an event.
type handler struct {
	decide func(*question) verdict
	ask    askAnswer
}

// askAnswer is what an ask of the policy becomes.
type askAnswer string

const (
	canAsk    askAnswer = "ask"
	cannotAsk askAnswer = "deny" // the event has no answer that asks
)

// events are those that can refuse.
var events = map[string]handler{
	"beforeShellExecution": {shell, canAsk},
	"beforeMCPExecution":   {mcpTool, canAsk},
	"beforeReadFile":       {readFile, cannotAsk},
	"beforeTabFileRead":    {readFile, cannotAsk},
	"subagentStart":        {subagent, cannotAsk},
	"preToolUse":           {tool, cannotAsk},
}

// Events returns the events that Answer decides, sorted.
func Events() []string { return slices.Sorted(maps.Keys(events)) }

// Answer answers one payload.
func Answer(req contract.HookRequest) contract.HookAnswer {
	q := question{HookRequest: req}
	body := bytes.TrimPrefix(req.Payload, []byte("\ufeff")) // PowerShell may put one there
	if err := json.Unmarshal(body, &q.payload); err != nil {
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
	v := event.decide(&q)
	switch {
	case v.none, v.Decision == ir.Allow && !req.MayAllow:
		return contract.HookAnswer{Stdout: []byte("{}\n")}
	case v.Decision == ir.Allow:
		return contract.HookAnswer{Stdout: []byte(`{"permission":"allow"}` + "\n")}
	case v.Decision == ir.Ask && event.ask == canAsk:
		return q.answer("ask", "has to ask first", v.Result)
	case v.Decision == ir.Ask:
		return q.answer("deny", "has to ask first, and Cursor cannot ask here", v.Result)
	}
	return q.answer("deny", "may not do this", v.Result)
}

func (q *question) answer(permission, what string, r policy.Result) contract.HookAnswer {
	message := fmt.Sprintf("modec: %s %s, by %s", q.Subject, what, r.Rule)
	if p := r.Pos.String(); p != "" {
		message += " (" + p + ")"
	}
	return contract.HookAnswer{Stdout: contract.JSON(contract.Object{
		"permission", permission, "user_message", message, "agent_message", message,
	})}
}

func refused(rule string) verdict { return verdict{Result: policy.Result{Rule: rule}} }

// lower returns the verdict that permits less; no opinion permits most.
func lower(a, b verdict) verdict {
	if a.none || !b.none && b.Decision < a.Decision {
		return b
	}
	return a
}

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

// file decides a path as written and with its links resolved, from every folder
// at which it may start; the lowest decision holds.
func (q *question) file(g ir.Group, p string) verdict {
	switch {
	case p == "":
		return refused("a call without a readable path")
	case strings.Contains(p, "://"):
		return refused("a path written as an address") // the engine reads file:// as a path
	case filepath.IsAbs(p) && !strings.ContainsRune(p, 0):
		return q.absolute(g, p)
	case policy.Elsewhere(p):
		return verdict{Result: q.subject.DecideFile(g, p, "")}
	}
	v := verdict{none: true}
	for _, root := range q.roots() {
		if !filepath.IsAbs(root) {
			return refused("a relative path without a folder to start at")
		}
		v = lower(v, q.absolute(g, filepath.Join(root, p)))
	}
	return v
}

func (q *question) absolute(g ir.Group, p string) verdict {
	return verdict{Result: contract.DecideAt(q.subject, g, q.Root, p, q.Resolve)}
}

func readFile(q *question) verdict { return q.file(ir.Read, q.FilePath) }

func shell(q *question) verdict { return q.line(q.Command) }

// line decides a command line in the folder that it runs in.
func (q *question) line(line string) verdict {
	if line == "" {
		return refused("a shell call without a readable command")
	}
	folders := []string{q.Cwd}
	if q.Cwd == "" {
		folders = q.roots()
	}
	root, err := q.Resolve(q.Root)
	if err != nil {
		return refused("a project root that cannot be resolved")
	}
	v := verdict{none: true}
	for _, folder := range folders {
		resolved, err := q.Resolve(folder)
		if err != nil || !filepath.IsAbs(folder) {
			return refused("a working directory that cannot be resolved")
		}
		dir := policy.Relative(root, resolved)
		r := q.subject.DecideCommand(dir, line)
		if filepath.IsAbs(dir) && r.Decision > ir.Ask {
			r = policy.Result{Decision: ir.Ask, Rule: "a command outside the project", Pos: r.Pos}
		}
		v = lower(v, verdict{Result: r})
	}
	return v
}

func subagent(q *question) verdict { return q.mode(q.SubagentType) }

func (q *question) mode(slug string) verdict {
	if slug == "" {
		return refused("a subagent without a type")
	}
	return verdict{Result: q.subject.Decide(policy.Action{Group: ir.Modes, Arg: slug})}
}
