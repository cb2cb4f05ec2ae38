// Package opencode emits the configuration of opencode: an agent for each mode, the MCP servers and the
// permission of the baseline in opencode.json, and a file for the sessions of each role.
//
// Beside the emitter stand packages that do not know it: format reads the files, model answers what opencode
// does with them, importer turns them into a source.
//
// Source: the program in the npm package opencode-linux-x64 1.18.33. The end-to-end tests run it on what is
// emitted.
//
// # How a permission is read
//
// Of all rules whose key and pattern match, the last one decides. An agent's own rules stand behind those of
// everybody, and "*": "deny" at their beginning takes all of these away. So a list is written as: what no list
// names, what is allowed, what is asked about, what is denied.
//
// "*" crosses the slashes of a path. Where a glob does not, a rule behind it takes back what is deeper
// ("src/*.ts": "allow", "src/*/*.ts": "deny").
//
// A role is an agent by its name, and the others of opencode's own are off in its session. The role in a mode is
// the mode's agent in the file of the role: an agent that hands work to another one does not hold it.
// A session reads no file of the project, and has of them what permits nothing: the model, its provider, instructions.
// What a user has for every project is joined with an agent of the same name: a session does not start beside that.
//
// A file with an error starts nothing. An agent in Markdown whose front matter is broken would have no permission
// at all: agents are written into JSON.
//
// # What is left out
//
//   - A command is compared as its text, and the file of a redirect with nothing: another spelling of what is denied
//     or asked about, and "x > .env", are the hook's. Without hooks they are a gap.
//   - A resource of a server is compared like a file that is called mcp:SERVER:URI. What opens it names "://", which no
//     path has: a URI without one (urn:…) is denied where anything of it is written.
//   - Of a list of hosts only whole names are allowed (opencode-approval).
//
// # The hook
//
// With hooks = "enforce" there is a plugin, which opencode loads by itself (format/plugin.js). It refuses what the
// policy denies, in every spelling and through links, and cannot ask: it refuses what has to be asked about in a form
// that the rules do not ask about. opencode goes on without a plugin that it cannot load, and so the rules stay as they
// are without it.
//
// # Rules in opencode's own words
//
// A role and a mode may have rules of a permission as they stand in opencode's files (agents.opencode.native): what
// `modec migrate` reads stays so. They decide what can leaves to opencode, and what can says stands
// behind them. Where the session of a role has both the role's and the mode's, those of the mode stand behind.
//
// # Known holes of the agent
//
//   - A line without a command (> file, X=1, cd) runs without any question, whatever the rules.
//   - grep and glob look below folders, and show what may not be read there.
//   - Letters are compared as they are written: on a file system that takes SECRETS for secrets, it is another name.
//   - The target of a link, and where apply_patch moves a file to, are not compared.
//   - Where a person answers a question with "always", no rule of that tool holds until opencode ends.
package opencode

const name = "opencode"
