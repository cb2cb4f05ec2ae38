package format

import "modec.dev/modec/compiler/ir"

// toolGroups are the tools of Roo Code 3.52.1 and Zoo Code 3.82.0 by group
// (src/shared/tools.ts: TOOL_GROUPS, ALWAYS_AVAILABLE_TOOLS, TOOL_ALIASES), with those
// of earlier versions that agents still name. The last ones touch nothing.
var toolGroups = map[string]ir.Group{
	"read_file": ir.Read, "search_files": ir.Read, "list_files": ir.Read, "codebase_search": ir.Read,
	"list_code_definition_names": ir.Read,

	"write_to_file": ir.Edit, "write_file": ir.Edit, "apply_diff": ir.Edit, "apply_patch": ir.Edit,
	"edit_file": ir.Edit, "search_replace": ir.Edit, "search_and_replace": ir.Edit, "insert_content": ir.Edit,
	"generate_image": ir.Edit,

	"execute_command": ir.Command, "read_command_output": ir.Command,
	"fetch_web_content": ir.Web, "browser_action": ir.Web,
	"use_mcp_tool": ir.MCP, "access_mcp_resource": ir.MCP,
	"switch_mode": ir.Modes, "new_task": ir.Modes,

	"ask_followup_question": "", "attempt_completion": "", "update_todo_list": "", "run_slash_command": "",
	"skill": "",
}

// ToolGroup returns the group of a tool, "" for one that touches nothing; false for a tool
// that neither agent has. Roo's tool "edit" is left out: it has the name of its group.
func ToolGroup(tool string) (ir.Group, bool) {
	g, ok := toolGroups[tool]
	return g, ok
}
