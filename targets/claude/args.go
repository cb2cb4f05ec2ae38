package claude

import (
	"cmp"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// FlagOptions are settings of RoleFlags.
type FlagOptions struct {
	// HookRemedy is a hint: what a person can do where only a hook could hold something
	// back. Default: "turn hooks on".
	HookRemedy string
}

// RoleFlags compiles a role for a command line without a settings file. What flags cannot
// express is a loss: a rule to ask about (it is left out where Claude Code asks by itself, and
// denies where it does not), the hook (what only the hook denies is dropped, as with hooks off), a rule
// with a closing parenthesis in it.
func RoleFlags(in contract.Input, r *ir.Role, opt FlagOptions) (contract.RoleFlags, diag.List) {
	e := newEmitter(in)
	e.hooks, e.remedy, e.flagsOnly = false, cmp.Or(opt.HookRemedy, e.remedy), true
	c := e.compile(r)
	if c.err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", c.err)
		return contract.RoleFlags{}, e.diags
	}
	list, mode := &c.rules, cmp.Or(c.mode, format.Default)
	f := contract.RoleFlags{
		PermissionMode:     mode,
		AppendSystemPrompt: r.AppendSystemPrompt,
		Env:                environment(r),
		Allowed:            list.allow,
	}
	if r.Tools != nil {
		t := strings.Join(*r.Tools, ",")
		f.Tools = &t
	}
	lost := func(text string, args ...any) {
		e.loss("role "+r.Name, r.Pos, "", codeFlags, text, args...).Hint("use the settings file")
	}
	if len(list.ask) > 0 {
		lost("flags have no list of rules to ask about: what Claude Code would approve by itself is denied, and " +
			"allows that such a rule would hold back are left out")
		withoutAsk(&f, list)
	}
	if mode == format.Plan { // without disableAutoMode, which no flag sets, a classifier answers what plan would ask
		f.PermissionMode = format.Default
		lost("flags cannot keep the mode plan from answering its own questions: the mode is default")
	}
	f.Allowed = slices.DeleteFunc(slices.Clone(f.Allowed), torn)
	for _, d := range list.deny {
		whole := Without(parentheses, d)
		if torn(d) {
			lost("a flag would tear the rule %s apart: denied instead: %s", d, strings.Join(whole, ", "))
		}
		f.Disallowed = Join(f.Disallowed, whole)
	}
	return f, e.diags
}

// withoutAsk expresses rules to ask about without such a list.
func withoutAsk(f *contract.RoleFlags, list *rules) {
	f.Allowed = nil
	for _, a := range list.ask {
		if runsUnasked(a) {
			f.Disallowed = Join(f.Disallowed, Without(parentheses, a))
		}
	}
	for _, a := range list.allow {
		if !asked(a, list.ask) {
			f.Allowed = append(f.Allowed, a)
		}
	}
	switch f.PermissionMode {
	case format.Default, format.Plan, format.DontAsk:
	default:
		f.PermissionMode = format.Default // the mode would approve what a rule asks about
	}
}

// runsUnasked reports whether Claude Code runs something by itself that a rule asks about, so
// that it would do so without the rule. That commands which only read run beside a rule about
// all of them is a hole of the agent.
func runsUnasked(ask string) bool {
	tool, content, _ := strings.Cut(ask, "(")
	switch {
	case tool == "Agent", tool == "SendMessage", slices.Contains(format.UnknownTools, tool):
		return true
	case tool == "Bash" && content != "":
		return mayRead(strings.TrimSuffix(content, ")"))
	case tool == "WebFetch":
		return content != "" // it fetches documentation from hosts of its own choice
	}
	return groupOf(tool) == ir.Read || slices.Contains(format.ResourceTools, tool)
}

// mayRead reports whether a pattern matches a command that Claude Code runs without a question,
// because it only reads.
func mayRead(pattern string) bool {
	program, rest, _ := strings.Cut(strings.Replace(pattern, ":*", " *", 1), " ")
	if strings.Contains(program, "*") {
		return true
	}
	sub, _, _ := strings.Cut(rest, " ")
	named := sub != "" && !strings.HasPrefix(sub, "-") && !strings.Contains(sub, "*")
	if list, ok := readingCommands[program]; ok && named {
		return slices.Contains(list, sub)
	}
	return slices.Contains(readingPrograms, program)
}

// readingCommands are the commands of a program of which only some read.
var readingCommands = map[string][]string{
	"docker": {"ps", "images"},
	"git": {"status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "describe", "shortlog", "cat-file",
		"for-each-ref", "rev-list", "merge-base", "grep", "ls-remote", "branch", "tag", "remote", "reflog", "config",
		"stash", "worktree"},
}

// readingPrograms are those of which Claude Code 2.1.330 runs some uses without a question,
// because these only read.
var readingPrograms = strings.Fields("[ arch base64 basename cal cat cd cmp column comm cut date df diff dirname " +
	"docker du echo expand expr false fd file find fmt fold free git grep groups head help hexdump " +
	"history hostname id jq locale ls lsof man md5sum netstat nl node nproc od paste pgrep printf ps pwd " +
	"python python3 readlink realpath rev rg sed seq sha1sum sha256sum sleep sort ss stat strings tac " +
	"tail test tput tr tree true tsort type uname uniq uptime wc which whoami xargs")

// asked reports whether a rule to ask about may concern what an allow names: the same tool, one of
// those that the rules of Edit and Read are about too, or the same server.
func asked(allow string, ask []string) bool {
	tool, _, _ := strings.Cut(allow, "(")
	g := groupOf(tool)
	return slices.ContainsFunc(ask, func(rule string) bool {
		t, _, _ := strings.Cut(rule, "(")
		return t == tool || (g == ir.Read || g == ir.Edit) && groupOf(t) == g ||
			strings.HasPrefix(t, tool+"__") || strings.HasPrefix(tool, t+"__") || meet(t, tool)
	})
}

// meet reports whether two names of tools may name the same one: of two with wildcards, where what stands before
// the first of each may begin one name.
func meet(a, b string) bool {
	before, _, wild := strings.Cut(a, "*")
	start, _, also := strings.Cut(b, "*")
	if wild && also {
		return strings.HasPrefix(before, start) || strings.HasPrefix(start, before)
	}
	return rule.NewTools(a).Has(b) || rule.NewTools(b).Has(a)
}

// parentheses inside a rule would tear it apart in a flag.
const parentheses = "()"

// torn reports whether Claude Code would tear a rule apart in a flag: there is a parenthesis
// inside the content.
func torn(rule string) bool {
	open := strings.IndexByte(rule, '(')
	return open >= 0 && strings.ContainsAny(rule[open+1:len(rule)-1], parentheses)
}

// Without returns rules to deny that have none of some marks and match no less than a rule: of
// paths one with a wildcard for each mark, of anything else every tool of its group.
func Without(marks, rule string) []string {
	tool, content, ok := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	switch g := groupOf(tool); {
	case !ok || !strings.ContainsAny(content, marks):
		return []string{rule}
	case g != ir.Read && g != ir.Edit || strings.ContainsAny(content, `[\`):
		if tools := format.Tools[g]; tools != nil {
			return tools
		}
		return []string{tool}
	}
	pattern := strings.Map(func(r rune) rune {
		if strings.ContainsRune(marks, r) {
			return '?'
		}
		return r
	}, content)
	if dir, ok := strings.CutSuffix(pattern, "/*"); ok && !strings.Contains(dir, "/") {
		pattern = ".//" + dir // see held
	}
	return []string{tool + "(" + pattern + ")"}
}

// Join adds those rules to a list that it does not have.
func Join(list, more []string) []string {
	for _, rule := range more {
		if !slices.Contains(list, rule) {
			list = append(list, rule)
		}
	}
	return list
}

// Args returns the arguments that start Claude Code as a role or in a mode. The baseline role
// has the project's own files, and so has a mode without a role. Any other role is started
// without them: its settings, its subagents and its servers are given. Flags that take
// several values are written with "=" and one value, so that they cannot take what follows.
func (claude) Args(in contract.Input, ref ir.SubjectRef, opt contract.ArgsOptions) ([]string, diag.List) {
	e := newEmitter(in)
	e.session = true
	var args []string
	if r := in.Project.Role(ref.Role); r != nil {
		args = e.roleArgs(r, opt)
	}
	if ref.Mode != "" {
		if m := in.Project.Mode(ref.Mode); m != nil && ref.Role == "" {
			args = append(args, e.modeArgs(m, opt)...)
		}
		name := ref.Mode
		if m := in.Project.Mode(ref.Mode); m != nil {
			name = format.AgentName(m)
		}
		args = append(args, "--agent="+name)
	}
	own := []string{"", "role " + ref.Role, "mode " + ref.Mode}
	e.diags = slices.DeleteFunc(e.diags, func(d diag.Diagnostic) bool { // the build reports these
		return d.Severity != diag.Error && !slices.Contains(own, d.Subject)
	})
	return args, e.diags
}

// modeArgs gives a mode's session settings of its own, which have its hook: that of the
// subagent's file does not run in a folder that nobody has trusted, and -p never asks for trust.
func (e *emitter) modeArgs(m *ir.Mode, opt contract.ArgsOptions) []string {
	switch {
	case !e.in.Listens():
		return nil
	case opt.FlagsOnly:
		e.loss("mode "+m.Slug, m.Pos, "", codeFlags, "flags have no hooks: that of the subagent's file runs only in a "+
			"folder that a person has trusted").
			Hint("leave out --flags-only")
		return nil
	}
	text, err := contract.Object{"disableAllHooks", false, "hooks", preToolUse(e.command(e.ofMode(m)))}.MarshalJSON()
	if err != nil {
		e.diags.Errorf(diag.BadPattern, m.Pos, "%v", err)
		return nil
	}
	name := contract.SubjectName(ir.SubjectRef{Mode: m.Slug}) + format.OfSettings
	return []string{"--settings=" + put(opt, contract.SessionPath("claude", name), text)}
}

func (e *emitter) roleArgs(r *ir.Role, opt contract.ArgsOptions) (args []string) {
	if e.elsewhere = opt.Elsewhere; e.elsewhere && opt.FlagsOnly {
		e.loss("role "+r.Name, r.Pos, "", codeFlags,
			"flags name files below the folder in which the session starts: start it in the project")
	}
	if !e.inProject(r) {
		args = append(args, "--setting-sources=user")
	}
	if opt.FlagsOnly {
		f, diags := RoleFlags(e.in, r, FlagOptions{})
		e.diags = append(e.diags, diags...)
		args = append(args, permissionFlags(f)...)
	} else {
		c := e.compile(r)
		if c.err != nil {
			e.diags.Errorf(diag.BadPattern, r.Pos, "%v", c.err)
			return nil
		}
		e.diags = nil // the build reports them
		if e.elsewhere {
			of := *c
			of.rules = anchored(&c.rules, opt)
			c = &of
		}
		if s := e.profile(r, c); len(s) > 0 {
			at := format.Session(r.Name, format.OfSettings)
			args = append(args, "--settings="+put(opt, at, contract.JSON(s)))
		}
		if c.mode != "" && !e.inProject(r) {
			args = append(args, "--permission-mode="+c.mode)
		}
	}
	if !e.inProject(r) {
		args = append(args, e.agentsFlag(r)...)
	}
	args = append(args, e.serverFlags(r, opt)...)
	if r.Tools != nil {
		args = append(args, "--tools="+strings.Join(*r.Tools, ","))
	}
	if r.AppendSystemPrompt != "" {
		args = append(args, "--append-system-prompt="+r.AppendSystemPrompt)
	}
	return args
}

// anchored returns rules for a session that starts in another folder than the project's: Claude
// Code takes a path with a slash from the folder in which the session starts. Rules that hold
// back stay beside, for a work tree of the same project.
func anchored(r *rules, opt contract.ArgsOptions) rules {
	out := *r
	all := func(list []string, of ir.Decision) []string {
		var more []string
		for _, text := range list {
			at := absolute(text, of, opt.Root)
			if at == text || of != ir.Allow || !opt.Below {
				more = append(more, text)
			}
			if at != text {
				more = append(more, at)
			}
		}
		return more
	}
	out.allow, out.ask, out.deny = all(r.allow, ir.Allow), all(r.ask, ir.Ask), all(r.deny, ir.Deny)
	return out
}

// absolute returns a rule about files below the folder of a session as one about those below
// another folder; a rule about anything else as it is.
func absolute(text string, of ir.Decision, root string) string {
	r, err := rule.Parse(text)
	if err != nil || r.Tool != "Read" && r.Tool != "Edit" || r.Spec == "" {
		return text
	}
	p, ok := r.Path(of)
	if !ok || p.From != rule.WorkDir {
		return text
	}
	pattern := p.Pattern
	if !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
		pattern = "**/" + pattern
	}
	escaped := gitignored.ReplaceAllString(filepath.ToSlash(root), `\$0`)
	return r.Tool + "(/" + path.Join("/", escaped) + "/" + strings.TrimPrefix(pattern, "/") + ")"
}

// gitignored matches what means something in a line of .gitignore.
var gitignored = regexp.MustCompile(`[\\*?\[\]!# ]`)

// agentsFlag gives a role its subagents as text: Claude Code 2.1.329 takes a file with -p only.
func (e *emitter) agentsFlag(r *ir.Role) []string {
	agents, err := e.agents(r)
	if err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", err)
		return nil
	}
	if len(agents) == 0 {
		return nil
	}
	text, err := agents.MarshalJSON()
	if err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", err)
	}
	return []string{"--agents=" + string(text)}
}

// serverFlags gives a role its servers: a list of its own, and no other one where there may be none, or that of the
// project, which a session without the project's files does not read.
func (e *emitter) serverFlags(r *ir.Role, opt contract.ArgsOptions) []string {
	list, own := e.roleServers(r)
	for i, sv := range list {
		if sv.Gateway != nil { // it looks for the project where it is started
			there := *sv
			there.Args = append([]string{"-C", opt.Root}, sv.Args...)
			list[i] = &there
		}
	}
	switch {
	case own == listAlone:
		return []string{"--mcp-config=" + put(opt, serversPath(r, own), serversJSON(list)),
			"--strict-mcp-config"}
	case own == listBeside:
		return []string{"--mcp-config=" + put(opt, serversPath(r, own), serversJSON(list))}
	case len(list) > 0 && !e.inProject(r):
		return []string{"--mcp-config=" + put(opt, format.ProjectServers, serversJSON(list))}
	}
	return nil
}

// permissionFlags writes permissions as flags.
func permissionFlags(f contract.RoleFlags) []string {
	args := []string{"--permission-mode=" + f.PermissionMode}
	for _, a := range f.Allowed {
		args = append(args, "--allowedTools="+a)
	}
	for _, d := range f.Disallowed {
		args = append(args, "--disallowedTools="+d)
	}
	return args
}

// put returns where a session finds what it is started with.
func put(opt contract.ArgsOptions, path string, data []byte) string {
	return opt.Copies.Put(contract.File{Path: path, Data: data})
}
