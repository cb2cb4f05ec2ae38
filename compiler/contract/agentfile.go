package contract

import "slices"

// AgentFile is a kind of file that an agent has in a project.
type AgentFile struct {
	// Path lies below the project's root. A last segment with "*" or "?" is a pattern of
	// path.Match. One that ends in a slash stands for everything below a folder.
	Path string
	// Imported is set for what an import reads: where it lies in a folder of its own, that
	// folder can be imported. With the reason Private it is one person's, and none for a source that
	// a team shares.
	Imported bool
	// Reason and Why say why an import leaves the file where it is. Why is in lower case and
	// without a period.
	Reason Reason
	Why    string
	// Look returns another reason for a file of which the text says more than its path, or
	// "", "" for one that is not the agent's. nil: the path says it.
	Look func(data []byte) (Reason, string)
}

// Reason says why an import does not take a file.
type Reason string

const (
	// Instructions are read in every session: no mode owns them.
	Instructions Reason = "instructions"
	// Prompts are texts that a person or the model calls up.
	Prompts Reason = "prompts"
	// Permission is one that no mode or role has, or that is taken from all. It stays in force.
	Permission Reason = "permission"
	// Programs decide, or run, which the source cannot say.
	Programs Reason = "programs"
	// Settings permit nothing to a mode or role.
	Settings Reason = "settings"
	// Private files belong to one person, and not to the repository.
	Private Reason = "personal"
	// NoTarget is a file of an agent of which modec imports nothing.
	NoTarget Reason = "no-target"
	// NotRead is a file that the agent itself does not read, or not beside another one.
	NotRead Reason = "not-read"
	// NotLoaded is a file that the agent itself refuses as it is.
	NotLoaded Reason = "not-loaded"
	// Unknown is a file in an agent's folder about which modec knows nothing.
	Unknown Reason = "unknown"
	// Nested is a folder with files of an agent that can be imported by themselves.
	Nested Reason = "nested-project"
	// NotSearched is a part of the project that was too large to be searched.
	NotSearched Reason = "not-searched"
)

// Reasons are all of them, those first that a person should know of first.
var Reasons = []Reason{
	NotLoaded, Permission, Programs, Nested, NoTarget, NotSearched, Private, Unknown, NotRead, Settings, Prompts,
	Instructions,
}

// FileLister is an importer that lists the files of its agent, so that a migration can name
// those that it sees and does not take. Of two kinds that a file is of, the first one counts.
type FileLister interface {
	Importer
	AgentFiles() []AgentFile
}

// IsPrivate reports whether a file is of a kind that belongs to one person, for an agent of some targets.
func IsPrivate(all []Target, file string) bool {
	return slices.ContainsFunc(all, func(t Target) bool {
		lister, ok := t.(FileLister)
		return ok && slices.ContainsFunc(lister.AgentFiles(), func(f AgentFile) bool {
			return f.Path == file && f.Reason == Private
		})
	})
}
