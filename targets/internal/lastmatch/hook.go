package lastmatch

import (
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
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

// plugins returns a list with the hook of a subject's sessions, for a file in a folder.
func (e *Emitter) plugins(from string, ref ir.SubjectRef) []any {
	return e.pluginsWith(from, contract.Object{e.agent.Hook.Command, e.hookLine(ref)})
}

// pluginsWith returns one by what stands beside the path of the hook.
func (e *Emitter) pluginsWith(from string, says contract.Object) []any {
	at := e.agent.Hook.File
	switch {
	case e.copies != nil:
		at = e.copies.Put(e.hookFile())
	case e.root != "":
		at = path.Join(e.root, at)
	default:
		at = strings.Repeat("../", strings.Count(from+"/", "/")) + at
		if from == "." {
			at = "./" + e.agent.Hook.File
		}
		if dir := path.Dir(e.agent.Hook.File); from == dir {
			at = "./" + path.Base(e.agent.Hook.File)
		}
	}
	return []any{[]any{at, says}}
}

// hookFile is the plugin itself.
func (e *Emitter) hookFile() contract.File {
	return contract.File{Path: e.agent.Hook.File, Data: e.agent.Hook.Text}
}
