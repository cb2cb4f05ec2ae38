// Package hook answers modec's plugin in opencode from the compiled policy: `modec hook opencode`.
//
// [Answer] takes one payload and returns one JSON object with exit code 0, or a refusal with exit code 2. The plugin
// asks before every call, also before those of agents to which the session handed work, and names these. It can refuse
// a call, and neither ask nor allow: opencode's own rules do that. So a question passes here.
//
// The payloads are those of format/hook.js, with what opencode 1.18.33 hands to a plugin. Answer refuses what it does
// not understand.
package hook

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	codex "modec.dev/modec/targets/codex/format"
	"modec.dev/modec/targets/opencode/format"
)

// payload is what the plugin sends.
type payload struct {
	Cwd   string         `json:"cwd"`
	Tool  string         `json:"tool"`
	Agent string         `json:"agent"` // which calls
	Args  map[string]any `json:"args"`
}

// question is a payload with what is needed to answer it.
type question struct {
	contract.HookRequest
	payload
	caller *contract.Caller
	disk   *contract.Disk
}

// opinion is what the policy says of a call.
type opinion struct {
	policy.Result
	group  ir.Group
	server string
	about  string
}

// Answer answers one payload.
func Answer(req contract.HookRequest) contract.HookAnswer {
	q := question{HookRequest: req, disk: req.Disk()}
	if err := contract.ReadPayload(req.Payload, &q.payload); err != nil {
		return contract.Refuse("the payload is not a JSON object of opencode: " + err.Error())
	}
	if q.Tool == "" || q.Agent == "" {
		return contract.Refuse("the payload names no tool, or no agent that calls it")
	}
	var err error
	mode := q.mode(q.Agent)
	if q.caller, err = contract.NewCaller(&req, q.disk, q.Cwd, mode); err != nil {
		return contract.Refuse(err.Error())
	}
	o := q.opinion()
	judged := &contract.Judgement{Tool: q.Tool, Group: o.group, Server: o.server, Input: q.Args,
		About: func() string { return o.about }, Result: o.Result}
	if mode != nil {
		judged.Mode = mode.Slug
	}
	if o.Decision > ir.Deny {
		return contract.HookAnswer{Stdout: []byte("{}\n")}.With(judged, ir.Agent)
	}
	why := fmt.Sprintf("%s may not do this, by %s", q.caller.Ref, o.Told())
	if p := o.Pos.String(); p != "" {
		why += " (" + p + ")"
	}
	line := contract.JSONLine(contract.Object{"decision", "deny", "reason", why})
	return contract.HookAnswer{Stdout: append(line, '\n')}.With(judged, ir.Deny)
}

// mode returns the mode of an agent's name, which may have signs that no slug has; nil for none.
func (q *question) mode(agent string) *ir.Mode {
	p := q.Policy.Project()
	if m := p.Mode(agent); m != nil {
		return m
	}
	return p.Mode(contract.Slug(agent))
}

func refused(rule string) opinion { return opinion{Result: policy.Result{Rule: rule}} }

// text returns an argument that is a text.
func (q *question) text(name string) string {
	s, _ := q.Args[name].(string)
	return s
}

// opinion decides the call.
func (q *question) opinion() opinion {
	switch q.Tool {
	case format.Bash:
		return q.command()
	case format.Read, format.ToolLSP:
		return q.file(ir.Read)
	case format.ToolWrite, format.Edit:
		return q.file(ir.Edit)
	case format.ToolPatch:
		return q.patch()
	case format.WebFetch:
		return q.fetch()
	case format.WebSearch:
		return opinion{Result: q.caller.Decide(policy.Action{Group: ir.Web}), group: ir.Web}
	case format.Task:
		return q.task()
	case format.Skill:
		return q.handed("name")
	case format.ToolResource, format.ToolResources, format.ToolTemplates:
		return q.resource()
	}
	switch {
	case slices.Contains(format.Searches, q.Tool):
		return q.search()
	case slices.Contains(format.Harmless, q.Tool), slices.Contains(format.Quiet, q.Tool):
		return opinion{Result: policy.Result{Decision: ir.Agent, Mapped: ir.Agent, Rule: "a tool that touches nothing"}}
	}
	if o, ok := q.tool(); ok {
		return o
	}
	return opinion{Result: q.caller.UnknownTool(), group: ir.Unknown, about: q.Tool}
}

// command decides a line of the shell, in the folder that the call names.
func (q *question) command() opinion {
	line := q.text("command")
	switch {
	case line == "":
		return refused("a call without a readable command")
	case policy.ForPeople(line):
		return refused(contract.ForPeople)
	}
	o := opinion{Result: q.caller.At(policy.Action{Group: ir.Command, Arg: line}), group: ir.Command, about: line}
	if dir := q.text("workdir"); dir != "" { // a command there reads what it names
		in := q.caller.At(policy.Action{Group: ir.Command, Arg: "cd " + contract.ShellQuote(dir) + " && " + line})
		o.Result = contract.BothResults(o.Result, in)
	}
	return o
}

func (q *question) file(g ir.Group) opinion {
	file := q.text("filePath")
	if file == "" {
		return refused("a call without a readable path")
	}
	o := opinion{Result: q.caller.At(policy.Action{Group: g, Arg: file}), group: g, about: q.written(file)}
	if g == ir.Read && o.Decision == ir.Deny && q.ownOutput(file) {
		o.Result = policy.Result{Decision: ir.Agent, Mapped: ir.Agent, Rule: "output that opencode kept"}
	}
	return o
}

// ownOutput reports whether a file is in the folder in which opencode keeps output that is too long for a model. Its
// own rules always allow that.
func (q *question) ownOutput(file string) bool {
	return q.Home != "" && strings.HasPrefix(path.Clean(filepath.ToSlash(file)),
		path.Join(filepath.ToSlash(q.Home), ".local/share/opencode/tool-output")+"/")
}

// written returns a path as a rule would name it: opencode has absolute ones.
func (q *question) written(file string) string {
	if own := q.disk.Own(q.Cwd, file); own != "" {
		return own
	}
	return file
}

// patch decides every file of a patch, in the form of Codex, and also those to which it moves one.
func (q *question) patch() opinion {
	var patch strings.Builder
	for line := range strings.Lines(q.text("patchText")) {
		// A line behind a blank is one of the file: no name of a file, as Codex may read it.
		if !strings.HasPrefix(line, " ") || strings.Contains(line, "File:") || strings.Contains(line, "Move to:") {
			patch.WriteString(line)
		}
	}
	files, ok := codex.PatchFiles(patch.String())
	if !ok {
		return refused("a patch whose files cannot be read")
	}
	o := opinion{Result: q.caller.AtAll(ir.Edit, files), group: ir.Edit}
	if len(files) == 1 {
		o.about = q.written(files[0])
	}
	return o
}

// search decides a search below a folder, by default that of the session. What it comes across there, it shows.
func (q *question) search() opinion {
	folder := q.text("path")
	if folder == "" {
		folder = "."
	}
	folders := []string{folder}
	names := q.text("include")
	if q.Tool == format.ToolGlob {
		names = q.text("pattern")
	}
	for _, from := range contract.FoldersOf(names) {
		folders = append(folders, from, folder+"/"+from)
	}
	if begin, _, wild := strings.Cut(names, "*"); wild && strings.Contains(begin, "/") {
		folders = append(folders, folder+"/"+begin[:strings.LastIndexByte(begin, '/')])
	}
	return opinion{Result: q.caller.AtAll(ir.Read, folders), group: ir.Read, about: q.written(folder)}
}

func (q *question) fetch() opinion {
	host, ok := contract.WebHost(q.text("url"))
	if !ok {
		return refused("a call without a readable url")
	}
	return opinion{Result: q.caller.Decide(policy.Action{Group: ir.Web, Arg: host}), group: ir.Web, about: host}
}

// handed decides handing work to an agent, or reading a skill, that an argument names.
func (q *question) handed(arg string) opinion {
	name := q.text(arg)
	if m := q.mode(name); m != nil {
		name = m.Slug
	}
	return opinion{Result: q.caller.Decide(policy.Action{Group: ir.Modes, Arg: name}), group: ir.Modes, about: name}
}

// task decides handing work to an agent. Of files that the prompt names behind an "@" opencode puts the text into it,
// and asks nobody: they are read.
func (q *question) task() opinion {
	o := q.handed("subagent_type")
	for _, m := range named().FindAllStringSubmatch(q.text("prompt"), -1) {
		for _, file := range []string{m[1], strings.TrimRight(m[1], ".,;:!?)]}\"'")} {
			if r := q.caller.At(policy.Action{Group: ir.Read, Arg: file}); file != "" && r.Decision == ir.Deny {
				return opinion{Result: r, group: ir.Read, about: q.written(file)}
			}
		}
	}
	return o
}

// named matches what a prompt names behind an "@".
var named = lazy.Regexp("(?:^|[^\\w`])@([^\\s`,]+)")

// resource decides reading a server's resources, of all servers where the call names none.
func (q *question) resource() opinion {
	server := q.text("server")
	o := opinion{group: ir.MCP, server: server, about: q.text("uri")}
	o.Decision = ir.Agent
	of := []string{server}
	if server == "" {
		of = nil
		for i := range q.Policy.Project().Servers {
			of = append(of, q.Policy.Project().Servers[i].Name)
		}
	}
	for _, name := range of {
		a := policy.Action{Group: ir.MCP, Kind: policy.Resource, Server: name, Arg: o.about}
		o.Result = contract.BothResults(o.Result, q.caller.Decide(a))
	}
	return o
}

// tool decides a tool of a server. opencode writes names in a way in which several may be the same: the lowest decision
// holds. It reports false for a name that is of no server.
func (q *question) tool() (o opinion, ok bool) {
	o.group = ir.MCP
	try := func(server, tool string) {
		r := q.caller.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
		if !ok || r.Decision < o.Decision {
			o.Result, o.server, o.about = r, server, tool
		}
		ok = true
	}
	p := q.Policy.Project()
	for i := range p.Servers {
		sv := &p.Servers[i]
		rest, is := strings.CutPrefix(q.Tool, format.ToolKey(sv.Name, ""))
		if !is {
			continue
		}
		listed := false
		for j := range sv.Tools {
			if format.Sanitized(sv.Tools[j].Name) == rest {
				try(sv.Name, sv.Tools[j].Name)
				listed = true
			}
		}
		if listed && p.ListsTools(sv) {
			continue
		}
		for _, name := range q.caller.ToolsNamed(sv.Name, unwritten(rest), func(name string) bool {
			return format.Sanitized(name) == rest
		}) {
			try(sv.Name, name)
		}
	}
	if server, tool, is := strings.Cut(q.Tool, "_"); is && !ok && server != "" { // of somebody's own, or of a plugin
		try(server, tool)
		if r := q.caller.UnknownTool(); r.Decision < o.Decision {
			return opinion{Result: r, group: ir.Unknown, about: q.Tool}, true
		}
	}
	return o, ok
}

// unwritten returns what a name may be that opencode writes so.
func unwritten(as string) []string {
	if !strings.Contains(as, "_") {
		return []string{as}
	}
	return []string{as, strings.ReplaceAll(as, "_", "."), strings.ReplaceAll(as, "_", "/")}
}

// Payload returns what the plugin sends.
func Payload(cwd, tool, agent string, args map[string]any) []byte {
	data, err := json.Marshal(payload{cwd, tool, agent, args})
	if err != nil {
		panic(err) // texts
	}
	return data
}
