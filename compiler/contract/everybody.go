package contract

import (
	"cmp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// everybody is the option that names the role of every session of a project.
const everybody = "subject"

// Everybody returns the role of every session of the project, for a target that names it by the option subject: else it
// is the baseline, "" for none. What the option says wrongly is an error with the code.
func (in *Input) Everybody(diags *diag.List, target string, code diag.Code) (role string) {
	text := in.Options.String(everybody)
	if text == "" {
		return in.Project.Baseline
	}
	ref, err := in.Project.ParseSubject(text, "")
	wrong := func(message string, args ...any) {
		diags.Errorf(code, in.Options.Pos(everybody), message, args...).
			Path("targets." + target + "." + everybody).
			Target(target)
	}
	switch {
	case err != nil:
		wrong("%s", err.Error())
	case ref.Role == "":
		wrong("got %q, want a role", text)
	}
	return ref.Role
}

// TableOf says what to write into modec.toml for a target whose sessions go by a role.
func TableOf(t Target, role, baseline string) string {
	table := "[targets." + t.Name() + "]"
	if role != baseline && slices.ContainsFunc(t.Options(), func(o Option) bool { return o.Name == everybody }) {
		table += " and below it " + everybody + " = \"role:" + role + "\""
	}
	return table
}

// Everybody returns the same role as a model reads it, which has no project to look it up in.
func (o Options) Everybody() ir.SubjectRef {
	return ir.SubjectRef{Role: cmp.Or(o.Chosen(), o.Baseline())}
}

// Chosen returns the role that the option names, "" for none.
func (o Options) Chosen() string { return strings.TrimPrefix(o.String(everybody), "role:") }

// LeaveOut warns of rules that a subject has for one agent alone, and that is not the target's.
func LeaveOut(diags *diag.List, code diag.Code, target, subject string, rules ...ir.NativeRule) {
	for _, n := range rules {
		if n.Target == target {
			continue
		}
		diags.Warnf(code, n.Pos, "the rule %q is for %s alone: it is left out", n.Text, n.Target).
			Hint("say it in can, where every target understands it").
			Target(target).
			Subject(subject).
			Loses(diag.Text, "")
	}
}
