// Package vscode emits the list of MCP servers that VS Code starts in a project (.vscode/mcp.json), for VS Code's own
// chat with its agents.
//
// Beside the emitter stand packages that do not know it: format reads the list, model answers what VS Code starts, and
// importer turns people's lists into a source. What people write beside the servers of a build stays: their own
// servers, inputs, and members of an entry that the source does not know.
//
// Source: the documentation of VS Code 1.128 and the source code of its chat (summer 2026).
//
// # What it holds
//
// A server that is not in the list is not started. The list says nothing of single tools, and everybody who works in
// the project has it: a build lists a server only where the session of the baseline may use all of its tools, and
// where a project has no baseline, where some subject may use each. Any other is left out, with a loss; modec's gateway
// in its place ([gateway] emit = true) refuses single tools.
//
// # What it does not hold
//
// Everything else. VS Code reads the agents of modes that the target copilot writes, and their lists of tools; who is
// asked is decided by the person's and the project's settings (chat.tools.* in .vscode/settings.json), of which
// this package writes and models nothing: neither the approvals of terminal commands, of edits and of addresses nor the
// hooks. Files of settings that loosen them are named by `modec migrate`.
package vscode

// name is the target's.
const name = "vscode"
