package compiler

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// inherited returns the node of a field: the subject's own, else the parents'
// in the order written; two parents that disagree are an error.
func (r *resolver) inherited(s *subject, name string) *node { return r.inheritedField(s, name).node }

// inheritedField is inherited for a field that may be written under one of
// several names. Each is looked up once for a subject: parents that share their
// parents would multiply the work.
func (r *resolver) inheritedField(s *subject, names ...string) field {
	f, ok := s.fields[names[0]]
	if !ok {
		f = r.lookUp(s, names)
		if s.fields == nil {
			s.fields = map[string]field{}
		}
		s.fields[names[0]] = f
	}
	return f
}

func (r *resolver) lookUp(s *subject, names []string) field {
	for _, name := range names {
		if n := s.node.get(name); n != nil {
			return field{name: name, node: n}
		}
	}
	var found field
	var from *subject
	for _, p := range s.parents {
		if p.kind == policyKind {
			continue
		}
		f := r.inheritedField(p, names...)
		switch {
		case f.node == nil:
		case found.node == nil:
			found, from = f, p
		case f.name != found.name || !equal(found.node, f.node):
			r.diags.Errorf(diag.ParentsDisagree, s.extendsPos(), "got two values of %s, from %s and %s, want the subject to say which", names[0], from, p).
				Path(s.path+"."+names[0]).
				Related(found.node.pos, from.String()).
				Related(f.node.pos, p.String())
		}
	}
	return found
}

// text returns a text field, written in place or in a file. ok is false when
// the subject has none; a file that cannot be read or says nothing is reported.
func (r *resolver) text(s *subject, name string) (text string, ok bool) {
	own, file := s.node.get(name), s.node.get(name+"File")
	if own != nil && file != nil {
		r.diags.Errorf(diag.Conflict, file.pos, "got %sFile beside %s, want one of them", name, name).
			Path(s.path+"."+name+"File").
			Related(own.pos, "the text is here")
	}
	switch f := r.inheritedField(s, name, name+"File"); {
	case f.node == nil:
		return "", false
	case f.name == name:
		return f.node.text, true
	default:
		text, ok := r.prompt(f.node, s.path+"."+f.name)
		if ok && strings.TrimSpace(text) == "" {
			r.diags.Errorf(diag.BadValue, f.node.pos, "got %q, which is empty, want text in it", f.node.text).
				Path(s.path + "." + f.name)
		}
		return text, true
	}
}

// prompt reads the file that a field names: relative to the file that names
// it, inside the project.
func (r *resolver) prompt(n *node, at string) (string, bool) {
	name := path.Join(path.Dir(n.pos.File), n.text)
	if path.IsAbs(n.text) || strings.ContainsAny(n.text, "\\\x00") || name == ".." || strings.HasPrefix(name, "../") {
		r.diags.Errorf(diag.PathOutside, n.pos, "got %q, want a file inside the project", n.text).Path(at)
		return "", false
	}
	if text, ok := r.prompts[name]; ok {
		return text, true
	}
	b, ok := r.read(name, n.pos)
	if !ok {
		return "", false
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(b), "\uFEFF"), "\r\n", "\n")
	r.prompts[name] = text
	return text, true
}

func (r *resolver) mode(s *subject) ir.Mode {
	m := ir.Mode{Slug: s.name, Pos: s.pos, Name: text(s.node.get("name")), Can: s.can,
		Description: text(r.inherited(s, "description")), WhenToUse: text(r.inherited(s, "whenToUse")), Model: text(r.inherited(s, "model")),
		Restrictions: decodeRestrictions(r.inherited(s, "mcpRestrictions")), Extra: decodeExtra(r.inherited(s, "extra")), Builtin: s.builtin}
	var ok bool
	m.CustomInstructions, _ = r.text(s, "customInstructions")
	if m.RoleDefinition, ok = r.text(s, "roleDefinition"); !ok && !s.node.wrote("roleDefinition") && !s.node.wrote("roleDefinitionFile") {
		r.diags.Errorf(diag.MissingField, s.node.pos, "got no roleDefinition, want roleDefinition or roleDefinitionFile").
			Path(s.path)
	}
	r.restrictionRefs(s, m.Restrictions)
	seen := map[string]diag.Pos{}
	for i, n := range elems(r.inherited(s, "rules")) {
		at := fmt.Sprintf("%s.rules[%d]", s.path, i)
		name := path.Base(n.text)
		if other, ok := seen[name]; ok {
			r.diags.Errorf(diag.DuplicateRulesFile, n.pos, "got a second file called %q, want distinct names", name).
				Path(at).
				Related(other, "the first one")
		}
		seen[name] = n.pos
		text, _ := r.prompt(n, at)
		m.Rules = append(m.Rules, ir.RuleFile{Name: name, Text: text, Pos: n.pos})
	}
	return m
}

func (r *resolver) role(s *subject) ir.Role {
	r.sweeten(s)
	mode := r.inherited(s, "permissionMode")
	role := ir.Role{Name: s.name, Pos: s.pos, Can: s.can, Description: text(r.inherited(s, "description")), PermissionMode: text(mode),
		Env: textMap(r.inherited(s, "env")), ClaudeRules: s.rules, Extra: decodeExtra(r.inherited(s, "extra"))}
	if mode != nil {
		role.PermissionModePos = mode.pos
	}
	role.AppendSystemPrompt, _ = r.text(s, "appendSystemPrompt")
	if n := r.inherited(s, "tools"); n != nil {
		l := texts(n)
		role.Tools = &l
	}
	if n := r.inherited(s, "modes"); n != nil {
		for i, e := range n.elems {
			r.modeRef(e, fmt.Sprintf("%s.modes[%d]", s.path, i))
		}
		l := texts(n)
		role.Modes, role.ModesPos = &l, n.pos
	}
	if n := r.inherited(s, "claims"); n != nil {
		role.Claims = map[string][]string{}
		for _, f := range n.fields {
			values := texts(f.node)
			if f.node.kind == stringKind {
				values = []string{f.node.text}
			}
			slices.Sort(values)
			role.Claims[f.name] = slices.Compact(values)
		}
	}
	return role
}
