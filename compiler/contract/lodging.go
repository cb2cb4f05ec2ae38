package contract

import (
	"io/fs"
	"slices"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Lodging is a target whose agent loads from the files of a project what a build does not write: agents, and what no
// import reads.
type Lodging interface {
	Target
	// Lodgers returns that. What the compiled files have is not among it.
	Lodgers(project, compiled fs.FS) []Lodger
}

// Joining is a Lodging whose agent reads what several files say of an agent of one name as one: what somebody's own
// says of one that a build wrote changes that one, and its model judges it so.
type Joining interface {
	Lodging
	// Joins reports whether a file is one of these.
	Joins(file string) bool
}

// Lodger is something of somebody's own in a project that an agent loads.
type Lodger struct {
	Kind string // one of the words of EntryWords
	Name string // of an agent the slug of its mode
	Of   string // the agent that starts a server; "" where sessions do
	// Back is set for an agent that is there by default and that a build turned off, and for one that an agent makes
	// of another's settings: where it may do more than the session that turns to it, that is an error.
	Back bool
	// Instead is set for a server that takes the place of one that a build wrote.
	Instead bool
	At      diag.Pos
}

// The words with which an exception begins that names what somebody added.
const (
	EntryAgent  = "agent"
	EntryHook   = "hook"
	EntryPlugin = "plugin"
	EntryServer = "server"
	EntryTool   = "tool"
)

// EntryWords are all of them, in order.
var EntryWords = []string{EntryAgent, EntryHook, EntryPlugin, EntryServer, EntryTool}

// Subject returns that of an agent.
func (l *Lodger) Subject() ir.SubjectRef { return ir.SubjectRef{Mode: l.Name} }

// What names it as an exception does.
func (l *Lodger) What() string { return l.Kind + " " + l.Name }

// AcceptsEntry reports whether an exception names what somebody added, whoever works with it.
func (in *Input) AcceptsEntry(what string) bool {
	return slices.ContainsFunc(in.Exceptions, func(x Exception) bool { return x.Entry == what })
}

// Displaced are the agents of somebody's own that have the name of one that a build wrote: an agent loads one of them,
// and which one depends on how their files are called.
func Displaced(t Target, p *ir.Project, project, compiled fs.FS) (list []Lodger) {
	lodging, ok := t.(Lodging)
	if !ok {
		return nil
	}
	for _, l := range lodging.Lodgers(project, compiled) {
		if l.Displaces(p) {
			list = append(list, l)
		}
	}
	return list
}

// Displaces reports whether a lodger is an agent with the name of a mode of a target's project.
func (l *Lodger) Displaces(p *ir.Project) bool {
	return l.Kind == EntryAgent && slices.ContainsFunc(p.Modes, func(m ir.Mode) bool { return m.Slug == l.Name })
}
