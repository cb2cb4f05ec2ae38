package ir

// Gateway is modec's gateway as an agent's list of servers has it, in the place of the servers that it starts.
type Gateway struct {
	Name string   `json:"name"` // of its entry
	Args []string `json:"args"` // of modec
	// Mode is the only mode that it serves, by the target's name for it; "": it serves several subjects.
	Mode string `json:"mode,omitempty"`
	// Only is "mode" or "role" where it serves subjects of that kind alone.
	Only string `json:"only,omitempty"`
	// Apart is set where the sessions of each role have one of their own, which serves that role.
	Apart bool `json:"apart,omitempty"`
}

// Fronts is what a server that is modec's gateway has of the servers behind it.
type Fronts struct {
	Gateway
	Tools map[string]ToolRef // by the gateway's own names
	// Resources and Prompts report whether some subject that the gateway serves may have those of a server.
	Resources, Prompts func(server string) bool
}

// Serves reports whether the gateway offers anything to a subject.
func (g *Gateway) Serves(ref SubjectRef) bool {
	of := g.Only == "" || g.Only == "mode" && ref.Mode != "" || g.Only == "role" && ref.Role != ""
	return of && (g.Mode == "" || g.Mode == ref.Mode)
}

// GatewayTool returns the name that a gateway gives a server's tool.
func GatewayTool(server, tool string) string { return server + "_" + tool }
