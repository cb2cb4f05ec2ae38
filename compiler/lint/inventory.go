package lint

import (
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

func (p *pass) unusedPolicies() {
	for _, u := range p.Project.Unextended {
		p.find(u.Pos, "nothing extends this policy, so that what it denies is denied to nobody").
			Subject("policy " + u.Name)
	}
}

// anyone reports whether some subject may call a tool.
func (p *pass) anyone(server, tool string) bool {
	a := policy.Action{Group: ir.MCP, Server: server, Arg: tool}
	return slices.ContainsFunc(p.subjects(), func(s subject) bool { return p.decide(s.ref, a).Decision > ir.Deny })
}

// used reports whether some subject may call any tool of a server.
func (p *pass) used(s *ir.Server) bool {
	return p.anyone(s.Name, contract.UnknownTool) ||
		slices.ContainsFunc(s.Tools, func(t ir.Tool) bool { return p.anyone(s.Name, t.Name) })
}

func (p *pass) unusedServers() {
	for i := range p.Project.Servers {
		if s := &p.Project.Servers[i]; len(p.subjects()) > 0 && ofSource(s.Pos) && !p.used(s) {
			p.find(s.Pos, "no subject may use this server").Subject("server " + s.Name)
		}
	}
}

func (p *pass) unusedTools() {
	for i := range p.Project.Servers {
		s := &p.Project.Servers[i]
		if !p.used(s) {
			continue // the server itself is found
		}
		for _, t := range s.Tools {
			if ofSource(t.Pos) && !p.anyone(s.Name, t.Name) && !p.named(s.Name, t) {
				p.find(t.Pos, "no subject may call the tool %q, and no rule names it", t.Name).
					Subject("server " + s.Name)
			}
		}
	}
}

// named reports whether a rule of some subject matches a tool by its name or its risk.
func (p *pass) named(server string, t ir.Tool) bool {
	matches := func(r ir.Rule) bool {
		return r.Pattern.Kind == ir.Risk && r.Pattern.Text == t.Risk ||
			r.Pattern.Kind == ir.Plain && policy.Wildcard(r.Pattern.Text, t.Name)
	}
	return slices.ContainsFunc(p.subjects(), func(s subject) bool {
		if s.can.MCP == nil {
			return false
		}
		return disallows(s.mode, server, t.Name) || slices.ContainsFunc(s.can.MCP.Entries, func(e ir.MCPEntry) bool {
			return (e.Key == server || policy.Wildcard(e.Key, server)) && slices.ContainsFunc(e.Rules, matches)
		})
	})
}

// disallows reports whether a mode's restrictions disallow a tool.
func disallows(m *ir.Mode, server, tool string) bool {
	if m == nil || m.Restrictions == nil || m.Restrictions.DisallowedTools == nil {
		return false
	}
	return slices.ContainsFunc(*m.Restrictions.DisallowedTools, func(x ir.ToolRef) bool {
		return policy.Wildcard(x.Server, server) && policy.Wildcard(x.Tool, tool)
	})
}

// staysOff finds tools that a mode's restrictions list on servers that they leave off.
func (p *pass) staysOff() {
	for i := range p.Project.Modes {
		m := &p.Project.Modes[i]
		if m.Restrictions == nil || m.Restrictions.AllowedTools == nil || m.Restrictions.AllowedServers != nil {
			continue
		}
		for _, t := range *m.Restrictions.AllowedTools {
			if s := p.Project.Server(t.Server); s != nil && !s.DefaultEnabled && ofSource(t.Pos) {
				p.find(t.Pos, "the server %q is off by default, and only allowedServers opens it", t.Server).
					Subject("mode "+m.Slug).
					Hintf("write allowedServers with %q and the other servers of the mode", t.Server)
			}
		}
	}
}

func (p *pass) whenToUse() {
	for i := range p.Project.Modes {
		if m := &p.Project.Modes[i]; strings.TrimSpace(m.WhenToUse) == "" && ofSource(m.Pos) {
			p.find(m.Pos, "the mode has no whenToUse, by which agents choose a mode").Subject("mode " + m.Slug)
		}
	}
}

func (p *pass) longPrompts() {
	for _, s := range p.subjects() {
		if !ofSource(s.pos) {
			continue
		}
		for _, t := range prompts(s) {
			if len(t.text) > p.PromptLimit {
				p.find(s.pos, "%s has %d bytes, more than %d", t.name, len(t.text), p.PromptLimit).
					Subject(s.name).
					Hint("move what is rarely needed into documents")
			}
		}
	}
}

type prompt struct{ name, text string }

// prompts returns the texts of a subject that its agent sends with every request.
func prompts(s subject) []prompt {
	if s.role != nil {
		return []prompt{{"appendSystemPrompt", s.role.AppendSystemPrompt}}
	}
	list := []prompt{{"roleDefinition", s.mode.RoleDefinition}, {"customInstructions", s.mode.CustomInstructions}}
	for _, r := range s.mode.Rules {
		list = append(list, prompt{"the rules file " + r.Name, r.Text})
	}
	return list
}
