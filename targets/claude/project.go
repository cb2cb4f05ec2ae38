package claude

import (
	"fmt"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
)

// sharedSettings is the settings file of the project, under every session in it.
const sharedSettings = ".claude/settings.json"

// everybody builds the project's settings file; false where nothing is to be said. Its
// rules join those of every session, and its mode holds where none is given. With the
// option subject it therefore holds everybody to one role; with a baseline alone it
// has the rules that all roles have, and the baseline's mode. It travels with the
// repository: it allows nothing, and neither does its hook.
func (e *emitter) everybody() (contract.File, bool) {
	var role *ir.Role
	name := e.in.Options.String("subject")
	switch {
	case name != "":
		ref, err := e.in.Project.ParseSubject(name, "")
		if err == nil && (ref.Role == "" || ref.Mode != "") {
			err = fmt.Errorf("got %s, want a role", ref)
		}
		if err != nil {
			e.diags.Errorf(codeUnknownSubject, e.in.Options.Pos("subject"), "%s", err.Error()).
				Path("targets.claude.subject").
				Target("claude")
			return contract.File{}, false
		}
		role = e.in.Project.Role(ref.Role)
	case e.in.Project.Baseline != "":
		role = e.in.Project.Role(e.in.Project.Baseline)
	}
	if role == nil {
		return contract.File{}, false
	}
	list, mode, err := e.compile(role)
	if err != nil {
		return contract.File{}, false
	}
	var joint rules
	noBypass, noAuto := true, true
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		other, own, otherErr := e.compile(r)
		if otherErr != nil {
			return contract.File{}, false // said by the role's own file
		}
		noBypass, noAuto = noBypass && own != "bypassPermissions", noAuto && own != "auto"
		if i == 0 {
			joint.ask, joint.deny = slices.Clone(other.ask), slices.Clone(other.deny)
		}
		missing := func(in []string) func(string) bool {
			return func(rule string) bool { return !slices.Contains(in, rule) }
		}
		joint.ask, joint.deny = slices.DeleteFunc(joint.ask, missing(other.ask)), slices.DeleteFunc(joint.deny, missing(other.deny))
	}
	if name != "" {
		joint, noBypass, noAuto = *list, mode != "bypassPermissions", mode != "auto"
		e.heldToo(role)
	}
	if mode == "acceptEdits" || mode == "bypassPermissions" || mode == "auto" || mode == "plan" && !noAuto {
		mode = "default" // what it approves, a mode may have to ask about; plan asks a classifier where nothing forbids it
	}
	permissions := contract.Object{"ask", orEmpty(joint.ask), "deny", orEmpty(joint.deny), "defaultMode", mode}
	if noBypass {
		permissions = append(permissions, "disableBypassPermissionsMode", "disable")
	}
	if noAuto {
		permissions = append(permissions, "disableAutoMode", "disable")
	}
	o := contract.Object{"permissions", permissions}
	if name != "" && e.hooks {
		o = append(o, "hooks", preToolUse(hookCommand(projectModel, "role:"+role.Name, false)))
	}
	return contract.File{Path: sharedSettings, Data: contract.JSON(o), Places: settingsPlaces}, true
}

// heldToo reports the roles whose sessions the option subject narrows.
func (e *emitter) heldToo(subject *ir.Role) {
	for i := range e.in.Project.Roles {
		if r := &e.in.Project.Roles[i]; r != subject {
			e.loss("role "+r.Name, r.Pos, "", codeSubject, fmt.Sprintf("%s holds every session to role %s too: a session as role %s may do what both may", sharedSettings, subject.Name, r.Name), "leave subject out, and start sessions with `modec args`")
		}
	}
}
