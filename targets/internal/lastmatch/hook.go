package lastmatch

import (
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

// plugins returns the hook of a subject's sessions as the list of a session has it.
func (e *Emitter) plugins(ref ir.SubjectRef) []any {
	at := format.SessionHook
	if e.copies != nil {
		at = e.copies.Put(*e.agent.Hook)
	}
	line := e.in.SessionHook(e.agent.Name, ref) + contract.Refusing
	return []any{[]any{at, contract.Object{format.HookCommand, line}}}
}

// projectPlugins returns the hook as the file of the project has it, by what stands beside its path.
func (e *Emitter) projectPlugins(says contract.Object) []any {
	return []any{[]any{format.BesideFile(e.File(), e.agent.Hook.Path), says}}
}
