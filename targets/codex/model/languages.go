package model

import (
	"slices"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regular"
)

// KnownPrograms returns those that remove by force.
func (d *decider) KnownPrograms() []string { return known }

// KnownPrograms returns them for sessions without a configuration.
func (alone) KnownPrograms() []string { return known }

var known = []string{"rm", "sudo"}

// Patterns returns the patterns of what the policies of a subject's hooks permit. A sandbox has none of its own.
func (d *decider) Patterns(ref ir.SubjectRef) map[ir.Group][]ir.Pattern {
	if !d.Contains(ref) {
		return nil
	}
	out := map[ir.Group][]ir.Pattern{}
	for _, list := range d.sessionOf(ref).hooks {
		for _, h := range list {
			if h.role != modec {
				continue
			}
			for _, of := range h.decideFor(ref) {
				s, err := h.policy.Subject(of)
				if err != nil {
					continue
				}
				for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web} {
					for _, r := range s.Rules(g) {
						if r.Decision > ir.Deny && !slices.Contains(out[g], r.Pattern) {
							out[g] = append(out[g], r.Pattern)
						}
					}
				}
			}
		}
	}
	return out
}

// decideFor returns the subjects of a hook's policy that decide about a subject: that of the hook, and the same in the
// mode in which the subject works.
func (h *hookEntry) decideFor(ref ir.SubjectRef) []ir.SubjectRef {
	refs := []ir.SubjectRef{h.subject}
	if h.subject.Role != "" && ref.Mode != "" {
		refs = append(refs, ir.SubjectRef{Role: h.subject.Role, Mode: ref.Mode})
	}
	return refs
}

// Languages returns what decides about a subject's plain arguments: the policy of each hook, the tools that a
// configuration names, and the folders that no sandbox opens.
func (d *decider) Languages(ref ir.SubjectRef, of policy.Field, sp *regular.Space) (all []regular.Language, err error) {
	if !d.Contains(ref) {
		return nil, nil
	}
	s := d.sessionOf(ref)
	l := lists{Space: sp, all: sandboxed(of, sp)}
	if sv := s.Server(of.Server); of.Group == ir.MCP && sv != nil {
		l.tools(sv.Enabled...)
		l.tools(sv.Disabled...)
		for tool := range sv.Tools {
			l.tools(tool)
		}
	}
	seen := map[*policy.Engine]bool{}
	for _, list := range s.hooks {
		for _, h := range list {
			if h.role != modec || seen[h.policy] {
				continue
			}
			seen[h.policy] = true
			if err := l.policy(h, ref, of); err != nil {
				return nil, err
			}
		}
	}
	return l.all, nil
}

// Languages returns the folders that no sandbox opens.
func (alone) Languages(_ ir.SubjectRef, of policy.Field, sp *regular.Space) ([]regular.Language, error) {
	return sandboxed(of, sp), nil
}

// sandboxed returns the files that no sandbox lets be written.
func sandboxed(of policy.Field, sp *regular.Space) (all []regular.Language) {
	if of.Group != ir.Edit {
		return nil
	}
	for _, dir := range protected {
		all = append(all, sp.Cat(sp.Text(dir), sp.Optional(sp.Cat(sp.Text("/"), regular.All))))
	}
	return all
}

type lists struct {
	*regular.Space
	all []regular.Language
}

// policy adds what a hook decides by: its subject's policy, and that of the mode in which the subject works.
func (l *lists) policy(h *hookEntry, ref ir.SubjectRef, of policy.Field) error {
	for _, ref := range h.decideFor(ref) {
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

// tools adds tools, each with those that Codex hands to a model under the same name.
func (l *lists) tools(names ...string) {
	for _, name := range names {
		same := l.Text("")
		for _, c := range name {
			letter := l.Text(string(c))
			if c == '_' || c == '-' || c == '.' {
				letter = l.Or(l.Text("_"), l.Text("-"))
			}
			same = l.Cat(same, letter)
		}
		l.all = append(l.all, l.Text(name), same)
	}
}
