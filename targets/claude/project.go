package claude

import (
	"fmt"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/claude/format"
)

// everybody builds the project's settings file. It reports false where there is nothing to
// say. The file's rules join those of every session, and its mode holds where none is given.
// With the option subject it therefore restricts everybody to one role. With a baseline
// alone it has the rules that all roles have, and the baseline's mode. It travels with the
// repository: it allows nothing, and neither does its hook.
func (e *emitter) everybody() (contract.File, bool) {
	subject, ok := e.subject()
	role := subject
	if ok && role == nil && e.in.Project.Baseline != "" {
		role = e.in.Project.Role(e.in.Project.Baseline)
	}
	if role == nil {
		return contract.File{}, false
	}
	list, mode, err := e.compile(role)
	if err != nil {
		return contract.File{}, false
	}
	joint, ok := e.joint()
	if !ok {
		return contract.File{}, false // the role's own file reports why
	}
	if subject != nil {
		joint = shared{rules: *list, noBypass: mode != format.Bypass, noAuto: mode != format.Auto}
		e.heldToo(subject)
	}
	switch mode {
	case format.AcceptEdits, format.Bypass, format.Auto:
		mode = format.Default // what it approves, a mode may have to ask about
	case format.Plan:
		if !joint.noAuto { // plan then asks a classifier
			mode = format.Default
		}
	}
	permissions := contract.Object{"ask", orEmpty(joint.ask), "deny", orEmpty(joint.deny), "defaultMode", mode}
	if joint.noBypass {
		permissions = append(permissions, "disableBypassPermissionsMode", "disable")
	}
	if joint.noAuto {
		permissions = append(permissions, "disableAutoMode", "disable")
	}
	o := contract.Object{"permissions", permissions}
	if subject != nil && e.hooks {
		o = append(o, "hooks", preToolUse(hookCommand(projectPolicy, "role:"+subject.Name)))
	}
	return contract.File{Path: format.ProjectSettings, Data: contract.JSON(o), Places: settingsPlaces}, true
}

// subject returns the role of the option subject, nil where the option is not given. It
// reports false where the option does not name a role.
func (e *emitter) subject() (*ir.Role, bool) {
	name := e.in.Options.String("subject")
	if name == "" {
		return nil, true
	}
	ref, err := e.in.Project.ParseSubject(name, "")
	if err == nil && (ref.Role == "" || ref.Mode != "") {
		err = fmt.Errorf("got %s, want a role", ref)
	}
	if err != nil {
		e.diags.Errorf(codeUnknownSubject, e.in.Options.Pos("subject"), "%s", err.Error()).
			Path("targets.claude.subject").
			Target("claude")
		return nil, false
	}
	return e.in.Project.Role(ref.Role), true
}

// shared is what several roles have in common: the rules to ask about and to deny, and the
// modes that none of them runs in.
type shared struct {
	rules
	noBypass, noAuto bool
}

// joint returns what all roles have in common. It reports false where one of them does not
// compile.
func (e *emitter) joint() (shared, bool) {
	s := shared{noBypass: true, noAuto: true}
	for i := range e.in.Project.Roles {
		list, mode, err := e.compile(&e.in.Project.Roles[i])
		if err != nil {
			return shared{}, false
		}
		s.noBypass, s.noAuto = s.noBypass && mode != format.Bypass, s.noAuto && mode != format.Auto
		if i == 0 {
			s.ask, s.deny = slices.Clone(list.ask), slices.Clone(list.deny)
		}
		s.ask, s.deny = both(s.ask, list.ask), both(s.deny, list.deny)
	}
	return s, true
}

// both returns the items of a list that another list has too.
func both(list, other []string) []string {
	return slices.DeleteFunc(list, func(rule string) bool { return !slices.Contains(other, rule) })
}

// heldToo reports the roles whose sessions the option subject narrows.
func (e *emitter) heldToo(subject *ir.Role) {
	for i := range e.in.Project.Roles {
		if r := &e.in.Project.Roles[i]; r != subject {
			e.loss("role "+r.Name, r.Pos, "", codeSubject,
				"%s restricts every session to role %s too: a session as role %s may do what both may",
				format.ProjectSettings, subject.Name, r.Name).
				Hint("leave subject out, and start sessions with `modec args`")
		}
	}
}
