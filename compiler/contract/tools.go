package contract

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// Tools is a target that knows its agent's tools by name.
type Tools interface {
	Target
	// Tool describes a tool; false for a name that is not one of the agent's.
	Tool(name string) (Tool, bool)
}

// Tool is a tool of an agent.
type Tool struct {
	Group ir.Group // "" for one that touches nothing
	// Searches is set where the tool looks below a folder: the project's, where the
	// call names none.
	Searches bool
	// Unnamed is set where a call need not say what the tool is used on.
	Unnamed bool
}

// ToolJudge is a target that judges calls of its agent's tools as its hook does.
type ToolJudge interface {
	Tools
	// JudgeTool decides a call. The payload of the request is not read.
	JudgeTool(HookRequest, ToolCall) (policy.Result, error)
}

// ToolCall is a call of a tool in the neutral vocabulary. Fields that the tool has no
// use for are empty.
type ToolCall struct {
	Tool    string
	Path    string // of a tool that reads or edits: relative to the project, or absolute
	Command string // the line of a tool that runs commands
	URL     string // the address of a tool that fetches
	Server  string // the MCP server
	Mode    string // the mode of a tool that switches or delegates
}

// PathPattern is a target whose agent limits a mode's edits by one expression.
type PathPattern interface {
	Target
	// PathPattern returns the expression over the paths that a mode may edit, "" where
	// none limits it.
	PathPattern(*policy.Engine, *ir.Mode) string
}

// FlagRoles is a target whose agent takes a role's permissions as flags of its command
// line.
type FlagRoles interface {
	Target
	// FlagsOf compiles a role for a command line without any file. What flags cannot
	// carry is a loss.
	FlagsOf(Input, *ir.Role) (RoleFlags, diag.List)
}

// RoleFlags are a role's permissions on a command line.
type RoleFlags struct {
	PermissionMode      string
	Allowed, Disallowed []string
	Tools               *string // the built-in tools, with commas; nil: not given
	AppendSystemPrompt  string
	Env                 map[string]string
}
