// Package hook answers the hooks of GitHub's Copilot CLI from the compiled policy: `modec hook copilot`.
//
// [Answer] takes one payload and returns one JSON object with exit code 0, or a refusal with exit code 2. Copilot asks
// once, before every call, also before those of agents to which the session handed work, and names these. What a hook
// allows runs, whatever else the command line denies, and what it asks about is asked; where it says nothing, Copilot
// decides by itself. Copilot takes an answer of another form for none: each has that of both of Copilot's events.
//
// The payloads are those that Copilot CLI 1.0.102 sends. Answer refuses what it does not understand.
package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	codex "modec.dev/modec/targets/codex/format"
	"modec.dev/modec/targets/copilot/format"
)

// payload is what Copilot sends. Other fields are ignored; versions add to them.
type payload struct {
	Cwd   string         `json:"cwd"`
	Tool  string         `json:"toolName"`
	Input map[string]any `json:"toolArgs"`
	Agent string         `json:"agentType"` // to which the session handed work
	// The other event has these names.
	Event      string         `json:"hook_event_name"`
	OtherTool  string         `json:"tool_name"`
	OtherInput map[string]any `json:"tool_input"`
	OtherAgent string         `json:"agent_type"`
}

// other is the event whose payload has other names.
const other = "PreToolUse"

// question is a payload with what is needed to answer it.
type question struct {
	payload
	*contract.Call
}

// Answer answers one payload.
func Answer(req contract.HookRequest) contract.HookAnswer {
	var q question
	if err := contract.ReadPayload(req.Payload, &q.payload); err != nil {
		return contract.Refuse("the payload is not a JSON object of Copilot: " + err.Error())
	}
	if q.Event != "" {
		if q.Event != other || q.Tool != "" {
			return contract.Refuse(fmt.Sprintf("got the event %q, want %s or %s", q.Event, format.Before, other))
		}
		q.Tool, q.Input, q.Agent = q.OtherTool, q.OtherInput, q.OtherAgent
	}
	if q.Tool == "" {
		return contract.Refuse("the payload names no tool")
	}
	var err error
	if q.Call, err = contract.NewCall(&req, q.Cwd, q.Input, modeOf(req.Policy.Project(), q.Agent)); err != nil {
		return contract.Refuse(err.Error())
	}
	o := q.opinion()
	judged := o.Judgement(q.Tool, q.Agent, q.Input)
	switch {
	case o.Decision == ir.Deny:
		return q.say("deny", "may not do this", &o).With(judged, ir.Deny)
	case o.Decision == ir.Ask:
		return q.say("ask", "has to ask first", &o).With(judged, ir.Ask)
	case o.Decision == ir.Allow && req.MayAllow:
		return q.say("allow", "may do this", &o).With(judged, ir.Allow)
	}
	return contract.NoOpinion().With(judged, ir.Agent)
}

// say returns a decision in the form of both events.
func (q *question) say(decision, what string, o *contract.Opinion) contract.HookAnswer {
	said := contract.Object{"permissionDecision", decision, "permissionDecisionReason", "modec: " + q.Why(what, o)}
	both := append(slices.Clone(said), "hookSpecificOutput", append(contract.Object{"hookEventName", other}, said...))
	return contract.HookAnswer{Stdout: append(contract.JSONLine(both), '\n')}
}

// modeOf returns the mode of an agent's name, nil for none.
func modeOf(p *ir.Project, agent string) *ir.Mode {
	i := slices.IndexFunc(p.Modes, func(m ir.Mode) bool { return m.Slug == format.SlugOf(agent) })
	if agent == "" || i < 0 {
		return nil
	}
	return &p.Modes[i]
}

// opinion decides the call.
func (q *question) opinion() contract.Opinion {
	switch q.Tool {
	case format.Shell:
		return q.Command(q.Text("command"))
	case format.WriteShell, format.WritePowerShell, format.PowerShell: // no line of a POSIX shell
		return q.Command("$modec_typed")
	case format.View:
		return q.File(ir.Read, q.Text("path"))
	case format.Create, format.Edit:
		return q.File(ir.Edit, q.Text("path"))
	case format.ApplyPatch:
		return q.patch()
	case format.Grep, format.RipGrep, format.Glob:
		return q.search()
	case format.Fetch:
		return q.Fetch(q.Text("url"))
	case format.Search:
		return q.SearchWeb()
	case format.Task:
		return q.agent("agent_type")
	case format.Skill:
		return q.agent("skill")
	}
	switch {
	case slices.Contains(format.Harmless, q.Tool):
		return contract.Harmless()
	case format.IsTool(q.Tool):
		return q.tool()
	}
	return q.Unknown(q.Tool)
}

// patch decides a patch, by any of the names of the argument that has it.
func (q *question) patch() contract.Opinion {
	return q.Patch(codex.PatchFiles(cmp.Or(q.Text("input"), q.Text("patch"), q.Text("command"))))
}

// search decides a search below folders, by default that of the session, and below those at which its pattern begins.
// Where the subject may not read everything without a question, one of them may have such a file: the search is asked
// about.
func (q *question) search() contract.Opinion {
	folders, ok := q.folders()
	if !ok {
		return contract.Denied("a search without readable folders")
	}
	o := contract.Opinion{Result: q.AtAll(ir.Read, folders), Group: ir.Read, About: strings.Join(folders, " ")}
	if q.Tool == format.Glob { // which tells names alone
		return o
	}
	if q.Restricts(ir.Read) && o.Decision == ir.Allow {
		o.Result = policy.Result{Decision: ir.Ask, Rule: "a search may find files that may not be read", Pos: o.Pos}
	}
	return o
}

// folders returns where a search looks.
func (q *question) folders() (folders []string, ok bool) {
	for _, key := range []string{"paths", "path"} {
		switch v := q.Input[key].(type) {
		case nil:
		case string:
			folders = append(folders, v)
		case []any:
			for _, item := range v {
				text, ok := item.(string)
				if !ok {
					return nil, false
				}
				folders = append(folders, text)
			}
		default:
			return nil, false
		}
	}
	if len(folders) == 0 {
		folders = []string{"."}
	}
	key := "glob"
	if q.Tool == format.Glob {
		key = "pattern"
	}
	for _, folder := range slices.Clone(folders) {
		for _, from := range contract.FoldersOf(q.Text(key)) {
			if !filepath.IsAbs(from) && !policy.IsRooted(from) {
				from = folder + "/" + from
			}
			folders = append(folders, from)
		}
	}
	return folders, true
}

// agent decides handing work to an agent, or reading a skill, that an argument names.
func (q *question) agent(arg string) contract.Opinion {
	name := q.Text(arg)
	return q.Hand(name, modeOf(q.Policy.Project(), name))
}

// tool decides a tool of a server. Copilot writes names in a way in which several may be the same: the lowest decision
// holds.
func (q *question) tool() contract.Opinion {
	o := contract.Opinion{Group: ir.MCP}
	found := 0
	try := func(server, tool string) {
		r := q.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
		if found++; found == 1 || r.Decision < o.Decision {
			o.Result, o.Server, o.About = r, server, tool
		}
	}
	p := q.Policy.Project()
	for i := range p.Servers {
		sv := &p.Servers[i]
		for j := range sv.Tools {
			if format.ToolName(sv.Name, sv.Tools[j].Name) == q.Tool {
				try(sv.Name, sv.Tools[j].Name)
			}
		}
	}
	listed := found > 0
	known := listed || slices.ContainsFunc(p.Servers, func(sv ir.Server) bool {
		is := func(tool string) bool { return format.ToolName(sv.Name, tool) == q.Tool }
		return slices.ContainsFunc(q.KnownTools(sv.Name), is)
	})
	for at, c := range q.Tool {
		if c != '-' {
			continue
		}
		server, tool := q.Tool[:at], q.Tool[at+1:]
		own := false
		for i := range p.Servers {
			sv := &p.Servers[i]
			if format.Plain(sv.Name) != server {
				continue
			}
			own = true
			if listed && p.ListsTools(sv) {
				continue
			}
			is := func(name string) bool { return format.Plain(name) == tool }
			for _, name := range q.ToolsNamed(sv.Name, unlisted(tool), is) {
				try(sv.Name, name)
			}
		}
		if !own && !known { // a server of somebody's own
			try(server, tool)
		}
	}
	return o
}

// unlisted returns the names that a tool may have, of which Copilot writes one.
func unlisted(as string) []string {
	names := []string{as}
	for _, other := range []string{".", "_", "/"} {
		if name := strings.ReplaceAll(as, "-", other); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Payload returns what Copilot sends before a call.
func Payload(cwd, tool, agent string, input map[string]any) []byte {
	data, err := json.Marshal(map[string]any{"cwd": cwd, "toolName": tool, "agentType": agent, "toolArgs": input})
	if err != nil {
		panic(err) // texts
	}
	return data
}
