package contract

import "path"

// Besides is a target whose agent reads files of a project that a build does not write, or writes only for some
// sources.
type Besides interface {
	Target
	// Beside returns the JSON and TOML files among them with the Places that permit or start something there, and of
	// these the ones that only restrain.
	Beside() []File
}

// IsBeside reports whether a path is that of some target's file beside what a build writes.
func IsBeside(t Target, file string) bool {
	b, ok := t.(Besides)
	if !ok {
		return false
	}
	for _, f := range b.Beside() {
		if path.Clean(file) == f.Path {
			return true
		}
	}
	return false
}

// Reading is a target whose agent reads files of other agents as these do: what such a file permits, it is judged by.
type Reading interface {
	Target
	// Reads reports whether a file is one of these.
	Reads(file string) bool
}
