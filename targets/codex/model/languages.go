package model

import (
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/codex/format"
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
	for _, h := range d.sessionOf(ref).judged() {
		h.AddPermitted(out, ref)
	}
	return out
}

// ToolName returns a tool's name as Codex hands it to a model, after the server's.
func (d *decider) ToolName(name string) string { return format.Plain(name) }

// Languages returns what decides about a subject's plain arguments: the policy of each hook, the tools that a
// configuration names, and the folders that no sandbox opens.
func (d *decider) Languages(
	ref ir.SubjectRef, of policy.Field, sp *regexlang.Space,
) (all []regexlang.Language, err error) {
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
	said, tools, err := contract.HookLanguages(sp, s.judged(), ref, of)
	l.all = append(l.all, said...)
	l.tools(tools...)
	return l.all, err
}

// Languages returns the folders that no sandbox opens.
func (alone) Languages(_ ir.SubjectRef, of policy.Field, sp *regexlang.Space) ([]regexlang.Language, error) {
	return sandboxed(of, sp), nil
}

// sandboxed returns the files that no sandbox lets be written.
func sandboxed(of policy.Field, sp *regexlang.Space) (all []regexlang.Language) {
	if of.Group != ir.Edit {
		return nil
	}
	for _, dir := range protected {
		all = append(all, sp.Cat(sp.Text(dir), sp.Optional(sp.Cat(sp.Text("/"), regexlang.All))))
	}
	return all
}

type lists struct {
	*regexlang.Space
	all []regexlang.Language
}

// tools adds tools, each with those that Codex hands to a model under the same name.
func (l *lists) tools(names ...string) {
	for _, name := range names {
		same := l.TextOf(name, func(c rune) regexlang.Set {
			if strings.ContainsRune("_-.", c) {
				return regexlang.SetOf(func(c rune) bool { return c == '_' || c == '-' })
			}
			return regexlang.SetOf(func(as rune) bool { return as == c })
		})
		l.all = append(l.all, l.Text(name), same)
	}
}
