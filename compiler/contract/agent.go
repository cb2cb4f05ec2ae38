package contract

// Agent says how `modec doctor` finds the agent of a target on a machine.
type Agent struct {
	Name string // "Claude Code"
	// Programs are its names on the path; each prints its version with --version.
	Programs []string
	// Extension is its identifier as an extension of VS Code and of editors like it.
	Extension string
	// Observed is the version with which the target's model was compared; "" where the
	// agent was not run.
	Observed string
	// Unnamed is set where the agent does not tell its hook which mode calls: the hook decides as for the role.
	Unnamed bool
}

// Installed is a target whose agent can be found on a machine.
type Installed interface {
	Target
	Agent() Agent
}
