package contract

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/policy"
)

// GatewayHost is a target that can give its agent modec's gateway in the place of the source's servers.
type GatewayHost interface {
	Target
	// Gateways returns the gateways of the agent's lists, for a source.
	Gateways(*ir.Project) []ir.Gateway
	// Lists returns the files, of those below fsys, with the servers that sessions of a subject start. It shares
	// nothing with the emitter: verify reads there what an agent really starts.
	Lists(fsys fs.FS, ref ir.SubjectRef) []string
}

// GatewayName is the name of the gateway in an agent's list of servers.
const GatewayName = "gateway"

// GatewayArgs returns the arguments of modec with which an agent starts the gateway for a subject, by its name in the
// source; for the zero one for all that use a target's artifacts. The agent asks by itself.
func GatewayArgs(target string, ref ir.SubjectRef) []string {
	args := []string{"gateway", "--agent-asks", "--target", target}
	if ref.Role != "" {
		args = append(args, "--role", ref.Role)
	}
	if ref.Mode != "" {
		args = append(args, "--mode", ref.Mode)
	}
	return args
}

// Gateways returns the gateways of those targets that can have them.
func Gateways(p *ir.Project, targets []Target) map[string][]ir.Gateway {
	all := map[string][]ir.Gateway{}
	for _, t := range targets {
		if h, ok := t.(GatewayHost); ok {
			all[t.Name()] = h.Gateways(p)
		}
	}
	return all
}

// United returns the subjects that the gateway of `modec gateway --target` serves, by the names of the source.
func United(h GatewayHost, source *ir.Project) (refs []ir.SubjectRef) {
	all := ir.Gateway{Only: "none"} // which serves nobody
	for _, g := range h.Gateways(source) {
		if g.Mode == "" {
			all = g
		}
	}
	for _, ref := range source.Subjects() {
		if in, ok := InView(h, source, ref); ok && all.Serves(in) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// SourceName returns the name in the source of a role that a target's view has under another.
func SourceName(source *ir.Project, target, role string) string {
	for i := range source.Roles {
		if r := &source.Roles[i]; r.Place.Name(target, r.Name) == role {
			return r.Name
		}
	}
	return role
}

// Started is a server of an agent's list.
type Started struct {
	Name     string
	At       diag.Pos
	Gateway  bool          // it is modec's
	Ref      ir.SubjectRef // by the names of the source
	Target   string        // whose rules it knows; without Ref it serves all of its subjects together
	Explicit bool          // it asks by itself, and denies what is left to the agent
	Says     string        // its entry, in one line
}

// StartedIn returns what a list of servers starts.
func StartedIn(fsys fs.FS, file string) (list []Started) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil
	}
	root, err := located.JSONC(file, data) // some agents read comments
	if err != nil {
		return nil // the target's model tells it
	}
	for _, m := range root.Get("mcpServers").Fields() {
		s := Started{Name: m.Key, At: m.Pos, Explicit: true, Says: string(JSONLine(m.Value.Any()))}
		command, _ := m.Value.Get("command").Str()
		args := m.Value.Get("args").Strings()
		at := slices.Index(args, "gateway")
		if m.Value.Get("disabled").True() {
			continue
		}
		s.Gateway = command == "modec" && at >= 0
		for i := at + 1; s.Gateway && i < len(args); i++ {
			value := func() string {
				i++
				if i < len(args) {
					return args[i]
				}
				return ""
			}
			switch args[i] {
			case "--agent-asks":
				s.Explicit = false
			case "--role":
				s.Ref.Role = value()
			case "--mode":
				s.Ref.Mode = value()
			case "--target":
				s.Target = value()
			}
		}
		list = append(list, s)
	}
	return list
}

// CheckGateways reports what keeps gateways from standing in the place of the servers of a target's view.
func CheckGateways(t Target, source, view *ir.Project, at diag.Pos) (diags diag.List) {
	for _, g := range view.Gateways[t.Name()] {
		sv := external(view, g.Name)
		if i := slices.IndexFunc(view.Behind, func(s ir.Server) bool { return s.Name == g.Name }); i >= 0 {
			sv = &view.Behind[i]
		}
		if sv != nil {
			diags.Errorf(diag.BadConfig, sv.Pos, "the server %q has the name of the gateway", sv.Name).
				Target(t.Name()).Hint("rename the server")
		}
	}
	names := map[string]ir.ToolRef{}
	for i := range view.Behind {
		sv := &view.Behind[i]
		for _, tool := range sv.Tools {
			own := policy.SourceServer(source, t.Name(), sv.Name)
			name := strings.ToLower(policy.AgentName(ir.GatewayTool(own, tool.Name)))
			if other, twice := names[name]; twice {
				diags.Errorf(diag.BadConfig, cmp.Or(tool.Pos, at),
					"the tool %q of server %q and the tool %q of server %q would both be %q behind the gateway",
					other.Tool, other.Server, tool.Name, sv.Name, name).
					Target(t.Name()).Hint("rename one of the servers")
			}
			names[name] = ir.ToolRef{Server: sv.Name, Tool: tool.Name}
		}
	}
	return diags
}

func external(p *ir.Project, name string) *ir.Server {
	i := slices.IndexFunc(p.Servers, func(s ir.Server) bool { return s.Name == name && s.Gateway == nil })
	if i < 0 {
		return nil
	}
	return &p.Servers[i]
}
