package model

import (
	"strings"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
	"modec.dev/modec/targets/copilot/format"
)

// Languages returns what decides about a subject's plain arguments: the policy of each hook, the tools that a session
// or an agent names, and what lies in the project.
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regular.Space) (all []regular.Language, err error) {
	if !d.Contains(ref) {
		return nil, nil
	}
	s := d.setupOf(ref)
	l := lists{Space: sp}
	if of.Group == ir.MCP {
		l.named(s)
	}
	seen := map[*policy.Engine]bool{}
	for _, h := range s.hooks {
		if h.role != modec || seen[h.policy] {
			continue
		}
		seen[h.policy] = true
		if err := l.policy(h, ref, of); err != nil {
			return nil, err
		}
	}
	return l.all, nil
}

// Languages returns none: sessions without files decide all plain arguments in one way.
func (alone) Languages(ir.SubjectRef, policy.Field, *regular.Space) ([]regular.Language, error) {
	return nil, nil
}

type lists struct {
	*regular.Space
	all []regular.Language
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

// policy adds what a hook decides by: its subject's policy, and that of the mode in which the subject works.
func (l *lists) policy(h *hookEntry, ref ir.SubjectRef, of policy.Field) error {
	refs := []ir.SubjectRef{h.subject}
	if h.subject.Role != "" && ref.Mode != "" {
		refs = append(refs, ir.SubjectRef{Role: h.subject.Role, Mode: ref.Mode})
	}
	for _, ref := range refs {
		s, err := h.policy.Subject(ref)
		if err != nil {
			return err
		}
		said, err := s.Languages(l.Space, of)
		if err != nil {
			return err
		}
		l.all = append(l.all, said...)
	}
	if sv := h.policy.Project().Server(of.Server); of.Group == ir.MCP && sv != nil {
		if !h.policy.Project().ListsTools(sv) { // a name may be that of several that are not listed
			return regular.ErrNotRegular
		}
		for i := range sv.Tools {
			l.tools(sv.Tools[i].Name)
		}
	}
	return nil
}

// tools adds tools, each with those that Copilot hands to a model under the same name.
func (l *lists) tools(names ...string) {
	for _, name := range names {
		same := l.Text("")
		for _, c := range name {
			letter := l.Text(string(c))
			if format.Plain(string(c)) == "-" {
				letter = l.Or(l.Text("-"), l.Text("."))
			}
			same = l.Cat(same, letter)
		}
		l.all = append(l.all, l.Text(name), same)
	}
}
