// Package hook answers Codex's hooks from the compiled policy: `modec hook codex`.
//
// [Answer] takes one payload and returns one JSON object with exit code 0, or a refusal with exit code 2. Codex asks
// twice: before every call (PreToolUse), where only a denial counts, and before it asks a person (PermissionRequest),
// where an answer takes the question's place. What the policy asks about therefore passes the first where Codex asks
// by itself, and is refused where it does not.
//
// The payloads are those that codex-cli 0.169.0 sends. Answer refuses what it does not understand.
package hook

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/codex/format"
)

// The events.
const (
	Before     = "PreToolUse"
	Permission = "PermissionRequest"
)

// asking is the permission mode of a session in which Codex asks. `codex exec` has another one.
const asking = "default"

// payload is what Codex sends. Other fields are ignored; versions add to them.
type payload struct {
	Event string         `json:"hook_event_name"`
	Cwd   string         `json:"cwd"`
	Mode  string         `json:"permission_mode"`
	Tool  string         `json:"tool_name"`
	Input map[string]any `json:"tool_input"`
	Agent string         `json:"agent_type"` // to which the session handed work
}

// question is a payload with what is needed to answer it.
type question struct {
	payload
	*contract.Call
}

// opinion is what the policy says of a call.
type opinion struct {
	contract.Opinion
	asks bool // Codex asks a person by itself before such a call
}

// AsksCommands reports whether Codex is to ask before each command of a session with hooks: they say of each subject
// what a command may not write, so that it is where the subject does not deny them all.
func AsksCommands(s *policy.Subject) bool { return !contract.Denies(s, ir.Command) }

// Touches reports whether a command may read, write and reach everything.
func Touches(s *policy.Subject) bool {
	return contract.Opens(s, ir.Read) && contract.Opens(s, ir.Edit) && contract.Opens(s, ir.Web)
}

// AsksEdits reports whether it is to ask before each edit.
func AsksEdits(s *policy.Subject) bool { return AsksCommands(s) || !contract.Leaves(s, ir.Edit) }

// Answer answers one payload.
func Answer(req contract.HookRequest) contract.HookAnswer {
	var q question
	if err := contract.ReadPayload(req.Payload, &q.payload); err != nil {
		return contract.Refuse("the payload is not a JSON object of Codex: " + err.Error())
	}
	if q.Event != Before && q.Event != Permission {
		return contract.Refuse(fmt.Sprintf("got the event %q, want %s or %s", q.Event, Before, Permission))
	}
	var err error
	p := req.Policy.Project()
	mode := modeOf(p, q.Agent)
	if q.Call, err = contract.NewCall(&req, q.Cwd, q.Input, p.Mode(mode)); err != nil {
		return contract.Refuse(err.Error())
	}
	o := q.opinion()
	judged := o.Judgement(q.Tool, mode, q.Input)
	switch canAsk := o.asks && q.Mode == asking; {
	case o.Decision == ir.Deny:
		return q.deny("may not do this", &o).With(judged, ir.Deny)
	case o.Decision == ir.Ask && q.Event == Before && !canAsk:
		return q.deny("has to ask first, and Codex does not ask here", &o).With(judged, ir.Deny)
	case o.Decision == ir.Ask && q.Event == Before:
		return contract.NoOpinion().With(judged, ir.Ask)
	case o.Decision == ir.Allow && q.Event == Permission && req.MayAllow:
		return said(contract.Object{"hookEventName", Permission, "decision", contract.Object{"behavior", "allow"}}).
			With(judged, ir.Allow)
	}
	return contract.NoOpinion().With(judged, ir.Agent)
}

func said(o contract.Object) contract.HookAnswer {
	line := contract.JSONLine(contract.Object{"hookSpecificOutput", o})
	return contract.HookAnswer{Stdout: append(line, '\n')}
}

func (q *question) deny(what string, o *opinion) contract.HookAnswer {
	why := "modec: " + q.Why(what, &o.Opinion)
	if q.Event == Permission {
		return said(contract.Object{"hookEventName", Permission,
			"decision", contract.Object{"behavior", "deny", "message", why}})
	}
	return said(contract.Object{"hookEventName", Before, "permissionDecision", "deny", "permissionDecisionReason", why})
}

// opinion decides the call.
func (q *question) opinion() opinion {
	switch {
	case q.Tool == format.Shell:
		return q.command()
	case q.Tool == format.ApplyPatch:
		return q.patch()
	case q.Tool == format.ViewImage:
		o := q.File(ir.Read, q.Text("path"))
		o.About = q.Text("path")
		return opinion{Opinion: o}
	case q.Tool == format.Spawn:
		return opinion{Opinion: q.Hand(modeOf(q.Policy.Project(), q.Text("agent_type")), nil)}
	case q.Tool == format.ReadResource, q.Tool == format.ListResources, q.Tool == format.ListTemplates:
		return opinion{Opinion: q.Resource(q.Text("server"), q.Text("uri"))} // Codex does not ask
	case format.IsTool(q.Tool):
		return q.tool()
	case slices.Contains(format.Harmless, q.Tool):
		return opinion{Opinion: contract.Harmless()}
	}
	return opinion{Opinion: q.Unknown(q.Tool)}
}

// modeOf returns the slug of the mode that has an agent's name, or the name where no mode has it.
func modeOf(p *ir.Project, agent string) string {
	agent = format.AgentName(agent)
	if slug := contract.Slug(agent); p.Mode(slug) != nil {
		return slug
	}
	return agent
}

func (q *question) command() opinion {
	return opinion{Opinion: q.Command(q.Text("command")), asks: AsksCommands(q.Session)}
}

// patch decides every file of a patch.
func (q *question) patch() opinion {
	files, ok := format.PatchFiles(q.Text("command"))
	if !ok {
		return opinion{Opinion: contract.Denied("a patch whose files cannot be read")}
	}
	o := opinion{asks: AsksEdits(q.Session)}
	o.Result, o.Group = q.AtAll(ir.Edit, files), ir.Edit
	if len(files) == 1 {
		o.About = files[0]
	}
	return o
}

// tool decides a tool of a server. Codex writes names in a way in which several may be the same: the lowest decision
// holds.
func (q *question) tool() opinion {
	p := q.Policy.Project()
	var o opinion
	o.Group = ir.MCP
	found := 0
	for i := range p.Servers {
		sv := &p.Servers[i]
		rest, ok := strings.CutPrefix(q.Tool, format.ServerPrefix(sv.Name))
		if !ok {
			continue
		}
		for _, name := range q.named(sv, rest) {
			a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: name}
			session := q.Session.Decide(a)
			r := q.Decide(a)
			if found++; found == 1 || r.Decision < o.Decision {
				o.Result = r
			}
			o.Server, o.About = sv.Name, name
			o.asks = session.WithoutPermissionMode() == ir.Ask && (found == 1 || o.asks)
		}
	}
	if found > 0 {
		return o
	}
	o.Server, o.About = format.ToolServer(q.Tool) // a server of somebody's own
	for _, server := range unwritten(o.Server) {
		for _, tool := range unwritten(o.About) {
			r := q.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
			if found++; found == 1 || r.Decision < o.Decision {
				o.Result = r
			}
		}
	}
	return o
}

// named returns the tools of a server that have a name as Codex writes it. Of a server with tools that the inventory
// does not list, it may be one of these.
func (q *question) named(sv *ir.Server, as string) (names []string) {
	for i := range sv.Tools {
		if format.Plain(sv.Tools[i].Name) == as {
			names = append(names, sv.Tools[i].Name)
		}
	}
	if len(names) > 0 && q.Policy.Project().ListsTools(sv) {
		return names
	}
	return q.ToolsNamed(sv.Name, unwritten(as), func(name string) bool { return format.Plain(name) == as })
}

// unwritten returns what a name may be that Codex writes so.
func unwritten(as string) []string {
	if !strings.Contains(as, "_") {
		return []string{as}
	}
	return []string{as, strings.ReplaceAll(as, "_", "-"), strings.ReplaceAll(as, "_", ".")}
}

// Payload returns what Codex sends before a call.
func Payload(event, cwd, tool, agent string, input map[string]any) []byte {
	p := payload{event, cwd, asking, tool, input, agent}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts
	}
	return data
}
