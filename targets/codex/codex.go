// Package codex emits what OpenAI Codex reads: a configuration for the sessions of each role and each mode, an agent
// for each mode (.codex/agents/SLUG.toml), and the MCP servers that a project shares (.codex/config.toml).
//
// Beside the emitter stand packages that do not know it: format reads the files, model answers what Codex does with
// them, hook answers Codex's hooks at run time.
//
// The importer turns people's files into a source: servers and agents. In .codex/config.toml a build changes the tables
// of its servers, and nothing else.
//
// Source: codex-cli 0.169.0 as it runs. The end-to-end tests ask the program itself.
//
// # What holds a session
//
// A session is started by `modec run`, which hands the keys of a configuration to Codex as options (-c): they stand
// above every configuration of the user's and of the project's, while the configuration of a trusted folder would
// loosen it. The folder is untrusted for the session, so that the project's own configuration, hooks and rules are
// not read.
//
//   - What a group denies as a whole is not there: the shell (features.shell_tool), the search of the web, images,
//     agents (agents.enabled), an MCP tool (enabled_tools). Edits are stopped by a read-only sandbox and a policy
//     that does not ask.
//   - MCP tools are exact: enabled_tools, and approval modes.
//   - All else is a question of Codex, which modec's hook answers. Where a subject says something of commands, no
//     policy is written: in a folder that is not trusted, Codex then asks about every command and every edit. The
//     hook refuses what the source denies before the call (PreToolUse), and takes the question's place where the
//     source allows (PermissionRequest). Where modec fails, every call is refused.
//
// The hook runs because the session is started with --dangerously-bypass-hook-trust: Codex asks else in a dialogue,
// and until then goes on without it. A command that was allowed runs outside of the sandbox.
//
// Without hooks a group that the keys do not say is denied as a whole.
//
// # Modes
//
// A mode is an agent to which a session hands work. In a folder that is not trusted Codex reads no agents: `modec
// run` names the files of those that the subject may enter. Codex runs an agent with the sandbox, the servers and the
// questions of the session, and ignores what the agent's own file says of them: the hook, which is told the agent's
// name, decides as the role in the mode does. It cannot have Codex ask about what the session may do without a
// question, and refuses that. A mode is also a session of its own, with its prompt.
//
// Codex takes any name of an agent, with underscores and blanks too, goes by the one in the file, whatever the file is
// called, and takes blanks around a name away, in the file and in a call. A mode keeps a name that no slug has in
// agents.codex.settings.name; the hook knows it by its slug.
//
// # What an administrator requires
//
// With requirements = true a build writes .codex/requirements.toml too, for an administrator to place at
// /etc/codex/requirements.toml: what none of the project's sessions needs. Nothing stands above that file. Policies are
// those that sessions have, and asking about everything in the place of any other, whatever a user's configuration, a
// project's or an option says (`--dangerously-bypass-approvals-and-sandbox` too); sandboxes, the search of the web,
// features and servers are those that some session has; and the beginning of a command is forbidden that every session
// denies. It holds in all projects of the machine, so that it has nothing of folders, and no hook. A rule there has the
// holes of every rule of Codex, and a server is known by its program or its address alone: of one that a shell starts,
// by the shell.
//
// # What Codex does not ask about
//
// Images, resources of servers, agents, and tools of a server that somebody lists themselves: the hook refuses what
// the source asks about there. In `codex exec` nobody is asked at all: it refuses there, too.
//
// # Known holes of the agent
//
//   - The search of the web runs at the provider, and reaches any host: no hook sees it (codex-web).
//   - What a session types into a command that runs already (write_stdin) is asked by no hook.
//   - Without hooks, resources of every server that is started are read (codex-resources).
//   - A hook that takes longer than its time is none. modec refuses before.
//   - A rule of the user's own (rules/*.rules) that allows a command, and a policy of the user's own configuration
//     (approval_policy), take the question away, and a hook of the user's own answers it (PermissionRequest). `modec
//     run` starts no session beside them.
package codex

// name is the target's.
const name = "codex"
