// Package hook answers Gemini CLI's hooks from the compiled policy: `modec hook gemini`.
//
// [Answer] takes one payload and returns one JSON object with exit code 0, or a refusal with exit code 2. Gemini CLI
// asks before every call, also before those of agents to which the session handed work, and does not name these: they
// are decided as the session is, and their policies hold them beside. It asks before the policies decide, and an answer
// can only refuse: an allow changes nothing, and an ask lets the call run. What the source asks about therefore passes
// where the policies ask, and is refused where they do not know it for what it is.
//
// The payloads are those that Gemini CLI 0.61.0 sends. Answer refuses what it does not understand.
package hook

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// payload is what Gemini CLI sends. Other fields are ignored; versions add to them.
type payload struct {
	Event string         `json:"hook_event_name"`
	Cwd   string         `json:"cwd"`
	Tool  string         `json:"tool_name"`
	Input map[string]any `json:"tool_input"`
	MCP   map[string]any `json:"mcp_context,omitempty"` // of a server's tool: server_name and tool_name
}

// question is a payload with what is needed to answer it.
type question struct {
	payload
	*contract.Call
	same func(a, b string) bool // nil: every file is there
	text *policy.Subject        // the session as the policies have it
}

// opinion is what the policy says of a call.
type opinion struct {
	contract.Opinion
	asks bool // the policies of the session ask a person about such a call
}

// Answer answers one payload.
func Answer(req contract.HookRequest) contract.HookAnswer {
	q := question{same: req.Same}
	if err := contract.ReadPayload(req.Payload, &q.payload); err != nil {
		return contract.Refuse("the payload is not a JSON object of Gemini CLI: " + err.Error())
	}
	switch {
	case q.Event != format.Before:
		return contract.Refuse(fmt.Sprintf("got the event %q, want %s", q.Event, format.Before))
	case q.Tool == "":
		return contract.Refuse("the payload names no tool")
	}
	var err error
	if q.Call, err = contract.NewCall(&req, q.Cwd, q.Input, nil); err != nil {
		return contract.Refuse(err.Error())
	}
	if q.text, err = req.Policy.OnText().Subject(req.Subject); err != nil {
		return contract.Refuse(err.Error())
	}
	o := q.opinion()
	judged := o.Judgement(q.Tool, "", q.Input)
	switch {
	case o.Decision == ir.Deny:
		return deny(q.Why("may not do this", &o.Opinion)).With(judged, ir.Deny)
	case o.Decision == ir.Ask && !o.asks:
		return deny(q.Why("has to ask first, and Gemini CLI does not ask about it in this form", &o.Opinion)+
			": name the file itself, or have a person do it").With(judged, ir.Deny)
	case o.Decision == ir.Ask:
		return contract.NoOpinion().With(judged, ir.Ask)
	}
	return contract.NoOpinion().With(judged, ir.Agent)
}

func deny(why string) contract.HookAnswer {
	line := contract.JSONLine(contract.Object{"decision", "deny", "reason", "modec: " + why})
	return contract.HookAnswer{Stdout: append(line, '\n')}
}

// opinion decides the call. About what is no file and no line the policies ask as the source does.
func (q *question) opinion() opinion {
	always := func(o contract.Opinion) opinion { return opinion{o, true} }
	switch {
	case q.MCP != nil:
		return always(q.tool())
	case slices.Contains(format.Edits, q.Tool):
		return q.file(ir.Edit)
	case slices.Contains(format.Searches, q.Tool), q.Tool == format.OldGrep:
		return q.search()
	case slices.Contains(format.Resources, q.Tool):
		return always(q.resource())
	case slices.Contains(format.Harmless, q.Tool):
		return always(contract.Harmless())
	}
	switch q.Tool {
	case format.ReadFile:
		return q.file(ir.Read)
	case format.Shell:
		return q.command()
	case format.WebFetch:
		return q.fetch()
	case format.WebSearch:
		return always(q.SearchWeb())
	case format.Invoke:
		return always(q.hand(q.Text(format.AgentArg)))
	case format.Skill:
		return always(q.hand(q.Text("name")))
	}
	if strings.HasPrefix(q.Tool, format.ToolPrefix) {
		return always(contract.Denied("a tool of a server that the payload does not name"))
	}
	return always(q.Unknown(q.Tool))
}

// file decides reading, or editing, a file. Gemini CLI takes "@a" for a where no file has that name.
func (q *question) file(g ir.Group) opinion {
	name := strings.ReplaceAll(q.Text(format.FilePath), "\x00", "") // as Gemini CLI does
	if filepath.Clean(name) == "." {
		return opinion{Opinion: contract.Denied("a folder is no file")}
	}
	o := opinion{Opinion: q.File(g, name), asks: q.asked(g, name)}
	names := []string{name}
	if rest, ok := strings.CutPrefix(name, "@"); ok {
		names = append(names, strings.TrimLeft(rest, `/\`))
		o.Result = q.AtAll(g, names)
	}
	if q.Tool == "replace" && q.Restricts(g) && !filepath.IsAbs(name) && !slices.ContainsFunc(names, q.exists) {
		o.Result = policy.Result{Rule: "this file is not there, and Gemini CLI may edit another one of that name: " +
			"write_file makes a new one"}
	}
	return o
}

// exists reports whether a file is there.
func (q *question) exists(name string) bool {
	at := filepath.Join(q.Cwd, name)
	return q.same == nil || q.same(at, at)
}

// command decides a line of the shell, in the folder that the call names.
func (q *question) command() opinion {
	line, dir := q.Text(format.CommandArg), q.Text(format.DirPath)
	o := opinion{Opinion: q.Command(line), asks: q.asked(ir.Command, line)}
	if dir != "" && line != "" { // a command there reads what it names
		in := q.At(policy.Action{Group: ir.Command, Arg: "cd " + contract.ShellQuote(dir) + " && " + line})
		o.Result = contract.BothResults(o.Result, in)
	}
	return o
}

// asked reports whether the policies of the session hold a value back: they compare the text of each command, and paths
// and hosts in the letters of the rules, and see no link and no folder in which a command runs.
func (q *question) asked(g ir.Group, value string) bool {
	a := policy.Action{Group: g, Arg: value}
	compared := policy.Usual(a)
	if g == ir.Command {
		compared = policy.Simple(value) && !blanks().MatchString(value)
	}
	r := q.text.Decide(a)
	return compared && r.WithoutPermissionMode() <= ir.Ask
}

// blanks matches what a policy does not take for the blank between two words.
var blanks = lazy.Regexp(`\s\s|[\t\r\f\v]`)

// search decides a search below a folder, by default that of the session. What it comes across there, it shows.
func (q *question) search() opinion {
	folder := q.Text(format.DirPath)
	if folder == "" {
		folder = "."
	}
	folders := []string{folder}
	globs := append(q.texts("include"), q.Text("include_pattern"))
	if q.Tool == "glob" { // else the pattern is about what is in files
		globs = append(globs, q.Text("pattern"))
	}
	for _, glob := range globs {
		for _, from := range contract.FoldersOf(glob) {
			folders = append(folders, from, folder+"/"+from)
		}
		each, err := policy.ExpandBraces(glob)
		if err != nil {
			each = []string{glob}
		}
		for _, begin := range each {
			if i := strings.IndexAny(begin, "*?[{!("); i >= 0 {
				begin = begin[:strings.LastIndexByte(begin[:i], '/')+1]
			}
			if begin != "" {
				folders = append(folders, folder+"/"+begin)
			}
		}
	}
	unnamed := q.Session.Default(ir.Read)
	return opinion{contract.Opinion{Result: q.AtAll(ir.Read, folders), Group: ir.Read, About: q.Written(folder)},
		unnamed.WithoutPermissionMode() == ir.Ask}
}

// texts returns an argument that is a list of texts.
func (q *question) texts(name string) (out []string) {
	list, _ := q.Input[name].([]any)
	for _, item := range list {
		text, _ := item.(string)
		out = append(out, text)
	}
	return out
}

// fetch decides fetching the pages that a text names, with whatever else in it may be the name of a host.
func (q *question) fetch() opinion {
	o := opinion{Opinion: contract.Denied("a call without a readable url"), asks: true}
	var hosts []string
	if url := q.Text("url"); url != "" {
		hosts = append(hosts, url)
	}
	for _, word := range strings.Fields(q.Text(format.PromptArg)) {
		if !strings.Contains(word, "://") {
			hosts = append(hosts, dotted().FindAllString(word, -1)...)
		} else if hosts = append(hosts, word); strings.Count(word, "://") > 1 {
			return o
		}
	}
	for i, host := range hosts {
		of := q.Fetch(host)
		if i == 0 {
			o.Opinion = of
		}
		o.asks = o.asks && q.asked(ir.Web, contract.WrittenHost(host))
		o.Result = contract.BothResults(o.Result, of.Result)
	}
	return o
}

// dotted matches what may be the name of a host.
var dotted = lazy.Regexp(`[\pL\pN_-]+(?:\.[\pL\pN_-]+)+`)

// tool decides a tool of a server.
func (q *question) tool() contract.Opinion {
	server, _ := q.MCP["server_name"].(string)
	tool, _ := q.MCP["tool_name"].(string)
	if server == "" || tool == "" {
		return contract.Denied("a tool of a server that the payload does not name")
	}
	a := policy.Action{Group: ir.MCP, Server: server, Arg: tool}
	return contract.Opinion{Result: q.Decide(a), Group: ir.MCP, Server: server, About: tool}
}

// resource decides reading a resource. The call does not name its server: it may be any, or one of the user's own.
func (q *question) resource() contract.Opinion {
	o := q.Resource("", q.Text("uri"))
	own := policy.Action{Group: ir.MCP, Kind: policy.Resource, Server: contract.UnknownServer, Arg: q.Text("uri")}
	o.Result = contract.BothResults(o.Result, q.Decide(own))
	return o
}

// hand decides handing work to an agent, or reading a skill.
func (q *question) hand(name string) contract.Opinion {
	p := q.Policy.Project()
	for i := range p.Modes {
		if format.AgentOf(&p.Modes[i]) == name {
			return q.Hand(name, &p.Modes[i])
		}
	}
	return q.Hand(name, nil)
}

// Payload returns what Gemini CLI sends before a call. server is that of a server's tool.
func Payload(cwd, tool, server string, input map[string]any) []byte {
	p := payload{Event: format.Before, Cwd: cwd, Tool: tool, Input: input}
	if server != "" {
		own := strings.TrimPrefix(tool, format.ToolName(server, ""))
		p.MCP = map[string]any{"server_name": server, "tool_name": own}
	}
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts
	}
	return data
}
