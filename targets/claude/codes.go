package claude

import "modec.dev/modec/compiler/diag"

// The codes that the emitter reports.
const (
	codeAllow         diag.Code = "claude-allow"
	codeAsked         diag.Code = "claude-asked"
	codeAskMode       diag.Code = "claude-ask-mode"
	codeAutoMode      diag.Code = "claude-auto-mode"
	codeBadRule       diag.Code = "bad-claude-rule"
	codeCommand       diag.Code = "claude-command"
	codeEdit          diag.Code = "claude-edit"
	codeExternal      diag.Code = "claude-external"
	codeFlags         diag.Code = "claude-flags"
	codeGuarded       diag.Code = "claude-guarded"
	codeInstall       diag.Code = "claude-install"
	codeMode          diag.Code = "claude-mode"
	codeModes         diag.Code = "claude-modes"
	codeEnv           diag.Code = "claude-env"
	codeNamed         diag.Code = "claude-named-path"
	codeNameCollision diag.Code = "claude-name-collision"
	codeHookOnly      diag.Code = "claude-hook-only"
	codePlanMode      diag.Code = "claude-plan-mode"
	codeRead          diag.Code = "claude-read"
	codeRegex         diag.Code = "claude-regex"
	codeShared        diag.Code = "claude-shared"
	codeServerField   diag.Code = "claude-server-field"
	codeServers       diag.Code = "claude-servers"
	codeServerOff     diag.Code = "claude-server-off"
	codeTool          diag.Code = "claude-tool"
	codeUnknownExtra  diag.Code = "claude-unknown-extra"
	codeWeb           diag.Code = "claude-web"
)

// emitterCodes documents them.
func emitterCodes() []diag.Doc {
	return []diag.Doc{
		{Code: codeBadRule, Text: "A rule in allowedTools, askTools or disallowedTools is not one of Claude " +
			"Code's: Tool or Tool(content). Claude Code would skip it with a warning. A deny that is skipped holds " +
			"nothing back, so that it is an error here."},
		{Code: codeAskMode, Text: "In the permission mode dontAsk Claude Code refuses whatever it would have to " +
			"ask about, so that every ask of the role is a refusal. That is the mode's purpose. The note is there " +
			"once a role so that nobody is surprised."},
		{Code: codeAsked, Text: "Claude Code approves by itself what of this group the source asks about or " +
			"denies: reading in the project, and in the modes acceptEdits, auto and bypassPermissions more. Only a " +
			"rule about the whole group holds that without the hook, and no allow comes before a rule that asks. " +
			"What the source allows of the group is therefore asked about too (dontAsk refuses it). Let the group " +
			"default to allow and name what is to be held back, or use permissionMode \"default\"."},
		{Code: codeEnv, Text: "A role's env has a variable by which another program runs in place of modec's hook " +
			"(PATH, LD_PRELOAD, BASH_ENV), or by which Claude Code obeys other settings (HOME, CLAUDE_CODE_SIMPLE). " +
			"A merged change to the source could so disarm the role. It is left out: a person sets it where the " +
			"session is started."},
		{Code: codeNamed, Text: "Claude Code tries the rules about paths on commands too: cat, head, grep, sed, " +
			"cp, redirects and others that it knows to read or write their arguments. A command that the source " +
			"allows is refused where it names a path that read or edit denies. That is narrower than the source, " +
			"whose command rules are about the command's text. It is said once a role."},
		{Code: codeGuarded, Text: "A guard is a rule about a name at any depth, and Claude Code's rules have no " +
			"exceptions. It also asks about .git, .claude, .vscode and .mcp.json whatever a rule allows. What " +
			"can.edit.guarded opens is therefore still asked about or refused. It is said once a role."},
		{Code: codeAutoMode, Text: "Claude Code takes the permission mode auto from the user's settings and from " +
			"the command line, and from no file of a project. A session as the baseline role starts in the mode that " +
			"the user has set."},
		{Code: codeMode, Text: "The permission modes bypassPermissions and auto approve whatever no rule names, and " +
			"what this role asks about or denies no rule can name: paths outside the project beside those that it " +
			"allows, a line that the shell expands, tools that nobody knows. The role's session runs in the mode " +
			"default. Leave to Claude Code what the role allows (it does it in that mode), or use another " +
			"permissionMode. The same holds for the permissionMode of a mode that such a role may enter, acceptEdits " +
			"included: it is left out."},
		{Code: codeServers, Text: "The inventory is open, so that there may be servers and tools that it does not " +
			"list. The source denies them and allows others, and no rule of Claude Code does both. With the hook " +
			"this is exact; without it the server, or every server, is denied. Write inventory = \"closed\" once " +
			"the source lists every tool of every server, or let can.mcp default to ask."},
		{Code: codeHookOnly, Text: "Claude Code's rules cannot express something that the source says, so that " +
			"the role or mode has a hook that runs modec before each tool call. Where modec is not installed, the " +
			"hook of a file of the project asks about every call, and one that `modec args` passes refuses. " +
			"hooks = false leaves out what only the hook would hold."},
		{Code: codePlanMode, Text: "In the permission mode plan Claude Code makes no edits and runs nothing that " +
			"changes the project, whatever the role allows."},
		{Code: codeEdit, Text: "Without the hook, Claude Code's rules cannot refuse every path that is not listed: " +
			"the role or mode loses the tools that edit. Turn hooks on, or let edit default to ask."},
		{Code: codeRead, Text: "Without the hook, Claude Code's rules cannot refuse every path that is not listed: " +
			"the role or mode loses the tools that read. Turn hooks on, or let read default to ask."},
		{Code: codeCommand, Text: "Without the hook, Claude Code's rules cannot refuse every command that is not " +
			"listed: the role or mode loses Bash. Turn hooks on, or let command default to ask."},
		{Code: codeTool, Text: "A rule such as Write or Grep in allowedTools allows one of the tools that edit, " +
			"read or run commands, whatever its input is: guarded paths and paths outside the project too. The " +
			"source decides about the group, and the rule is left out. The same holds for a name in " +
			"extra.claude.tools of a mode, and for a memory, which brings tools that edit. Say in can what may be " +
			"edited, read or run."},
		{Code: codeWeb, Text: "Without the hook, Claude Code's rules cannot refuse every host that is not listed: " +
			"the role or mode loses WebFetch and WebSearch. Turn hooks on, or let web default to ask."},
		{Code: codeModes, Text: "Without the hook a subagent may start every other one or none: the mode loses the " +
			"tool that starts them. Turn hooks on, or let modes default to ask."},
		{Code: codeRegex, Text: "Claude Code's rules have no regular expressions. Without the hook a regex in deny " +
			"costs the tools of its group, a regex in ask asks about all of it (or about the names that end as it " +
			"does), and one in allow is left out. Turn hooks on, or write a glob."},
		{Code: codeAllow, Text: "Without the hook an allow is left out where Claude Code's pattern would also " +
			"match more than the source allows. The call is asked about. A hook in .claude/settings.json allows " +
			"nothing either, because the file travels. Turn hooks on, or write the pattern as a " +
			"folder (docs/**)."},
		{Code: codeNameCollision, Text: "Claude Code writes a tool as mcp__SERVER__TOOL, and replaces every " +
			"character other than letters, digits, dashes and underscores. Two servers or tools of the inventory " +
			"come out alike. Rename one of them."},
		{Code: codeInstall, Text: "An installation writes a role's settings into the home folder. A mode is a " +
			"subagent of the project and cannot be installed. The role's list of built-in tools and its own " +
			"servers are not settings, so that only `modec args` passes them. Without the hook no allow is " +
			"written, since it would hold in every folder of the machine."},
		{Code: codeExternal, Text: "A role that may use more servers than .mcp.json lists is started with " +
			"a list of its own and --strict-mcp-config. That takes away the servers of the user's own settings, an " +
			"external server among them. A role that is not the baseline does not read .mcp.json either, nor an " +
			"entry there that is not modec's. Say how the server is started, or let the role use the servers that " +
			"everybody may use."},
		{
			Code: codeShared,
			Text: "A target such as thurbox starts Claude Code as a role and cannot keep it from reading " +
				".claude/settings.json, where an allow cannot be taken back. The file then has only those allow " +
				"rules of the baseline that every role has; `modec run ROLE` starts the baseline with all of them.",
		},
		{Code: codeServerField, Text: "Claude Code's .mcp.json has no working directory for a server: it is left " +
			"out, and the server starts where Claude Code does. Let the server's command change into its folder."},
		{Code: codeServerOff, Text: "A server that is off by default is open to a mode that names it. Claude Code " +
			"starts the servers of the session, and a subagent has those: in a session of a role that does not name " +
			"the server, the mode has none of its tools. Name the server in the role too."},
		{Code: codeUnknownExtra, Text: "A setting in extra.claude of a mode has another form than Claude Code takes, " +
			"or it is one that the mode says elsewhere. Of its keys, file is the path of the subagent below " +
			".claude/agents, name its name, prompt its text in place of the mode's, and tools, disallowedTools, " +
			"permissionMode and hooks are Claude Code's own. Any other key is written into the subagent as it is."},
		{Code: codeFlags, Text: "A command line cannot express this part of a role: flags have no list of rules to " +
			"ask about and no hooks, and they tear a rule with a closing parenthesis apart. Use the settings file " +
			"(`modec args ROLE`), which has all of it."},
	}
}
