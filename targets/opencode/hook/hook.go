// Package hook answers modec's plugin in opencode and in Kilo, which is made of it, from the compiled policy:
// `modec hook opencode` and `modec hook kilo`.
//
// [Answer] takes one payload and returns one JSON object with exit code 0, or a refusal with exit code 2. The plugin
// asks before every call, also before those of agents to which the session handed work, and names these. It can refuse
// a call, and neither ask nor allow: opencode's own rules do that. So a question passes where these ask, and is refused
// elsewhere.
//
// The payloads are those of format/plugin.js, with what opencode 1.18.33 and Kilo 7.7.9 hand to a plugin. Answer
// refuses what it does not understand.
package hook

import (
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

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
	payload
	*contract.Call
	program string // that asks, by the name of its target
	home    string
}

// Answer answers one payload of a program, which has the name of its target.
func Answer(program string, req contract.HookRequest) contract.HookAnswer {
	q := question{program: program, home: req.Home}
	if err := contract.ReadPayload(req.Payload, &q.payload); err != nil {
		return contract.Refuse("the payload is not a JSON object of " + program + ": " + err.Error())
	}
	if q.Tool == "" || q.Agent == "" {
		return contract.Refuse("the payload names no tool, or no agent that calls it")
	}
	var err error
	mode, slug := modeOf(req.Policy.Project(), q.Agent), ""
	if q.Call, err = contract.NewCall(&req, q.Cwd, q.Args, mode); err != nil {
		return contract.Refuse(err.Error())
	}
	if mode != nil {
		slug = mode.Slug
	}
	o := q.opinion()
	judged := o.Judgement(q.Tool, slug, q.Args)
	why := "may not do this"
	switch {
	case o.Decision == ir.Ask && !q.fileAsks(&req, mode):
		why = "has to ask first, and " + program + " does not ask about it in this form"
	case o.Decision > ir.Deny:
		return contract.NoOpinion().With(judged, ir.Agent)
	}
	line := contract.JSONLine(contract.Object{"decision", "deny", "reason", q.Why(why, &o)})
	return contract.HookAnswer{Stdout: append(line, '\n')}.With(judged, ir.Deny)
}

// fileAsks reports whether the rules of the program's own files ask about a call that has to be asked about. They
// compare the text of each command, and paths in the letters of the rules.
func (q *question) fileAsks(req *contract.HookRequest, mode *ir.Mode) bool {
	if line := q.Text("command"); line != "" && !policy.Simple(line) {
		return false
	}
	address := q.Text("url")
	if address != "" && !policy.Usual(policy.Action{Group: ir.Web, Arg: contract.WrittenHost(address)}) {
		return false
	}
	text := *req
	text.Policy = req.Policy.OnText()
	of := *q
	var err error
	of.Call, err = contract.NewCall(&text, q.Cwd, q.Args, mode)
	return err == nil && of.opinion().Decision <= ir.Ask
}

// modeOf returns the mode of an agent's name, which may have signs that no slug has; nil for none.
func modeOf(p *ir.Project, agent string) *ir.Mode {
	if m := p.Mode(agent); m != nil {
		return m
	}
	return p.Mode(contract.Slug(agent))
}

// opinion decides the call.
func (q *question) opinion() contract.Opinion {
	switch q.Tool {
	case format.Bash:
		return q.command()
	case format.ToolProcess:
		return q.process()
	case format.ToolNotebookRead:
		return q.read(q.Text("path"))
	case format.ToolNotebookEdit:
		return q.File(ir.Edit, q.Text("path"))
	case format.Read, format.ToolLSP:
		return q.read(q.Text("filePath"))
	case format.ToolWrite, format.Edit:
		return q.File(ir.Edit, q.Text("filePath"))
	case format.ToolPatch:
		return q.patch()
	case format.WebFetch:
		return q.Fetch(q.Text("url"))
	case format.WebSearch:
		return q.SearchWeb()
	case format.Task:
		return q.task()
	case format.Skill:
		return q.handed("name")
	case format.ToolResource, format.ToolResources, format.ToolTemplates:
		return q.Resource(q.Text("server"), q.Text("uri"))
	}
	switch {
	case slices.Contains(format.Searches, q.Tool), q.Tool == format.ToolSemantic:
		return q.search()
	case slices.Contains(format.Harmless, q.Tool), slices.Contains(format.Quiet, q.Tool):
		return contract.Harmless()
	}
	if o, ok := q.tool(); ok {
		return o
	}
	return q.Unknown(q.Tool)
}

// command decides a line of the shell, in the folder that the call names.
func (q *question) command() contract.Opinion {
	line := q.Text("command")
	o := q.Command(line)
	if dir := q.Text("workdir"); dir != "" && line != "" { // a command there reads what it names
		in := q.At(policy.Action{Group: ir.Command, Arg: "cd " + contract.ShellQuote(dir) + " && " + line})
		o.Result = contract.BothResults(o.Result, in)
	}
	return o
}

// process decides a command that goes on in the background, and what is asked about those that run.
func (q *question) process() contract.Opinion {
	switch q.Text("action") {
	case "list", "status", "logs", "stop":
		return contract.Harmless()
	}
	return q.command() // none is denied: what is started anew may be that of an earlier session
}

func (q *question) read(file string) contract.Opinion {
	o := q.File(ir.Read, file)
	if o.Decision == ir.Deny && q.ownOutput(file) {
		o.Result = contract.LeftAlone("output that " + q.program + " kept").Result
	}
	return o
}

// ownOutput reports whether a file is in the folder in which a program keeps output that is too long for a model. Its
// own rules always allow that.
func (q *question) ownOutput(file string) bool {
	return q.home != "" && strings.HasPrefix(path.Clean(filepath.ToSlash(file)),
		path.Join(filepath.ToSlash(q.home), ".local/share", q.program, "tool-output")+"/")
}

// patch decides a patch.
func (q *question) patch() contract.Opinion {
	var patch strings.Builder
	for line := range strings.Lines(q.Text("patchText")) {
		// A line behind a blank is one of the file: no name of a file, as Codex may read it.
		if !strings.HasPrefix(line, " ") || strings.Contains(line, "File:") || strings.Contains(line, "Move to:") {
			patch.WriteString(line)
		}
	}
	return q.Patch(codex.PatchFiles(patch.String()))
}

// search decides a search below a folder, by default that of the session. What it comes across there, it shows.
func (q *question) search() contract.Opinion {
	folder := q.Text("path")
	if folder == "" {
		folder = "."
	}
	folders := []string{folder}
	names := q.Text("include")
	if q.Tool == format.ToolGlob {
		names = q.Text("pattern")
	}
	for _, from := range contract.FoldersOf(names) {
		folders = append(folders, from, folder+"/"+from)
	}
	if begin, _, wild := strings.Cut(names, "*"); wild && strings.Contains(begin, "/") {
		folders = append(folders, folder+"/"+begin[:strings.LastIndexByte(begin, '/')])
	}
	return contract.Opinion{Result: q.AtAll(ir.Read, folders), Group: ir.Read, About: q.Written(folder)}
}

// handed decides handing work to an agent, or reading a skill, that an argument names.
func (q *question) handed(arg string) contract.Opinion {
	name := q.Text(arg)
	return q.Hand(name, modeOf(q.Policy.Project(), name))
}

// task decides handing work to an agent. Of files that the prompt names behind an "@" opencode puts the text into it,
// and asks nobody: they are read.
func (q *question) task() contract.Opinion {
	o := q.handed("subagent_type")
	for _, m := range named().FindAllStringSubmatch(q.Text("prompt"), -1) {
		for _, file := range []string{m[1], strings.TrimRight(m[1], ".,;:!?)]}\"'")} {
			if file == "" || slices.ContainsFunc(strings.Split(file, "/"), endless) {
				continue
			}
			if r := q.At(policy.Action{Group: ir.Read, Arg: file}); r.Decision == ir.Deny {
				return contract.Opinion{Result: r, Group: ir.Read, About: q.Written(file)}
			}
		}
	}
	return o
}

// endless reports whether a name is longer than one that a file system has.
func endless(name string) bool { return utf8.RuneCountInString(name) > 255 }

// named matches what a prompt names behind an "@".
var named = lazy.Regexp("(?:^|[^\\w`])@([^\\s`,]+)")

// tool decides a tool of a server. opencode writes names in a way in which several may be the same: the lowest decision
// holds. It reports false for a name that is of no server.
func (q *question) tool() (o contract.Opinion, ok bool) {
	o.Group = ir.MCP
	try := func(server, tool string) {
		r := q.Decide(policy.Action{Group: ir.MCP, Server: server, Arg: tool})
		if !ok || r.Decision < o.Decision {
			o.Result, o.Server, o.About = r, server, tool
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
		for _, name := range q.ToolsNamed(sv.Name, unwritten(rest), func(name string) bool {
			return format.Sanitized(name) == rest
		}) {
			try(sv.Name, name)
		}
	}
	if server, tool, is := strings.Cut(q.Tool, "_"); is && !ok && server != "" { // of somebody's own, or of a plugin
		try(server, tool)
		if unknown := q.Unknown(q.Tool); unknown.Decision < o.Decision {
			return unknown, true
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
