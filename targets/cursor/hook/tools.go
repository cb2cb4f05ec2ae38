package hook

import (
	"encoding/json"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// tools decides the tools that preToolUse names: those that the engine of @cursor/sdk
// 1.0.32 sends, and those that the documentation or people's matchers name. Any other
// tool is unknown, and judged by its arguments too.
var tools = map[string]func(*question) policy.Result{
	"Shell":            abstain, // beforeShellExecution decides, and can ask
	"WriteShellStdin":  typed,
	"Read":             reads("file_path", "path", "target_file"),
	"ReadLints":        searches("file_path", "path", "paths"),
	"Grep":             searches("file_path", "path"),
	"Glob":             searches("file_path", "path", "target_directory"),
	"List":             searches("file_path", "path"),
	"LS":               searches("file_path", "path", "target_directory"),
	"SemanticSearch":   searches("file_path", "path", "target_directories"),
	"Write":            edits("file_path", "path", "target_file"),
	"StrReplace":       edits("file_path", "path", "target_file"),
	"Edit":             edits("file_path", "path", "target_file"),
	"EditNotebook":     edits("file_path", "path", "target_notebook"),
	"Delete":           edits("file_path", "path", "target_file"),
	"Fetch":            fetches,
	"WebFetch":         fetches,
	"WebSearch":        looksUp,
	"Task":             starts,
	"ListMcpResources": resources,
	"FetchMcpResource": resources,
	"TodoWrite":        abstain,
}

// tool decides preToolUse, which cannot ask.
func tool(q *question) policy.Result {
	if len(q.ToolInput) > 0 && string(q.ToolInput) != "null" {
		if err := json.Unmarshal(q.ToolInput, &q.input); err != nil {
			return refused("a tool input that is not an object")
		}
	}
	if name, ok := strings.CutPrefix(q.ToolName, "MCP:"); ok {
		return q.anyServer(name)
	}
	if decide := tools[q.ToolName]; decide != nil {
		return decide(q)
	}
	return unknownTool(q)
}

// unknownTool decides a tool that is not in the table: by can.unknown, and by every
// argument whose name says what the tool touches.
func unknownTool(q *question) policy.Result {
	all := decided(q.subject.UnknownTool())
	for _, name := range []string{"file_path", "path", "target_file", "target_notebook", "download_path"} {
		if _, ok := q.input[name]; ok {
			all = both(all, edits(name)(q))
		}
	}
	if line, ok := q.text("command"); ok {
		all = both(all, q.line(line))
	}
	if _, ok := q.input["url"]; ok {
		all = both(all, fetches(q))
	}
	return all
}

func abstain(*question) policy.Result { return policy.Result{Decision: ir.Agent, Mapped: ir.Agent} }

// text returns an argument that is a text, "" for one that is not; false where the call
// does not have it.
func (q *question) text(name string) (string, bool) {
	raw, ok := q.input[name]
	if !ok || string(raw) == "null" {
		return "", false
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", true
	}
	return s, true
}

// paths returns the paths in the named arguments, a text or a list of texts each; false
// where one of them is anything else.
func (q *question) paths(names []string) ([]string, bool) {
	var out []string
	for _, name := range names {
		raw, ok := q.input[name]
		if !ok || string(raw) == "null" {
			continue
		}
		var one string
		var many []string
		switch {
		case json.Unmarshal(raw, &one) == nil:
			if one != "" {
				out = append(out, one)
			}
		case json.Unmarshal(raw, &many) == nil:
			out = append(out, many...)
		default:
			return nil, false
		}
	}
	return out, true
}

// files decides the paths in the named arguments. Where there is no path, it decides about none.
func (q *question) files(g ir.Group, names []string, none string) policy.Result {
	paths, ok := q.paths(names)
	if !ok && !q.left(g) {
		return refused("a call without a readable path")
	}
	if len(paths) == 0 {
		paths = []string{none}
	}
	all := unheld
	for _, p := range paths {
		all = both(all, q.file(g, p))
	}
	return all
}

func reads(names ...string) func(*question) policy.Result {
	return func(q *question) policy.Result { return q.files(ir.Read, names, "") }
}

func edits(names ...string) func(*question) policy.Result {
	return func(q *question) policy.Result { return q.files(ir.Edit, names, "") }
}

// searches judges a search by the folder that the call names, else by the workspace. Where the
// subject may not read everything, the folder may contain such a file: the hook does not allow.
func searches(names ...string) func(*question) policy.Result {
	return func(q *question) policy.Result {
		r := q.files(ir.Read, names, ".")
		if r.Decision == ir.Allow && q.subject.Restricts(ir.Read) {
			return abstain(q)
		}
		return r
	}
}

// typed judges what is typed into a running shell. The payload does not say what: it is
// judged as an unknown command.
func typed(q *question) policy.Result { return q.line(`"$typed"`) }

// fetches judges the host of an address. It refuses what Go and a browser may read
// differently.
func fetches(q *question) policy.Result {
	raw, _ := q.text("url")
	host, ok := contract.WebHost(raw)
	if !ok && !q.left(ir.Web) {
		return refused("an address that cannot be read")
	}
	return decided(q.subject.Decide(policy.Action{Group: ir.Web, Arg: host}))
}

// looksUp judges a search of the web, which names no host.
func looksUp(q *question) policy.Result {
	return decided(q.subject.Decide(policy.Action{Group: ir.Web}))
}

// starts judges a subagent where the call names it; the event subagentStart always does.
func starts(q *question) policy.Result {
	slug, ok := q.text("subagent_type")
	if !ok {
		return abstain(q)
	}
	return q.mode(slug)
}
