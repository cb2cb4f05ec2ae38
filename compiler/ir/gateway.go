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

// Started returns the server of that name, one that a gateway starts included; nil when there is none.
func (p *Project) Started(name string) *Server {
	for i := range p.Behind {
		if p.Behind[i].Name == name {
			return &p.Behind[i]
		}
	}
	return p.Server(name)
}

// BehindGateway returns how the gateways of a target's view name a tool of a server that is behind them. "*" stands for
// the tools that need not be named: neither destructive, nor of a server that is not enabled by default.
func (p *Project) BehindGateway(server, tool string) (list []ToolRef) {
	for i := range p.Behind {
		sv := &p.Behind[i]
		for j := range sv.Tools {
			t := &sv.Tools[j]
			whole := tool == "*" && sv.DefaultEnabled && t.Risk != "destructive"
			if sv.Name == server && (t.Name == tool || whole) {
				list = append(list, p.fronted(server, t.Name)...)
			}
		}
	}
	return list
}

func (p *Project) fronted(server, tool string) (list []ToolRef) {
	for i := range p.Servers {
		if sv := &p.Servers[i]; sv.Gateway != nil {
			for name, of := range sv.Gateway.Tools {
				if of.Server == server && of.Tool == tool {
					list = append(list, ToolRef{Server: sv.Name, Tool: name})
				}
			}
		}
	}
	return list
}

// GatewayTool returns the name that a gateway gives a server's tool.
func GatewayTool(server, tool string) string { return server + "_" + tool }
