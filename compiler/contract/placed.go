package contract

import (
	"io/fs"

	"modec.dev/modec/compiler/diag"
)

// Placed is a Judged target with deciders that can work at a disk, where the project lies and
// its hooks are installed.
type Placed interface {
	Judged
	// OpenAt is Open for sessions at a disk. A path begins in the project's folder and may be
	// written in any form that an agent takes. Every hook that the artifacts install answers,
	// also one without which the rules would hold.
	OpenAt(fsys fs.FS, o Options, at Disk) ([]Decider, diag.List)
}

// Written returns a path as the artifacts would write it: relative to the project where it lies
// inside, else as it is.
func (d Disk) Written(file string) string {
	if names := d.Names(".", file); len(names) > 0 {
		return names[0]
	}
	return file
}

// At returns the request of the model of an agent that acts at a disk.
func (r HookRequest) At(d Disk) HookRequest {
	r.AnyArgs = true
	r.Root, r.Home, r.Resolve, r.Same, r.Folds = d.Root, d.Home, d.Resolve, d.Same, d.Folds
	r.Kept = d.Kept
	return r
}
