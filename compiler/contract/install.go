package contract

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Installer is a target whose agent also reads files of the user's own, in which one
// subject can hold every session on a machine.
type Installer interface {
	Target
	// Home lists the paths that Install may return.
	Home() []string
	// Install returns what holds the sessions of the agent to a subject. root is the
	// project's folder as an absolute path: nothing in a home folder is relative to
	// it.
	Install(in Input, ref ir.SubjectRef, root string) ([]HomeFile, diag.List)
}

// HomeFile is a file below a person's home folder. It is a person's too: what stands
// at its Shared places is all that is modec's.
type HomeFile struct {
	File // Path is slash-separated, relative to the home folder
	// Strict is set where the agent loads nothing of a file with comments or trailing
	// commas.
	Strict bool
	// Off is a key of the file that switches the agent's hooks off where it is true, and
	// with them what holds the subject; "": there is none, or no hook.
	Off string
	// Start is what the file begins with where there is none; nil: Data alone.
	Start []byte
	// Artifact is the project's file that says the same. The installed file is
	// judged in its place.
	Artifact File
}
