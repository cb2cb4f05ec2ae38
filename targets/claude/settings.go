package claude

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

// rules are the three lists of a settings file.
type rules struct{ allow, ask, deny []string }

func (r *rules) add(d ir.Decision, rule ...string) {
	list := map[ir.Decision]*[]string{ir.Allow: &r.allow, ir.Ask: &r.ask, ir.Deny: &r.deny}[d]
	for _, x := range rule {
		if !slices.Contains(*list, x) {
			*list = append(*list, x)
		}
	}
}

// settings builds a role's settings file.
func (e *emitter) settings(r *ir.Role) (contract.Object, error) {
	list, mode, err := e.compile(r)
	if err != nil {
		return nil, err
	}
	return e.settingsOf(r, list, mode, projectModel), nil
}

// settingsOf writes rules, mode and environment, and a hook on a model.
func (e *emitter) settingsOf(r *ir.Role, list *rules, mode, model string) contract.Object {
	permissions := contract.Object{"allow", orEmpty(list.allow), "ask", orEmpty(list.ask), "deny", orEmpty(list.deny), "defaultMode", mode}
	if mode != "bypassPermissions" {
		permissions = append(permissions, "disableBypassPermissionsMode", "disable")
	}
	if mode != "auto" {
		permissions = append(permissions, "disableAutoMode", "disable")
	}
	o := contract.Object{"permissions", permissions}
	if len(r.Env) > 0 {
		o = append(o, "env", r.Env)
	}
	if e.hooks {
		o = append(o, "hooks", preToolUse(hookCommand(model, "role:"+r.Name, true)))
	}
	return o
}

// preToolUse runs a command before every tool call.
func preToolUse(command string) contract.Object {
	hook := contract.Object{"type", "command", "command", command, "timeout", 10}
	return contract.Object{"PreToolUse", []any{contract.Object{"matcher", "*", "hooks", []any{hook}}}}
}

func orEmpty(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

// projectModel is the policy in the project that a session runs in, as a word of the
// shell.
const projectModel = `"${CLAUDE_PROJECT_DIR}/.modec/policy.json"`

// hookCommand is the command of a hook: the model as a word of the shell, the
// subject quoted, and a refusal where modec is missing.
func hookCommand(model, subject string, mayAllow bool) string {
	allow := ""
	if mayAllow {
		allow = " --may-allow"
	}
	return "modec hook claude --model " + model + " --subject " + contract.ShellQuote(subject) + allow + " || exit 2"
}

func (e *emitter) loss(subject string, at diag.Pos, g ir.Group, code diag.Code, message, hint string) {
	e.diags.Warnf(code, at, "%s", message).
		Hint(hint).
		Target("claude").
		Subject(subject).
		Loses(diag.Narrowing, string(g))
}

// compile turns a role's decisions into Claude Code's rules and its permission
// mode, once.
func (e *emitter) compile(r *ir.Role) (*rules, string, error) {
	c, ok := e.compiled[r]
	if !ok {
		c.rules, c.mode, c.err = e.compileRole(r)
		if e.compiled == nil {
			e.compiled = map[*ir.Role]compiled{}
		}
		e.compiled[r] = c
	}
	return c.rules, c.mode, c.err
}

// compiled is what came out for a role.
type compiled struct {
	rules *rules
	mode  string
	err   error
}

func (e *emitter) compileRole(r *ir.Role) (*rules, string, error) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		return nil, "", err
	}
	mode := r.PermissionMode
	if mode == "" {
		mode = "default"
	}
	c := &compiler{e: e, s: s, name: "role " + r.Name, pos: r.Pos, mode: mode, out: &rules{}}
	c.files(ir.Read, "Read")
	c.files(ir.Edit, "Edit")
	c.commands()
	c.web()
	c.mcp()
	c.modes()
	for _, x := range r.Native {
		if g := wholeTool(x.Text); x.Decision == ir.Allow && g != "" {
			e.loss(c.name, x.Pos, g, codeTool, fmt.Sprintf("the rule %q allows a tool whatever it is given, beside what can.%s decides: it is left out", x.Text, g), fmt.Sprintf("say it in can.%s", g))
			continue
		}
		c.out.add(x.Decision, x.Text)
	}
	switch mode {
	case "dontAsk":
		if !c.asks() {
			break
		}
		e.loss(c.name, r.PermissionModePos, "", codeAskMode, "the mode dontAsk refuses whatever the role asks about", "deny or allow it, or use another permissionMode")
	case "plan":
		e.loss(c.name, r.PermissionModePos, ir.Edit, codePlanMode, "the mode plan makes no edits, whatever the role allows", "Claude Code leaves the mode when the plan is accepted")
	}
	return c.out, mode, nil
}

// wholeTool returns the group of a bare rule whose tool is one of several that read,
// edit or run commands; "" for any other rule.
func wholeTool(rule string) ir.Group {
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command} {
		if slices.Contains(tools[g], rule) {
			return g
		}
	}
	if rule == "MultiEdit" {
		return ir.Edit
	}
	return ""
}

// asks reports whether the role asks about anything.
func (c *compiler) asks() bool {
	return len(c.out.ask) > 0 || slices.ContainsFunc(ir.Groups, func(g ir.Group) bool { return c.s.Default(g).Decision == ir.Ask })
}

// compiler translates one role's decisions.
type compiler struct {
	e    *emitter
	s    *policy.Subject
	name string
	pos  diag.Pos
	mode string
	out  *rules
}

// auto reports whether Claude Code approves by itself in this mode what no rule
// names.
func (c *compiler) auto() bool { return c.mode == "bypassPermissions" || c.mode == "auto" }

// tools are the built-in tools of a group. A path rule of the first covers the
// others; a bare rule takes only its own tool.
var tools = map[ir.Group][]string{
	ir.Read:    {"Read", "Glob", "Grep", "LSP"},
	ir.Edit:    {"Edit", "Write", "NotebookEdit"},
	ir.Command: {"Bash", "Monitor", "PowerShell"},
	ir.Web:     {"WebFetch", "WebSearch"},
}

// drop denies a whole group.
func (c *compiler) drop(g ir.Group) { c.out.add(ir.Deny, tools[g]...) }

// without narrows what only the hook could hold: without it the group goes.
func (c *compiler) without(g ir.Group, at diag.Pos, code diag.Code, message string) bool {
	if c.e.hooks || c.mode == "dontAsk" && strings.Contains(message, "not listed") && g != ir.Read {
		return false // dontAsk refuses by itself what no rule allows
	}
	if at.IsZero() {
		at = c.pos
	}
	c.e.loss(c.name, at, g, code, message+": the role loses the group "+string(g), "turn hooks on, or ask instead of denying")
	c.drop(g)
	return true
}

// closed reports whether a group denies everything.
func (c *compiler) closed(g ir.Group) bool {
	open := c.s.Default(g).Decision > ir.Deny
	for _, r := range c.s.Rules(g) {
		if r.Decision == ir.Deny && r.Pattern.Kind == ir.All {
			return true
		}
		open = open || r.Decision > ir.Deny
	}
	return !open
}

func (c *compiler) files(g ir.Group, tool string) {
	if c.closed(g) {
		c.drop(g)
		if g == ir.Edit { // a path rule also holds for commands that Claude Code takes for edits
			c.out.add(ir.Deny, "Edit(**)", "Edit(//**)")
		}
		return
	}
	def := c.s.Default(g)
	if def.Decision == ir.Deny && c.without(g, def.Pos, groupCodes[g], "rules cannot refuse every path that is not listed") {
		return
	}
	if out := c.s.Outside(g); out.Decision == ir.Deny && g == ir.Read && c.without(g, out.Pos, codeRead, "rules cannot refuse every path outside the project") {
		return
	}
	holds := false
	asksAll := def.Decision == ir.Ask && (g == ir.Read || c.auto() || c.mode == "acceptEdits")
	for _, r := range c.s.Rules(g) {
		switch {
		case r.Pattern.Kind == ir.All && r.Decision == ir.Ask:
			asksAll = true
		case r.Pattern.Kind == ir.All:
		case r.Pattern.Kind == ir.Regex:
			if c.regex(g, tool, r) {
				return
			}
		case r.Decision == ir.Allow:
			c.allowFile(g, tool, r, def.Decision)
		default:
			c.holdFile(tool, r)
			holds = true
		}
	}
	if holds && !asksAll {
		c.out.add(ir.Ask, tool+oddNames)
	}
	switch {
	case asksAll:
		c.askWhole(g)
	case def.Decision == ir.Allow && g == ir.Edit && (c.e.hooks || !c.hasRegexAsk(g)):
		c.out.add(ir.Allow, "Edit(./**)")
	}
}

// oddNames are the names with a long s or a Kelvin sign, which a file system
// may take for an s and a k; Claude Code folds the case of ASCII letters only.
const oddNames = "(*[ſ\u212a]*)"

func (c *compiler) hasRegexAsk(g ir.Group) bool {
	return slices.ContainsFunc(c.s.Rules(g), func(r ir.Rule) bool { return r.Pattern.Kind == ir.Regex && r.Decision == ir.Ask })
}

// askWhole asks about every tool of a group of paths: a bare rule is of its own tool.
func (c *compiler) askWhole(g ir.Group) { c.out.add(ir.Ask, tools[g]...) }

// regex handles a regular expression, which no rule can say; true when the
// group is gone.
func (c *compiler) regex(g ir.Group, tool string, r ir.Rule) bool {
	switch {
	case c.e.hooks && r.Decision != ir.Ask:
		return false // the hook holds it; without it nothing is approved by a rule
	case r.Decision == ir.Deny:
		return c.without(g, r.Pos, codeRegex, "rules have no regular expressions")
	case r.Decision == ir.Ask:
		c.askWhole(g)
		if !c.e.hooks {
			c.e.loss(c.name, r.Pos, g, codeRegex, "rules have no regular expressions: the whole group is asked about", "turn hooks on, or write a glob")
		}
	default:
		c.e.loss(c.name, r.Pos, g, codeRegex, "rules have no regular expressions: the allow is left out", "turn hooks on, or write a glob")
	}
	return false
}

// allowFile emits an allow only where Claude Code's pattern means no more: a
// literal folder of the project and all below it.
func (c *compiler) allowFile(g ir.Group, tool string, r ir.Rule, def ir.Decision) {
	globs, err := policy.ExpandBraces(r.Pattern.Text)
	if err != nil {
		return
	}
	for _, glob := range globs {
		dir, ok := strings.CutSuffix(strings.TrimPrefix(glob, "/"), "/**")
		switch {
		case glob == "**":
			c.out.add(ir.Allow, tool+"(./**)")
		case ok && !strings.ContainsAny(dir, `*?[]{}\!# `) && !strings.HasPrefix(dir, "~"):
			c.out.add(ir.Allow, tool+"("+dir+"/**)")
		case !c.e.hooks && def != ir.Allow:
			c.e.loss(c.name, r.Pos, g, codeAllow, fmt.Sprintf("a rule for %q would match more than the source allows: it is left out", glob), "turn hooks on, or write the pattern as a folder")
		}
	}
}

// holdFile emits a deny or an ask: a gitignore pattern that matches at least
// what the glob matches.
func (c *compiler) holdFile(tool string, r ir.Rule) {
	globs, err := policy.ExpandBraces(r.Pattern.Text)
	if err != nil {
		return
	}
	for _, glob := range globs {
		// A folder is named without what follows: it then holds itself and all
		// that is in it, at any depth where it is one name.
		rooted := strings.Contains(strings.TrimSuffix(glob, "/"), "/")
		glob = strings.TrimPrefix(glob, "/")
		dir := strings.TrimSuffix(strings.TrimSuffix(glob, "**"), "/")
		folder := dir != "" && (strings.HasSuffix(glob, "/") || strings.HasSuffix(glob, "/**"))
		if folder {
			glob = dir
		}
		switch glob[0] {
		case '!', '#', '~':
			glob = "./" + glob
		}
		if folder && rooted && r.Decision == ir.Deny && !strings.Contains(dir, "/") {
			// Only what is in the folder can be said of the project's own; the
			// name itself asks, wherever it stands.
			c.out.add(ir.Deny, tool+"("+glob+"/*)")
			c.out.add(ir.Ask, tool+"("+glob+")")
			continue
		}
		c.out.add(r.Decision, tool+"("+glob+")")
	}
}

// readOnly are commands that Claude Code runs without a prompt because they
// only read. The list is not published whole; those here were observed or are
// documented, and the hook asks about the rest.
var readOnly = []string{
	"ls", "cat", "head", "tail", "grep", "rg", "find", "wc", "pwd", "echo", "which", "whoami", "id", "date", "du", "df", "diff", "stat", "file", "tree", "sort", "uniq", "cut", "tr", "jq", "env", "printenv", "uname", "hostname", "ps", "true", "sleep",
	"arch", "base64", "basename", "cal", "cmp", "column", "comm", "dirname", "docker images", "docker ps", "expand", "expr", "fd", "fmt", "fold", "free", "groups", "help", "hexdump", "history", "locale", "lsof", "man", "md5sum", "netstat", "nl", "nproc", "od", "paste", "pgrep",
	"printf", "readlink", "realpath", "rev", "sed", "seq", "sha1sum", "sha256sum", "ss", "strings", "tac", "tput", "tsort", "type", "uptime", "xargs",
	"git status", "git log", "git diff", "git show", "git branch", "git blame", "git remote", "git tag", "git rev-parse", "git ls-files", "git config --get", "git stash list", "git describe", "git shortlog", "git cat-file", "git for-each-ref", "git rev-list", "git merge-base", "git grep", "git ls-remote", "git reflog",
}

// accepted are commands that the mode acceptEdits runs without a prompt.
var accepted = []string{"mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed", "ln"}

func (c *compiler) commands() {
	g := ir.Command
	if c.closed(g) {
		c.drop(g)
		return
	}
	def := c.s.Default(g)
	if def.Decision == ir.Deny && c.without(g, def.Pos, codeCommand, "rules cannot refuse every command that is not listed") {
		return
	}
	asksAll := def.Decision == ir.Ask && c.auto()
	for _, r := range c.s.Rules(g) {
		switch r.Pattern.Kind {
		case ir.All:
			asksAll = asksAll || r.Decision == ir.Ask
		case ir.Builtin: // the hook's: as rules its prefixes would allow more
			if !c.e.hooks {
				c.e.loss(c.name, r.Pos, g, codeAllow, fmt.Sprintf("rules cannot say which options of @%s only read: it is left out", r.Pattern.Text), "turn hooks on, or list commands")
			}
		default:
			switch {
			case r.Decision != ir.Allow:
				c.out.add(r.Decision, "Bash("+r.Pattern.Text+")")
			case r.Pattern.Text == "*":
				c.everyCommand(r.Pos)
			default:
				c.out.add(ir.Allow, "Bash("+r.Pattern.Text+")")
			}
		}
	}
	switch {
	case asksAll:
		c.out.add(ir.Ask, "Bash")
	case def.Decision == ir.Allow:
		c.everyCommand(def.Pos)
	default:
		c.askReadOnly()
	}
}

// everyCommand leaves an allow of every command to the hook: the rule Bash would
// also let each of them write by a redirect, to guarded paths and outside of the
// project.
func (c *compiler) everyCommand(at diag.Pos) {
	if !c.e.hooks && c.mode != "bypassPermissions" {
		c.e.loss(c.name, at, ir.Command, codeAllow, "the rule Bash would allow redirects to any file too: it is left out", "turn hooks on, or list commands")
	}
}

// askReadOnly asks about what Claude Code would run by itself and the source
// does not allow. A command with an allow rule of its own is left to the hook:
// an ask rule would shadow the allow.
func (c *compiler) askReadOnly() {
	names := readOnly
	if c.mode == "acceptEdits" {
		names = slices.Concat(readOnly, accepted)
	}
	for _, name := range names {
		bare := c.s.Decide(policy.Action{Group: ir.Command, Arg: name}).Decision
		with := c.s.Decide(policy.Action{Group: ir.Command, Arg: name + " modec-witness"}).Decision
		if bare == ir.Allow {
			c.out.add(ir.Allow, "Bash("+name+")") // no more than that: what it may be given is the hook's
		}
		if bare == ir.Allow || with == ir.Allow || slices.ContainsFunc(c.out.allow, func(r string) bool {
			return strings.HasPrefix(r, "Bash("+name+" ") || strings.HasPrefix(r, "Bash("+name+")") || strings.HasPrefix(r, "Bash("+name+":")
		}) {
			continue
		}
		c.out.add(min(bare, with), "Bash("+name+" *)")
	}
}

func (c *compiler) web() {
	g := ir.Web
	if c.closed(g) {
		c.drop(g)
		return
	}
	def := c.s.Default(g)
	if def.Decision == ir.Deny && c.without(g, def.Pos, codeWeb, "rules cannot refuse every host that is not listed") {
		return
	}
	asksAll := def.Decision == ir.Ask && c.auto()
	for _, r := range c.s.Rules(g) {
		switch {
		case r.Pattern.Kind == ir.All:
			asksAll = asksAll || r.Decision == ir.Ask
		case r.Pattern.Text == "*" && r.Decision == ir.Deny:
			c.drop(g)
		default:
			c.out.add(r.Decision, "WebFetch(domain:"+r.Pattern.Text+")")
		}
	}
	search := c.s.Decide(policy.Action{Group: g, Arg: ""}).Decision
	switch {
	case asksAll:
		c.out.add(ir.Ask, "WebFetch", "WebSearch")
		return
	case def.Decision == ir.Allow:
		c.out.add(ir.Allow, "WebFetch")
	}
	if search != ir.Ask || c.mode == "acceptEdits" {
		c.out.add(search, "WebSearch")
	}
}

func (c *compiler) mcp() {
	for i := range c.e.in.Project.Servers {
		sv := &c.e.in.Project.Servers[i]
		unknown := c.s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: contract.UnknownTool}).Decision
		same := true
		decisions := make([]ir.Decision, len(sv.Tools))
		for j, t := range sv.Tools {
			decisions[j] = c.s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}).Decision
			same = same && decisions[j] == unknown
		}
		prefix := "mcp__" + Name(sv.Name)
		if same {
			c.out.add(unknown, prefix)
			continue
		}
		for j, t := range sv.Tools {
			c.out.add(decisions[j], prefix+"__"+Name(t.Name))
		}
	}
	c.resources()
	if c.auto() && c.s.Default(ir.MCP).Decision < ir.Allow {
		c.out.add(c.s.Default(ir.MCP).Decision, "mcp__*")
	}
}

// resources holds the tools that list and read the servers' resources, which ask
// for nothing and have no rules by server: they are denied where no server's
// resources may be read, and asked about where some may not be.
func (c *compiler) resources() {
	least, most := ir.Allow, ir.Deny
	for i := range c.e.in.Project.Servers {
		d := c.s.Decide(policy.Action{Group: ir.MCP, Server: c.e.in.Project.Servers[i].Name, Kind: policy.Resource, Arg: "*"}).Decision
		least, most = min(least, d), max(most, d)
	}
	if most == ir.Deny {
		least = ir.Deny
	} else if least < ir.Allow {
		least = ir.Ask
	}
	if least < ir.Allow {
		c.out.add(least, "ListMcpResourcesTool", "ReadMcpResourceTool")
	}
}

func (c *compiler) modes() {
	for i := range c.e.in.Project.Modes {
		slug := c.e.in.Project.Modes[i].Slug
		c.out.add(c.s.Decide(policy.Action{Group: ir.Modes, Arg: slug}).Decision, "Agent("+slug+")")
	}
}

// Settings returns a role's settings file.
func Settings(in contract.Input, r *ir.Role) ([]byte, error) {
	e := &emitter{in: in, hooks: in.Options.Bool("hooks")}
	o, err := e.settings(r)
	if err != nil {
		return nil, err
	}
	return contract.JSON(o), nil
}

// groupCodes are the codes of what a whole group loses.
var groupCodes = map[ir.Group]diag.Code{
	ir.Read:    codeRead,
	ir.Edit:    codeEdit,
	ir.Command: codeCommand,
	ir.Web:     codeWeb,
}
