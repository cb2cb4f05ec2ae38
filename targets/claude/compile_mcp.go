package claude

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
	"modec.dev/modec/targets/claude/format/rule"
)

func (c *compiler) mcp() {
	def := c.s.Default(ir.MCP).Decision
	closed := c.closed(ir.MCP)
	if at, open := c.othersDenied(); open && !c.e.hooks && !closed {
		closed = true
		c.e.loss(c.name, at, ir.MCP, codeServers, "no rule denies the servers that the inventory does not list beside "+
			"those that are allowed: all are denied").
			Hint(c.instead("list every server, and close the inventory"))
	}
	if closed {
		c.out.add(ir.Deny, "mcp__*")
		c.out.add(ir.Deny, format.ResourceTools...)
		return
	}
	for i := range c.e.in.Project.Servers {
		c.server(&c.e.in.Project.Servers[i])
	}
	if d := c.elsewhere(); d < ir.Allow && (c.approves() || d < def && c.everyServer()) {
		c.out.add(d, "mcp__*")
	}
	c.otherTools()
	if def == ir.Agent {
		return // no rule is about the resources of one server
	}
	if d := c.resources(); d < ir.Allow {
		c.out.add(d, format.ResourceTools...)
	}
}

// otherTools denies or asks about tools of servers that the inventory does not list, which rules for every server name.
func (c *compiler) otherTools() {
	if c.noOthers {
		return
	}
	rest := c.elsewhere()
	for _, r := range c.s.UnlistedToolRules(contract.UnknownServer) {
		if r.Decision == ir.Deny || r.Decision == ir.Ask && (rest > ir.Ask || c.approves()) {
			c.out.add(r.Decision, "mcp__*__"+toolPattern(r))
		}
	}
}

// othersDenied reports whether a server that the inventory does not list may be there and is
// denied by its default, which no rule says beside rules for other servers.
func (c *compiler) othersDenied() (diag.Pos, bool) {
	r := c.others()
	return r.Pos, r.Decision == ir.Deny && !c.noOthers
}

// growthDenied reports whether a tool that the inventory does not list of a server may be there
// and is denied, while one that it lists is not: no rule says that.
func (c *compiler) growthDenied(sv *ir.Server) bool {
	return !c.e.in.Project.ListsTools(sv) && c.tool(sv, contract.UnknownTool) == ir.Deny && !c.uniform(sv)
}

// others decides about the tools of a server that the inventory does not have.
func (c *compiler) others() policy.Result {
	return c.s.Decide(policy.Action{Group: ir.MCP, Server: contract.UnknownServer, Arg: contract.UnknownTool})
}

func (c *compiler) elsewhere() ir.Decision { return c.others().Decision }

// everyServer reports whether a rule denies or asks about every tool of every server.
func (c *compiler) everyServer() bool {
	if c.can.MCP == nil {
		return false
	}
	all := func(r ir.Rule) bool { return r.Decision < ir.Allow && r.Pattern.Everything() }
	return slices.ContainsFunc(c.can.MCP.Rules, all) ||
		slices.ContainsFunc(c.can.MCP.Entries, func(e ir.MCPEntry) bool {
			return e.Key == "*" && slices.ContainsFunc(e.Rules, all)
		})
}

func (c *compiler) tool(sv *ir.Server, tool string) ir.Decision {
	return c.s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: tool}).Decision
}

// uniform reports whether all tools of a server have the same decision, also one that the
// inventory does not have.
func (c *compiler) uniform(sv *ir.Server) bool {
	unknown := c.tool(sv, contract.UnknownTool)
	return !slices.ContainsFunc(sv.Tools, func(t ir.Tool) bool {
		return c.tool(sv, t.Name) != unknown || c.timedTool(sv, t.Name)
	}) &&
		!slices.ContainsFunc(c.s.UnlistedToolRules(sv.Name), func(r ir.Rule) bool { return r.Decision != unknown })
}

// wholeServer returns the rule that is about every tool of a server. A name with two underscores, or one at its end,
// needs the wildcard: without it an allow has no effect, as observed on 2.1.330, since mcp__A__B may be the tool B of
// A.
func wholeServer(sv *ir.Server) string {
	name := rule.Name(sv.Name)
	if strings.Contains(name, "__") || strings.HasSuffix(name, "_") {
		name += "__*"
	}
	return "mcp__" + name
}

// server writes one rule for a server all of whose tools have the same decision, else one
// for each tool.
func (c *compiler) server(sv *ir.Server) {
	name, unknown := "mcp__"+rule.Name(sv.Name), c.tool(sv, contract.UnknownTool)
	every := wholeServer(sv)
	def := c.s.Default(ir.MCP).Decision
	asks := c.approves() || def == ir.Agent || def == ir.Allow // else Claude Code asks by itself
	if c.uniform(sv) {
		if unknown != ir.Ask || asks {
			c.out.add(unknown, every)
		}
		return
	}
	if c.growthDenied(sv) {
		if !c.e.hooks {
			c.e.loss(c.name, sv.Pos, ir.MCP, codeServers,
				"no rule denies the tools of %q that the inventory does not list: the server is denied", sv.Name).
				Hint(c.instead("list every tool, and close the inventory"))
			c.out.add(ir.Deny, every)
			return
		}
		if c.approves() { // as far as rules can without the hook
			c.out.add(ir.Ask, every)
		}
	}
	if c.approves() && unknown == ir.Ask && !c.e.in.Project.ListsTools(sv) {
		c.askServer(sv, name)
		return
	}
	asks = c.approves() || asks && (unknown == ir.Agent || unknown == ir.Allow)
	whole := unknown == ir.Allow && !c.e.in.Project.ListsTools(sv)
	if whole { // what is denied or asked about has rules of its own, which win
		asks = true
		c.out.add(ir.Allow, every)
	}
	asks = c.unlistedTools(sv, name, asks)
	for _, t := range sv.Tools {
		if d := c.tool(sv, t.Name); d == ir.Allow && whole || d == ir.Deny && c.timedTool(sv, t.Name) {
			continue
		} else if d != ir.Ask || asks {
			c.out.add(d, name+"__"+rule.Name(t.Name))
		}
	}
}

// unlistedTools writes rules for tools that the inventory does not list. It returns whether what is
// asked about needs rules.
func (c *compiler) unlistedTools(sv *ir.Server, name string, asks bool) bool {
	rules := c.s.UnlistedToolRules(sv.Name)
	for _, r := range rules {
		if r.Decision == ir.Allow && c.tool(sv, contract.UnknownTool) != ir.Allow && c.allowsTool(sv, r) &&
			c.tellsApart(sv, &r) {
			asks = true // else the rule would allow what is asked about
			c.out.add(ir.Allow, name+"__"+toolPattern(r))
		}
	}
	for _, r := range rules {
		if r.Decision == ir.Deny || r.Decision == ir.Ask && asks {
			c.out.add(r.Decision, name+"__"+toolPattern(r))
		}
	}
	return asks
}

// askServer asks about every tool of a server, where the mode would approve those that the inventory
// does not list. What is denied stays so.
func (c *compiler) askServer(sv *ir.Server, name string) {
	c.out.add(ir.Ask, wholeServer(sv))
	c.e.loss(c.name, sv.Pos, ir.MCP, codeAsked, "Claude Code would approve the tools of %q that the inventory does "+
		"not list, so that a rule asks about all of them", sv.Name).
		Hint("list every tool, and close the inventory")
	for _, t := range sv.Tools {
		if c.tool(sv, t.Name) == ir.Deny {
			c.out.add(ir.Deny, name+"__"+rule.Name(t.Name))
		}
	}
	for _, r := range c.s.UnlistedToolRules(sv.Name) {
		if r.Decision == ir.Deny {
			c.out.add(ir.Deny, name+"__"+toolPattern(r))
		}
	}
}

// allowsTool reports whether an allow of tools allows each of them that no other rule is about, and a
// rule can say so.
func (c *compiler) allowsTool(sv *ir.Server, r ir.Rule) bool {
	return !strings.Contains(r.Pattern.Text, "?") &&
		c.tool(sv, strings.ReplaceAll(r.Pattern.Text, "*", contract.UnknownTool)) == ir.Allow
}

// tellsApart reports whether an allow of tools may stand in a rule, where a sign that no name has there is "_": for one
// tool, beside which nobody expects another of the same letters, and not for a pattern, which many others may match.
func (c *compiler) tellsApart(sv *ir.Server, r *ir.Rule) bool {
	name := toolPattern(*r)
	if name == r.Pattern.Text {
		return true
	}
	list := fmt.Sprintf("list the tools: modec inventory %s --update", sv.Name)
	if strings.Contains(name, "*") {
		c.e.loss(c.name, r.Pos, ir.MCP, codeToolName, "to Claude Code %q of %q is %q, which other tools may match: "+
			"what it allows is not allowed", r.Pattern.Text, sv.Name, name).
			Hint(list)
		return false
	}
	c.e.diags.Notef(codeToolName, r.Pos, "to Claude Code the tool %q of %q is %q, as one of that name would be, which "+
		"is assumed not to exist", r.Pattern.Text, sv.Name, name).
		Target("claude").
		Subject(c.name).
		Hint(list)
	return true
}

// toolPattern returns a pattern of tools as it stands in a rule, which has no "?".
func toolPattern(r ir.Rule) string {
	parts := strings.Split(strings.ReplaceAll(r.Pattern.Text, "?", "*"), "*")
	for i, part := range parts {
		parts[i] = rule.Name(part)
	}
	return strings.Join(parts, "*")
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
	least, most = ir.Agent, ir.Deny
	for i := range p.Servers {
		a := policy.Action{Group: ir.MCP, Server: p.Servers[i].Name, Kind: policy.Resource, Arg: "*"}
		d := s.Decide(a).Decision
		least, most = min(least, d), max(most, d)
	}
	return least, most
}
