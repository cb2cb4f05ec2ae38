package cursor

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/target"
)

// payload is what Cursor sends to its hooks: the union of the events' fields.
// Fields that are not needed are ignored.
type payload struct {
	Event        string          `json:"hook_event_name"`
	Roots        []string        `json:"workspace_roots"`
	Cwd          string          `json:"cwd"`
	Command      string          `json:"command"` // a shell line, or a server's command
	ToolName     string          `json:"tool_name"`
	ToolInput    json.RawMessage `json:"tool_input"` // an object; a string for MCP
	ServerName   string          `json:"mcp_server_name"`
	ServerURL    string          `json:"mcp_server_url"`
	URL          string          `json:"url"`
	FilePath     string          `json:"file_path"`
	SubagentType string          `json:"subagent_type"`
}

// question is a payload with what is needed to answer it.
type question struct {
	target.HookRequest
	payload
	subject *policy.Subject
}

// verdict is what the policy says; none is no opinion.
type verdict struct {
	policy.Result
	none bool
}

// eventActions maps each event to what it is about. canAsk says that the event
// has an answer that asks (beforeShellExecution and beforeMCPExecution do).
var eventActions = map[string]struct {
	act    func(*question) verdict
	canAsk bool
}{
	"beforeShellExecution": {shellAction, true},
	"beforeMCPExecution":   {mcpAction, true},
	"beforeReadFile":       {readAction, false},
	"beforeTabFileRead":    {readAction, false},
	"subagentStart":        {subagentAction, false},
	"preToolUse":           {toolAction, false},
}

// toolActions maps the tools of preToolUse. Shell and MCP tools have events of
// their own, which can ask; a tool that is not here is unknown.
var toolActions = map[string]func(*question) verdict{
	"Shell":     noAction,
	"Read":      inputFile(ir.Read),
	"Grep":      inputFile(ir.Read),
	"Glob":      inputFile(ir.Read),
	"LS":        inputFile(ir.Read),
	"Write":     inputFile(ir.Edit),
	"Delete":    inputFile(ir.Edit),
	"Task":      inputSubagent,
	"WebFetch":  inputHost,
	"WebSearch": searchAction,
	"TodoWrite": noAction,
}

// Hook answers one payload: one JSON object and exit code 0, or a refusal. An
// object without a permission is valid and decides nothing (seen in the engine
// of @cursor/sdk 1.0.32); an empty output would block.
func (cursor) Hook(req target.HookRequest) target.HookAnswer {
	q := question{HookRequest: req}
	if err := json.Unmarshal(req.Payload, &q.payload); err != nil {
		return target.Refuse("the payload is no JSON object of Cursor: " + err.Error())
	}
	ev, ok := eventActions[q.Event]
	if !ok {
		return target.Refuse(fmt.Sprintf("got the event %q, want one that can refuse", q.Event))
	}
	s, err := req.Policy.Subject(req.Subject)
	if err != nil {
		return target.Refuse(err.Error())
	}
	q.subject = s
	v := ev.act(&q)
	if v.none || v.Decision == ir.Allow && !req.MayAllow {
		return target.HookAnswer{Stdout: []byte("{}\n")}
	}
	d, extra := v.Decision, ""
	if d == ir.Ask && !ev.canAsk {
		d, extra = ir.Deny, "; Cursor cannot ask here, so that it is refused"
	}
	return answer(req.Subject, d, v.Result, extra)
}

func answer(ref ir.SubjectRef, d ir.Decision, r policy.Result, extra string) target.HookAnswer {
	words := map[ir.Decision]string{ir.Deny: "may not do this", ir.Ask: "asks first", ir.Allow: "may do this"}
	message := fmt.Sprintf("modec: %s %s, by %s", ref, words[r.Decision], r.Rule)
	if p := r.Pos.String(); p != "" {
		message += " (" + p + ")"
	}
	message += extra
	b, err := json.Marshal(map[string]string{"permission": d.String(), "user_message": message, "agent_message": message})
	if err != nil {
		return target.Refuse(err.Error())
	}
	return target.HookAnswer{Stdout: append(b, '\n')}
}

func refused(rule string) verdict {
	return verdict{Result: policy.Result{Decision: ir.Deny, Rule: rule}}
}

func noAction(*question) verdict { return verdict{none: true} }

// file decides a path as written and with links resolved; the lower holds.
func (q *question) file(g ir.Group, p string) verdict {
	if p == "" {
		return refused("a call without a readable path")
	}
	if strings.HasPrefix(p, "~") || strings.ContainsRune(p, 0) {
		return verdict{Result: q.subject.DecideFile(g, p, "")}
	}
	abs := p
	if !filepath.IsAbs(abs) {
		dir := q.Cwd
		if dir == "" {
			dir = q.Root
		}
		if !filepath.IsAbs(dir) {
			return refused("a relative path without a working directory")
		}
		abs = filepath.Join(dir, p)
	}
	resolved, err := q.Resolve(abs)
	if err != nil {
		return refused("a path whose links cannot be resolved")
	}
	root, err := q.Resolve(q.Root)
	if err != nil {
		return refused("a project root that cannot be resolved")
	}
	written := policy.Relative(q.Root, abs)
	if filepath.IsAbs(written) {
		written = policy.Relative(root, abs)
	}
	return verdict{Result: q.subject.DecideFile(g, written, policy.Relative(root, resolved))}
}

func readAction(q *question) verdict { return q.file(ir.Read, q.FilePath) }

func shellAction(q *question) verdict {
	if q.Command == "" {
		return refused("a shell call without a readable command")
	}
	dir := "."
	if q.Cwd != "" {
		resolved, err := q.Resolve(q.Cwd)
		root, err2 := q.Resolve(q.Root)
		if err != nil || err2 != nil || !filepath.IsAbs(q.Cwd) {
			return refused("a working directory that cannot be resolved")
		}
		dir = policy.Relative(root, resolved)
	}
	r := q.subject.DecideCommand(dir, q.Command)
	if filepath.IsAbs(dir) && r.Decision > ir.Ask {
		r = policy.Result{Decision: ir.Ask, Rule: "a command outside the project", Pos: r.Pos}
	}
	return verdict{Result: r}
}

func subagentAction(q *question) verdict {
	if q.SubagentType == "" {
		return refused("a subagent without a type")
	}
	return verdict{Result: q.subject.Decide(policy.Action{Group: ir.Modes, Arg: q.SubagentType})}
}

// input reads one text of tool_input.
func (q *question) input(names ...string) string {
	var m map[string]any
	if json.Unmarshal(q.ToolInput, &m) != nil {
		return ""
	}
	for _, n := range names {
		if s, ok := m[n].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

func inputFile(g ir.Group) func(*question) verdict {
	return func(q *question) verdict {
		p := q.input("file_path", "path", "target_file", "target_directory")
		if p == "" && g == ir.Read && q.ToolName != "Read" {
			p = "." // a search without a folder is one of the workspace
		}
		return q.file(g, p)
	}
}

func inputSubagent(q *question) verdict {
	if t := q.input("subagent_type"); t != "" {
		q.SubagentType = t
		return subagentAction(q)
	}
	return verdict{none: true} // subagentStart names the type and decides
}

func inputHost(q *question) verdict {
	return verdict{Result: q.subject.Decide(policy.Action{Group: ir.Web, Arg: q.input("url")})}
}

func searchAction(q *question) verdict {
	return verdict{Result: q.subject.Decide(policy.Action{Group: ir.Web, Arg: ""})}
}

func toolAction(q *question) verdict {
	if strings.HasPrefix(q.ToolName, "MCP:") {
		return verdict{none: true} // names no server: beforeMCPExecution decides
	}
	if act := toolActions[q.ToolName]; act != nil {
		return act(q)
	}
	return verdict{Result: q.subject.UnknownTool()}
}

var (
	userPrefix    = regexp.MustCompile(`^user-(.+)$`)
	projectPrefix = regexp.MustCompile(`^project-[0-9]+-(.+)$`)
)

// servers returns the inventory's servers that a live id may stand for: an
// exact name is never stripped; else one prefix is, once, and every reading of
// project-N-NAME-SERVER counts.
func (q *question) servers() []string {
	p := q.Policy.Project()
	name := strings.TrimSpace(q.ServerName)
	var out []string
	match := func(ok func(*ir.Server) bool) {
		for i := range p.Servers {
			if ok(&p.Servers[i]) {
				out = append(out, p.Servers[i].Name)
			}
		}
	}
	if name == "" { // identified by what it is
		url := q.ServerURL
		if url == "" {
			url = q.URL
		}
		match(func(s *ir.Server) bool {
			return url != "" && s.URL == url || q.Command != "" && s.Command != "" && (q.Command == s.Command || q.Command == strings.Join(append([]string{s.Command}, s.Args...), " "))
		})
		return out
	}
	if match(func(s *ir.Server) bool { return strings.EqualFold(s.Name, name) }); len(out) > 0 {
		return out
	}
	if m := userPrefix.FindStringSubmatch(name); m != nil {
		match(func(s *ir.Server) bool { return strings.EqualFold(s.Name, m[1]) })
	}
	if m := projectPrefix.FindStringSubmatch(name); m != nil {
		match(func(s *ir.Server) bool { return strings.HasSuffix(strings.ToLower(m[1]), "-"+strings.ToLower(s.Name)) })
	}
	return out
}

func mcpAction(q *question) verdict {
	if q.ToolName == "" {
		return refused("an MCP call without a tool")
	}
	tool := strings.TrimPrefix(q.ToolName, "MCP:")
	readings := q.servers()
	if len(readings) == 0 {
		if q.ServerName == "" {
			return refused("a server that nothing identifies")
		}
		r := q.subject.Decide(policy.Action{Group: ir.MCP, Server: q.ServerName, Arg: tool})
		r.Decision = min(r.Decision, ir.Ask) // no server of the inventory
		return verdict{Result: r}
	}
	var lowest *policy.Result
	for _, s := range readings {
		r := q.subject.Decide(policy.Action{Group: ir.MCP, Server: s, Arg: tool})
		if lowest == nil || r.Decision < lowest.Decision {
			lowest = &r
		}
	}
	if len(readings) > 1 && lowest.Decision == ir.Allow {
		lowest.Decision, lowest.Rule = ir.Ask, "a server id with more than one reading"
	}
	return verdict{Result: *lowest}
}
