// Package vscode emits the list of MCP servers that VS Code starts in a project (.vscode/mcp.json), for VS Code's own
// chat with its agents, and what that asks about before it runs commands and edits files (.vscode/settings.json).
//
// Beside the emitter stand packages that do not know it: format reads the files, model answers what VS Code does by
// them, and importer turns people's files into a source. What people write beside the entries of a build stays: their
// own servers, inputs, settings and entries about commands, and members of an entry that the source does not know.
//
// Source: the documentation of VS Code 1.128, the source code of its chat, and its own code that approves commands,
// which was asked (e2e/testdata/record.json).
//
// # Whom it is about
//
// The files are for everybody who works in the project: they say what the baseline may do, or the role of the option
// subject. No setting knows another role, and none knows a mode: of an agent, which the target copilot writes, the
// list of tools holds, and what it asks about is what the baseline is asked about. Without a baseline nothing is said
// of commands and edits.
//
// # What it holds
//
// A server that is not in the list is not started. The list says nothing of single tools: a build lists a server only
// where the session of the baseline may use all of its tools, and where a project has no baseline, where some subject
// may use each. Any other is left out, with a loss; modec's gateway in its place ([gateway] emit = true) refuses single
// tools.
//
// VS Code runs a command unasked where each command of its line is approved and none is held back. What the source
// permits is an expression that matches the whole command; a line whose words are not plain (quotes, variables,
// redirects, assignments, words of the shell's own) is asked about. VS Code's own entries, and the scripts of a
// package.json, count no more where the source says what becomes of other commands. Where nothing is permitted, VS Code
// asks about every command (chat.tools.terminal.enableAutoApprove).
//
// Of the globs about edits the last one that matches decides: what is permitted stands before what is held back. The
// object is one entry of modec's, since its order decides. Where all is permitted but what rules hold back, VS Code's
// own entries stay, which ask about a few files more (package.json, lock files, .git).
//
// # What it does not hold
//
// Settings of a project make VS Code ask, and never refuse: what the source denies is asked about. A person may answer
// that with more than once, and start a session at a level that asks nothing (Bypass Approvals, Autopilot); their own
// settings count beside those of the project. Nothing in a project's settings holds reading, or what is asked about
// before a tool of a server or an address. Versions after 1.128 take the entry about edits from a person's own
// settings alone. Files of settings that loosen what a build says are named by `modec migrate` and `modec verify
// --disk`.
//
// A name of a setting is a path to VS Code: an entry "chat.tools" behind those of a build takes their place. The model
// reads it so, and verify --disk finds it.
//
// # Known holes of the agent
//
//   - A name is compared letter by letter where the file system tells letters apart: an allow of S* permits Secret.txt
//     beside a deny of secret.txt.
//   - A line that no shell reads is taken for the commands that can be made out in it.
package vscode

// name is the target's.
const name = "vscode"
