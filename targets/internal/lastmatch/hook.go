package lastmatch

import (
	"path"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// hooks reports whether the sessions of a subject ask modec about every call: where a list of it holds something back.
// What it denies, leaves or allows as a whole, the agent's own rules hold.
func (e *Emitter) hooks(s *policy.Subject) bool {
	if e.agent.Hook == nil {
		return false
	}
	switch e.in.Hooks() {
	case contract.Always:
		return true
	case contract.WhereNeeded:
		return slices.ContainsFunc([]ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web}, func(g ir.Group) bool {
			return !contract.Denies(s, g) && !contract.Leaves(s, g) && !contract.Opens(s, g)
		})
	}
	return false
}

// ofRedirects returns what to do about lines with redirects.
func (a *Agent) ofRedirects() string {
	hint := "have the agent write files by its own tools"
	if a.Hook != nil {
		hint += ", and say hooks = \"auto\" under [targets." + a.Name + "], so that a plugin refuses what leads to a " +
			"file that is denied"
	}
	return hint
}

// hookLine returns the command that asks for a subject. Where modec does not answer, the call is refused.
func (e *Emitter) hookLine(ref ir.SubjectRef) string {
	reads := "--model " + contract.PolicyFile
	if e.copies != nil {
		reads = e.copies.Policy.Flags()
	}
	name := "mode:" + ref.Mode
	if ref.Role != "" {
		name = "role:" + ref.Role
	}
	return "modec hook " + e.agent.Name + " " + reads + " --subject " + contract.ShellQuote(name) +
		" --digest " + e.in.Policy.Digest(ref) + contract.Closed("modec did not decide: the call is refused")
}

// plugins returns a list with the hook of a subject's sessions, for a file.
func (e *Emitter) plugins(from string, ref ir.SubjectRef) []any {
	return e.pluginsWith(from, contract.Object{format.HookCommand, e.hookLine(ref)})
}

// pluginsWith returns one by what stands beside the path of the hook.
func (e *Emitter) pluginsWith(from string, says contract.Object) []any {
	at := e.agent.Hook.Path
	switch {
	case e.copies != nil:
		at = e.copies.Put(*e.agent.Hook)
	case e.root != "":
		at = path.Join(e.root, at)
	default:
		at = format.BesideFile(from, at)
	}
	return []any{[]any{at, says}}
}
