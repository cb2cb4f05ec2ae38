// Package copilot emits the configuration of GitHub's Copilot CLI: what a session of each role and each mode is started
// with, an agent for each mode (.github/agents/SLUG.agent.md), and the MCP servers that a project shares
// (.github/mcp.json).
//
// Beside the emitter stand packages that do not know it: format reads the files, model answers what Copilot does with
// them, hook answers Copilot's hooks at run time.
//
// Source: Copilot CLI 1.0.102 as it runs, its help and the schemas in it. The end-to-end tests ask the program itself.
// VS Code reads the same agents; what its own chat does with their tools and hooks is not among what this package emits
// or models, and what it asks about is the target vscode.
//
// # What holds a session
//
// `modec run ROLE -- copilot` starts Copilot with a folder in the place of the user's own (COPILOT_HOME): their hooks,
// approvals and trusted folders are not read, and a hook is that needs no trust. In it a person signs in once.
//
//   - What a group denies as a whole is not there (--excluded-tools), and neither is a tool of a server that is denied
//     (the tools of its entry, in --additional-mcp-config, which stands above the lists of the project).
//   - All else is decided by modec's hook before the call: Copilot does what it answers, denies, asks or runs. What it
//     allows runs also outside of the project and past --deny-tool, so that no such rule is written.
//   - What the subject leaves to Copilot, the hook leaves to it.
//
// Without hooks a session has the tools that --available-tools names and no others, and a group that
// options do not say is denied.
//
// # Modes
//
// A mode is an agent to which a session of a role hands work: the hook is told the agent's name, and decides as the
// role in the mode does. It is also a session of its own (`modec run MODE -- copilot`), and an agent to which a person
// turns in a session of their own: its file lists its tools, and asks the hook by itself, in a folder that the person
// trusts. There the hook never allows: it would stand above what the person denies by options.
//
// The list of an agent in the project never has "agent": Copilot does not limit an agent by the one that starts it, so
// that a mode hands work to nobody but in a session that `modec run` started.
//
// # Agents in Copilot's own words
//
// A mode may have the list of tools of an agent as it is written (agents.copilot.settings.tools): what
// `modec migrate` reads stays so, in the agent's file and as the tools of a session of the mode. What can denies
// is taken out of it.
//
// # Known holes of the agent
//
//   - In a folder that is not trusted Copilot runs an agent without its hook, in silence. Its list of tools holds.
//   - disableAllHooks in a settings file of a trusted project (.github/copilot, .claude) turns every hook off, also
//     that of a session. No subject edits these files without a question, `modec run` starts nothing beside one, and
//     verify finds it.
//   - In a trusted folder a hook of the project (.github/hooks) may change the arguments of a call that the hook of a
//     session has judged (modifiedArgs); an agent's own is asked last. No subject edits these files without a question.
//   - A hook that is late, or answers what Copilot does not know, is none. modec refuses before.
//   - A tool of which its server says that it only reads runs without a question. Only the hook, or leaving it out,
//     holds it.
//   - A search (grep) finds text in files that may not be read. Where a subject may not read everything, it is asked
//     about.
//   - In a trusted folder Copilot also runs the hooks of Claude Code's settings: modec's then holds every session to
//     the baseline of Claude Code, and allows nothing. A session that `modec run` starts needs no trust.
//   - An agent's list that names every tool of a server github means one of Copilot's own: its tools are listed one by
//     one.
//   - Copilot puts - for other characters into the names of tools: where two tools have one name, the lower decision
//     holds.
package copilot

// name is the target's.
const name = "copilot"
