package roo

import "modec.dev/modec/compiler/diag"

// The codes that the emitter reports.
const (
	codeCommand       diag.Code = "roo-command"
	codeEdit          diag.Code = "roo-edit"
	codeIgnore        diag.Code = "roo-ignore"
	codeMCP           diag.Code = "roo-mcp"
	codeMCPApproval   diag.Code = "roo-mcp-approval"
	codeMCPOff        diag.Code = "roo-mcp-off"
	codeModel         diag.Code = "roo-model"
	codeRead          diag.Code = "roo-read"
	codeToolCollision diag.Code = "roo-tool-collision"
	codeUnknownExtra  diag.Code = "roo-unknown-extra"
	codeWeb           diag.Code = "roo-web"
)

// Codes documents what the emitter reports.
func (*emitter) Codes() []diag.Doc {
	return []diag.Doc{
		{Code: codeRead, Text: "A Roo mode has the group read or not: it cannot allow some paths and refuse " +
			"others, and .rooignore holds a path only for all modes at once. A mode that may not read everything " +
			"loses the group. Give every mode the same deny, allow reading as a whole, or accept the difference " +
			"with an exception."},
		{Code: codeIgnore, Text: "What no mode may read is written into .rooignore, which costs no mode its " +
			"group. Roo holds that file for every tool, so that a mode that may edit such a path cannot edit it " +
			"either. Deny the path for edit too, or let one mode read it."},
		{Code: codeEdit, Text: "A rule over paths cannot be written as Roo's fileRegex: an expression with back " +
			"references or named groups, or a glob with a class beyond U+FFFF. An allow is left out; for a deny the " +
			"mode loses the group edit. Write the rule as a glob, or accept the difference with an exception."},
		{Code: codeCommand, Text: "A Roo mode has the group command or not: which commands run unasked is the " +
			"user's own setting. A mode that denies some command loses the group. Ask instead of denying, or accept " +
			"the difference with an exception."},
		{Code: codeWeb, Text: "A Zoo mode has the group web or not. A mode that denies some host loses the " +
			"group. Ask instead of denying, or accept the difference with an exception."},
		{Code: codeMCP, Text: "The format limits MCP for a mode only as a whole (Roo) or by server (Zoo). A " +
			"mode that denies a tool of an enabled server, while another mode may use it, loses the group or that " +
			"server. In an open inventory, and for a server without listed tools, the same holds for tools that " +
			"nobody lists and for resources. Deny the tool in every mode, use the mcp-restrictions dialect, or " +
			"accept the difference with an exception."},
		{Code: codeMCPOff, Text: "A server with defaultEnabled false is there for the modes that name it and " +
			"for no other. Roo starts a server for all modes or for none, so it is written disabled. Enable the " +
			"server by default, or use a dialect that limits servers by mode."},
		{Code: codeMCPApproval, Text: "alwaysAllow in mcp.json holds for all modes at once. A tool that one " +
			"mode may call unasked and another must ask about is asked about everywhere."},
		{Code: codeModel, Text: "A Roo mode names no model: the user chooses one for each mode. The source's " +
			"model is left out."},
		{Code: codeToolCollision, Text: "Roo names a tool mcp--server--tool, without characters other than " +
			"letters, digits, dashes and underscores, and cut at 64 characters. Two servers or two tools of the " +
			"inventory come out alike, and Roo would call the first for both. Rename one of them."},
		{Code: codeUnknownExtra, Text: "extra.roo or extra.zoo of a mode contains something that is said elsewhere, " +
			"or a group that can denies. groups is the order in which the mode lists its groups, source is " +
			"project or global, and any other key that the agent does not read is written as it is."},
	}
}
