package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/cursor/format"
)

// event is the union of Cursor's payloads, as the engine sends them.
type event struct {
	Event        string   `json:"hook_event_name,omitempty"`
	Version      string   `json:"cursor_version,omitempty"`
	Roots        []string `json:"workspace_roots,omitempty"`
	Cwd          string   `json:"cwd,omitempty"`
	Command      *string  `json:"command,omitempty"`
	ToolName     string   `json:"tool_name,omitempty"`
	ToolInput    input    `json:"tool_input,omitempty"`
	ToolUse      string   `json:"tool_use_id,omitempty"`
	ServerName   string   `json:"mcp_server_name,omitempty"`
	ServerURL    string   `json:"mcp_server_url,omitempty"`
	URL          string   `json:"url,omitempty"`
	FilePath     *string  `json:"file_path,omitempty"`
	SubagentType *string  `json:"subagent_type,omitempty"`
}

// input is the input of a tool as JSON: an object, or a text that contains JSON.
type input = json.RawMessage

func texts(members ...string) input {
	o := contract.Object{}
	for _, m := range members {
		o = append(o, m)
	}
	return contract.JSONLine(o)
}

// json returns a payload as Cursor sends it.
func (e *event) json() []byte {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err) // its fields are texts
	}
	return b
}

func (o *opened) event(name string) event {
	return event{Event: name, Version: "3.20.17", Roots: []string{o.disk.Root}}
}

// typed returns the input of WriteShellStdin for a line.
func typed(line string) input { return fmt.Appendf(nil, `{"chars_length":%d,"shell_id":1}`, len(line)) }

// preTool returns the call of preToolUse for a tool.
func (o *opened) preTool(tool string, in input) call {
	e := o.event("preToolUse")
	e.ToolName, e.ToolInput, e.ToolUse = tool, in, "u"
	return call{"preToolUse", tool, e}
}

// tools returns the tools of Cursor that perform an action, each as the calls that its
// hooks get: those that the engine of @cursor/sdk 1.0.32 sends (Shell, Read, Grep,
// Write, Delete, Fetch, Task, MCP:…, FetchMcpResource), and those that only the IDE has.
func (o *opened) tools(on surface, a policy.Action) [][]call {
	switch a.Group {
	case ir.Read:
		return o.reading(on, a.Arg)
	case ir.Edit:
		return o.editing(on, a.Arg)
	case ir.Command:
		e := o.event("beforeShellExecution")
		e.Command, e.Cwd = &a.Arg, o.disk.Root
		shell := o.preTool("Shell", texts("command", a.Arg, "cwd", o.disk.Root))
		return [][]call{{shell, {"beforeShellExecution", a.Arg, e}}}
	case ir.Web:
		if a.Arg == "" {
			return [][]call{{o.preTool("WebSearch", texts("search_term", "x"))}}
		}
		in := texts("url", "https://"+a.Arg+"/")
		return [][]call{{o.preTool("Fetch", in)}, {o.preTool("WebFetch", in)}}
	case ir.Modes:
		e := o.event("subagentStart")
		e.SubagentType = &a.Arg
		task := o.preTool("Task", texts("prompt", "x", "subagent_type", a.Arg))
		return [][]call{{task, {"subagentStart", a.Arg, e}}}
	case ir.MCP:
		return o.serverCalls(on, a)
	case ir.Unknown:
		return [][]call{{o.preTool(a.Arg, texts())}}
	}
	return nil
}

func (o *opened) editing(on surface, path string) [][]call {
	in := texts("file_path", path)
	tools := [][]call{{o.preTool("Write", in)}, {o.preTool("Delete", in)}}
	if on == ide {
		tools = append(tools, []call{o.preTool("StrReplace", in)},
			[]call{o.preTool("EditNotebook", texts("target_notebook", path))})
	}
	return tools
}

func (o *opened) reading(on surface, path string) [][]call {
	in := texts("file_path", path)
	before := o.event("beforeReadFile")
	before.FilePath = &path
	tools := [][]call{{o.preTool("Read", in), {"beforeReadFile", "Read", before}}}
	if path != "" { // without a path it searches the workspace
		tools = append(tools, []call{o.preTool("Grep", texts("file_path", path, "pattern", "x"))})
	}
	if on == ide {
		tab := o.event("beforeTabFileRead")
		tab.FilePath = &path
		tools = append(tools, []call{{"beforeTabFileRead", "TabRead", tab}})
	}
	return tools
}

// ids returns the names under which a server may run: in the CLI that of mcp.json, in
// the IDE that or one with a prefix.
func (o *opened) ids(on surface, server string) []string {
	if on != ide {
		return []string{server}
	}
	ids := []string{server, "user-" + server, o.projectID(server)}
	for _, id := range o.entryIDs { // the workspace may lie in any folder; of two servers it is the longer name's
		if strings.HasSuffix(id, "-"+format.Fold(server)) && !slices.ContainsFunc(o.listed,
			func(other string) bool {
				return other != server && strings.HasSuffix(id, "-"+format.Fold(other)) &&
					len(other) > len(server)
			}) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (o *opened) projectID(server string) string {
	return fmt.Sprintf("project-0-%s-%s", o.folder, server)
}

// projectIDs matches the ids of servers of a project in lower case, and globs of them.
var projectIDs = lazy.Regexp(`^project-[^-:]+-.+-`)

// serverCalls returns one tool for each id of the server.
func (o *opened) serverCalls(on surface, a policy.Action) [][]call {
	var tools [][]call
	for _, id := range o.ids(on, a.Server) {
		switch a.Kind {
		case policy.Tool:
			name := "MCP:" + a.Arg
			before := call{"beforeMCPExecution", name, o.beforeMCP(id, a)}
			tools = append(tools, []call{o.preTool(name, texts()), before})
		case policy.Resource:
			fetch := o.preTool("FetchMcpResource", texts("server", id, "uri", a.Arg))
			tools = append(tools, []call{fetch})
		}
	}
	return tools
}

// beforeMCP returns the payload of beforeMCPExecution for a tool of a server that runs
// under an id.
func (o *opened) beforeMCP(id string, a policy.Action) event {
	e := o.event("beforeMCPExecution")
	e.ToolName, e.ToolInput, e.ServerName, e.Command = a.Arg, input(`"{}"`), id, &id
	switch s := o.servers[a.Server]; {
	case s == nil:
	case s.URL != "":
		e.URL, e.ServerURL, e.Command = s.URL, s.URL, nil
	default:
		line := strings.Join(append([]string{s.Command}, s.Args...), " ")
		e.Command = &line
	}
	return e
}
