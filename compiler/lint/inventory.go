package lint

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

func (p *pass) unusedPolicies() {
	for _, u := range p.Project.Unextended {
		p.add(u.Pos, "policy "+u.Name, "", "got a policy that nothing extends: what it denies is denied to nobody")
	}
}

// anyone reports whether some subject may call a tool.
func (p *pass) anyone(server, tool string) bool {
	a := policy.Action{Group: ir.MCP, Server: server, Arg: tool}
	return slices.ContainsFunc(p.subjects(), func(s subject) bool { return p.decide(s.ref, a).Decision > ir.Deny })
}

func (p *pass) used(s *ir.Server) bool {
	return p.anyone(s.Name, contract.UnknownTool) || slices.ContainsFunc(s.Tools, func(t ir.Tool) bool { return p.anyone(s.Name, t.Name) })
}

func (p *pass) unusedServers() {
	for i := range p.Project.Servers {
		if s := &p.Project.Servers[i]; len(p.subjects()) > 0 && ofSource(s.Pos) && !p.used(s) {
			p.add(s.Pos, "server "+s.Name, "", "got a server that no subject may use")
		}
	}
}

func (p *pass) unusedTools() {
	for i := range p.Project.Servers {
		s := &p.Project.Servers[i]
		if !p.used(s) {
			continue // told of the server
		}
		for _, t := range s.Tools {
			if ofSource(t.Pos) && !p.anyone(s.Name, t.Name) && !p.named(s.Name, t) {
				p.add(t.Pos, "server "+s.Name, "", "got the tool %q, which no subject may call and no rule names", t.Name)
			}
		}
	}
}

// named reports whether a rule speaks of a tool.
func (p *pass) named(server string, t ir.Tool) bool {
	for _, s := range p.subjects() {
		if s.can.MCP == nil {
			continue
		}
		for _, e := range s.can.MCP.Entries {
			if e.Key != server && !policy.Wildcard(e.Key, server) {
				continue
			}
			for _, r := range e.Rules {
				if r.Pattern.Kind == ir.Risk && r.Pattern.Text == t.Risk || r.Pattern.Kind == ir.Plain && policy.Wildcard(r.Pattern.Text, t.Name) {
					return true
				}
			}
		}
		if m := s.mode; m != nil && m.Restrictions != nil && m.Restrictions.DisallowedTools != nil {
			for _, x := range *m.Restrictions.DisallowedTools {
				if policy.Wildcard(x.Server, server) && policy.Wildcard(x.Tool, t.Name) {
					return true
				}
			}
		}
	}
	return false
}

func (p *pass) whenToUse() {
	for i := range p.Project.Modes {
		if m := &p.Project.Modes[i]; strings.TrimSpace(m.WhenToUse) == "" && ofSource(m.Pos) {
			p.add(m.Pos, "mode "+m.Slug, "", "got no whenToUse, by which agents choose a mode")
		}
	}
}

func (p *pass) longPrompts() {
	tell := func(at diag.Pos, subject, field, text string) {
		if len(text) > p.PromptLimit && ofSource(at) {
			p.add(at, subject, "move what is rarely needed into documents", "got %d bytes of %s, want %d at most", len(text), field, p.PromptLimit)
		}
	}
	for i := range p.Project.Modes {
		m := &p.Project.Modes[i]
		tell(m.Pos, "mode "+m.Slug, "roleDefinition", m.RoleDefinition)
		tell(m.Pos, "mode "+m.Slug, "customInstructions", m.CustomInstructions)
		for _, r := range m.Rules {
			tell(m.Pos, "mode "+m.Slug, "the rules file "+r.Name, r.Text)
		}
	}
	for i := range p.Project.Roles {
		r := &p.Project.Roles[i]
		tell(r.Pos, "role "+r.Name, "appendSystemPrompt", r.AppendSystemPrompt)
	}
}

// secretForms are how secrets look. They are compiled when lint first asks: a hook
// never does.
var secretForms = sync.OnceValue(func() (f struct{ token, name, variable, plain *regexp.Regexp }) {
	// The forms of widely used tokens: GitHub, GitLab, Slack, OpenAI and Anthropic,
	// AWS, Google, npm, a JSON Web Token, a private key.
	f.token = regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|xox[abprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{12,}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,}|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,})|-----BEGIN [A-Z ]*PRIVATE KEY`)
	f.name = regexp.MustCompile(`(?i)(?:^|[_-])(?:token|secret|password|passwd|api[_-]?key|access[_-]?key|private[_-]?key|authorization|cookie)(?:$|[_-])`)
	f.variable = regexp.MustCompile(`\$\{[^}]+\}|\$[A-Za-z_][A-Za-z0-9_]*`)
	f.plain = regexp.MustCompile(`^(?i:true|false|none|null|bearer|basic|[0-9]{1,5}|x+|changeme|<[^>]*>)?$`)
	return f
})

func (p *pass) secrets() {
	form := secretForms()
	for i := range p.Project.Servers {
		s := &p.Project.Servers[i]
		for where, values := range map[string]map[string]string{"the variable": s.Env, "the header": s.Headers} {
			for _, name := range slices.Sorted(maps.Keys(values)) {
				value := values[name]
				rest := strings.TrimSpace(form.variable.ReplaceAllString(value, ""))
				for _, scheme := range []string{"Bearer", "Basic", "Token"} {
					rest = strings.TrimSpace(strings.TrimPrefix(rest, scheme))
				}
				if form.token.MatchString(value) || form.name.MatchString(name) && len(rest) >= 8 && !form.plain.MatchString(rest) {
					p.add(s.Pos, "server "+s.Name, "write ${"+variableName(s.Name, name)+"} and set the variable where the agent runs", "got %s %s with what looks like a secret, want a reference to a variable", where, name)
				}
			}
		}
		for _, a := range s.Args {
			if form.token.MatchString(a) {
				p.add(s.Pos, "server "+s.Name, "write ${NAME} and set the variable where the agent runs", "got an argument with what looks like a secret, want a reference to a variable")
			}
		}
	}
}

func variableName(server, name string) string {
	if strings.EqualFold(name, "authorization") || strings.EqualFold(name, "cookie") {
		name = server + "_token"
	}
	return strings.ToUpper(strings.Map(func(c rune) rune {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' {
			return c
		}
		return '_'
	}, name))
}
