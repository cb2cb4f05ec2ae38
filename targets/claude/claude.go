// Package claude emits the configuration of Claude Code: a settings file and an
// argument vector for each role, a subagent for each mode, MCP servers, and the
// PreToolUse hook that makes them exact.
//
// Sources: code.claude.com/docs (settings, permissions, hooks, sub-agents) and
// the binary of @anthropic-ai/claude-code 2.1.329.
//
// # What holds what
//
// A role's settings file is given by --settings, or installed in the home folder. Its
// rules deny and ask for what Claude Code's grammar can say; its hook asks the compiled
// policy about every tool call and answers deny, ask or allow. The project's own
// settings file, under every session, has what all roles refuse and ask about, or holds
// everybody to one role (the option subject). A mode's subagent lists the
// tools that the mode may use at all; the hook in its front matter travels with
// the repository and answers deny or ask only.
//
// Rules are an upper bound: without the hook Claude Code may prompt more, never
// approve more. An allow is a rule only where Claude Code's grammar means no
// more than the source: paths below a literal folder, commands, hosts, tools.
//
// # What the rules know of the agent
//
//   - A pattern without "/" holds at any depth, `dir/**` in a deny at any depth
//     and in an allow below the working directory only.
//   - Write(path), NotebookEdit(path) and Glob(path) are inert: Edit and Read
//     stand for them.
//   - Reading in the working directory and read-only commands (ls, cat, git
//     status …) run without a prompt unless a rule names them; acceptEdits also
//     runs mkdir, mv and the like. Rules ask for those that the source does not
//     allow.
//   - dontAsk refuses whatever it would ask about; plan refuses edits. Both are
//     listed once a role.
//   - defaultMode is always written: the plan's own default may be auto.
//
// # Where the binary differs from what is written about it (2.1.329)
//
//   - `command` is taken off before an allow rule is tried, beside timeout, time,
//     nice, nohup and stdbuf. Without a rule only timeout, command and builtin
//     leave a reading command without a question.
//   - A path pattern folds the case of ASCII letters, in allow rules too, and holds
//     what is below a matched folder: Edit(*.md) allows x.md/run.sh.
//   - `Bash(git push * -f *)` does not match `git push x -f`: a trailing " *" has a
//     word boundary only where it is the only wildcard.
//   - A hook's ask is put to a person in dontAsk as well; only an ask rule is refused
//     there. A hook's allow skips neither deny and ask rules nor plan.
//   - plan asks about edits, whatever rule or hook allows them, and without
//     disableAutoMode hands its questions to a classifier: flags alone, which cannot
//     set that, never start it.
//   - .git, .vscode, .claude and .mcp.json are asked about even where a rule allows.
//   - Under acceptEdits a redirect passes rules that ask about an edit, and `<` passes
//     those about reading.
//   - In a folder that nobody has trusted a subagent's hook does not run.
//
// # Known holes of the agent
//
// Grep over a folder shows what only the hook would refuse to open; it is there in
// a subagent without Bash. Without the hook, some approvals come of Claude Code
// itself and no rule closes them alone: the arguments of a command that it takes
// for reading, lines without a program, a command among the arguments of another,
// subagents and tools that no rule names. Verify counts them (decide_loose.go).
//
// # What is lost with hooks = false
//
// An edit or read list with a default of deny, a regex, a built-in command set,
// a ceiling outside the project: what a rule cannot deny, the role's tool loses.
// Rules alone ask about what they cannot refuse (a path outside, a wrapped
// command): without the hook they hold approval, and access of named tools only.
package claude

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

type claude struct{}

// New returns the target.
func New() contract.Target { return claude{} }

func (claude) Name() string { return "claude" }

func (claude) Summary() string {
	return "Claude Code: settings a role, a subagent a mode, MCP servers, hooks"
}

func (claude) Options() []contract.Option {
	return []contract.Option{
		{Name: "hooks", Type: contract.Bool, Default: true, Doc: "Emit the PreToolUse hook, which runs `modec hook claude` before each tool call and makes exact what rules cannot say. Without it, what rules cannot hold back is left out."},
		{Name: "subject", Type: contract.String, Doc: "The role that .claude/settings.json holds every session in this repository to, by rules and a hook; one that is started as another role may then do what both may. Default: none. With a baseline the file has the rules that refuse or ask for every role, and the baseline's mode."},
	}
}

func (claude) Owns() []string {
	return []string{".claude/modec/*", ".claude/agents/*.md", sharedSettings, ".mcp.json"}
}

// Governs: settings, arguments and hooks hold both halves; a subagent's tools
// hold access.
func (claude) Governs(path string, g ir.Group) contract.Halves {
	switch {
	case path == sharedSettings, strings.HasPrefix(path, ".claude/modec/") && strings.HasSuffix(path, ".settings.json"):
		return contract.Both
	case strings.HasPrefix(path, ".claude/agents/"):
		return contract.Access
	case path == ".mcp.json", strings.HasSuffix(path, ".mcp.json"):
		if g == ir.MCP {
			return contract.Access
		}
	}
	return contract.Neither
}

type emitter struct {
	in       contract.Input
	hooks    bool
	compiled map[*ir.Role]compiled
	diags    diag.List
}

// Emit compiles roles, modes and servers.
func (claude) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in, hooks: in.Options.Bool("hooks")}
	e.checkNames()
	e.lostFields()
	var files []contract.File
	for i := range in.Project.Roles {
		r := &in.Project.Roles[i]
		settings, err := e.settings(r)
		if err != nil {
			e.diags.Errorf(diag.BadPattern, r.Pos, "%v", err)
			continue
		}
		files = append(files, contract.File{Path: settingsPath(r), Data: contract.JSON(settings)})
		if own, differs := e.roleServers(r); differs {
			files = append(files, contract.File{Path: serversPath(r), Data: e.serversJSON(own)})
		}
	}
	for i := range in.Project.Modes {
		m := &in.Project.Modes[i]
		data, err := e.agent(m)
		if err != nil {
			e.diags.Errorf(diag.BadPattern, m.Pos, "%v", err)
			continue
		}
		files = append(files, contract.File{Path: ".claude/agents/" + m.Slug + ".md", Data: data})
	}
	if f, ok := e.everybody(); ok {
		files = append(files, f)
	}
	if shared := e.sharedServers(); len(shared) > 0 {
		files = append(files, contract.File{Path: ".mcp.json", Data: e.serversJSON(shared), Places: contract.MCPServers})
	}
	return files, e.diags
}

func settingsPath(r *ir.Role) string {
	return ".claude/modec/" + contract.PathName(r.Name) + ".settings.json"
}

func serversPath(r *ir.Role) string {
	return ".claude/modec/" + contract.PathName(r.Name) + ".mcp.json"
}

// Name is a server's or tool's name as Claude Code writes it in mcp__server__tool.
func Name(s string) string {
	return strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, s)
}

func (e *emitter) checkNames() {
	seen := map[string]*ir.Server{}
	for i := range e.in.Project.Servers {
		s := &e.in.Project.Servers[i]
		if other, ok := seen[Name(s.Name)]; ok {
			e.diags.Errorf(codeNameCollision, s.Pos, "got the servers %q and %q, which are one name to Claude Code, want names that differ in letters, digits, dashes or underscores", other.Name, s.Name).
				Target("claude")
		}
		seen[Name(s.Name)] = s
		tools := map[string]string{}
		for _, t := range s.Tools {
			if other, ok := tools[Name(t.Name)]; ok {
				e.diags.Errorf(codeNameCollision, t.Pos, "got the tools %q and %q of %q, which are one name to Claude Code, want distinct names", other, t.Name, s.Name).
					Target("claude")
			}
			tools[Name(t.Name)] = t.Name
		}
	}
}

// lostFields reports settings of servers that .mcp.json does not have.
func (e *emitter) lostFields() {
	for i := range e.in.Project.Servers {
		if s := &e.in.Project.Servers[i]; s.Cwd != "" {
			e.diags.Warnf(codeServerField, s.Pos, ".mcp.json has no working directory: that of the server %q is left out", s.Name).
				Hint("let the command change into it").
				Target("claude").
				Loses(diag.Text, "")
		}
	}
}

// sharedServers are those that somebody may use and that are on by default.
func (e *emitter) sharedServers() []*ir.Server {
	var list []*ir.Server
	for i := range e.in.Project.Servers {
		if s := &e.in.Project.Servers[i]; s.Type != ir.External && s.DefaultEnabled && e.in.Reach.Server(s.Name).Any() > ir.Deny {
			list = append(list, s)
		}
	}
	return list
}

// roleServers are those that a role may use; differs when they are not the
// shared ones, or when there may be others of which the role may use none.
func (e *emitter) roleServers(r *ir.Role) (list []*ir.Server, differs bool) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		return nil, false
	}
	var external *ir.Server
	for i := range e.in.Project.Servers {
		switch sv := &e.in.Project.Servers[i]; {
		case !contract.Usable(s, sv):
		case sv.Type == ir.External:
			external = cmp.Or(external, sv)
		default:
			list = append(list, sv)
		}
	}
	other := s.Decide(policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool}).Decision
	differs = !slices.Equal(list, e.sharedServers()) || !e.in.Project.ClosedInventory && len(list) > 0 && other == ir.Deny
	if differs && external != nil {
		e.diags.Warnf(codeExternal, external.Pos, "a role with servers of its own is started without any other: the external server %q is left out", external.Name).
			Hint("say how it is started (command or url)").
			Target("claude").
			Subject("role "+r.Name).
			Loses(diag.Narrowing, string(ir.MCP))
	}
	return list, differs
}

func (e *emitter) serversJSON(servers []*ir.Server) []byte {
	all := contract.Object{}
	for _, s := range servers {
		o := contract.Object{"type", s.Type}
		if s.Type == "stdio" {
			o = append(o, "command", s.Command)
			if len(s.Args) > 0 {
				o = append(o, "args", s.Args)
			}
			if len(s.Env) > 0 {
				o = append(o, "env", s.Env)
			}
		} else {
			o = append(o, "url", s.URL)
			if len(s.Headers) > 0 {
				o = append(o, "headers", s.Headers)
			}
		}
		if s.TimeoutSeconds > 0 {
			o = append(o, "timeout", s.TimeoutSeconds*1000)
		}
		all = append(all, s.Name, o)
	}
	return contract.JSON(contract.Object{"mcpServers", all})
}

// Agent is Claude Code's command line.
func (claude) Agent() contract.Agent {
	return contract.Agent{Name: "Claude Code", Programs: []string{"claude"}, Observed: "2.1.329"}
}
