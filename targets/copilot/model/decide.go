package model

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/copilot/format"
)

// call is a call of a tool.
type call struct {
	tool  string
	input map[string]any
}

// callOf returns the call that does an action. It reports false where no tool does.
func callOf(a policy.Action) (call, bool) {
	switch a.Group {
	case ir.Read:
		return call{format.View, map[string]any{"path": a.Arg}}, a.Arg != ""
	case ir.Edit:
		return call{format.Create, map[string]any{"path": a.Arg, "file_text": "x"}}, a.Arg != ""
	case ir.Command:
		return call{format.Shell, map[string]any{"command": a.Arg, "description": "x"}}, a.Arg != ""
	case ir.Web:
		if a.Arg == "" {
			return call{format.Search, map[string]any{"query": "x"}}, true
		}
		return call{format.Fetch, map[string]any{"url": "https://" + a.Arg + "/"}}, true
	case ir.Modes:
		return call{format.Task, map[string]any{"agent_type": format.AgentName(a.Arg), "name": "x", "description": "x",
			"prompt": "x"}}, true
	case ir.MCP:
		return call{format.ToolName(a.Server, a.Arg), map[string]any{}}, a.Kind == policy.Tool
	}
	return call{a.Arg, map[string]any{}}, true
}

// Decide returns what Copilot does with an action of a subject.
func (d *decider) Decide(ref ir.SubjectRef, a policy.Action) contract.Verdict {
	if !d.Contains(ref) {
		return contract.Verdict{}
	}
	s := d.setupOf(ref)
	base := s.judge(a)
	c, ok := callOf(a)
	switch {
	case !ok:
		return contract.Verdict{Answer: contract.Answer{Decision: ir.Deny, Governs: contract.Both,
			Rule: "no tool of Copilot does this"}}
	case base.Decision == ir.Deny || len(s.hooks) == 0:
		return contract.Verdict{Answer: base}
	}
	bare := base
	bare.Governs = contract.Neither // nothing but the hook decides about a tool that is there
	v := contract.Verdict{Answer: base, Bare: &bare}
	if d.off != nil {
		v.Lack, v.Rule, v.At = d.off, d.off.Why, d.off.At
		return v
	}
	agent := ""
	if ref.Role != "" && ref.Mode != "" {
		agent = format.AgentName(ref.Mode)
	}
	if said, by := d.ask(s, c, agent); said != ir.Agent {
		v.Decision, v.Rule, v.At = said, by.Text(format.Before, by.Command), by.At
	}
	return v
}

// judge decides an action by a session or an agent alone.
func (s *setup) judge(a policy.Action) contract.Answer {
	answer := func(d ir.Decision, rule string) contract.Answer {
		return contract.Answer{Decision: d, Governs: contract.Both, Rule: rule, At: s.pos()}
	}
	if a.Group == ir.MCP {
		d, rule := s.server(a)
		return answer(d, rule)
	}
	c, _ := callOf(a)
	if s.hides(c.tool) {
		return answer(ir.Deny, "the tool "+c.tool+" is not there")
	}
	switch a.Group {
	case ir.Read:
		if !inside(a.Arg) {
			return answer(ir.Ask, "Copilot asks about what lies outside of the project")
		}
	case ir.Edit:
		if !s.allows(format.AllowWrite) || !inside(a.Arg) {
			return answer(ir.Ask, "Copilot asks about every edit")
		}
	case ir.Web:
		if a.Arg != "" && (s.session == nil || !s.session.URLs) {
			return answer(ir.Ask, "Copilot asks about every address")
		}
	case ir.Command:
		if s.allows(format.AllowShell) {
			return answer(ir.Allow, format.Allows+"="+format.AllowShell)
		}
		// One of which it takes that it only reads runs. A source is never held by this question: where a hook does not
		// answer, the command is allowed, or left to Copilot.
		return answer(ir.Ask, "Copilot asks about commands")
	}
	return answer(ir.Allow, "Copilot does not ask about this")
}

// pos is the place of what limits the tools.
func (s *setup) pos() diag.Pos {
	if s.agent != nil {
		return s.agent.Pos()
	}
	for _, key := range []string{format.Available, format.Excluded, format.ArgsKey} {
		if s.session == nil {
			break
		}
		if at, ok := s.session.At[key]; ok {
			return at
		}
	}
	return diag.Pos{File: s.file}
}

// hides reports whether a tool of Copilot's own is not there.
func (s *setup) hides(tool string) bool {
	switch {
	case s.agent != nil:
		return !s.agent.Has(tool)
	case s.session == nil:
		return false
	}
	return s.session.Only != nil && !slices.Contains(s.session.Only, tool) || slices.Contains(s.session.Without, tool)
}

// allows reports whether a rule lets everything of a kind run.
func (s *setup) allows(rule string) bool {
	return s.session != nil && slices.Contains(s.session.Allowed, rule)
}

// server decides a tool of a server. One that the session does not name may be one of the project, in a folder that the
// person trusts.
func (s *setup) server(a policy.Action) (ir.Decision, string) {
	if s.agent != nil {
		if !s.agent.HasTool(a.Server, a.Arg) {
			return ir.Deny, "the agent does not have the tool"
		}
		return ir.Allow, "Copilot does not ask about a tool of which its server says that it only reads"
	}
	name := format.ToolName(a.Server, a.Arg)
	switch only := s.session.Only; {
	case only != nil && !slices.Contains(only, name) && !slices.Contains(only, a.Server+"/*"):
		return ir.Deny, "the session does not have the tool"
	case slices.Contains(s.session.Without, name):
		return ir.Deny, "the session does not have the tool"
	}
	if sv := s.session.Server(a.Server); sv != nil && !sv.Has(a.Arg) {
		return ir.Deny, "the session does not have the tool"
	}
	return ir.Allow, "Copilot does not ask about a tool of which its server says that it only reads"
}

// inside reports whether a path lies in the project, or where Copilot keeps temporary files.
func inside(file string) bool {
	if !path.IsAbs(file) {
		file = root + "/" + file
	}
	file = path.Clean(file)
	for _, dir := range []string{root, "/tmp"} {
		if file == dir || strings.HasPrefix(file, dir+"/") {
			return true
		}
	}
	return false
}

// Alone returns deciders for what Copilot does by itself, in a folder that its user trusts.
func Alone() []contract.Decider { return []contract.Decider{alone(sessions), alone(agents)} }

type alone string

func (a alone) Surface() string { return string(a) }

func (a alone) Assumes() []string { return assumes[string(a)] }

func (alone) Decide(_ ir.SubjectRef, a policy.Action) contract.Verdict {
	if _, ok := callOf(a); !ok {
		return contract.Verdict{Answer: contract.Answer{Decision: ir.Deny, Governs: contract.Both,
			Rule: "no tool of Copilot does this"}}
	}
	return contract.Verdict{Answer: (&setup{session: &format.Session{}}).judge(a)}
}
