package claude

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
	"modec.dev/modec/targets/claude/hook"
)

// rules are the three lists of a settings file.
type rules struct {
	allow, ask, deny []string
}

// add adds rules to the list of a decision. What is left to the agent has no rule.
func (r *rules) add(d ir.Decision, rule ...string) {
	var list *[]string
	switch d {
	case ir.Deny:
		list = &r.deny
	case ir.Ask:
		list = &r.ask
	case ir.Allow:
		list = &r.allow
	default:
		return
	}
	*list = Join(*list, rule)
}

// compiled is what came out for a role.
type compiled struct {
	rules rules
	mode  string // "" where the role writes none and needs none
	// closes is set where the role asks about or denies what no rule of its own names: the
	// modes that would approve it are then disabled.
	closes bool
	err    error
}

// compile turns a role's decisions into Claude Code's rules and its permission mode, once.
func (e *emitter) compile(r *ir.Role) *compiled {
	c := e.compiled[r]
	if c == nil {
		c = e.compileRole(r)
		e.compiled[r] = c
	}
	return c
}

// compiler returns what translates a role's decisions, in the mode in which its session runs.
// It reports whether that is not the mode that the role writes.
func (e *emitter) compiler(r *ir.Role) (c *compiler, replaced bool, err error) {
	ref := ir.SubjectRef{Role: r.Name}
	s, err := e.in.Policy.Subject(ref)
	if err != nil {
		return nil, false, err
	}
	c = &compiler{e: e, s: s, can: &r.Can, ref: ref, name: ref.String(), pos: r.Pos,
		mode: cmp.Or(r.PermissionMode, format.Default), mayAllow: !e.inProject(r),
		noOthers: e.in.Project.ClosedInventory || !e.flagsOnly && e.ownServers(r, s)}
	if len(r.Can.Timed()) > 0 {
		if c.opened, err = e.in.Policy.Opened().Subject(ir.SubjectRef{Role: r.Name}); err != nil {
			return nil, false, err
		}
	}
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		if opensAll(s, g) && e.limitedInMode(r, g, everyPath) == "" {
			c.bare = append(c.bare, g)
		}
	}
	for _, x := range r.Native {
		g, outside := besideCan(x)
		if g == "" || x.Target != New().Name() || !c.leaves(g, outside) ||
			e.limitedInMode(r, g, aboutPaths(x, outside)) != "" {
			continue
		}
		if outside {
			c.beyond = append(c.beyond, g)
		} else {
			c.native = append(c.native, g)
		}
	}
	if replaced = c.overruled(); replaced {
		c.mode = format.Default
	}
	return c, replaced, nil
}

func (e *emitter) compileRole(r *ir.Role) *compiled {
	c, replaced, err := e.compiler(r)
	if err != nil {
		return &compiled{err: err}
	}
	if replaced {
		e.loss(c.name, r.PermissionModePos, "", codeMode,
			"the mode %s approves what no rule can ask about: the mode is default", r.PermissionMode).
			Hint("leave to Claude Code what the role allows, or use another permissionMode")
	}
	e.losesEnvironment(r)
	mode := c.mode
	c.files(ir.Read)
	c.files(ir.Edit)
	c.commands()
	c.web()
	c.mcp()
	c.modes()
	if d := c.s.UnknownTool().Decision; d < ir.Allow {
		c.out.add(d, format.UnknownTools...)
	}
	c.losesAsked()
	c.losesNamed()
	c.losesTimes()
	for _, x := range r.Native {
		if x.Target == New().Name() {
			c.ownRule(r, x)
		}
	}
	c.out.ask = slices.DeleteFunc(c.out.ask, func(rule string) bool { return slices.Contains(c.out.deny, rule) })
	switch {
	case mode == format.DontAsk && c.asks():
		e.loss(c.name, r.PermissionModePos, "", codeAskMode,
			"the mode dontAsk refuses whatever the role asks about").
			Hint("deny or allow it, or use another permissionMode")
	case mode == format.Plan && c.allowsAny(ir.Edit):
		e.loss(c.name, r.PermissionModePos, ir.Edit, codePlanMode,
			"the mode plan makes no edits, whatever the role allows").
			Hint("Claude Code leaves the mode when the plan is accepted")
	}
	out := &compiled{rules: c.out, mode: r.PermissionMode, closes: replaced || c.closes()}
	if replaced {
		out.mode = mode
	}
	if out.mode == "" && (out.closes || len(c.out.ask) > 0) {
		out.mode = format.Default // the mode in which Claude Code starts by itself may be auto
	}
	return out
}

// compiler translates the decisions of one subject.
type compiler struct {
	e    *emitter
	s    *policy.Subject
	can  *ir.Can
	ref  ir.SubjectRef
	name string // of the subject, as messages have it
	pos  diag.Pos
	mode string // in which the subject's session runs
	// mayAllow is set where the hook answers allow: its file does not travel.
	mayAllow bool
	opened   *policy.Subject // as it decides with every time open; nil: no allow has times
	// noOthers is set where the session starts no server that the inventory does not list.
	noOthers bool
	out      rules
	own      format.AgentExtras // of a mode
	native   []ir.Group         // of which rules for Claude Code alone may allow something in the project
	beyond   []ir.Group         // of which they may outside the project too
	bare     []ir.Group         // of which the source allows every path, and so do its modes
}

// ownRule adds a rule in Claude Code's own grammar.
func (c *compiler) ownRule(role *ir.Role, x ir.NativeRule) {
	g, outside := besideCan(x)
	may := slices.Contains(c.beyond, g) || !outside && slices.Contains(c.native, g) || c.opensAll(g)
	if g != "" && !may {
		c.losesOwn(role, x, g, outside)
		return
	}
	holds := func(r ir.Rule) bool { return r.Decision < ir.Allow }
	if r, err := rule.Parse(x.Text); err == nil && x.Decision == ir.Allow && dialect.AnyCommand(r.Spec) &&
		slices.ContainsFunc(c.s.Rules(ir.Command), holds) {
		c.e.loss(c.name, x.Pos, ir.Command, codeAllow,
			"a rule for %q would run what the source denies or asks about: it is left out", r.Spec).
			Hint("list commands")
		return
	}
	c.out.add(x.Decision, x.Text)
}

// losesOwn reports a rule in Claude Code's own grammar that allows what the source does not leave to Claude Code: in
// the role, or in a mode that works in its session.
func (c *compiler) losesOwn(role *ir.Role, x ir.NativeRule, g ir.Group, outside bool) {
	if !c.leaves(g, outside) {
		c.e.loss(c.name, x.Pos, g, codeTool,
			"the rule %q allows what can.%s does not leave to Claude Code: it is left out", x.Text, g).
			Hintf("say in can.%s what it allows", g)
		return
	}
	where := ""
	if outside {
		where = " outside the project"
	}
	mode := c.e.limitedInMode(role, g, aboutPaths(x, outside))
	c.e.loss(c.name, x.Pos, g, codeTool,
		"the rule %q is left out: it would hold in the mode %q too, which may not %s everything%s",
		x.Text, mode, g, where).
		Hintf("leave %s of the mode to the agent, keep the mode out of the role (modes), or take the rule out of it", g)
}

// paths are those that a rule may be about.
type paths int

const (
	everyPath    paths = iota
	outsidePaths       // the project
)

// aboutPaths returns what paths a rule of Claude Code's own is about that allows some outside the project.
func aboutPaths(x ir.NativeRule, outside bool) paths {
	if r, err := rule.Parse(x.Text); outside && err == nil && r.HasSpec {
		if p, ok := r.Path(ir.Allow); ok && (p.From == rule.Home || p.From == rule.System) {
			return outsidePaths
		}
	}
	return everyPath
}

// limitedInMode returns a mode that a role may enter and that has a group in part, "" for none. Without its hook
// it would have what a bare rule of the session allows. What the role itself denies or asks about is held there by
// the role's own rules, and an allow beside what is left to the agent limits nothing. Of paths outside the project
// only rules about such paths do.
func (e *emitter) limitedInMode(r *ir.Role, g ir.Group, of paths) string {
	own, _ := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	i := slices.IndexFunc(e.in.Project.Modes, func(m ir.Mode) bool {
		s, err := e.in.Policy.Subject(ir.SubjectRef{Mode: m.Slug})
		if own == nil || err != nil || !r.Enters(m.Slug) && !e.isBaseline(r) {
			return own == nil || err != nil
		}
		def, rules := s.Default(g).Decision, s.Rules(g)
		opens := func(r ir.Rule) bool { return r.Decision > ir.Deny }
		if def == ir.Deny && !slices.ContainsFunc(rules, opens) || slices.ContainsFunc(rules, ir.Rule.DeniesAll) {
			return false // it does not have the tools
		}
		limits := func(r ir.Rule) bool {
			held := func(o ir.Rule) bool { return o.Pattern == r.Pattern && o.Decision <= r.Decision }
			elsewhere := of == outsidePaths && r.Pattern.Kind == ir.Plain && !beyond(r.Pattern.Text)
			return r.Decision < ir.Allow && !elsewhere && !slices.ContainsFunc(own.Rules(g), held)
		}
		ceiling := m.Can.Ceiling(g)
		files := g == ir.Read || g == ir.Edit
		outside := !files || ceiling == nil && def == ir.Agent || s.Outside(g).Decision >= ir.Allow
		return def < ir.Allow || slices.ContainsFunc(rules, limits) || !outside
	})
	if i < 0 {
		return ""
	}
	return e.in.Project.Modes[i].Slug
}

// leaves reports whether a group leaves what it does not list to Claude Code, paths outside the project too
// where these count, and rules say what it denies and asks about.
func (c *compiler) leaves(g ir.Group, outside bool) bool {
	holds := func(r ir.Rule) bool {
		return r.Decision < ir.Allow && (r.Pattern.Kind != ir.Plain || outside && beyond(r.Pattern.Text))
	}
	return c.s.Default(g).Decision == ir.Agent && (!outside || c.releases(g)) &&
		!slices.ContainsFunc(c.s.Rules(g), holds)
}

// releases reports whether what no list of a group names is Claude Code's, outside the project too.
func (c *compiler) releases(g ir.Group) bool {
	return c.can.Ceiling(g) == nil && c.s.Default(g).Decision == ir.Agent
}

// besideCan returns the group about which a rule that only Claude Code understands would allow
// something that the source decides in another way, "" for none: a tool whatever its input is, and
// paths. It reports whether some of that is outside the project.
func besideCan(x ir.NativeRule) (g ir.Group, outside bool) {
	r, err := rule.Parse(x.Text)
	if err != nil || x.Decision != ir.Allow {
		return "", false
	}
	switch g := format.SharedGroup(r.Tool); {
	case r.Tool == "WebFetch" && !r.HasSpec:
		return ir.Web, true
	case !r.HasSpec:
		return g, true
	case g == ir.Read, g == ir.Edit:
		p, ok := r.Path(ir.Allow)
		return g, !ok || p.From == rule.Home || p.From == rule.System
	}
	return "", false
}

// asks reports whether the role asks about anything.
func (c *compiler) asks() bool {
	asks := func(g ir.Group) bool { return c.s.Default(g).Decision == ir.Ask }
	own := func(r ir.Rule) bool { return r.Decision == ir.Ask }
	beside := func(text string) bool { return !strings.HasPrefix(text, "Edit") }
	return slices.ContainsFunc(ir.Groups, asks) || slices.ContainsFunc(c.s.Rules(ir.Edit), own) ||
		slices.ContainsFunc(c.out.ask, beside)
}

// allowsAny reports whether the role allows something of a group.
func (c *compiler) allowsAny(g ir.Group) bool {
	return c.s.Default(g).Decision == ir.Allow || slices.ContainsFunc(c.s.Rules(g), func(r ir.Rule) bool {
		return r.Decision == ir.Allow
	})
}

// closes reports whether the role asks about or denies what its rules do not list. Plan
// without disableAutoMode approves whatever no rule names, paths outside the project too.
func (c *compiler) closes() bool {
	if c.mode == format.Plan && c.states() {
		return true
	}
	for _, g := range ir.Groups {
		switch d := c.s.Default(g).Decision; {
		case d == ir.Ask, d == ir.Deny && !c.closed(g):
			return true
		}
	}
	return slices.ContainsFunc(c.e.in.Project.Servers, func(sv ir.Server) bool {
		d := c.tool(&sv, contract.UnknownTool)
		return (d == ir.Ask || d == ir.Deny) && !c.uniform(&sv)
	})
}

// states reports whether the role says anything.
func (c *compiler) states() bool {
	return c.can.OutsideRead != nil || c.can.OutsideEdit != nil || c.can.MCP != nil ||
		c.s.UnknownTool().Decision != ir.Agent || slices.ContainsFunc(ir.Groups, func(g ir.Group) bool {
		return c.s.Default(g).Decision != ir.Agent || len(c.s.Rules(g)) > 0
	})
}

// overruled reports whether the mode approves something by itself that the role asks about or
// denies, and that no rule names: a path outside the project beside those that the role
// allows, a line that the shell expands beside commands that it allows, a tool that nobody
// knows.
func (c *compiler) overruled() bool {
	if !c.approves() {
		return false
	}
	if d := c.s.UnknownTool().Decision; d == ir.Ask || d == ir.Deny {
		return true
	}
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		if _, held := c.holdsAbove(g); held && !c.closed(g) {
			return true
		}
	}
	allowed := func(g ir.Group, d ir.Decision) bool { return d == ir.Allow || d == ir.Agent && !c.listsNone(g) }
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		ceiling := c.can.Ceiling(g)
		d := c.s.Default(g).Decision
		opens := allowed(g, d) || d == ir.Agent && ceiling != nil
		if opens && !c.closed(g) && c.s.Outside(g).Decision < ir.Allow {
			return true
		}
	}
	return c.s.Default(ir.Command).Decision == ir.Allow && slices.ContainsFunc(c.s.Rules(ir.Command), listed)
}

// listed reports whether a rule is about some of its group only.
func listed(r ir.Rule) bool { return r.Decision < ir.Allow || !r.Pattern.Everything() }

// approves reports whether Claude Code approves by itself in this mode what no rule names.
func (c *compiler) approves() bool { return c.mode == format.Bypass || c.mode == format.Auto }

// approvesEdits reports whether the mode approves edits in the project.
func (c *compiler) approvesEdits() bool { return c.approves() || c.mode == format.AcceptEdits }

// drop denies a whole group.
func (c *compiler) drop(g ir.Group) { c.out.add(ir.Deny, format.Tools[g]...) }

// askWhole asks about every tool of a group: a bare rule is about its own tool.
func (c *compiler) askWhole(g ir.Group) { c.out.add(ir.Ask, format.Tools[g]...) }

// closed reports whether a group denies everything.
func (c *compiler) closed(g ir.Group) bool {
	if g == ir.MCP {
		return c.elsewhere() == ir.Deny && !slices.ContainsFunc(c.e.in.Project.Servers, func(sv ir.Server) bool {
			return contract.Usable(c.s, &sv)
		})
	}
	open := c.s.Default(g).Decision > ir.Deny || c.timed(g) != nil
	for _, r := range c.s.Rules(g) {
		if r.Decision == ir.Deny && isAll(g, &r) {
			return true
		}
		open = open || r.Decision > ir.Deny
	}
	return !open
}

// opens reports whether a rule of a group allows something that another rule may be about.
func (c *compiler) opens(g ir.Group, about *ir.Rule) bool {
	return slices.ContainsFunc(c.s.Rules(g), func(r ir.Rule) bool {
		if r.Decision != ir.Allow {
			return false
		}
		a, b := literal(g, &r), literal(g, about)
		return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
	})
}

// literal returns the text with which all begins that a rule matches.
func literal(g ir.Group, r *ir.Rule) string {
	text := strings.TrimPrefix(r.Pattern.Text, "/")
	switch {
	case r.Pattern.Kind != ir.Plain, g == ir.Web:
		return ""
	case g != ir.Command && !strings.Contains(strings.TrimSuffix(r.Pattern.Text, "/"), "/"):
		return "" // at any depth
	}
	special := "*?[{\\"
	if g == ir.Command {
		special = `*\'"`
	}
	if i := strings.IndexAny(text, special); i >= 0 {
		text = text[:i]
	}
	text = strings.TrimRight(text, ": ")
	program, _, whole := strings.Cut(text, " ")
	if g == ir.Command && (policy.Runs(program) || !whole && strings.HasPrefix(r.Pattern.Text, program+"*")) {
		return "" // what follows it, or the end of its path, may be what another rule is about
	}
	return text
}

// asksAnyway reports whether Claude Code asks about what a rule of a group asks about, even
// without that rule: the role asks about or denies the rest of the group, no rule of the
// role allows it, and nor does the mode.
func (c *compiler) asksAnyway(g ir.Group, r *ir.Rule) bool {
	d := c.s.Default(g).Decision
	approves := c.approves() || g == ir.Read || g == ir.Modes || c.approvesEdits() && g != ir.Web
	return (d == ir.Ask || d == ir.Deny) && !approves && !c.opens(g, r)
}

// asksWhole reports whether rules have to ask about all of a group: it asks about or denies
// what is not listed, and Claude Code would not, or nothing is listed.
func (c *compiler) asksWhole(g ir.Group, approves bool) bool {
	d := c.s.Default(g).Decision
	return approves && (d == ir.Ask || d == ir.Deny) || slices.ContainsFunc(c.s.Rules(g), asksAll(g))
}

// asksAll returns whether a rule asks about all of a group.
func asksAll(g ir.Group) func(ir.Rule) bool {
	return func(r ir.Rule) bool { return r.Decision == ir.Ask && isAll(g, &r) }
}

// isAll reports whether a rule is about all of a group. A rule of Claude Code's own about /** is not about "/" itself.
func isAll(g ir.Group, r *ir.Rule) bool {
	files := g == ir.Read || g == ir.Edit
	return r.Pattern.Everything() || files && r.Pattern.Kind == ir.Plain && r.Pattern.Text == "/**"
}

// listsNone reports whether a group allows nothing by its rules, at no time.
func (c *compiler) listsNone(g ir.Group) bool {
	allows := func(r ir.Rule) bool { return r.Decision == ir.Allow }
	return c.timed(g) == nil && !slices.ContainsFunc(c.s.Rules(g), allows)
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
	if c.keeps(g, at, of.message) {
		return false
	}
	c.e.loss(c.name, at, g, of.code, "%s: the role loses the group %s", of.message, g).
		Hint(c.e.orHook("ask instead of denying, or " + unheld))
	c.drop(g)
	return true
}

// keeps reports whether a group stays of which Claude Code's rules cannot say all.
func (c *compiler) keeps(g ir.Group, at diag.Pos, lack string) bool {
	return c.e.in.Keeps(&c.e.diags, New().Name(), c.ref, g, at, "%s", lack)
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

// losesAllow reports whether nothing answers an allow that no rule expresses.
func (c *compiler) losesAllow() bool { return !c.e.hooks || !c.mayAllow }

// instead returns a hint: what brings back a hook that answers, or another way.
func (c *compiler) instead(other string) string {
	if !c.mayAllow {
		return other
	}
	return c.e.orHook(other)
}

func (c *compiler) web() {
	g := ir.Web
	if c.gone(g) {
		return
	}
	asksAll := c.asksWhole(g, c.approves())
	if asksAll {
		c.askWhole(g)
	}
	for _, r := range c.s.Rules(g) {
		switch {
		case r.Decision == ir.Ask && c.asksAnyway(g, &r), r.Decision > ir.Deny && asksAll:
		case r.DeniesAll():
			c.drop(g)
		default:
			for _, host := range hostPatterns(&r) {
				c.out.add(r.Decision, "WebFetch(domain:"+host+")")
			}
		}
	}
	if asksAll {
		return
	}
	if c.s.Default(g).Decision == ir.Allow {
		c.out.add(ir.Allow, "WebFetch")
	}
	search := hook.Search(c.s).Decision
	if search != ir.Ask || c.mode == format.AcceptEdits {
		c.out.add(search, "WebSearch")
	}
}

// hostPatterns returns the hosts of the rules for a pattern, as Claude Code finds them in an address:
// in ASCII, and an address of IP in the form of its version. One of version 4 that is denied or asked
// about may stand in one of version 6.
func hostPatterns(r *ir.Rule) []string {
	bare, sub := strings.CutPrefix(r.Pattern.Text, "*.")
	host, ok := policy.Host(bare)
	ip, err := netip.ParseAddr(host)
	switch {
	case !ok:
		return []string{r.Pattern.Text}
	case sub:
		return []string{"*." + host}
	case err == nil && ip.Is6():
		return []string{"[" + host + "]"}
	case err == nil && r.Decision < ir.Allow:
		b := ip.As4()
		return []string{host, fmt.Sprintf("[::ffff:%x:%x]", uint(b[0])<<8|uint(b[1]), uint(b[2])<<8|uint(b[3]))}
	}
	return []string{host}
}

// modes compiles the group modes. Claude Code starts a subagent without a question, so that
// an allow needs no rule. The subagents that it has of its own are named like those of the
// project, and a script may start any of them.
func (c *compiler) modes() {
	g := ir.Modes
	switch {
	case c.closed(g):
		c.drop(g)
		c.out.add(ir.Deny, format.Starters...)
		return
	case c.asksWhole(g, c.listsNone(g)):
		c.askWhole(g)
	}
	decide := func(slug string) ir.Decision { return c.s.Decide(policy.Action{Group: g, Arg: slug}).Decision }
	unlisted := decide(contract.UnknownMode)
	everyone := unlisted
	for _, slug := range c.subagents() {
		d := decide(slug)
		if d == ir.Deny || d == ir.Ask && !slices.Contains(c.out.ask, "Agent") {
			c.out.add(d, "Agent("+c.agentName(slug)+")")
		}
		if d < ir.Allow { // a script starts what a rule asks about
			everyone = min(everyone, ir.Ask)
		}
	}
	if unlisted < ir.Allow {
		c.out.add(unlisted, "Skill", "SendMessage")
	}
	if everyone < ir.Allow {
		c.out.add(everyone, "Workflow")
	}
}

// agentName returns the name of a mode's subagent, and any other slug as it is.
func (c *compiler) agentName(slug string) string {
	if m := c.e.in.Project.Mode(slug); m != nil {
		return format.AgentName(m)
	}
	return slug
}

// subagents returns the slugs of the subagents that are known: those of the project, those that rules name, and those
// of Claude Code that have no other meaning there.
func (c *compiler) subagents() (slugs []string) {
	for i := range c.e.in.Project.Modes {
		slugs = append(slugs, c.e.in.Project.Modes[i].Slug)
	}
	add := func(slug string) {
		if !slices.Contains(slugs, slug) {
			slugs = append(slugs, slug)
		}
	}
	for _, r := range c.s.Rules(ir.Modes) {
		// One that a file of somebody else's has.
		if text := r.Pattern.Text; r.Pattern.Kind == ir.Plain && !strings.ContainsAny(text, "*?[{\\") {
			add(text)
		}
	}
	for _, own := range format.BuiltInAgents {
		add(own)
	}
	return slugs
}

// losesAsked reports, once a group, that what the role allows is asked about too: a rule had to
// ask about all of the group, and no allow comes before it.
func (c *compiler) losesAsked() {
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.MCP} {
		if at, ok := c.allowedAt(g); ok && c.asksOfAll(g) {
			way := "let " + string(g) + " default to allow, and deny or ask about some of it"
			if c.approves() || c.mode == format.AcceptEdits && g == ir.Edit {
				way = "use permissionMode \"default\", which asks about the rest by itself"
			}
			c.e.loss(c.name, at, g, codeAsked, "Claude Code would approve what of %s is not allowed here, so that a "+
				"rule asks about all of it: what the role allows is asked about too", g).
				Hint(way)
		}
	}
}

// asksOfAll reports whether a rule asks about all of a group that the source does not.
func (c *compiler) asksOfAll(g ir.Group) bool {
	if g == ir.MCP {
		return slices.Contains(c.out.ask, "mcp__*") && !c.everyServer()
	}
	return slices.Contains(c.out.ask, format.Tools[g][0]) && !slices.ContainsFunc(c.s.Rules(g), asksAll(g))
}

// allowedAt returns where the role allows something of a group. It reports false where it does
// not.
func (c *compiler) allowedAt(g ir.Group) (diag.Pos, bool) {
	if g == ir.MCP {
		for i := range c.e.in.Project.Servers {
			sv := &c.e.in.Project.Servers[i]
			allowed := func(t ir.Tool) bool { return c.tool(sv, t.Name) == ir.Allow }
			if c.tool(sv, contract.UnknownTool) == ir.Allow || slices.ContainsFunc(sv.Tools, allowed) {
				return c.pos, true
			}
		}
		return diag.Pos{}, false
	}
	for _, r := range c.s.Rules(g) {
		if r.Decision == ir.Allow {
			return r.Pos, true
		}
	}
	def := c.s.Default(g)
	return def.Pos, def.Decision == ir.Allow
}

// losesNamed reports, once a role, that Claude Code tries the rules about paths on the commands
// too that it knows to read or write their arguments. In a group that is left to it, the source
// means no more.
func (c *compiler) losesNamed() {
	_, allows := c.allowedAt(ir.Command)
	if !allows || c.closed(ir.Command) || c.asksOfAll(ir.Command) || c.s.Default(ir.Command).Decision == ir.Agent {
		return
	}
	for _, g := range []ir.Group{ir.Read, ir.Edit} {
		for _, r := range c.s.Rules(g) {
			if r.Decision == ir.Deny && !c.closed(g) {
				c.e.loss(c.name, r.Pos, ir.Command, codeNamed, "Claude Code refuses an allowed command that names a "+
					"path which %s denies, where it knows the command to read or write it", g).
					Hint("deny the commands too where other agents have to refuse them").
					Needless()
				return
			}
		}
	}
}
