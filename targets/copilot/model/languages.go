package model

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/copilot/format"
)

// ToolName returns a tool's name as Copilot hands it to a model, after the server's.
func (d *decider) ToolName(name string) string { return format.Plain(name) }

// Languages returns what decides about a subject's plain arguments: the policy of each hook, the tools that a session
// or an agent names, and what lies in the project.
func (d *decider) Languages(
	ref ir.SubjectRef, of policy.Field, sp *regexlang.Space,
) (all []regexlang.Language, err error) {
	if !d.Contains(ref) {
		return nil, nil
	}
	s := d.setupOf(ref)
	l := lists{Space: sp}
	if of.Group == ir.MCP {
		l.named(s)
	}
	said, tools, err := contract.HookLanguages(sp, s.judged(), ref, of)
	l.all = append(l.all, said...)
	l.tools(tools...)
	return l.all, err
}

// Patterns returns the patterns of what the policies of a subject's hooks permit. What a session names beside them are
// tools.
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	if !d.Contains(ref) {
		return nil
	}
	out := map[ir.Group][]ir.Pattern{}
	for _, h := range d.setupOf(ref).judged() {
		h.AddPermitted(out, ref)
	}
	return out
}

// Languages returns none: sessions without files decide all plain arguments in one way.
func (alone) Languages(ir.SubjectRef, policy.Field, *regexlang.Space) ([]regexlang.Language, error) {
	return nil, nil
}

type lists struct {
	*regexlang.Space
	all []regexlang.Language
}

// named adds the tools that a session or an agent names.
func (l *lists) named(s *setup) {
	if s.agent != nil {
		for _, name := range s.agent.Tools {
			_, tool, ok := strings.Cut(name, "/")
			if ok {
				l.tools(tool)
			}
			l.parts(name)
		}
		return
	}
	for i := range s.session.Servers {
		l.tools(s.session.Servers[i].Tools...)
	}
	for _, name := range append(s.session.Only, s.session.Without...) {
		l.parts(name)
	}
}

// parts adds what may be the tool in a name, by each server that it may be of.
func (l *lists) parts(name string) {
	for at, c := range name {
		if c == '-' {
			l.tools(name[at+1:])
		}
	}
}

// tools adds tools, each with those that Copilot hands to a model under the same name.
func (l *lists) tools(names ...string) {
	for _, name := range names {
		same := l.TextOf(name, func(c rune) regexlang.Set {
			if format.Plain(string(c)) == "-" {
				return regexlang.SetOf(func(c rune) bool { return c == '-' || c == '.' })
			}
			return regexlang.SetOf(func(as rune) bool { return as == c })
		})
		l.all = append(l.all, l.Text(name), same)
	}
}
