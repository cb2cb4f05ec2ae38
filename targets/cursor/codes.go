package cursor

import "modec.dev/modec/compiler/diag"

// The codes that the emitter reports.
const (
	codeApproval       diag.Code = "cursor-approval"
	codeAsk            diag.Code = "cursor-ask"
	codeCLIOnly        diag.Code = "cursor-cli-only"
	codeDeny           diag.Code = "cursor-deny"
	codeHookOnly       diag.Code = "cursor-hook-only"
	codeName           diag.Code = "cursor-name"
	codeNameCollision  diag.Code = "cursor-name-collision"
	codeNativeRule     diag.Code = "cursor-claude-rule"
	codeNotHeld        diag.Code = "cursor-not-held"
	codeOrganisation   diag.Code = "cursor-organisation"
	codeServerField    diag.Code = "cursor-server-field"
	codeServerOff      diag.Code = "cursor-server-off"
	codeUnknownExtra   diag.Code = "cursor-unknown-extra"
	codeUnknownSubject diag.Code = "cursor-unknown-subject"
)

// Codes documents what the emitter reports.
func (*emitter) Codes() []diag.Doc {
	return []diag.Doc{
		{Code: codeApproval, Text: "A command that the source allows cannot be written as an entry that Cursor is " +
			"sure to read as the source does: an entry is a command's first words, or one whole command of two words " +
			"or more. Patterns with a wildcard inside, built-in sets, and allows below which something is asked or " +
			"denied are left out, so that the user is asked each time. Write the allow as a prefix (\"npm test *\"). " +
			"A default that allows is left out beside a list, for commands and for hosts: the source then asks about " +
			"what is not literal, and an entry for everything does not."},
		{Code: codeCLIOnly, Text: "Cursor has rules that deny in one place alone: the tokens of cli.json, which only " +
			"its command line reads. With hooks = false nothing denies this in the IDE, which reads and edits the " +
			"files of the workspace without asking. Write hooks = \"auto\" where people work in the IDE, and install " +
			"modec there."},
		{Code: codeAsk, Text: "Cursor can ask about commands and MCP tools. It cannot ask about a path or a " +
			"subagent: its engine reads and writes inside the workspace without asking, and the hooks for these, and " +
			"for a host, can only refuse. What the source asks about is therefore refused, with a message that says " +
			"so. Allow it or deny it in the source."},
		{Code: codeNativeRule, Text: "A rule in the grammar of another agent, such as Claude Code, names something " +
			"that only that agent has. Cursor gets nothing for it. Say it in can, in words that every target " +
			"understands."},
		{Code: codeDeny, Text: "With hooks = false the files alone must hold what the source denies. This deny (or a " +
			"default that denies beside an allow list) has no token, and an unlisted path or command would be used " +
			"or asked about, so the whole group is denied. Turn hooks on, write the pattern as a prefix or a glob, " +
			"or accept the difference with an exception."},
		{Code: codeHookOnly, Text: "Something is denied, and only a hook holds it: it has no token in cli.json (an " +
			"expression, a default that denies beside an allow list, a pattern with a wildcard inside, a host, a " +
			"subagent), or people work in the IDE, which reads no cli.json. With hooks = \"auto\" that is why a " +
			"subject has hooks, which hold it exactly. modec has to be installed wherever Cursor works on the " +
			"project: where it is missing, the hooks ask about commands and MCP tools and let the rest pass " +
			"(hooks = true refuses). Where hooks do not run (a workspace that is not trusted, a cloud agent), " +
			"nothing holds the rule."},
		{Code: codeName, Text: "Cursor reads allowlist entries and tokens as globs. A server or tool whose name " +
			"contains a glob character or surrounding space is left out of the allowlists, so that it is asked " +
			"about; the hook still decides for it. Rename it."},
		{Code: codeNameCollision, Text: "Cursor compares server names without case and surrounding space, and may " +
			"put user- or project-N-FOLDER- before them. Two servers of the source become the same to it, so that a " +
			"decision for one would hold for the other. Rename one of them."},
		{Code: codeNotHeld, Text: "Neither the option subject nor a baseline says whom this repository's Cursor is " +
			"held to, so that no project-wide cli.json and hooks.json are written: nothing holds Cursor here. Set " +
			"subject in [targets.cursor], or baseline in modec.toml. Or hooks are off for a subject that " +
			"denies something that no token denies: a host, a mode, an unknown tool."},
		{Code: codeOrganisation, Text: "What Cursor's own settings say of MCP tools stands above every file of a " +
			"project: with mcpToolsProtection the editor asks about each tool, and an organisation's list takes the " +
			"place of everybody's own. [targets.cursor] repeats these settings, and where they differ from the " +
			"source nothing in the repository changes that. What the list runs and the source denies a hook " +
			"refuses."},
		{Code: codeServerField, Text: "Cursor's mcp.json has no such setting for a server (a time-out, a working " +
			"directory): it is left out. Set it in the server's own command, or accept Cursor's default."},
		{Code: codeServerOff, Text: "A server with defaultEnabled = false is there for the subjects that name it. " +
			"Cursor has one server list for everybody, so the server is left out of mcp.json. Those who may use it " +
			"add it to their own ~/.cursor/mcp.json, where the hook still decides for it, or an exception that names " +
			"the server puts it into the list."},
		{Code: codeUnknownExtra, Text: "extra.cursor accepts no setting: everything that Cursor can be told is said " +
			"elsewhere in the source."},
		{Code: codeUnknownSubject, Text: "The option subject of [targets.cursor] names no role or mode of the " +
			"source, or one name for both. Write \"role:NAME\" or \"mode:SLUG\"."},
	}
}
