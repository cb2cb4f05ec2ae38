package codex

import (
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/codex/format"
)

// requirementsOption is the option by which a build writes what an administrator is to require.
const requirementsOption = "requirements"

const adminTitle = "# What no session of this project needs, compiled by modec: edit the source, and " +
	"run `modec build`.\n" +
	"# Codex reads it as " + format.AdminFile + ", where it stands above all that users and projects say, in\n" +
	"# every project of the machine.\n\n"

// requirements writes what an administrator may require of every session: what none of the source's needs.
func (e *emitter) requirements() {
	if !e.in.Options.Bool(requirementsOption) || len(e.sessions) == 0 {
		return
	}
	for i := range e.sessions {
		if s := &e.sessions[i]; !slices.Contains(s.config, any("sandbox_mode")) {
			e.diags.Warnf(codeRequirements, s.pos,
				"%s leaves everything to Codex: there is nothing that no session needs", s.ref).
				Hint("say in can what it may do, or leave out requirements under [targets.codex]").
				Target(name).
				Subject(s.ref.String())
			return
		}
	}
	o := contract.Object{"allowed_approval_policies", e.policies(), "allowed_sandbox_modes", e.sandboxes()}
	if e.all("web_search", format.Searches[0]) {
		o = append(o, "allowed_web_search_modes", []string{format.Searches[0]})
	}
	if features := e.pinned(); len(features) > 0 {
		o = append(o, "features", features)
	}
	if list, ok := e.started(); ok {
		o = append(o, "mcp_servers", list)
	}
	if rules := e.forbidden(); len(rules) > 0 {
		o = append(o, "rules", contract.Object{"prefix_rules", rules})
	}
	e.files = append(e.files, contract.File{Path: format.RequirementsFile,
		Data: append([]byte(adminTitle), contract.TOML(o)...)})
}

// value returns that of a key, nil for none.
func value(o contract.Object, key string) any {
	for i := 0; i+1 < len(o); i += 2 {
		if o[i] == key {
			return o[i+1]
		}
	}
	return nil
}

// identity returns what identifies a server by its entry.
func identity(entry contract.Object) contract.Object {
	for _, key := range []string{"command", "url"} {
		if v := value(entry, key); v != nil {
			return contract.Object{key, v}
		}
	}
	return nil
}

// all reports whether a key has a value in every session.
func (e *emitter) all(key string, is any) bool {
	return !slices.ContainsFunc(e.sessions, func(s session) bool { return value(s.config, key) != is })
}

// policies returns those that sessions have. A session with another one gets the first, by which Codex asks about every
// command and every edit.
func (e *emitter) policies() []any {
	all, seen := []any{format.AsUntrusted}, map[string]bool{}
	for i := range e.sessions {
		p := value(e.sessions[i].config, "approval_policy")
		if p == nil {
			continue
		}
		if text := contract.InlineTOML(p); !seen[text] {
			seen[text] = true
			all = append(all, p)
		}
	}
	return all
}

// sandboxes returns those that sessions have. Codex wants the first one to be among them.
func (e *emitter) sandboxes() []string {
	if e.all("sandbox_mode", string(format.ReadOnly)) {
		return []string{string(format.ReadOnly)}
	}
	return []string{string(format.ReadOnly), string(format.Workspace)}
}

// pinned returns the features that every session has, or has not.
func (e *emitter) pinned() (o contract.Object) {
	off := func(feature string) bool {
		return !slices.ContainsFunc(e.sessions, func(s session) bool {
			features, _ := value(s.config, "features").(contract.Object)
			return value(features, feature) != false
		})
	}
	if slices.ContainsFunc(e.sessions, func(s session) bool { return s.hooked }) {
		o = append(o, "hooks", true)
	}
	for _, feature := range []string{"shell_tool", format.ViewImage} {
		if off(feature) {
			o = append(o, feature, false)
		}
	}
	return o
}

// started returns the servers that sessions start, by what identifies them; false where a session may start others.
func (e *emitter) started() (list contract.Object, ok bool) {
	list = contract.Object{}
	of := func(s *session, kind policy.MCPKind) ir.Decision {
		return s.decide(policy.Action{Group: ir.MCP,
			Server: contract.UnknownServer, Arg: contract.UnknownTool, Kind: kind})
	}
	for i := range e.sessions {
		s := &e.sessions[i]
		if of(s, policy.Tool) != ir.Deny || of(s, policy.Resource) != ir.Deny {
			return nil, false
		}
		for j := range e.in.Project.Servers {
			sv := &e.in.Project.Servers[j]
			if sv.Type == ir.External && contract.Usable(s.subject, sv) {
				return nil, false // its own entry says how it is started
			}
		}
		servers, _ := value(s.config, "mcp_servers").(contract.Object)
		for j := 0; j+1 < len(servers); j += 2 {
			if server := servers[j].(string); value(list, server) == nil {
				list = append(list, server, contract.Object{"identity", identity(servers[j+1].(contract.Object))})
			}
		}
	}
	return list, true
}

// prefix matches a pattern that says how a command begins.
var prefix = lazy.Regexp(`\A[\w./@%+,-]+(?: [\w./@%+,-]+)*(?: \*|:\*)\z`)

// forbidden returns the beginnings of commands that every session denies.
func (e *emitter) forbidden() (rules []contract.Object) {
	var patterns []string
	for i := range e.sessions {
		for _, r := range e.sessions[i].subject.Rules(ir.Command) {
			if r.Decision == ir.Deny && r.Pattern.Kind == ir.Plain && prefix().MatchString(r.Pattern.Text) &&
				!slices.Contains(patterns, r.Pattern.Text) && e.deny(r.Pattern.Text) {
				patterns = append(patterns, r.Pattern.Text)
			}
		}
	}
	slices.Sort(patterns)
	for _, p := range patterns {
		var words []contract.Object
		for _, word := range strings.Fields(strings.TrimSuffix(strings.TrimSuffix(p, " *"), ":*")) {
			words = append(words, contract.Object{"token", word})
		}
		rules = append(rules, contract.Object{"pattern", words, "decision", "forbidden",
			"justification", fmt.Sprintf("modec: no role and no mode may run %q", p)})
	}
	return rules
}

// deny reports whether every session denies the commands of a pattern.
func (e *emitter) deny(pattern string) bool {
	return !slices.ContainsFunc(e.sessions, func(s session) bool {
		return !contract.Denies(s.subject, ir.Command) &&
			!slices.ContainsFunc(s.subject.Rules(ir.Command), func(r ir.Rule) bool {
				return r.Decision == ir.Deny && r.Pattern.Kind == ir.Plain && r.Pattern.Text == pattern
			})
	})
}
