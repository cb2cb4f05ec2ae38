package claude

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/dialect"
	"modec.dev/modec/targets/claude/format"
)

// rulesSay reports whether rules alone say all of a group.
func (c *compiler) rulesSay(g ir.Group) bool {
	switch d := c.s.Default(g).Decision; {
	case d == ir.Deny && (c.mode != format.DontAsk || g == ir.Read || g == ir.Modes), // else it is asked about
		d == ir.Ask && g == ir.Command && c.mode == format.AcceptEdits && !c.listsNone(g), // the mode runs some
		d == ir.Allow && g == ir.Command && c.mayAllow && c.mode != format.Bypass:
		return false
	}
	if r, held := c.holdsAbove(g); held && (r.Decision == ir.Deny || !c.closes()) {
		return false
	}
	return !slices.ContainsFunc(c.s.Rules(g), func(r ir.Rule) bool {
		if r.Decision == ir.Allow {
			return c.mayAllow && !c.allows(g, &r)
		}
		return r.Pattern.Kind == ir.Regex || g == ir.Command && holdsSet(r)
	})
}

// allows reports whether a rule means no more than an allow of the source, or none is needed.
func (c *compiler) allows(g ir.Group, r *ir.Rule) bool {
	switch {
	case g == ir.Read || g == ir.Edit && c.approvesEdits():
		return true
	case r.Pattern.Kind != ir.Plain:
		return false
	case g == ir.Command:
		return true
	case g != ir.Edit:
		return true
	}
	globs, err := policy.ExpandBraces(r.Pattern.Text)
	none := func(glob string) bool { return dialect.AllowedFolder(glob) == "" }
	return err == nil && !slices.ContainsFunc(globs, none)
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

// beyondTools reports whether a mode that has the tools of a group may not use them as its session may.
func (e *emitter) beyondTools(c *compiler, g ir.Group) bool {
	if c.deniesPartly(g) && !e.heldBySessions(c, g, ir.Deny) ||
		c.asksFor(g) && (g == ir.Read || e.opened(c, g)) && !e.heldBySessions(c, g, ir.Ask) {
		return true
	}
	if g != ir.Read && g != ir.Edit {
		return false
	}
	// Paths outside the project.
	says := c.s.Default(g).Decision != ir.Agent || c.can.Ceiling(g) != nil || !c.listsNone(g)
	opens := func(r *ir.Role, s *policy.Subject) bool { return e.approvesAll(r, s) || opensAll(s, g) }
	return says && c.s.Outside(g).Decision < ir.Allow && (c.answers() || e.entered(c, opens))
}

// heldBySessions reports whether the rules of each session that a mode runs in hold back what the mode
// denies of a group, or what it asks about: they hold for subagents too.
func (e *emitter) heldBySessions(c *compiler, g ir.Group, d ir.Decision) bool {
	if e.in.Project.Baseline == "" || c.s.Default(g).Decision == d {
		return false
	}
	return !e.entered(c, func(r *ir.Role, s *policy.Subject) bool {
		session, _, err := e.compiler(r)
		return err != nil || !session.rulesSay(g) || slices.ContainsFunc(c.s.Rules(g), func(own ir.Rule) bool {
			return own.Decision == d && !slices.ContainsFunc(s.Rules(g), func(r ir.Rule) bool {
				return r.Decision <= d && r.Pattern == own.Pattern
			})
		})
	})
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
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
		if err != nil {
			continue
		}
		if (r.Enters(c.ref.Mode) || e.isBaseline(r)) && is(r, s) {
			return true
		}
	}
	return false
}
