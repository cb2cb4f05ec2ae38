package contract

import (
	"cmp"
	"slices"
	"strings"
	"time"

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

// Used warns that an exception widens what a target emits.
func (x *Exception) Used(diags *diag.List, target, message string, args ...any) {
	diags.Warnf(diag.ExceptionUsed, x.Pos, message, args...).
		Hintf("reason: %s, until %s", x.Reason, x.Until.Format(time.DateOnly)).
		Target(target).
		Subject(x.Subject.String()).
		Loses(diag.Widening, string(x.Group))
}

// Shares reports whether an exception puts a server that is off by default into the list that everybody shares, and
// warns of it.
func (in *Input) Shares(diags *diag.List, target string, s *ir.Server) bool {
	for i := range in.Exceptions {
		if x := &in.Exceptions[i]; x.Group == ir.MCP && x.Server == s.Name {
			x.Used(diags, target, "the server %q, off by default, is in the list that everybody shares", s.Name)
			return true
		}
	}
	return false
}

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
