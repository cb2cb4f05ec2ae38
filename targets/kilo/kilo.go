// Package kilo emits the configuration of Kilo: an agent for each mode, the baseline and the MCP servers in
// .kilo/kilo.json, a floor that denies everything in kilo.json, and a file for the sessions of each role.
//
// Beside the emitter stand packages that do not know it: format reads the files, model answers what Kilo does with
// them. Kilo is made of opencode: what both say alike is written by targets/internal/lastmatch, and read by the format
// of opencode.
//
// Source: the program in the npm package @kilocode/cli-linux-x64 7.7.9. The end-to-end tests run it on what is emitted.
//
// # How a permission is read
//
// Of all rules whose key and pattern match, the last one decides, as in opencode. What differs:
//
//   - "*": "deny" says nothing of what is outside of the project: external_directory has a rule of its own.
//   - .env is read unasked only where a pattern of its own allows it: it has one.
//   - Kilo runs some 40 commands by itself, and asks about the others.
//   - A file with an error is left out, and Kilo goes on with the others. So the first file that it reads denies
//     everything, and the second one, with the agents, takes that back. If the second one is broken, all is denied.
//   - Modes of the extension before (.kilocodemodes) become agents, and the rules of an agent of the same name stand in
//     the places of theirs. Kilo reads them where it reads no other file of the project. A session is not started
//     beside one of its names.
//
// A role is an agent by its name, and Kilo's own are off in its session: plan, ask and explore would go by rules of
// their own. What a user has for every project is joined with an agent of the same name, as in opencode.
//
// # What is left out
//
//   - A command is compared as its text, and the file of a redirect with nothing: another spelling of what is denied
//     or asked about, and "x > .env", are the hook's. Without hooks they are a gap.
//   - A resource of a server is compared like a file that is called mcp:SERVER:URI. What opens it names "://", which no
//     path has: a URI without one (urn:…) is denied where anything of it is written.
//   - Of a list of hosts only whole names are allowed (kilo-approval).
//   - Kilo asks before it writes AGENTS.md at the root, and its own settings (kilo-protected).
//
// # The hook
//
// With hooks = "enforce" there is a plugin, as in opencode, below .kilo. It refuses what the policy denies, in every
// spelling and through links, and cannot ask: it refuses what has to be asked about in a form that the rules do not ask
// about. Kilo goes on without a plugin that it cannot load, and so the rules stay as they are without it.
//
// # Rules in Kilo's own words
//
// A role and a mode may have rules of a permission as they stand in Kilo's files (agents.kilo.native): what
// `modec migrate` reads stays so, where it stands (targets.kilo.file). A baseline in such words is the permission of
// that file, without a floor, as people have it. Where can says something beside, Kilo's own agents that put rules
// behind those of the file are off.
//
// # Known holes of the agent
//
//   - Beside a command a redirect, an assignment or a test of its own runs unasked (cd . > file), and so does a
//     redirect behind a list or a pipe (a && b > file), or behind "!".
//   - grep, glob and semantic_search look below folders, and show what may not be read there.
//   - Letters are compared as they are written: on a file system that takes SECRETS for secrets, it is another name.
//   - The target of a link, and where apply_patch moves a file to, are not compared.
//   - Where a person answers a question with "always", Kilo writes it down in the user's own settings, for every
//     project. No rule that denies gives way to it.
package kilo

const name = "kilo"
