package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// side is a mode, a role or the project's ceiling compiled by itself; a Subject has one or two and the ceiling.
type side struct {
	name string // "mode architect"
	can  *ir.Can
	mode *ir.Mode // nil for a role and for the ceiling
	role *ir.Role // nil for a mode and for the ceiling

	read, edit fileTable
	commands   commandTable
	hosts      hostTable
	modes      slugTable
	mcp        mcpRules
	unknown    Result
	defaults   map[ir.Group]*Result

	outsideRead, outsideEdit Result

	effective map[ir.Group][]ir.Rule
	alone     *Subject // the side by itself
}

// everyone reports whether it is the ceiling.
func (s *side) everyone() bool { return s.mode == nil && s.role == nil }

// newSide compiles what s names, below the project's ceiling.
func (e *Engine) newSide(s *side) (*side, error) {
	var ceiling *side
	if !s.everyone() {
		var err error
		if ceiling, err = e.everyone(); err != nil {
			return nil, err
		}
	}
	s.alone = &Subject{engine: e, sides: []*side{s}, ceiling: ceiling}
	rest := cmp.Or(e.project.Unsaid, &ir.Default{Decision: ir.Agent})
	s.unknown = s.unknownDefault(rest)
	beyondRead, beyondEdit := ir.Deny, ir.Deny
	switch {
	case s.everyone():
		beyondRead, beyondEdit = ir.Agent, ir.Agent
	case s.role != nil:
		beyondRead = min(ir.Ask, rest.Decision)
	}
	s.outsideRead = s.outsideDefault(ir.Read, s.can.OutsideRead, beyondRead)
	s.outsideEdit = s.outsideDefault(ir.Edit, s.can.OutsideEdit, beyondEdit)
	s.defaults = map[ir.Group]*Result{}
	s.effective = map[ir.Group][]ir.Rule{}
	for _, g := range ir.Groups {
		r := s.groupDefault(g, rest)
		if s.everyone() && r.Decision == ir.Allow { // which gives nobody anything
			r.Decision = ir.Agent
		}
		s.defaults[g] = &r
		if t := s.can.Table(g); t != nil {
			s.effective[g] = t.Rules
		}
	}
	if s.role != nil && s.role.Modes != nil {
		s.effective[ir.Modes] = s.modesOfRole()
	}
	for _, g := range ir.Groups {
		s.effective[g] = append(slices.Clip(s.effective[g]), ceiling.stated(g, ir.Deny)...)
	}
	steps := []func() error{
		func() error { return e.compileFiles(s, ir.Read, &s.read) },
		func() error { return e.compileFiles(s, ir.Edit, &s.edit) },
		func() error { return e.compileCommands(s, ceiling.stated(ir.Command, ir.Ask)) },
		func() error { return e.compileHosts(s) },
		func() error { return s.compileModes() },
		func() error { return s.compileMCPRules() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return s, nil
}

func (s *side) rules(g ir.Group) []ir.Rule { return s.effective[g] }

// fallback returns the decision of a group where no rule matches.
func (s *side) fallback(g ir.Group) *Result {
	if r := s.defaults[g]; r != nil {
		return r
	}
	return &Result{Rule: "unknown group"}
}

// states reports whether the subject says anything of a group: only what both
// sides of a pair state is compared.
func (s *side) states(g ir.Group) bool {
	switch {
	case s.can.Mentions(g) || s.can.Default != nil:
		return true
	case g == ir.Modes:
		return s.role != nil && s.role.Modes != nil
	case g == ir.MCP:
		return s.mode != nil && s.mode.Restrictions != nil
	}
	return false
}

// NoDefault ends the rule of what no entry of a group matches that has entries and writes no default; it begins with
// the group.
const NoDefault = " writes no default"

// groupDefault decides where no rule matches: by what is written, most particular first,
// and else as [side.unsaid] does.
func (s *side) groupDefault(g ir.Group, rest *ir.Default) Result {
	var written *ir.Default
	if g == ir.MCP && s.can.MCP != nil {
		written = s.can.MCP.Default
	} else if t := s.can.Table(g); t != nil {
		written = t.Default
	}
	switch {
	case g == ir.Modes && s.role != nil && s.role.Modes != nil:
		return result(ir.Deny, s.role.ModesPos, "", "modes of role ", strconv.Quote(s.role.Name))
	case written != nil:
		return stated(written, "default of "+string(g))
	case s.can.Default != nil:
		return stated(s.can.Default, "can.default")
	case s.mode != nil && g == ir.MCP && s.mode.Restrictions != nil && !s.can.Mentions(g):
		return result(ir.Ask, s.mode.Restrictions.Pos, "", "mcpRestrictions allow it, mcp is not mentioned")
	case s.can.Mentions(g):
		return s.unsaid(g, rest, string(g)+NoDefault)
	}
	return s.unsaid(g, rest, string(g)+" is not mentioned")
}

// unsaid decides what nothing in a subject's tables covers. A mode lists what it has, so
// that it denies the rest. A role with a written permissionMode leaves the rest to the
// agent in that mode; any other does what the project's unsaid says.
func (s *side) unsaid(g ir.Group, rest *ir.Default, why string) Result {
	switch {
	case s.everyone():
		return result(ir.Agent, diag.Pos{}, "", why)
	case s.mode != nil:
		return result(ir.Deny, s.mode.Pos, "", why)
	case s.role.PermissionMode != "":
		r := result(ir.Agent, s.role.PermissionModePos, "", "permissionMode ", strconv.Quote(s.role.PermissionMode))
		r.Mapped = PermissionModeDefault(s.role.PermissionMode, g)
		return r
	}
	if rest.Decision == ir.Agent {
		r := result(ir.Agent, s.role.Pos, "", why)
		r.Mapped = ir.Agent
		return r
	}
	r := stated(rest, "unsaid")
	r.quiet = true
	return r
}

// stated is the result of a default that somebody wrote.
func stated(d *ir.Default, rule string) Result {
	r := result(d.Decision, d.Pos, d.From, rule)
	r.Mapped = d.Decision
	return r
}

// permissionMode says what a role does in the groups that it leaves unsaid.
type permissionMode struct {
	name             string
	read, edit, rest ir.Decision
}

var permissionModes = []permissionMode{
	{"default", ir.Allow, ir.Ask, ir.Ask},
	{"plan", ir.Allow, ir.Ask, ir.Ask},
	{"acceptEdits", ir.Allow, ir.Allow, ir.Ask},
	{"dontAsk", ir.Deny, ir.Deny, ir.Deny},
	{"auto", ir.Allow, ir.Ask, ir.Ask},
	{"bypassPermissions", ir.Allow, ir.Allow, ir.Allow},
}

// PermissionModes returns the names that a role's permission mode may have.
func PermissionModes() (names []string) {
	for _, m := range permissionModes {
		names = append(names, m.name)
	}
	return names
}

// PermissionModeDefault returns what a role of that permission mode does in a
// group that its permissions leave unsaid. An unknown mode denies.
func PermissionModeDefault(mode string, g ir.Group) ir.Decision {
	var m permissionMode
	if i := slices.IndexFunc(permissionModes, func(m permissionMode) bool { return m.name == mode }); i >= 0 {
		m = permissionModes[i]
	}
	switch g {
	case ir.Modes:
		return ir.Allow
	case ir.Read:
		return m.read
	case ir.Edit:
		return m.edit
	}
	return m.rest
}

// unknownDefault decides tools that map to no group. A role's default of all groups closes
// them too, and never allows them. A mode's default of all groups may leave them to the agent.
func (s *side) unknownDefault(rest *ir.Default) Result {
	switch d := s.can.Default; {
	case s.can.Unknown != nil:
		return stated(s.can.Unknown, "can.unknown")
	case d != nil && (s.mode == nil || d.Decision == ir.Agent):
		r := stated(d, "can.default")
		if d.Decision == ir.Allow {
			r.Decision = ir.Ask
		}
		return r
	}
	return s.unsaid(ir.Unknown, rest, "can.unknown is not written")
}

func (s *side) outsideDefault(g ir.Group, written *ir.Default, omitted ir.Decision) Result {
	if written != nil {
		return stated(written, "can.outside."+string(g))
	}
	return result(omitted, s.pos(), "", "default of can.outside.", string(g))
}

func (s *side) outside(g ir.Group) *Result {
	if g == ir.Edit {
		return &s.outsideEdit
	}
	return &s.outsideRead
}

func (s *side) writesOutside(g ir.Group) bool { return s.can.Ceiling(g) != nil }

// pos is where the subject is written.
func (s *side) pos() diag.Pos {
	switch {
	case s.role != nil:
		return s.role.Pos
	case s.mode != nil:
		return s.mode.Pos
	}
	return diag.Pos{}
}

// ruleResult is the result of a rule that matched.
func ruleResult(r ir.Rule) Result {
	return result(r.Decision, r.Pos, r.From, r.Decision.String(), " ", r.Pattern.String())
}
