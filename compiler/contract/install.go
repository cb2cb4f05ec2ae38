package contract

import (
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

// Installer is a target whose agent also reads files in the user's home folder, with which
// one subject can restrict every session on a machine.
type Installer interface {
	Target
	// Home lists the paths that Install may return.
	Home() []string
	// Install returns the files that restrict every session of the agent to a subject. Their
	// hooks read the copy of the policy: nothing in a home folder is relative to the project.
	Install(in Input, ref ir.SubjectRef, policy PolicyCopy) ([]HomeFile, diag.List)
}

// HomeFile is a file below a person's home folder. The person writes it too: modec owns
// nothing in it but what is at its Places.
type HomeFile struct {
	File // Path is slash-separated, relative to the home folder
	// Off is a key of the file that turns the agent's hooks off, and with them the
	// restrictions of the subject; "": there is no such key, or no hook.
	Off string
	// Start is the text into which Data is merged where the file does not exist yet; nil:
	// none.
	Start []byte
	// Artifact is the project's file with the same meaning. Verify judges the installed
	// file in its place.
	Artifact File
}
