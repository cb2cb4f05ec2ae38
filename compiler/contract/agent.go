package contract

// Agent says how the agent behind a target is found on a machine, for `modec doctor`.
type Agent struct {
	Name string // "Claude Code"
	// Programs are its names on the path; with --version each tells its version.
	Programs []string
	// Extension is the identifier of an extension of VS Code and of editors like it.
	Extension string
	// Observed is the version whose behaviour the target was held against; "" where
	// it was not run.
	Observed string
}

// Installed is a target whose agent can be looked for.
type Installed interface {
	Target
	Agent() Agent
}
