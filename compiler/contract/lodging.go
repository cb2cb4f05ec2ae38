package contract

import (
	"io/fs"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Lodging is a target whose agent loads from the files of a project what neither a build writes nor an import reads.
type Lodging interface {
	Target
	// Lodgers returns that. What the compiled files have is not among it.
	Lodgers(project, compiled fs.FS) []Lodger
}

// Lodger is something of somebody's own in a project that an agent loads: one of its fields says what.
type Lodger struct {
	Mode    string // the slug of an agent
	Program string // code that runs in sessions, or a server that an agent starts: "the plugin x.ts"
	Server  string // a server that no build wrote into such a file
	// Instead is set for a server that takes the place of one that a build wrote.
	Instead bool
	At      diag.Pos
}

// Subject returns that of an agent.
func (l *Lodger) Subject() ir.SubjectRef { return ir.SubjectRef{Mode: l.Mode} }
