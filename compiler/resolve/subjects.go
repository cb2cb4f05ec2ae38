package resolve

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/source"
)

// inherited returns the node of a field: the subject's own, or else that of its parents. It
// reports parents that disagree.
func (r *resolver) inherited(s *subject, name string) *source.Node {
	return r.inheritedField(s, name).Node
}

// inheritedField is inherited for a field that has several names. Each is looked up once for
// a subject, because parents that share their parents would multiply the work.
func (r *resolver) inheritedField(s *subject, names ...string) source.Field {
	f, ok := s.fields[names[0]]
	if !ok {
		f = r.lookUp(s, names)
		if s.fields == nil {
			s.fields = map[string]source.Field{}
		}
		s.fields[names[0]] = f
	}
	return f
}

// lookUp looks up a field of a subject or its parents.
func (r *resolver) lookUp(s *subject, names []string) source.Field {
	for _, name := range names {
		n := s.node
		for part := range strings.SplitSeq(name, ".") {
			n = n.Get(part)
		}
		if n != nil {
			return source.Field{Name: name, Node: n}
		}
	}
	var found source.Field
	var from *subject
	for _, p := range s.parents {
		if p.kind == policyKind {
			continue
		}
		f := r.inheritedField(p, names...)
		switch {
		case f.Node == nil:
		case found.Node == nil:
			found, from = f, p
		case f.Name != found.Name || !source.Equal(found.Node, f.Node):
			r.diags.Errorf(diag.ParentsDisagree, s.extendsPos(),
				"%s and %s have different values of %s; write the one that this subject takes", from, p, names[0]).
				Path(s.path+"."+names[0]).
				Related(found.Node.Pos, from.String()).
				Related(f.Node.Pos, p.String())
		}
	}
	return found
}

// text returns a text field, written in place or in a file. ok is false where the subject has
// none. It reports an empty file.
func (r *resolver) text(s *subject, name string) (text string, ok bool) {
	own, file := s.node.Get(name), s.node.Get(name+"File")
	if own != nil && file != nil {
		r.diags.Errorf(diag.Conflict, file.Pos, "%sFile stands beside %s; keep one of them", name, name).
			Path(s.path+"."+name+"File").
			Related(own.Pos, "the text is here")
	}
	switch f := r.inheritedField(s, name, name+"File"); {
	case f.Node == nil:
		return "", false
	case f.Name == name:
		return f.Node.Text, true
	default:
		text, ok := r.file(f.Node)
		if ok && strings.TrimSpace(text) == "" {
			r.diags.Errorf(diag.BadValue, f.Node.Pos, "the file %q is empty", f.Node.Text).
				Path(s.path + "." + f.Name)
		}
		return text, true
	}
}

// file returns the text of the file that a node names; false where it could not be read,
// which is reported already.
func (r *resolver) file(n *source.Node) (string, bool) {
	name, ok := source.TextPath(n)
	if !ok {
		return "", false
	}
	text, ok := r.texts[name]
	return text, ok
}

// mode makes a mode of the model.
func (r *resolver) mode(s *subject) ir.Mode {
	m := ir.Mode{
		Slug: s.name, Pos: s.pos, Name: text(s.node.Get("name")), Can: s.can, Agents: s.agents, Builtin: s.builtin,
		Description:  text(r.inherited(s, "description")),
		WhenToUse:    text(r.inherited(s, "whenToUse")),
		Model:        text(r.inherited(s, "model")),
		Restrictions: decodeRestrictions(r.inherited(s, "mcpRestrictions")),
		Native:       s.native,
		Extra:        r.agentSettings(s),
		Place:        r.place(s.node, s.path),
	}
	var ok bool
	m.CustomInstructions, _ = r.text(s, "customInstructions")
	m.RoleDefinition, ok = r.text(s, "roleDefinition")
	if !ok && !s.node.Wrote("roleDefinition") && !s.node.Wrote("roleDefinitionFile") {
		r.diags.Errorf(diag.MissingField, s.node.Pos,
			"the mode has no role definition; write roleDefinition or roleDefinitionFile").
			Path(s.path)
	}
	r.restrictionRefs(s, m.Restrictions)
	seen := map[string]diag.Pos{}
	for i, n := range elems(r.inherited(s, "rules")) {
		at := fmt.Sprintf("%s.rules[%d]", s.path, i)
		name := path.Base(n.Text)
		if other, ok := seen[name]; ok {
			r.diags.Errorf(diag.DuplicateRulesFile, n.Pos,
				"a second rules file is called %q; rename one of them", name).
				Path(at).
				Related(other, "the first one")
		}
		seen[name] = n.Pos
		text, _ := r.file(n)
		m.Rules = append(m.Rules, ir.RuleFile{Name: name, Text: text, Pos: n.Pos})
	}
	return m
}

// role makes a role of the model.
func (r *resolver) role(s *subject) ir.Role {
	s.each(func(can *ir.Can) { r.sweeten(s, can) })
	mode := r.inherited(s, "permissionMode")
	role := ir.Role{
		Name: s.name, Pos: s.pos, Can: s.can, Agents: s.agents, PermissionMode: text(mode), Native: s.native,
		Written:     s.written,
		Description: text(r.inherited(s, "description")),
		Env:         textMap(r.inherited(s, "env")),
		Extra:       r.agentSettings(s),
		Place:       r.place(s.node, s.path),
	}
	if mode != nil {
		role.PermissionModePos = mode.Pos
	}
	role.AppendSystemPrompt, _ = r.text(s, "appendSystemPrompt")
	if n := r.inherited(s, "tools"); n != nil {
		l := texts(n)
		role.Tools = &l
	}
	if n := r.inherited(s, "modes"); n != nil {
		for i, e := range n.Elems {
			r.modeRef(e, fmt.Sprintf("%s.modes[%d]", s.path, i))
		}
		l := texts(n)
		role.Modes, role.ModesPos = &l, n.Pos
	}
	if n := r.inherited(s, "claims"); n != nil {
		r.claims(n, &role, s.path+".claims")
	}
	return role
}

// claims decodes who has a role.
func (r *resolver) claims(n *source.Node, role *ir.Role, path string) {
	if n.Kind == source.String {
		role.Principals = ir.Principals(n.Text)
		return
	}
	role.Claims = map[string][]string{}
	for _, f := range n.Fields {
		values := texts(f.Node)
		if f.Node.Kind != source.List {
			values = []string{f.Node.Text}
		}
		slices.Sort(values)
		role.Claims[f.Name] = slices.Compact(values)
		spaced := func(v string) bool { return strings.Contains(v, " ") }
		if ir.ScopeClaim(f.Name) && slices.ContainsFunc(values, spaced) {
			r.diags.Errorf(diag.BadValue, f.Node.Pos,
				"the claim %q is compared word by word: no word has a space", f.Name).
				Path(path + "." + f.Name).
				Hint("write a list with one word each; one of them is enough")
		}
	}
}
