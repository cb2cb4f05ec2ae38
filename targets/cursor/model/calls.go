package model

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// event is the union of Cursor's payloads, as the engine sends them.
type event struct {
	Event        string   `json:"hook_event_name,omitempty"`
	Version      string   `json:"cursor_version,omitempty"`
	Roots        []string `json:"workspace_roots,omitempty"`
	Cwd          string   `json:"cwd,omitempty"`
	Command      *string  `json:"command,omitempty"`
	ToolName     string   `json:"tool_name,omitempty"`
	ToolInput    any      `json:"tool_input,omitempty"`
	ToolUse      string   `json:"tool_use_id,omitempty"`
	ServerName   string   `json:"mcp_server_name,omitempty"`
	ServerURL    string   `json:"mcp_server_url,omitempty"`
	URL          string   `json:"url,omitempty"`
	FilePath     *string  `json:"file_path,omitempty"`
	SubagentType *string  `json:"subagent_type,omitempty"`
}

func (o *opened) event(name string) event {
	return event{Event: name, Version: "3.20.17", Roots: []string{o.disk.Root}}
}

// preTool returns the call of preToolUse for a tool.
func (o *opened) preTool(tool string, input map[string]any) call {
	e := o.event("preToolUse")
	e.ToolName, e.ToolInput, e.ToolUse = tool, input, "u"
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
		shell := o.preTool("Shell", map[string]any{"command": a.Arg, "cwd": o.disk.Root})
		return [][]call{{shell, {"beforeShellExecution", a.Arg, e}}}
	case ir.Web:
		if a.Arg == "" {
			return [][]call{{o.preTool("WebSearch", map[string]any{"search_term": "x"})}}
		}
		input := map[string]any{"url": "https://" + a.Arg + "/"}
		return [][]call{{o.preTool("Fetch", input)}, {o.preTool("WebFetch", input)}}
	case ir.Modes:
		e := o.event("subagentStart")
		e.SubagentType = &a.Arg
		task := o.preTool("Task", map[string]any{"subagent_type": a.Arg, "prompt": "x"})
		return [][]call{{task, {"subagentStart", a.Arg, e}}}
	case ir.MCP:
		return o.serverCalls(on, a)
	case ir.Unknown:
		return [][]call{{o.preTool(a.Arg, map[string]any{})}}
	}
	return nil
}

func (o *opened) editing(on surface, path string) [][]call {
	input := map[string]any{"file_path": path}
	tools := [][]call{{o.preTool("Write", input)}, {o.preTool("Delete", input)}}
	if on == ide {
		tools = append(tools, []call{o.preTool("StrReplace", input)},
			[]call{o.preTool("EditNotebook", map[string]any{"target_notebook": path})})
	}
	return tools
}

func (o *opened) reading(on surface, path string) [][]call {
	input := map[string]any{"file_path": path}
	before := o.event("beforeReadFile")
	before.FilePath = &path
	tools := [][]call{{o.preTool("Read", input), {"beforeReadFile", "Read", before}}}
	if path != "" { // without a path it searches the workspace
		tools = append(tools, []call{o.preTool("Grep", map[string]any{"pattern": "x", "file_path": path})})
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
	return []string{server, "user-" + server, fmt.Sprintf("project-0-%s-%s", o.folder, server)}
}

// serverCalls returns one tool for each id of the server.
func (o *opened) serverCalls(on surface, a policy.Action) [][]call {
	var tools [][]call
	for _, id := range o.ids(on, a.Server) {
		switch a.Kind {
		case policy.Tool:
			name := "MCP:" + a.Arg
			before := call{"beforeMCPExecution", name, o.beforeMCP(id, a)}
			tools = append(tools, []call{o.preTool(name, map[string]any{}), before})
		case policy.Resource:
			fetch := o.preTool("FetchMcpResource", map[string]any{"server": id, "uri": a.Arg})
			tools = append(tools, []call{fetch})
		}
	}
	return tools
}

// beforeMCP returns the payload of beforeMCPExecution for a tool of a server that runs
// under an id.
func (o *opened) beforeMCP(id string, a policy.Action) event {
	e := o.event("beforeMCPExecution")
	e.ToolName, e.ToolInput, e.ServerName, e.Command = a.Arg, "{}", id, &id
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
