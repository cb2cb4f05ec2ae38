// Package claude emits the configuration of Claude Code: a settings file and an argument
// vector for each role, a subagent for each mode, MCP servers, and the PreToolUse hook that
// makes them exact.
//
// [New] returns the target, which also imports Claude Code's files and judges them.
// [RoleFlags] compiles one role for a command line, for runtimes and for other targets.
//
// Sources: code.claude.com/docs (settings, permissions, hooks, sub-agents) and the binary
// of @anthropic-ai/claude-code 2.1.329 and 2.1.330.
//
// # What each artifact does
//
// The project's settings file is the baseline role's, whole, and nobody is started with
// arguments for it. Any other role is started without the project's files: `modec args`
// makes its settings, its subagents and its servers. Without a baseline the project's file
// has what all roles deny. A mode's subagent lists the tools that the mode may use at all,
// or takes some away where the mode leaves the rest to its agent.
//
// A file has what the source says and nothing else. What the source leaves to the agent has
// no rule. What Claude Code asks about by itself has no rule either, where the role asks
// about the rest of the group: its settings then name the permission mode and disable those
// that would approve it. A role that says nothing has no file.
//
// Rules have to hold without the hook too. Where Claude Code would approve by itself what
// the role asks about or denies and no rule lists, a rule asks about all of the group: about
// every Read, since reading in the project asks for nothing, and in acceptEdits, auto and
// bypassPermissions about edits or more. An expression that ends in a text has a glob that
// covers it: `\.test\.ts$` asks about *.test.ts. Where not even that would do (a ceiling
// outside the project beside what is allowed inside), auto and bypassPermissions become the
// mode default, with a loss. There, patterns for any depth hold outside the project too:
// Edit(//**/.env).
//
// A subject has a hook where rules do not say what it says (hooks.go), or by the option
// hooks. The hook asks the compiled policy about every tool call and answers deny or ask,
// and by --settings also allow. A role's hook asks about the role in the
// mode that the payload names (agent_type, observed on 2.1.329). In a file that travels with the
// repository a person is asked where modec is missing; elsewhere the call is refused.
//
// Rules are an upper bound: without the hook Claude Code may ask more, and never approves
// more. An allow is a rule only where Claude Code's grammar means no more than the source:
// paths below a literal folder, commands, hosts, tools.
//
// # Sessions without the project's files
//
// Observed on 2.1.329: with --setting-sources user the project's rules, mode, environment,
// hooks, subagents, skills and commands are gone, and so are CLAUDE.md, .claude/rules and
// the servers of .mcp.json. Subagents of --agents work, also as --agent NAME, with their
// tools, and their hooks run in a folder that nobody has trusted. --agents takes a file with
// -p only, so that the subagents are given as text.
//
// # Which hooks run (2.1.330)
//
// The hooks of settings files run in a folder that nobody has trusted, also with -p, and so do
// those of --agents. The hook of a subagent's file does not. Therefore the hook of the project's
// settings decides about modes too, and `modec args MODE` gives the mode's hook by --settings. Of
// disableAllHooks the last file counts that writes it: user, project, local, --settings. --bare,
// --safe-mode and the variables CLAUDE_CODE_SIMPLE and CLAUDE_CODE_SAFE_MODE start no hook of any
// file, and rules still hold.
//
// The payload names the subagent (agent_type) with --agent, and for the calls of a subagent that
// Agent or Workflow started. Workflow asks before it runs. A subagent that a rule denies by its
// name starts in no script; rules that ask about it, and a deny of the whole tool Agent, do not
// hold there, so that Workflow has a rule too.
//
// ${CLAUDE_PROJECT_DIR} is the folder in which Claude Code was started, be it a subfolder or a
// work tree (--worktree). EnterWorktree changes cwd and leaves the variable. `modec hook` finds
// the policy from there, by its digest, and takes the work tree for the project.
//
// A hook's entry holds with what modec writes there, and with another statusMessage, onFailure, or a time of more
// than the two seconds that modec takes at most. With if, async, args or another shell a call passed. An entry that
// is not well formed keeps its whole file from loading, rules included, and so does a value of another form at most
// keys of the settings. The variables of the settings are those of the hook: PATH says which modec is asked, and
// what CLAUDE_CODE_SHELL_PREFIX names runs in its place.
//
// Of --settings, --permission-mode, --setting-sources, --agent and --tools the last one
// counts. No option has a shorter form.
//
// # Folders beside the project (2.1.330)
//
// A folder of additionalDirectories is one of the project's own: what is read there is not asked about, and in
// acceptEdits no edit is. Rules for the project's folder do not reach it, those for any depth do.
//
// # What the rules rely on
//
//   - A pattern without "/" holds at any depth. `dir/**` holds at any depth in a deny, and
//     only below the working directory in an allow.
//   - Write(path), NotebookEdit(path) and Glob(path) have no effect: Edit and Read take
//     their place.
//   - Reading in the working directory and read-only commands (ls, cat, git status …) run
//     without a question unless a rule names them, and acceptEdits also runs mkdir, mv and
//     the like. A role that asks about every command has the rule Bash. Where others are
//     allowed, these run: that is a hole of the agent, which the hook closes.
//   - dontAsk refuses whatever it would ask about; plan refuses edits. Both are reported
//     once a role.
//   - Claude Code may start in auto by itself, so that a role which asks writes its mode. A
//     person may still switch to acceptEdits.
//
// # Where the binary differs from its documentation (2.1.329)
//
//   - Claude Code removes `command` before it tries an allow rule, beside timeout, time,
//     nice, nohup and stdbuf. Where there is no rule, a reading command runs without a
//     question only behind timeout, command and builtin.
//   - A path pattern folds the case of ASCII letters, in allow rules too, and matches what
//     is below a matched folder: Edit(*.md) allows x.md/run.sh.
//   - ./ does not anchor a name: Edit(./modec) denies at any depth, Edit(modec/*) and
//     Edit(.//modec) in the project's own folder only. ".." leads nowhere: no rule is about a
//     path above the project.
//   - `Bash(git push * -f *)` does not match `git push x -f`: a trailing " *" has a word
//     boundary only where it is the only wildcard. A ":*" behind another "*" takes that for text.
//   - A rule compares the quotes and blanks of a command as they are written in the rule.
//   - A deny takes a leading "#" for itself and "!" for a negation (2.1.330): \! is the character.
//   - Letters are compared by case only. NFC and NFD differ, so that a name with such letters
//     has a rule in each form; ss is not ß.
//   - The host of an address is compared as a browser writes it: xn--bcher-kva.de, 127.0.0.1 for
//     0x7f.1, [::1], and [::ffff:7f00:1] for 127.0.0.1 in version 6.
//   - A hook's ask is put to a person in dontAsk as well; only an ask rule is refused there.
//     Modec's hook refuses instead.
//     A hook's allow skips neither deny and ask rules nor plan.
//   - plan asks about edits, whatever rule or hook allows them. Without disableAutoMode it
//     gives its questions to a classifier: flags alone, which cannot set that, never start
//     it. A role in plan that says anything disables it.
//   - .git, .vscode, .claude and .mcp.json are asked about even where a rule allows them.
//   - Under acceptEdits a redirect passes rules that ask about an edit, and `<` passes those
//     about reading.
//   - In a folder that nobody has trusted a subagent's hook does not run.
//
// # Known holes of the agent
//
// Grep over a folder shows what only the hook would refuse to open. Grep is there in a
// subagent without Bash. Without the hook, Claude Code approves some things by itself, and
// no rule alone prevents them: the arguments of a command that it takes for reading, lines
// without a program, a command among the arguments of another, subagents and tools that no
// rule names, the resources of a server, commands that only read. Verify counts them
// (package model, holes.go).
//
// # What is lost without hooks
//
// An edit or read list with a default of deny, a regex, a built-in command set, a ceiling
// outside the project: where a rule cannot deny it, the role loses the tool. Rules alone ask
// about what they cannot refuse (a path outside, a wrapped command): without the hook they
// govern approval, and access of named tools only.
package claude

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

func (claude) Name() string { return "claude" }

func (claude) Summary() string {
	return "Claude Code: settings, a subagent for each mode, MCP servers, hooks"
}

func (claude) Options() []contract.Option {
	return nil
}

func (claude) Owns() []string {
	return []string{format.AgentsFolder + "/*.md", format.ProjectSettings, format.ProjectServers}
}

// OwnsPlaced returns the folder in which agents.claude.settings.file of a mode may place a subagent.
func (claude) OwnsPlaced() []string { return []string{format.AgentsFolder + "/**/*.md"} }

// HoldsRoles marks that every role that says something has settings.
func (claude) HoldsRoles() {}

// HasPermissionModes marks that a role's permission mode is Claude Code's own.
func (claude) HasPermissionModes() {}

// Governs returns both halves for settings, and access for a subagent's tools and for a
// list of servers.
func (claude) Governs(path string, g ir.Group) contract.Halves {
	switch {
	case path == format.ProjectSettings, contract.IsSession(path) && strings.HasSuffix(path, format.OfSettings):
		return contract.Both
	case strings.HasPrefix(path, format.AgentsFolder+"/"), contract.IsSession(path) && g == ir.MCP:
		return contract.Access
	}
	return contract.Neither
}

// Agent returns Claude Code's command line.
func (claude) Agent() contract.Agent {
	return contract.Agent{Name: "Claude Code", Programs: []string{"claude"}, Observed: "2.1.330"}
}

// emitter compiles a project.
type emitter struct {
	in       contract.Input
	hooks    bool
	baseline string // the role of the project's own settings file
	compiled map[*ir.Role]*compiled
	diags    diag.List
	// remedy is what a person can do where only a hook could hold something back.
	remedy string
	// flagsOnly is set where a role gets flags, and neither settings nor servers.
	flagsOnly bool
	// elsewhere is set where a session starts in another folder than the project's.
	elsewhere bool
	// session is set for what a session is started with.
	session bool
}

func newEmitter(in contract.Input) *emitter {
	return &emitter{
		in: in, hooks: in.Hooked(), baseline: in.Project.Baseline, remedy: "turn hooks on",
		compiled: map[*ir.Role]*compiled{},
	}
}

// Emit compiles roles, modes and servers.
func (claude) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := newEmitter(in)
	e.checkNames()
	e.lostFields()
	e.lostServers()
	var files []contract.File
	for i := range in.Project.Roles {
		files = append(files, e.roleFiles(&in.Project.Roles[i])...)
	}
	for i := range in.Project.Modes {
		m := &in.Project.Modes[i]
		data, err := e.agentFile(m)
		if err != nil {
			e.diags.Errorf(diag.BadPattern, m.Pos, "%v", err)
			continue
		}
		files = append(files, contract.File{Path: format.AgentPath(m), Data: data})
	}
	if f, ok := e.everybody(); ok {
		files = append(files, f)
	}
	if shared := e.sharedServers(); len(shared) > 0 {
		files = append(files, contract.File{
			Path: format.ProjectServers, Data: serversJSON(shared), Places: contract.MCPServers, Keys: serverKeys,
			Defaults: contract.ServerDefaults, Spelled: spelledType, Strict: true})
	}
	return files, e.diags
}

// roleFiles returns the settings that a role is started with, and its servers. The baseline
// has the project's settings, and a role that says nothing has none.
func (e *emitter) roleFiles(r *ir.Role) (files []contract.File) {
	c := e.compile(r)
	if c.err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", c.err)
		return nil
	}
	if s := e.profile(r, c); len(s) > 0 {
		files = append(files, contract.File{Path: format.Session(r.Name, format.OfSettings), Data: contract.JSON(s)})
	}
	if list, own := e.roleServers(r); own != listShared {
		files = append(files, contract.File{Path: serversPath(r, own), Data: serversJSON(list)})
	}
	return files
}

// profile returns the settings with which a role is started, none for the baseline.
func (e *emitter) profile(r *ir.Role, c *compiled) contract.Object {
	if e.inProject(r) {
		return nil
	}
	return e.settings(r, c, e.ofRole(r))
}

func serversPath(r *ir.Role, own ownList) string {
	if own == listBeside {
		return format.Session(r.Name, format.OfBeside)
	}
	return format.Session(r.Name, format.OfServers)
}

// checkNames reports servers and tools that have the same name in mcp__SERVER__TOOL.
func (e *emitter) checkNames() {
	servers := map[string]string{}
	for i := range e.in.Project.Servers {
		s := &e.in.Project.Servers[i]
		if other, ok := servers[rule.Name(s.Name)]; ok {
			e.diags.Errorf(codeNameCollision, s.Pos, "the servers %q and %q are one name to Claude Code: "+
				"give them names that differ in letters, digits, dashes or underscores", other, s.Name).
				Target("claude")
		}
		servers[rule.Name(s.Name)] = s.Name
		tools := map[string]string{}
		for _, t := range s.Tools {
			if other, ok := tools[rule.Name(t.Name)]; ok {
				e.diags.Errorf(codeNameCollision, t.Pos, "the tools %q and %q of %q are one name to Claude Code: "+
					"give them distinct names", other, t.Name, s.Name).
					Target("claude")
			}
			tools[rule.Name(t.Name)] = t.Name
		}
	}
}

// loss reports what a subject loses of a group, "" where it is not one group.
func (e *emitter) loss(subject string, at diag.Pos, g ir.Group, code diag.Code, text string, args ...any) diag.Builder {
	return e.diags.Warnf(code, at, text, args...).
		Target("claude").
		Subject(subject).
		Loses(diag.Narrowing, string(g))
}

// unheld is the hint of a group that goes.
const unheld = `partial = "keep" keeps it unheld`

// orHook returns a hint: what brings the hook back, or another way.
func (e *emitter) orHook(other string) string { return e.remedy + ", or " + other }
