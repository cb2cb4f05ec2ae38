package model

import (
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/claude/format"
)

// ownTools are the tools of Claude Code that do something, but for those of commands, which all do the
// same.
var ownTools = func() (list []contract.OwnTool) {
	add := func(g ir.Group, names ...string) {
		for _, name := range names {
			list = append(list, contract.OwnTool{Name: name, Group: g})
		}
	}
	for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Web} {
		add(g, format.Tools[g]...)
	}
	add(ir.Modes, "Agent")
	add(ir.Modes, format.Starters...)
	add(ir.MCP, format.ResourceTools...)
	add(ir.Unknown, format.UnknownTools...)
	return list
}()

// asking are those before which Claude Code asks by itself.
var asking = []string{"Edit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "Skill"}

// OwnTools lists the built-in tools.
func (*decider) OwnTools() []contract.OwnTool { return ownTools }

// DecideTool returns what becomes of a call of a built-in tool in the session of a subject.
func (d *decider) DecideTool(ref ir.SubjectRef, name string) contract.Verdict {
	s := d.of(ref)
	if s == nil {
		return contract.Verdict{}
	}
	v := contract.Verdict{Answer: contract.Answer{
		Rule: "no tool that is offered does it", At: s.at, Governs: contract.Both}}
	if s.nobodys {
		v.Governs = contract.Access
	}
	if !s.offered(name) {
		return v
	}
	c := call{tool: name, Action: policy.Action{Group: ir.Unknown, Arg: name}}
	r := s.freeRule(name)
	if r.mode != "" && slices.Contains(asking, name) { // no rule decided
		r = s.otherwise("a tool that asks")
	}
	if s.runsHooks() && !ofPaths(name) {
		r = s.ask(&c, r)
	}
	v.Decision, v.Rule, v.At = s.confirmed(r), r.said(), r.at
	return v
}

// ofPaths reports whether a hook decides about a tool by the path that it is used on.
func ofPaths(name string) bool {
	return slices.Contains(format.Tools[ir.Read], name) || slices.Contains(format.Tools[ir.Edit], name) ||
		slices.Contains([]string{"WebFetch", "Agent", "Skill"}, name)
}
