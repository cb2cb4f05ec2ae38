package model

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/gemini/format"
)

// call is a call of a tool.
type call struct {
	tool   string
	server string
	args   []string // names and values
	line   string   // of the shell
	agent  string   // that is invoked
}

// calls returns the calls that do an action, the plainest first.
func calls(a policy.Action) (out []call) {
	switch a.Group {
	case ir.Read:
		return []call{{tool: format.ReadFile, args: []string{format.FilePath, a.Arg}}}
	case ir.Edit:
		return []call{
			{tool: "write_file", args: []string{"content", "x", format.FilePath, a.Arg}},
			{tool: "replace", args: []string{format.FilePath, a.Arg, "instruction", "x", "new_string", "y",
				"old_string", "x"}},
		}
	case ir.Command:
		return []call{shell(a.Arg)}
	case ir.Web:
		if a.Arg == "" {
			return []call{{tool: format.WebSearch, args: []string{"query", "x"}}}
		}
		for _, p := range prompts {
			out = append(out, call{tool: format.WebFetch, args: []string{format.PromptArg, p.before + a.Arg + p.after}})
		}
		return out
	case ir.Modes:
		return []call{{tool: format.Invoke, agent: a.Arg,
			args: []string{format.AgentArg, a.Arg, format.PromptArg, "x"}}}
	case ir.MCP:
		if a.Kind == policy.Tool {
			return []call{{tool: format.ToolName(a.Server, a.Arg), server: a.Server}}
		}
		return []call{{tool: "read_mcp_resource", args: []string{"uri", a.Arg}}}
	}
	return []call{{tool: a.Arg}}
}

// prompts are ways to ask for a host's page.
var prompts = []place{{"https://", ""}, {"https://", "/"}, {"read https://", "/ now"}}

func shell(line string) call {
	return call{tool: format.Shell, line: line, args: []string{format.CommandArg, line, "description", "x"}}
}

// outcome is what the engine decides.
type outcome struct {
	decision ir.Decision
	rule     string
	at       diag.Pos
}

// judge decides an action in a session, or of an agent in it. hooks is what they say of a call, nil for none.
func (s session) judge(a policy.Action, of agent, hooks func(call) outcome) contract.Verdict {
	if a.Group == ir.MCP && a.Kind == policy.Prompt { // a person invokes it
		return contract.Verdict{Answer: contract.Answer{Decision: ir.Allow, Rule: "a person invokes prompts"}}
	}
	best := outcome{decision: ir.Deny}
	for i, c := range calls(a) {
		if o := s.called(c, of, hooks); i == 0 || o.decision > best.decision {
			best = o
		}
	}
	v := contract.Verdict{Answer: contract.Answer{Decision: best.decision, Governs: contract.Both, Rule: best.rule,
		At: best.at}}
	switch file := a.Group == ir.Read || a.Group == ir.Edit; {
	case file && outside(a.Arg):
		v.Decision, v.Rule = ir.Deny, "Gemini CLI's tools for files stay in the project"
	case file && elsewhere.MatchString(a.Arg) && v.Decision > ir.Deny:
		v.Hole = &contract.Hole{Decision: v.Decision, Why: "Gemini CLI takes such a name for a file of the project"}
		v.Decision = ir.Deny
	case a.Group == ir.Read && v.Decision < ir.Allow:
		v.Hole = s.searches(v.Decision, of, hooks)
	case a.Group == ir.Command && v.Decision > ir.Deny && s.passes(a.Arg, of):
		v.Hole = &contract.Hole{Decision: v.Decision,
			Why: "Gemini CLI lets a redirect past a tool that an agent does not have"}
		v.Decision = ir.Deny
	}
	return v
}

// passes reports whether a line that no rule decides may read or write a file for which the agent has no tool: by a
// redirect, also of a line among the arguments.
func (s session) passes(line string, of agent) bool {
	c := shell(line)
	if of.name == "" || !of.limited || first(s, c, format.Arguments(c.args...)) != nil {
		return false
	}
	edits := slices.ContainsFunc(format.Edits, func(t string) bool { return of.has(call{tool: t}) })
	reads := of.has(call{tool: format.ReadFile})
	return !edits && strings.Contains(line, ">") || !reads && strings.Contains(line, "<")
}

// elsewhere matches names that a shell, or Windows, takes for a path outside.
var elsewhere = regexp.MustCompile(`^(?:~[^/\\]|[A-Za-z]:(?:[^/\\]|$)|\\(?:[^\\]|$))`)

// searches returns the hole through which searching shows what may not be read.
func (s session) searches(least ir.Decision, of agent, hooks func(call) outcome) *contract.Hole {
	most := least
	for _, tool := range []string{"glob", "grep_search", "list_directory"} {
		most = max(most, s.called(call{tool: tool, args: []string{"pattern", "x"}}, of, hooks).decision)
	}
	if most == least {
		return nil
	}
	return &contract.Hole{Decision: most,
		Why: "grep_search and glob show the files below a folder that may not be read"}
}

// outside reports whether a path leads out of the project.
func outside(p string) bool {
	p = strings.ReplaceAll(p, `\`, "/")
	clean := path.Clean(p)
	return p == "~" || strings.HasPrefix(p, "~/") || path.IsAbs(p) ||
		clean == ".." || strings.HasPrefix(clean, "../") ||
		len(p) > 2 && p[1] == ':' && p[2] == '/' || strings.ContainsRune(p, 0)
}

// called decides a call: by the tools that an agent has, by the engine, and by hooks.
func (s session) called(c call, of agent, hooks func(call) outcome) outcome {
	if of.name != "" && c.tool == format.Invoke {
		return outcome{ir.Deny, "an agent cannot invoke agents", of.at}
	}
	if of.name != "" && of.limited && !of.has(c) {
		return outcome{ir.Deny, "the agent does not have " + c.tool, of.at}
	}
	o := s.check(c)
	if hooks != nil && o.decision > ir.Deny {
		if said := hooks(c); said.decision < o.decision {
			return said
		}
	}
	return o
}

// has reports whether the agent has a tool.
func (a *agent) has(c call) bool {
	return slices.ContainsFunc(a.tools, func(t string) bool {
		return t == c.tool || t == format.Every || c.server != "" &&
			(t == format.EveryMCP || t == format.ToolName(c.server, format.Every))
	})
}

// check decides a call as the engine does.
func (s session) check(c call) outcome { return s.checkAs(c, false) }

// checkAs decides a call, or a command of its line (inner), which the engine never knows to be safe.
func (s session) checkAs(c call, inner bool) outcome {
	text := format.Arguments(c.args...)
	out := outcome{ir.Ask, "Gemini CLI asks where no rule decides", diag.Pos{}}
	bare := true // no expression chose the rule
	redirects := false
	for _, rules := range []session{s, byItself} {
		if r := first(rules, c, text); r != nil {
			out, bare = outcome{r.Decision, ruleText(r), r.At}, r.Args == nil
			redirects = r.Redirects
			break
		}
	}
	if c.tool == format.Shell {
		if bare && !inner && out.decision == ir.Ask && knownSafe(c.line) {
			out.decision, out.rule = ir.Allow, "Gemini CLI runs without asking what it knows to be safe"
		}
		return s.line(c, out, redirects)
	}
	if out.decision == ir.Allow && slices.Contains(format.Edits, c.tool) && isBuildFile(argument(c, format.FilePath)) {
		out.decision, out.rule = ir.Ask, "Gemini CLI asks before it edits what builds the project"
	}
	return out
}

func argument(c call, name string) string {
	for i := 0; i+1 < len(c.args); i += 2 {
		if c.args[i] == name {
			return c.args[i+1]
		}
	}
	return ""
}

// ruleText names a rule.
func ruleText(r *format.Rule) string {
	if r.Text != "" {
		return r.Text
	}
	text := format.Word(r.Decision) + " " + strings.Join(r.Tools, ", ")
	if r.Server != "" {
		text += " of " + r.Server
	}
	if r.Expr != "" {
		text += " " + strings.ReplaceAll(r.Expr, `\x00`, "")
	}
	return text
}

// first returns the first rule that matches.
func first(rules session, c call, text string) *format.Rule {
	for _, r := range rules {
		if matches(r, c, text) {
			return r
		}
	}
	return nil
}

func matches(r *format.Rule, c call, text string) bool {
	switch {
	case len(r.Modes) > 0 && !slices.Contains(r.Modes, "default"),
		r.Server != "" && (c.server == "" || r.Server != "*" && r.Server != c.server),
		slices.Contains(r.But, c.server),
		r.Annotated && r.Decision != ir.Allow,
		r.Interactive != nil && !*r.Interactive,
		!slices.ContainsFunc(r.Tools, func(t string) bool { return names(r, t, c) }):
		return false
	case r.Args == nil:
		return true
	}
	ok, err := r.Args.Match(text)
	return ok || err != nil && r.Decision > ir.Deny
}

// names reports whether a tool of a rule is that of a call.
func names(r *format.Rule, t string, c call) bool {
	if r.Server != "" { // the loader puts the name of the server before that of the tool
		if t == format.Every {
			return strings.HasPrefix(c.tool, format.ToolName(r.Server, "")) && r.Server == c.server
		}
		return c.tool == format.ToolName(r.Server, t)
	}
	server, any := strings.CutSuffix(t, "_*")
	switch {
	case t == format.Every, t == c.tool, c.agent != "" && t == c.agent:
		return true
	case t == format.EveryMCP:
		return c.server != ""
	case any && c.server != "":
		return server == "mcp_"+c.server && strings.HasPrefix(c.tool, server+"_")
	}
	return false
}

// line decides a line of the shell: what its rule says, which may allow redirects, and every command of it by itself.
func (s session) line(c call, by outcome, may bool) outcome {
	if by.decision == ir.Deny || c.line == "" {
		return by
	}
	commands, redirects, ok := split(c.line)
	if !ok || len(commands) == 0 {
		return outcome{ir.Ask, "Gemini CLI asks about what it cannot parse", by.at}
	}
	if redirects && !may && by.decision == ir.Allow {
		by.decision, by.rule = ir.Ask, "Gemini CLI asks about redirects"
	}
	for _, command := range commands {
		subs := []string{command}
		if command == c.line {
			subs = nil
		}
		if inner, ok := unwrapped(command); ok {
			subs = append(subs, inner)
		}
		for _, sub := range subs {
			if o := s.checkAs(shell(sub), true); o.decision < by.decision {
				by = o
			}
		}
		if by.decision == ir.Deny {
			return by
		}
	}
	return by
}

var wrapper = regexp.MustCompile(`(?i)^\s*(?:(?:\S+/)?(?:sh|bash|zsh))\s+-c\s+`)

// unwrapped returns the script of a shell that a command starts.
func unwrapped(command string) (string, bool) {
	start := wrapper.FindString(command)
	if start == "" {
		return "", false
	}
	script := strings.TrimSpace(command[len(start):])
	if n := len(script); n >= 2 && (script[0] == '"' || script[0] == '\'') && script[n-1] == script[0] {
		script = script[1 : n-1]
	}
	return script, true
}

// knownSafe reports whether the engine may know a line to be safe. It knows some programs with some options: any
// line that begins as theirs counts.
func knownSafe(line string) bool {
	words := strings.Fields(line)
	if len(words) == 0 {
		return false
	}
	if words[0] == "git" {
		return !strings.ContainsAny(line, "|&;()<>$#`") &&
			slices.ContainsFunc(words, func(w string) bool { return slices.Contains(safeOfGit, w) })
	}
	return slices.Contains(safePrograms, words[0])
}

// safePrograms and safeOfGit are those of commandSafety.js.
var (
	safePrograms = []string{
		"__read", "__write", "base64", "cat", "cd", "cut", "echo", "expr", "false", "find", "grep", "head", "id", "ls",
		"nl", "numfmt", "paste", "pwd", "rev", "rg", "sed", "seq", "stat", "tac", "tail", "tr", "true", "uname", "uniq",
		"wc", "which", "whoami",
	}
	safeOfGit = []string{"branch", "diff", "log", "show", "status"}
)

// split returns the commands of a line; false where it does not parse.
func split(line string) (commands []string, redirects, ok bool) {
	f, err := policy.ParseLine(line)
	if err != nil {
		return nil, false, false
	}
	slice := func(from, to syntax.Pos) {
		if a, b := int(from.Offset()), int(to.Offset()); 0 <= a && a < b && b <= len(line) {
			commands = append(commands, strings.TrimSpace(line[a:b]))
		}
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if call, ok := n.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 {
				end := call.End()
				if at, ok := policy.RedirectBehind(call.Args[0], n.Redirs); ok && end.After(at) {
					end = at
				}
				slice(call.Pos(), end)
			}
		case *syntax.DeclClause:
			slice(n.Pos(), n.End())
		case *syntax.Redirect:
			redirects = true
		}
		return true
	})
	return commands, redirects, true
}

// byItself are the rules that come with Gemini CLI, for its approval mode default.
var byItself = session{
	{Tools: append(slices.Clone(format.Searches[:3]), format.ReadFile, format.WebSearch, "list_mcp_resources",
		"read_mcp_resource", format.Invoke), Decision: ir.Allow},
	{Tools: format.Harmless, Decision: ir.Allow},
}

// isBuildFile reports whether Gemini CLI asks before it edits a file.
func isBuildFile(file string) bool {
	base := path.Base(file)
	return slices.Contains(buildFiles, base) || slices.Contains(buildEndings, path.Ext(base))
}

// buildFiles and buildEndings are those of buildFileUtils.js that every system knows.
var (
	buildFiles = []string{
		"BUILD", "BUILD.bazel", "CMakeLists.txt", "Cargo.lock", "Cargo.toml", "Containerfile", "Dockerfile",
		"GNUmakefile", "MODULE.bazel", "Makefile", "WORKSPACE",
		"WORKSPACE.bazel", ".bazelrc", ".blazerc", "build.gradle",
		"build.gradle.kts", "bun.lockb", "go.mod", "go.sum", "makefile", "package-lock.json", "package.json",
		"pnpm-lock.yaml", "pom.xml", "pyproject.toml", "settings.gradle", "settings.gradle.kts", "setup.cfg",
		"setup.py", "yarn.lock",
	}
	buildEndings = []string{".bazel", ".bzl", ".bzlmod", ".cmake", ".mk"}
)
