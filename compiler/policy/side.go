package policy

import (
	"fmt"
	"strconv"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// side is a mode or a role compiled by itself; a Subject has one or two.
type side struct {
	name string // "mode architect"
	can  *ir.Can
	mode *ir.Mode // nil for a role
	role *ir.Role // nil for a mode

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

// newSide compiles what s names.
func (e *Engine) newSide(s *side) (*side, error) {
	s.alone = &Subject{engine: e, sides: []*side{s}}
	s.unknown = s.unknownDefault()
	beyond := ir.Deny
	if s.role != nil {
		beyond = ir.Ask
	}
	s.outsideRead = s.outsideDefault(s.can.OutsideRead, beyond)
	s.outsideEdit = s.outsideDefault(s.can.OutsideEdit, ir.Deny)
	s.defaults = map[ir.Group]*Result{}
	s.effective = map[ir.Group][]ir.Rule{}
	for _, g := range ir.Groups {
		r := s.groupDefault(g)
		s.defaults[g] = &r
		if t := s.can.Table(g); t != nil {
			s.effective[g] = t.Rules
		}
	}
	if s.role != nil && s.role.Modes != nil {
		s.effective[ir.Modes] = s.modesOfRole()
	}
	steps := []func() error{
		func() error { return e.compileFiles(s, ir.Read, &s.read) },
		func() error { return e.compileFiles(s, ir.Edit, &s.edit) },
		func() error { return e.compileCommands(s) },
		func() error { return e.compileHosts(s) },
		func() error { return s.compileModes() },
		func() error { return s.compileMCPRules() },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if len(e.project.Guards) > 0 {
		own := s.effective[ir.Edit]
		s.effective[ir.Edit] = append(own[:len(own):len(own)], e.project.Guards...)
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

// omitted is the default of a table that writes none: ask for a role, unless
// nobody is there to be asked.
func (s *side) omitted() ir.Decision {
	if s.role != nil {
		return min(ir.Ask, s.permissionMode(ir.Unknown).Decision)
	}
	return ir.Deny
}

func (s *side) groupDefault(g ir.Group) Result {
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
		return result(written.Decision, written.Pos, written.From, "default of ", string(g))
	case s.can.Mentions(g):
		return result(s.omitted(), s.pos(), "", string(g), " writes no default")
	case s.can.Default != nil:
		return result(s.can.Default.Decision, s.can.Default.Pos, s.can.Default.From, "can.default")
	case s.mode != nil && g == ir.MCP && s.mode.Restrictions != nil:
		return result(ir.Ask, s.mode.Restrictions.Pos, "", "mcpRestrictions allow it, mcp is not mentioned")
	case s.mode != nil:
		return result(ir.Deny, s.mode.Pos, "", string(g), " is not mentioned")
	case g == ir.Modes:
		return result(ir.Allow, s.role.Pos, "", "modes is not mentioned")
	}
	return s.permissionMode(g)
}

// permissionModes says what a role does in the groups that it leaves unsaid.
var permissionModes = map[string]struct{ read, edit, rest ir.Decision }{
	"default":           {ir.Allow, ir.Ask, ir.Ask},
	"plan":              {ir.Allow, ir.Ask, ir.Ask},
	"auto":              {ir.Allow, ir.Ask, ir.Ask},
	"acceptEdits":       {ir.Allow, ir.Allow, ir.Ask},
	"dontAsk":           {ir.Deny, ir.Deny, ir.Deny},
	"bypassPermissions": {ir.Allow, ir.Allow, ir.Allow},
}

// PermissionModeDefault returns what a role of that permission mode does in a
// group that its permissions leave unsaid. An unknown mode denies.
func PermissionModeDefault(mode string, g ir.Group) ir.Decision {
	m := permissionModes[mode]
	switch g {
	case ir.Read:
		return m.read
	case ir.Edit:
		return m.edit
	}
	return m.rest
}

func (s *side) permissionMode(g ir.Group) Result {
	name, pos := s.role.PermissionMode, s.role.PermissionModePos
	if name == "" {
		name, pos = "default", s.role.Pos
	}
	return result(PermissionModeDefault(name, g), pos, "", "permissionMode ", strconv.Quote(name))
}

func (s *side) unknownDefault() Result {
	if u := s.can.Unknown; u != nil {
		return result(u.Decision, u.Pos, u.From, "can.unknown")
	}
	r := result(s.omitted(), s.pos(), "", "can.unknown is not written")
	if s.role != nil {
		if m := s.permissionMode(ir.Unknown); m.Decision == ir.Deny {
			return m
		}
	}
	return r
}

func (s *side) outsideDefault(written *ir.Default, omitted ir.Decision) Result {
	if written != nil {
		return result(written.Decision, written.Pos, written.From, "outside the project")
	}
	return result(omitted, s.pos(), "", "outside the project")
}

func (s *side) outside(g ir.Group) *Result {
	if g == ir.Edit {
		return &s.outsideEdit
	}
	return &s.outsideRead
}

func (s *side) writesOutside(g ir.Group) bool {
	if g == ir.Edit {
		return s.can.OutsideEdit != nil
	}
	return s.can.OutsideRead != nil
}

// pos is where the subject is written.
func (s *side) pos() diag.Pos {
	if s.role != nil {
		return s.role.Pos
	}
	return s.mode.Pos
}

// ruleResult is the result of a rule that matched.
func ruleResult(r ir.Rule) Result {
	return result(r.Decision, r.Pos, r.From, ruleText(r))
}

func ruleText(r ir.Rule) string { return r.Decision.String() + " " + r.Pattern.String() }

func guardText(r ir.Rule) string { return "guarded path " + r.Pattern.String() }
