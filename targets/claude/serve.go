package claude

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/hook"
)

// Tool describes a tool of Claude Code, or of an MCP server as Claude Code names it.
func (claude) Tool(name string) (contract.Tool, bool) {
	if strings.HasPrefix(name, "mcp__") {
		return contract.Tool{Group: ir.MCP, Unnamed: true}, true
	}
	g, ok := hook.Group(name)
	t := contract.Tool{Group: g, Unnamed: g == "" || g == ir.MCP || name == "WebSearch"}
	switch name {
	case "Glob", "Grep", "LS", "LSP":
		t.Searches, t.Unnamed = true, true
	}
	return t, ok
}

// JudgeTool decides a call as the hook does.
func (claude) JudgeTool(req contract.HookRequest, call contract.ToolCall) (policy.Result, error) {
	input := map[string]any{}
	for name, value := range map[string]string{
		"file_path": call.Path, "notebook_path": call.Path, "filePath": call.Path, "path": call.Path,
		"command": call.Command, "url": call.URL, "server": call.Server, "subagent_type": call.Mode, "skill": call.Mode,
	} {
		if value != "" {
			input[name] = value
		}
	}
	return hook.Judge(req, call.Tool, input)
}

// FlagsOf compiles a role for a command line without a settings file.
func (claude) FlagsOf(in contract.Input, r *ir.Role) (contract.RoleFlags, diag.List) {
	return RoleFlags(in, r, FlagOptions{})
}

// ServerList says how .mcp.json lists a server.
func (claude) ServerList() contract.ServerList {
	return contract.ServerList{File: ".mcp.json", Field: "mcpServers", Local: "stdio", Remote: "http"}
}
