package claude

import (
	"slices"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

// Rules know no time: where an allow has times, the hook allows, as long as no rule asks about the same or denies it.
// Such a rule is therefore left out where Claude Code asks by itself, or the hook refuses.

// holdsTimes reports whether the subject's hook, where it has one, opens what is allowed at times.
func (c *compiler) holdsTimes() bool { return c.mayAllow && c.e.hooks }

// asksItself reports whether a rule asks about what a group allows at times: it leaves the rest to Claude Code, or
// allows it.
func (c *compiler) asksItself(g ir.Group) bool { return c.s.Default(g).Decision > ir.Ask }

// timed returns the first allow of a group that has times and that a hook may open, nil for none.
func (c *compiler) timed(g ir.Group) *ir.Rule {
	if !c.holdsTimes() || g != ir.MCP && c.asksItself(g) {
		return nil
	}
	for _, r := range c.can.Timed() {
		if r.Group == g {
			return &r.Rule
		}
	}
	return nil
}

// timedTool reports whether a tool is allowed at times alone, and a hook may open it.
func (c *compiler) timedTool(sv *ir.Server, tool string) bool {
	if c.timed(ir.MCP) == nil {
		return false
	}
	a := policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool}
	return c.opened.Decide(a).Decision == ir.Allow && c.s.Decide(a).Decision < ir.Allow
}

// losesTimes reports the allows with times that nothing opens.
func (c *compiler) losesTimes() {
	for _, r := range c.can.Timed() {
		why, hint := c.shut(&r)
		if why == "" {
			continue
		}
		c.e.loss(c.name, r.Pos, r.Group, diag.TimesShut, "allow %s permits nothing at its times: %s", r.Pattern, why).
			Hint(hint)
	}
}

// shut returns why nothing opens an allow with times, "" where the hook does.
func (c *compiler) shut(r *ir.TimedRule) (why, hint string) {
	switch {
	case !c.e.hooks:
		return "only a hook could, and the role has none", c.e.remedy
	case !c.mayAllow:
		return "the hook of a file that travels allows nothing", "start another role"
	case r.Group != ir.MCP && c.asksItself(r.Group):
		return "a rule asks about it, and no hook opens that", `write default: "ask" in can.` + string(r.Group)
	}
	names := format.Tools[r.Group]
	if r.Group == ir.MCP {
		names = []string{"mcp__*", wholeServer(&ir.Server{Name: r.Server})}
		if r.Pattern.Kind == ir.Plain {
			names = append(names, "mcp__"+rule.Name(r.Server)+"__"+rule.Name(r.Pattern.Text))
		}
	}
	for _, list := range [][]string{c.out.ask, c.out.deny} {
		for _, name := range names {
			if slices.Contains(list, name) {
				return "the rule " + name + " comes first", "let the group or the server ask by default"
			}
		}
	}
	return "", ""
}
