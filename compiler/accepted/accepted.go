// Package accepted keeps, for this user and outside the repository, what of a project's permissions
// and programs the user has accepted: a repository that somebody else wrote starts nothing before.
package accepted

import (
	"encoding/json"
	"fmt"
	"slices"

	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/record"
)

const (
	version = 1
	folder  = "accepted"
)

// Point is one thing that a project allows, starts or runs.
type Point struct {
	Kind Kind   `json:"kind" enum:"allows,starts,runs"`
	Of   string `json:"of,omitempty" jsonschema:"the subject or the file that says it"`
	Text string `json:"text"`
}

// Kind is what a point is about.
type Kind string

const (
	Allows Kind = "allows" // a subject may do it without a question
	Starts Kind = "starts" // a server, which the agent starts or connects to
	Runs   Kind = "runs"   // a program or a setting that the agent takes from a file: a hook
)

// Record is what the user has accepted of one project.
type Record struct {
	Version int     `json:"version"`
	Root    string  `json:"root"` // the project's folder, without symbolic links
	Points  []Point `json:"points"`

	place string
}

// Load returns the record of a project. It is empty where there is none, and where it is not the
// user's own file.
func Load(root string) *Record {
	r := &Record{}
	place, root := originals.Place(folder, root)
	if json.Unmarshal(record.Read(place), r) != nil || r.Version != version || r.Root != root {
		r = &Record{}
	}
	r.Version, r.Root, r.place = version, root, place
	return r
}

// New returns those points that the user has not accepted.
func (r *Record) New(points []Point) []Point {
	return slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return slices.Contains(r.Points, p) })
}

// Accept adds points to the record. Where the user has no folder for it nothing is kept: the user is
// asked each time.
func (r *Record) Accept(points []Point) error {
	if r.place == "" {
		return nil
	}
	r.Points = append(r.Points, r.New(points)...)
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := record.Keep(r.place, data); err != nil {
		return fmt.Errorf("it cannot be noted that you accept this: %w", err)
	}
	return nil
}
