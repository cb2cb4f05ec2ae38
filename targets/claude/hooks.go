package claude

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format"
)

// hooked reports whether a subject gets a hook: by the option hooks, and where that is auto,
// where rules alone do not say what the subject says. It then notes what that is.
func (c *compiler) hooked(needs func() need) bool {
	if c.e.hooks != contract.WhereNeeded {
		return c.e.hooks == contract.Always
	}
	n := needs()
	if n.what == "" {
		return false
	}
	at := n.at
	if at.IsZero() {
		at = c.pos
	}
	why := "Claude Code's rules cannot"
	if strings.HasPrefix(c.name, "mode ") {
		why = "a subagent has tools, and no rules of its own"
	}
	c.e.diags.Notef(codeHookOnly, at, "only the hook applies %s of %s%s: %s", n.what, c.name, n.session(), why).
		Hint("install modec wherever Claude Code works on the project").
		Target("claude").
		Subject(c.name)
	return true
}

// need is something that rules do not say; what is "" where they say all.
type need struct {
	what string
	at   diag.Pos
	role string // in whose session; "" for every one
}

func (n need) session() string {
	if n.role == "" {
		return ""
	}
	return " in a session of role " + n.role
}

// needsHook returns what rules alone do not say of a role.
func (c *compiler) needsHook() need {
	if r := c.s.UnknownTool(); r.Decision == ir.Deny || r.Decision == ir.Ask {
		return need{what: "the default of unknown tools", at: r.Pos} // some ask for nothing: CronCreate, Workflow
	}
	for _, g := range ir.Groups {
		if r := c.timed(g); r != nil {
			return need{what: fmt.Sprintf("when %s is allowed", r.Pattern), at: r.Pos}
		}
		if g == ir.MCP || c.closed(g) {
			continue
		}
		if n := c.beyondRules(g); n.what != "" {
			return n
		}
	}
	if n := c.beyondInventory(); n.what != "" {
		return n
	}
	switch can := c.can; {
	case can.OutsideRead != nil && !c.closed(ir.Read) && !c.opensAll(ir.Read):
		return need{what: outsideProject, at: can.OutsideRead.Pos}
	case can.OutsideEdit != nil && !c.closed(ir.Edit) && !c.opensAll(ir.Edit):
		return need{what: outsideProject, at: can.OutsideEdit.Pos}
	}
	return need{}
}

// beyondInventory returns what rules cannot say of servers and tools that an open inventory does
// not list.
func (c *compiler) beyondInventory() need {
	if c.closed(ir.MCP) {
		return need{}
	}
	if at, open := c.othersDenied(); open {
		return need{what: "the decision about servers that the inventory does not list", at: at}
	}
	for i := range c.e.in.Project.Servers {
		if sv := &c.e.in.Project.Servers[i]; c.growthDenied(sv) {
			what := fmt.Sprintf("the decision about tools of the server %q that the inventory does not list", sv.Name)
			return need{what: what, at: sv.Pos}
		}
	}
	return need{}
}

// beyondRules returns what rules cannot say of a group.
func (c *compiler) beyondRules(g ir.Group) need {
	def := c.s.Default(g)
	switch d := def.Decision; {
	case d == ir.Deny && (c.mode != format.DontAsk || g == ir.Read || g == ir.Modes), // else it is asked about
		d == ir.Ask && g == ir.Command && c.mode == format.AcceptEdits && !c.listsNone(g), // the mode runs some
		d == ir.Allow && g == ir.Command && c.mayAllow && c.mode != format.Bypass:
		return need{what: "the default of " + string(g), at: def.Pos}
	}
	if r, held := c.holdsAbove(g); held && (r.Decision == ir.Deny || !c.closes()) {
		return need{what: r.Decision.String() + " " + r.Pattern.String(), at: r.Pos}
	}
	for _, r := range c.s.Rules(g) {
		said := r.Pattern.Kind != ir.Regex && !(g == ir.Command && holdsUnsaid(r))
		if r.Decision == ir.Allow {
			said = !c.mayAllow || c.allows(g, &r)
		}
		if !said {
			return need{what: r.Decision.String() + " " + r.Pattern.String(), at: r.Pos}
		}
	}
	return need{}
}

// allows reports whether a rule means no more than an allow of the source, or none is needed.
func (c *compiler) allows(g ir.Group, r *ir.Rule) bool {
	switch {
	case g == ir.Read || g == ir.Edit && c.approvesEdits():
		return true
	case r.Pattern.Kind != ir.Plain:
		return false
	case g == ir.Command:
		return !r.Pattern.Everything() && c.allowsCommand(r.Pattern.Text)
	case g != ir.Edit:
		return true
	}
	globs, err := policy.ExpandBraces(r.Pattern.Text)
	none := func(glob string) bool { return dialect.AllowedFolder(glob) == "" }
	return err == nil && !slices.ContainsFunc(globs, none)
}

// ofModes returns what a mode needs that the baseline may enter: its subagent is a file of the
// project, whose hook does not run in a folder that nobody has trusted, and the hooks of the
// project's settings do. Any other role gives its subagents by --agents, whose hooks run.
func (e *emitter) ofModes(r *ir.Role, s *policy.Subject) need {
	if !e.inProject(r) {
		return need{}
	}
	for i := range e.in.Project.Modes {
		m := &e.in.Project.Modes[i]
		if s.Decide(policy.Action{Group: ir.Modes, Arg: m.Slug}).Decision == ir.Deny {
			continue
		}
		c, err := e.compilerOf(m)
		if err != nil {
			continue // reported where the mode is emitted
		}
		if n := e.modeNeedsHook(c); n.what != "" {
			return need{n.what + " in the mode " + m.Slug, n.at, n.role}
		}
	}
	return need{}
}

// modeNeedsHook returns what neither the list of tools of a mode says, where a tool is there or
// not, nor the session that it is in.
func (e *emitter) modeNeedsHook(c *compiler) need {
	for _, g := range ir.Groups {
		if g == ir.MCP || c.closed(g) {
			continue
		}
		if what := e.limit(c, g); what != "" {
			return need{what, c.s.Default(g).Pos, e.unheldIn(c, g)}
		}
	}
	for i := range e.in.Project.Servers {
		sv := &e.in.Project.Servers[i]
		if e.opensTool(c, sv, contract.UnknownTool) ||
			slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool { return e.opensTool(c, sv, t.Name) }) {
			return need{what: fmt.Sprintf("what is asked about of the server %q", sv.Name), at: sv.Pos}
		}
	}
	if c.own.Tools == nil && c.s.UnknownTool().Decision == ir.Agent && c.unlistedServers() {
		return need{what: "the decision about servers that the inventory does not list", at: c.s.Default(ir.MCP).Pos}
	}
	return need{}
}

// unlistedServers reports whether a mode may not use servers that an open inventory does not
// list as its session may.
func (c *compiler) unlistedServers() bool {
	if c.e.in.Project.ClosedInventory || c.everyServer() { // one rule names them all
		return false
	}
	d := c.elsewhere()
	return d == ir.Deny || d == ir.Ask && (c.answers() || c.e.anySession(c, c.e.mayApproveAll))
}

// beyondTools reports whether a mode that has the tools of a group may not use them as its
// session may.
func (e *emitter) beyondTools(c *compiler, g ir.Group) bool { return e.limit(c, g) != "" }

// outsideProject names what a mode or a role says of paths that are not below the root.
const outsideProject = "the decision about paths outside the project"

// limit returns what keeps a mode that has the tools of a group from using them as its session may; "" where
// nothing does.
func (e *emitter) limit(c *compiler, g ir.Group) string {
	switch {
	case c.deniesPartly(g) && !e.heldBySessions(c, g, ir.Deny):
		return c.firstTo(ir.Deny, g)
	case c.asksFor(g) && (g == ir.Read || e.opened(c, g)) && !e.heldBySessions(c, g, ir.Ask):
		return c.firstTo(ir.Ask, g)
	}
	// Paths outside the project.
	ceiling := c.can.Ceiling(g)
	says := c.s.Default(g).Decision != ir.Agent || ceiling != nil || !c.listsNone(g)
	opens := func(r *ir.Role, s *policy.Subject) bool { return e.approvesAll(r, s) || opensAll(s, g) }
	if (g == ir.Read || g == ir.Edit) && says && c.s.Outside(g).Decision < ir.Allow &&
		(c.answers() || e.entered(c, opens)) {
		return outsideProject
	}
	return ""
}

// firstTo names what a subject first says of a group with a decision.
func (c *compiler) firstTo(d ir.Decision, g ir.Group) string {
	if c.s.Default(g).Decision == d {
		return "the default of " + string(g)
	}
	for _, r := range c.s.Rules(g) {
		if r.Decision == d {
			return fmt.Sprintf("%s %s (%s)", d, r.Pattern, g)
		}
	}
	return string(g)
}

// heldBySessions reports whether the rules of each session that a mode runs in hold back what the mode
// denies of a group, or what it asks about: they hold for subagents too.
func (e *emitter) heldBySessions(c *compiler, g ir.Group, d ir.Decision) bool {
	if e.in.Project.Baseline == "" || c.s.Default(g).Decision == d {
		return false
	}
	return len(e.notHeldBy(c, g, d)) == 0
}

// unheldIn returns the role in whose session nothing holds back what a mode denies of a group or asks about, where
// the baseline's rules do; "" for none.
func (e *emitter) unheldIn(c *compiler, g ir.Group) string {
	if e.in.Project.Baseline == "" {
		return ""
	}
	for _, d := range []ir.Decision{ir.Deny, ir.Ask} {
		roles := e.notHeldBy(c, g, d)
		if len(roles) > 0 && !slices.Contains(roles, e.in.Project.Baseline) && c.s.Default(g).Decision != d {
			return roles[0]
		}
	}
	return ""
}

// notHeldBy returns the roles that a mode may be entered from and whose rules do not hold back what the mode denies
// of a group, or what it asks about.
func (e *emitter) notHeldBy(c *compiler, g ir.Group, d ir.Decision) (roles []string) {
	e.entered(c, func(r *ir.Role, s *policy.Subject) bool {
		session, _, err := e.compiler(r)
		if err != nil || session.beyondRules(g).what != "" ||
			slices.ContainsFunc(c.s.Rules(g), func(own ir.Rule) bool {
				return own.Decision == d && !slices.ContainsFunc(s.Rules(g), func(r ir.Rule) bool {
					return r.Decision <= d && r.Pattern == own.Pattern
				})
			}) {
			roles = append(roles, r.Name)
		}
		return false
	})
	return roles
}

// deniesPartly reports whether a mode denies something of a group that it has.
func (c *compiler) deniesPartly(g ir.Group) bool {
	return c.s.Default(g).Decision == ir.Deny ||
		slices.ContainsFunc(c.s.Rules(g), func(r ir.Rule) bool { return r.Decision == ir.Deny })
}

// asksFor reports whether a mode asks about something of a group.
func (c *compiler) asksFor(g ir.Group) bool {
	return c.s.Default(g).Decision == ir.Ask ||
		slices.ContainsFunc(c.s.Rules(g), func(r ir.Rule) bool { return r.Decision == ir.Ask })
}

// opened reports whether a session that a mode runs in may approve something of a group.
func (e *emitter) opened(c *compiler, g ir.Group) bool {
	edits := g == ir.Edit || g == ir.Command
	if c.answers() || c.mode == format.AcceptEdits && edits {
		return true
	}
	return e.anySession(c, func(r *ir.Role, s *policy.Subject) bool {
		allows := func(r ir.Rule) bool { return r.Decision == ir.Allow }
		switch s.Default(g).Decision {
		case ir.Allow:
			return true
		case ir.Agent: // a person may go over to acceptEdits at any time
			if edits || e.mayApproveAll(r, s) {
				return true
			}
		}
		return slices.ContainsFunc(s.Rules(g), allows)
	})
}

// answers reports whether a mode's own permission mode approves what no rule names: in plan a
// classifier may.
func (c *compiler) answers() bool { return c.approves() || c.mode == format.Plan }

// approvesAll reports whether a role's session is written to approve what no rule names.
func (e *emitter) approvesAll(r *ir.Role, _ *policy.Subject) bool {
	mode, closes := e.started(r)
	return mode == format.Bypass || mode == format.Auto || mode == format.Plan && !closes
}

// started returns the mode in which a role's session starts, and whether its settings disable
// those that would approve what it closes.
func (e *emitter) started(r *ir.Role) (mode string, closes bool) {
	c, replaced, err := e.compiler(r)
	if err != nil {
		return "", false
	}
	return c.mode, replaced || c.closes()
}

// mayApproveAll reports whether a role's session may come to that: where the role disables no
// mode, it starts in auto by itself, or a person goes over to it.
func (e *emitter) mayApproveAll(r *ir.Role, s *policy.Subject) bool {
	_, closes := e.started(r)
	return e.approvesAll(r, s) || !closes
}

// opensTool reports whether a mode asks about a tool of a server that a session approves, and of
// [contract.UnknownTool] whether it asks about any that the inventory does not list while a session
// approves any.
func (e *emitter) opensTool(c *compiler, sv *ir.Server, tool string) bool {
	says := func(s *policy.Subject, d ir.Decision) bool {
		return tool == contract.UnknownTool && slices.ContainsFunc(s.UnlistedToolRules(sv.Name),
			func(r ir.Rule) bool { return r.Decision == d })
	}
	asks := c.tool(sv, tool) == ir.Ask || says(c.s, ir.Ask)
	return asks && (c.answers() || e.anySession(c, func(r *ir.Role, s *policy.Subject) bool {
		d := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool}).Decision
		return d == ir.Allow || d == ir.Agent && e.mayApproveAll(r, s) || says(s, ir.Allow)
	}))
}

// anySession reports whether something may be so in a session that a mode runs in: without a
// baseline, a session of the mode alone has only the user's own settings, and these may say
// anything.
func (e *emitter) anySession(c *compiler, is func(*ir.Role, *policy.Subject) bool) bool {
	return e.in.Project.Baseline == "" || e.entered(c, is)
}

// entered reports whether something is so for a role that may enter a mode, or for the
// baseline, whose settings also hold in a session of the mode alone.
func (e *emitter) entered(c *compiler, is func(*ir.Role, *policy.Subject) bool) bool {
	slug := strings.TrimPrefix(c.name, "mode ")
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
		if err != nil {
			continue
		}
		if (r.Enters(slug) || e.isBaseline(r)) && is(r, s) {
			return true
		}
	}
	return false
}
