// Package gemini emits the configuration of Gemini CLI: a policy for the sessions of each role and each
// mode, one for the modes as agents, an agent for each mode (.gemini/agents/SLUG.md), and the settings that a project
// shares (.gemini/settings.json): its MCP servers, and the policies of the baseline (.gemini/policies).
//
// Beside the emitter stand packages that do not know it: format reads the files, model answers what
// Gemini CLI does with them, importer turns them into a source.
//
// Source: the npm packages @google/gemini-cli and @google/gemini-cli-core 0.61.0. The end-to-end tests run
// the latter's own policy engine and loaders on what is emitted.
//
// # How a policy is read
//
// A session is started as `gemini --policy FILE --admin-policy FILE`, each option once for each of its two policies.
// The second option puts the rules above those of any settings, those of a trusted project included; the first one
// takes the place of the user's own rules, and holds where a folder of the system's administrator turns the second one
// off. In a trusted project the settings do the same for the baseline (adminPolicyPaths).
//
// The rule with the highest priority that matches decides. A mode is an agent to which a session hands work, and a rule
// may be one of an agent alone: the rules of all modes as agents stand in one policy (+modes.toml), which every session
// has beside its own. A role in a mode decides as the lower of the two does, so that each says by itself what it denies
// and what it asks about: a list that permits some and denies the rest is a rule that denies whatever is not in the
// list, and one that allows comes last.
//
//	990, 980       agents that a list names, and all others
//	880 to 760     MCP, what permits less first: tools by name, a server, one that is off by default, other servers
//	900            what the session denies, or the mode
//	800, 790       what one of them asks about
//	700, 650       what the session allows, and the rest of the group
//	630            what the mode does not mention
//	620            what everyone asks about in a group that the session does not mention
//	600, 590       what the mode allows where the session leaves it to Gemini CLI
//	560, 300       what the role's permission mode decides, or the project's unsaid: in a group that the role mentions,
//	               and in one that it does not
//	550            what the mode leaves to Gemini CLI, which no permission mode decides
//	200 to 10      tools that belong to no group
//
// A mode has a policy of its own, too, for whole sessions.
//
// # What an expression holds
//
// An expression is tested on the arguments as JSON, in which an argument of the call's own stands between
// NULs. A model may nest another "command" into the arguments: commandPrefix and commandRegex find that one
// too, and are never written. Every expression begins with the NUL; that of what is in no list matches a call without
// such a NUL, argument and value (^(?![^]*…)), one that lacks the argument included.
//
//   - A path is compared as the model writes it. Where a list holds something back, only clean paths
//     relative to the project are permitted, of letters that no file system takes for others.
//   - Of a line, the engine splits off every command and compares each. Where a list denies something, a
//     line is permitted that consists of plain words and of operators; one that has the words of what is
//     denied, in any order, is refused. Gemini CLI does not judge the file of a redirect: a line
//     with one is refused (gemini-line), but for one that touches no file (2>&1, > /dev/null), which an allow says by
//     allowRedirection.
//   - An address stands in a text. One is allowed that is alone in it, by https.
//   - An ask without an expression lets what the engine knows to be safe pass (ls, git status). An ask
//     about commands therefore always has one.
//
// Rules name tools, and no patterns of names: a pattern over the tools of a server decides for all that the
// inventory does not list (gemini-unlisted). Resources of all servers are one tool.
//
// Where a list holds something back and the rest is left to the agent, a rule refuses (or asks about) what has
// another shape, and the agent decides about the rest. An expression has at most 2,048 characters: what is not in a
// longer list is said by what the values begin with, in several rules.
//
// Gemini CLI's own approval modes are others than a role's permissionMode, which decides what the role leaves
// unsaid. What is left to the agent even then is in no rule, unless can.unknown is stated: its one rule is about
// every tool, so that what Gemini CLI does by itself is then said too.
//
// What a role gives a session beside permissions (appendSystemPrompt, env) is a loss (gemini-role-text).
//
// # Hooks
//
// With hooks = "enforce" Gemini CLI asks modec before each call (package hook): in a project by its settings, and in a
// session of `modec run` by settings in a folder that takes the place of the user's own (GEMINI_CLI_HOME). No other
// file does: those of the system belong to root. There the hook of the project is turned off by its name, since it is
// that of another role. The policies say what they say without it: the hook is below them.
//
// A hook can only deny: its allow does not override a policy, and its ask lets the call run. What the source asks about
// passes where the policies ask, which judge an argument as it is written, and is refused where only the hook sees what
// it is: a link, the folder of a command. It is told no agent's name, so that a mode is held by its policy alone. It
// fails open by itself (an exit code of 1, an exit code of 2 without a text, a signal, a timeout), so that its line
// refuses wherever modec does not answer. Gemini CLI runs hooks in a trusted folder alone, merges their lists from all
// settings, and runs a line once: an entry with the same line and a shorter time, in front of it, takes its place. The
// project's own settings may turn every hook off (hooksConfig): the model then counts on none, and no session is
// started. Beside a hook of somebody's own, which may change the arguments of a call, the model counts on none either.
//
// # Imported files
//
// Of a project's settings and agents a migration makes a role and modes (package importer). What the lists of the
// settings decide (tools.allowed, mcp.excluded …) is a rule for Gemini CLI alone, and goes back into the settings where
// the project has one role for it: settings hold for every session (gemini-setting). An agent that names its own tools
// has no policy where that list says all that its mode does; no session is started as such a mode.
//
// # Known holes of the agent
//
//   - grep_search, glob and list_directory look below folders, and show what may not be read there.
//   - A path may be a link, which the rule does not follow: the hook does. Gemini CLI refuses what leads out of the
//     project.
//   - Gemini CLI takes "@a" for a, and for a file that is not there replace takes another one of that name: only the
//     hook judges what is edited.
//   - A policy with an error is ignored as a whole, and a missing one in silence.
//   - The project's settings are read in a trusted folder only, and in the folder where Gemini CLI starts.
package gemini

// name is the target's.
const name = "gemini"
