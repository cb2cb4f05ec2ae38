package claude

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// rules are the three lists of a settings file.
type rules struct{ allow, ask, deny []string }

func (r *rules) add(d ir.Decision, rule ...string) {
	list := &r.deny
	switch d {
	case ir.Ask:
		list = &r.ask
	case ir.Allow:
		list = &r.allow
	}
	for _, x := range rule {
		if !slices.Contains(*list, x) {
			*list = append(*list, x)
		}
	}
}

// compiled is what came out for a role.
type compiled struct {
	rules *rules
	mode  string
	err   error
}

// compile turns a role's decisions into Claude Code's rules and its permission mode, once.
func (e *emitter) compile(r *ir.Role) (*rules, string, error) {
	c, ok := e.compiled[r]
	if !ok {
		c.rules, c.mode, c.err = e.compileRole(r)
		e.compiled[r] = c
	}
	return c.rules, c.mode, c.err
}

func (e *emitter) compileRole(r *ir.Role) (*rules, string, error) {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		return nil, "", err
	}
	mode := cmp.Or(r.PermissionMode, format.Default)
	c := &compiler{e: e, s: s, name: "role " + r.Name, pos: r.Pos, mode: mode, out: &rules{}}
	c.files(ir.Read)
	c.files(ir.Edit)
	c.commands()
	c.web()
	c.mcp()
	c.modes()
	for _, x := range r.Native {
		if x.Target == (claude{}).Name() {
			c.native(x)
		}
	}
	switch mode {
	case format.DontAsk:
		if c.asks() {
			e.loss(c.name, r.PermissionModePos, "", codeAskMode,
				"the mode dontAsk refuses whatever the role asks about").
				Hint("deny or allow it, or use another permissionMode")
		}
	case format.Plan:
		e.loss(c.name, r.PermissionModePos, ir.Edit, codePlanMode,
			"the mode plan makes no edits, whatever the role allows").
			Hint("Claude Code leaves the mode when the plan is accepted")
	}
	return c.out, mode, nil
}

// compiler translates the decisions of one role.
type compiler struct {
	e    *emitter
	s    *policy.Subject
	name string
	pos  diag.Pos
	mode string
	out  *rules
}

// native adds a rule in Claude Code's own grammar.
func (c *compiler) native(x ir.NativeRule) {
	if g := format.SharedGroup(x.Text); x.Decision == ir.Allow && g != "" {
		c.e.loss(c.name, x.Pos, g, codeTool,
			"the rule %q allows a tool whatever its input is, beside what can.%s decides: it is left out", x.Text, g).
			Hintf("say it in can.%s", g)
		return
	}
	c.out.add(x.Decision, x.Text)
}

// asks reports whether the role asks about anything.
func (c *compiler) asks() bool {
	asks := func(g ir.Group) bool { return c.s.Default(g).Decision == ir.Ask }
	return len(c.out.ask) > 0 || slices.ContainsFunc(ir.Groups, asks)
}

// approves reports whether Claude Code approves by itself in this mode what no rule names.
func (c *compiler) approves() bool { return c.mode == format.Bypass || c.mode == format.Auto }

// drop denies a whole group.
func (c *compiler) drop(g ir.Group) { c.out.add(ir.Deny, format.Tools[g]...) }

// askWhole asks about every tool of a group of paths: a bare rule is about its own tool.
func (c *compiler) askWhole(g ir.Group) { c.out.add(ir.Ask, format.Tools[g]...) }

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

// gap is something that rules cannot refuse.
type gap struct {
	code    diag.Code
	message string
	refused bool // the mode dontAsk refuses it by itself, since no rule allows it
}

var (
	// unlisted are the gaps of a default of deny. Reading in the project runs in every
	// mode.
	unlisted = map[ir.Group]gap{
		ir.Read:    {codeRead, "rules cannot refuse every path that is not listed", false},
		ir.Edit:    {codeEdit, "rules cannot refuse every path that is not listed", true},
		ir.Command: {codeCommand, "rules cannot refuse every command that is not listed", true},
		ir.Web:     {codeWeb, "rules cannot refuse every host that is not listed", true},
	}
	outside = gap{codeRead, "rules cannot refuse every path outside the project", false}
	regexes = gap{codeRegex, "rules have no regular expressions", false}
)

// loses reports whether a group goes because of a gap that only the hook could close.
func (c *compiler) loses(g ir.Group, at diag.Pos, of gap) bool {
	if c.e.hooks || of.refused && c.mode == format.DontAsk {
		return false
	}
	if at.IsZero() {
		at = c.pos
	}
	c.e.loss(c.name, at, g, of.code, "%s: the role loses the group %s", of.message, g).
		Hint(c.e.orHook("ask instead of denying"))
	c.drop(g)
	return true
}

// losesUnlisted reports whether a group goes because it denies what its rules do not list.
func (c *compiler) losesUnlisted(g ir.Group) bool {
	def := c.s.Default(g)
	return def.Decision == ir.Deny && c.loses(g, def.Pos, unlisted[g])
}

// gone drops a group that denies everything or what its rules do not list, and reports
// whether it did.
func (c *compiler) gone(g ir.Group) bool {
	if c.closed(g) {
		c.drop(g)
		return true
	}
	return c.losesUnlisted(g)
}

// readOnly are commands that Claude Code runs without a question because they only read.
// The list is not published whole. Those here were observed or are documented, and the hook
// asks about the others.
var readOnly = []string{
	"ls", "cat", "head", "tail", "grep", "rg", "find", "wc", "pwd", "echo", "which", "whoami", "id", "date", "du", "df",
	"diff", "stat", "file", "tree", "sort", "uniq", "cut", "tr", "jq", "env", "printenv", "uname", "hostname", "ps",
	"true", "sleep",
	"arch", "base64", "basename", "cal", "cmp", "column", "comm", "dirname", "docker images", "docker ps", "expand",
	"expr", "fd", "fmt", "fold", "free", "groups", "help", "hexdump", "history", "locale", "lsof", "man", "md5sum",
	"netstat", "nl", "nproc", "od", "paste", "pgrep",
	"printf", "readlink", "realpath", "rev", "sed", "seq", "sha1sum", "sha256sum", "ss", "strings", "tac", "tput",
	"tsort", "type", "uptime", "xargs",
	"git status", "git log", "git diff", "git show", "git branch", "git blame", "git remote", "git tag",
	"git rev-parse", "git ls-files", "git config --get", "git stash list", "git describe", "git shortlog",
	"git cat-file", "git for-each-ref", "git rev-list", "git merge-base", "git grep", "git ls-remote", "git reflog",
}

// accepted are commands that the mode acceptEdits runs without a question.
var accepted = []string{"mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed", "ln"}

func (c *compiler) commands() {
	g := ir.Command
	if c.gone(g) {
		return
	}
	def := c.s.Default(g)
	asksAll := def.Decision == ir.Ask && c.approves()
	for _, r := range c.s.Rules(g) {
		switch {
		case r.Pattern.Kind == ir.All:
			asksAll = asksAll || r.Decision == ir.Ask
		case r.Pattern.Kind == ir.Builtin: // the hook's: as rules its prefixes would allow more
			c.losesBuiltin(r)
		case r.Decision == ir.Allow && r.Pattern.Text == "*":
			c.everyCommand(r.Pos)
		default:
			c.out.add(r.Decision, "Bash("+r.Pattern.Text+")")
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

func (c *compiler) losesBuiltin(r ir.Rule) {
	if !c.e.hooks {
		c.e.loss(c.name, r.Pos, ir.Command, codeAllow,
			"rules cannot say which options of @%s only read: it is left out", r.Pattern.Text).
			Hint(c.e.orHook("list commands"))
	}
}

// everyCommand leaves an allow of every command to the hook: the rule Bash would also let
// each of them write by a redirect, to guarded paths and outside of the project.
func (c *compiler) everyCommand(at diag.Pos) {
	if !c.e.hooks && c.mode != format.Bypass {
		c.e.loss(c.name, at, ir.Command, codeAllow,
			"the rule Bash would allow redirects to any file too: it is left out").
			Hint(c.e.orHook("list commands"))
	}
}

// askReadOnly asks about what Claude Code would run by itself and the source does not
// allow. A command with an allow rule of its own is left to the hook: an ask rule would hide
// the allow.
func (c *compiler) askReadOnly() {
	names := readOnly
	if c.mode == format.AcceptEdits {
		names = slices.Concat(readOnly, accepted)
	}
	for _, name := range names {
		bare := c.s.Decide(policy.Action{Group: ir.Command, Arg: name}).Decision
		with := c.s.Decide(policy.Action{Group: ir.Command, Arg: name + " modec-witness"}).Decision
		if bare == ir.Allow {
			c.out.add(ir.Allow, "Bash("+name+")") // no more than that: its arguments are the hook's matter
		}
		if bare != ir.Allow && with != ir.Allow && !slices.ContainsFunc(c.out.allow, isAbout(name)) {
			c.out.add(min(bare, with), "Bash("+name+" *)")
		}
	}
}

// isAbout returns a function that reports whether a rule is about a command.
func isAbout(command string) func(rule string) bool {
	return func(rule string) bool {
		rest, ok := strings.CutPrefix(rule, "Bash("+command)
		return ok && rest != "" && strings.IndexByte(" ):", rest[0]) >= 0
	}
}

func (c *compiler) web() {
	g := ir.Web
	if c.gone(g) {
		return
	}
	def := c.s.Default(g)
	asksAll := def.Decision == ir.Ask && c.approves()
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
	if asksAll {
		c.out.add(ir.Ask, format.Tools[g]...)
		return
	}
	if def.Decision == ir.Allow {
		c.out.add(ir.Allow, "WebFetch")
	}
	search := c.s.Decide(policy.Action{Group: g, Arg: ""}).Decision
	if search != ir.Ask || c.mode == format.AcceptEdits {
		c.out.add(search, "WebSearch")
	}
}

func (c *compiler) mcp() {
	for i := range c.e.in.Project.Servers {
		c.server(&c.e.in.Project.Servers[i])
	}
	if d := c.resources(); d < ir.Allow {
		c.out.add(d, format.ResourceTools...)
	}
	if def := c.s.Default(ir.MCP).Decision; c.approves() && def < ir.Allow {
		c.out.add(def, "mcp__*")
	}
}

// server writes one rule for a server all of whose tools have the same decision, else one
// for each tool.
func (c *compiler) server(sv *ir.Server) {
	decide := func(tool string) ir.Decision {
		return c.s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool}).Decision
	}
	name, unknown := "mcp__"+rule.Name(sv.Name), decide(contract.UnknownTool)
	if !slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return decide(t.Name) != unknown }) {
		c.out.add(unknown, name)
		return
	}
	for _, t := range sv.Tools {
		c.out.add(decide(t.Name), name+"__"+rule.Name(t.Name))
	}
}

// resources returns the decision for the tools that list and read the servers' resources.
// They ask for nothing, and no rule is about one server: they are denied where no server's
// resources may be read, and asked about where some may not be.
func (c *compiler) resources() ir.Decision {
	least, most := resourceDecisions(c.e.in.Project, c.s)
	switch {
	case most == ir.Deny:
		return ir.Deny
	case least < ir.Allow:
		return ir.Ask
	}
	return ir.Allow
}

// resourceDecisions returns the lowest and the highest decision for the resources of the
// servers.
func resourceDecisions(p *ir.Project, s *policy.Subject) (least, most ir.Decision) {
	least, most = ir.Allow, ir.Deny
	for i := range p.Servers {
		a := policy.Action{Group: ir.MCP, Server: p.Servers[i].Name, Kind: policy.Resource, Arg: "*"}
		d := s.Decide(a).Decision
		least, most = min(least, d), max(most, d)
	}
	return least, most
}

func (c *compiler) modes() {
	for i := range c.e.in.Project.Modes {
		slug := c.e.in.Project.Modes[i].Slug
		c.out.add(c.s.Decide(policy.Action{Group: ir.Modes, Arg: slug}).Decision, "Agent("+slug+")")
	}
}
