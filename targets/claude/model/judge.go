package model

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// rule returns what rules and mode make of a call, before any hook: a deny rule first,
// then an ask rule, then the mode and the allow rules. Observed on 2.1.329 for every mode,
// plan with disableAutoMode. Without disableAutoMode, plan gives what it would ask about
// to a classifier, which the model takes to approve it.
func (s *session) rule(c *call) ruling {
	switch c.Group {
	case ir.Read:
		return s.besideRules(c, s.readRule(c), func(rs *ruleSet) []pathRule { return rs.read })
	case ir.Edit:
		return s.besideRules(c, s.editRule(c), func(rs *ruleSet) []pathRule { return rs.edit })
	case ir.Command:
		if c.tool == "PowerShell" {
			return s.powerShellRule(c.line)
		}
		return s.besideBash(c.tool, s.lineRule(c.line))
	case ir.Web:
		return s.fetchRule(c)
	case ir.MCP:
		if c.Kind == policy.Resource {
			return s.freeRule(c.tool) // a resource is read without a question
		}
		return s.mcpRule(c)
	case ir.Modes:
		return s.agentRule(c)
	}
	return s.freeRule(c.tool)
}

// powerShellRule decides a line in PowerShell, which no rule for Bash is about. The reference has each command of it
// compared with rules of its own as Bash does, but without case. A line that no allow of its own matches is not one of
// PowerShell alone: what becomes of it in Bash is what counts.
func (s *session) powerShellRule(l *line) ruling {
	if r := s.rules[ir.Ask].tool("PowerShell"); r != nil {
		return byAsk(r)
	}
	power := s.rules[ir.Allow].power
	all := func(r bashRule) bool { return r.all }
	if i := slices.IndexFunc(power, all); i >= 0 {
		return byAllow(&power[i].place)
	}
	var by *place
	plain := !l.opaque && !l.unknown && len(l.ins)+len(l.outs) == 0
	for _, c := range l.simple {
		r := matchBash(power, []string{strings.ToLower(c.raw)})
		plain, by = plain && r != nil && !c.dynamic, first(r, by)
	}
	if !plain || by == nil {
		return s.lineRule(l)
	}
	return byAllow(by)
}

// besideBash returns what becomes of a line in another tool than Bash: the rules for Bash hold for it too, and where
// they only leave it to a question, an allow of that tool answers.
func (s *session) besideBash(tool string, r ruling) ruling {
	if tool == "Bash" || r.Decision != ir.Ask || r.rule {
		return r
	}
	allow := s.rules[ir.Allow].tool(tool)
	if allow == nil {
		return r
	}
	by := byAllow(allow)
	by.loose = r.loose
	return by
}

func byDeny(p *place) ruling  { return ruling{Decision: ir.Deny, place: *p, held: true, rule: true} }
func byAsk(p *place) ruling   { return ruling{Decision: ir.Ask, place: *p, held: true, rule: true} }
func byAllow(p *place) ruling { return ruling{Decision: ir.Allow, place: *p} }

// byPath is an allow of a path, loose where its rule is in another case.
func byPath(p *place, f *file, rules ...[]pathRule) ruling {
	r := byAllow(p)
	r.loose = f.odd
	named, exact := false, false // by a rule about paths, and not about the whole tool
	for _, list := range rules {
		m := matchPath(list, f)
		named = named || m != nil && *m == *p
		exact = exact || slices.ContainsFunc(list, func(r pathRule) bool { return r.matchExact(f) })
	}
	if named && !exact {
		r.loose = looseCase
	}
	return r
}

// besideRules marks an allow of a file that a rule nearly holds back. It has the name of a folder
// whose content a rule names, or one that a file system may take for a name in a rule.
func (s *session) besideRules(c *call, r ruling, paths func(*ruleSet) []pathRule) ruling {
	name := policy.Fold(c.file.clean)
	names := func(p pathRule) bool { return p.folder != "" && policy.Fold(p.folder) == name }
	for _, d := range []ir.Decision{ir.Deny, ir.Ask} {
		list := paths(&s.rules[d])
		switch {
		case r.Decision != ir.Allow || r.loose != "":
		case slices.ContainsFunc(list, names):
			r.loose = looseFolder
		case matchAlike(list, c.file):
			r.loose = looseAlike
		}
	}
	return r
}

// byMode is a decision of the mode itself.
func (s *session) byMode(d ir.Decision, what string) ruling {
	return ruling{Decision: d, place: place{what, s.mode, s.at}}
}

// approved is a decision of a mode that approves by itself.
func (s *session) approved(what string) ruling {
	return ruling{Decision: ir.Allow, place: place{what, s.mode, cmp.Or(s.modeAt, s.at)}}
}

// otherwise decides a call that no rule is about.
func (s *session) otherwise(what string) ruling {
	if s.approves() {
		return s.approved(what)
	}
	return s.byMode(ir.Ask, what)
}

// approves reports whether the mode approves by itself what no rule is about.
func (s *session) approves() bool {
	return s.mode == format.Bypass || s.mode == format.Auto || s.mode == format.Plan && !s.noAuto
}

// otherPath decides a path that no rule is about.
func (s *session) otherPath(what string, f *file) ruling {
	r := s.otherwise(what)
	r.loose = f.odd
	return r
}

func (s *session) readRule(c *call) ruling {
	deny, ask, allow := &s.rules[ir.Deny], &s.rules[ir.Ask], &s.rules[ir.Allow]
	if r := matchPath(deny.read, c.file); r != nil {
		return byDeny(r)
	}
	if r := first(ask.tool(c.tool), matchPath(ask.read, c.file)); r != nil {
		return byAsk(r)
	}
	if c.file.inside {
		r := s.byMode(ir.Allow, "reading in the project")
		r.loose = c.file.odd
		return r
	}
	if by := s.opening(c.file); by != nil {
		return byAllow(by)
	}
	// What may be edited may be read.
	paths := first(matchPath(allow.read, c.file), matchPath(allow.edit, c.file))
	if r := first(allow.tool(c.tool), allow.tool("Read"), paths); r != nil {
		return byPath(r, c.file, allow.read, allow.edit)
	}
	return s.otherPath("reading outside the project", c.file)
}

// editRule decides an edit. A Read deny holds writing back too. Plan asks about every
// edit, whatever rule or hook allows it.
func (s *session) editRule(c *call) ruling {
	deny, ask, allow := &s.rules[ir.Deny], &s.rules[ir.Ask], &s.rules[ir.Allow]
	if r := first(matchPath(deny.edit, c.file), matchPath(deny.read, c.file)); r != nil {
		return byDeny(r)
	}
	if r := first(ask.tool(c.tool), matchPath(ask.edit, c.file)); r != nil {
		return byAsk(r)
	}
	if s.mode == format.Bypass {
		return s.otherPath("editing", c.file)
	}
	if c.file.protected {
		r := s.byMode(ir.Ask, "editing a protected path")
		r.held = true
		return r
	}
	if s.mode == format.Plan {
		r := s.byMode(ir.Ask, "editing")
		r.held = true
		return r
	}
	if by := s.opening(c.file); by != nil && s.mode == format.AcceptEdits {
		return byAllow(by)
	}
	if s.mode == format.AcceptEdits && c.file.inside {
		r := s.approved("editing in the project")
		r.loose = c.file.odd
		return r
	}
	if r := first(allow.tool(c.tool), matchPath(allow.edit, c.file)); r != nil {
		return byPath(r, c.file, allow.edit)
	}
	return s.otherPath("editing", c.file)
}

func (s *session) fetchRule(c *call) ruling {
	if r := s.rules[ir.Deny].host(c.host); r != nil {
		return byDeny(r)
	}
	if r := first(s.rules[ir.Ask].tool(c.tool), s.rules[ir.Ask].host(c.host)); r != nil {
		return byAsk(r)
	}
	loose := ""
	if strings.ContainsFunc(c.host, notOfHost) {
		loose = looseDomain
	}
	if p := first(s.rules[ir.Allow].tool(c.tool), s.rules[ir.Allow].host(c.host)); p != nil {
		r := byAllow(p)
		r.loose = loose
		return r
	}
	if slices.Contains(documentation, c.host) && !s.approves() {
		r := s.byMode(ir.Allow, "fetching documentation that Claude Code trusts")
		r.loose = looseHost
		return r
	}
	r := s.otherwise("fetching")
	r.loose = loose
	return r
}

// notOfHost reports whether a character is not one of a host or an address.
func notOfHost(r rune) bool {
	return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-_.:[]", r)
}

// documentation are hosts that are fetched without a question, as observed on 2.1.329.
// Claude Code has more of them.
var documentation = []string{"code.claude.com", "docs.python.org"}

func (s *session) mcpRule(c *call) ruling {
	if r := s.rules[ir.Ask].tool(c.tool); r != nil {
		return byAsk(r)
	}
	if r := s.rules[ir.Allow].tool(c.tool); r != nil {
		return byAllow(r)
	}
	return s.otherwise("a tool of a server")
}

// agentRule decides the start of a subagent, which by itself asks for nothing, of a skill, and
// of a script that starts any subagent. A script starts none that a rule denies by its name, and
// those that a rule asks about. Observed on 2.1.330.
func (s *session) agentRule(c *call) ruling {
	list := func(rs *ruleSet) *place {
		switch c.tool {
		case "Skill":
			return matchName(rs.skills, c.Arg)
		case "Workflow":
			return matchName(rs.agents, c.subagent)
		}
		return first(matchName(rs.agents, c.subagent), rs.tool("Task"))
	}
	if r := list(&s.rules[ir.Deny]); r != nil {
		return byDeny(r)
	}
	ask, allow := s.rules[ir.Ask].tool(c.tool), s.rules[ir.Allow].tool(c.tool)
	if c.tool != "Workflow" {
		ask, allow = first(ask, list(&s.rules[ir.Ask])), first(allow, list(&s.rules[ir.Allow]))
	}
	switch {
	case ask != nil:
		return byAsk(ask)
	case allow != nil:
		return byAllow(allow)
	case c.tool != "Agent":
		return s.otherwise("a skill or a script of subagents")
	}
	r := s.byMode(ir.Allow, "starting a subagent")
	r.loose = looseAgent
	return r
}

// freeRule decides tools that ask for nothing of themselves: CronCreate, ScheduleWakeup,
// SendMessage, Workflow and the reading of MCP resources run in every mode. The model
// takes an unknown tool for one of them.
func (s *session) freeRule(tool string) ruling {
	if r := s.rules[ir.Ask].tool(tool); r != nil {
		return byAsk(r)
	}
	if r := s.rules[ir.Allow].tool(tool); r != nil {
		return byAllow(r)
	}
	r := s.byMode(ir.Allow, "a tool that asks for nothing")
	switch {
	case tool == "ReadMcpResourceTool":
		r.loose = looseList
	case !s.approves():
		r.loose = looseTool
	}
	return r
}
