package mcpnest

import (
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest/format"
)

// tool is a row of the table: the roles that may call it.
type tool struct {
	Name  string
	Roles []string
}

// shared is a row of the other table: the roles that may read the resources of a server, and
// those that may get its prompts.
type shared struct {
	Server             string
	Resources, Prompts []string
}

type emitter struct {
	in    contract.Input
	diags diag.List
	roles []*ir.Role // that a principal may have
}

// Emit compiles the tables and puts the code beside them.
func (mcpnest) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in}
	if len(in.Options.Strings("servers")) == 0 {
		e.diags.Warnf(codeNoServers, diag.Pos{File: "modec.toml"},
			"the option servers names no server: nothing is emitted").
			Hint("servers = [\"NAME\"] in [targets.mcpnest]").
			Target("mcpnest")
		return nil, e.diags
	}
	e.roles = e.held()
	servers := e.servers()
	tools := e.tools(servers)
	others := e.shared(servers)
	auth := e.authentication()
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	f := form{version: in.Options.Int("version"), js: in.Options.String("extension") == "js", jwt: auth != ""}
	tables := header + filled("policy.ts.tmpl", table{e.roles, tools, others, auth})
	return append(f.files(), contract.File{Path: format.Policy, Data: []byte(tables)}), e.diags
}

// servers returns the servers that the application implements, each once.
func (e *emitter) servers() []*ir.Server {
	var out []*ir.Server
	for _, name := range e.in.Options.Strings("servers") {
		sv := e.in.Project.Server(name)
		switch {
		case sv == nil:
			e.diags.Errorf(codeUnknownServer, e.in.Options.Pos("servers"), "the inventory has no server %q", name).
				Path("targets.mcpnest.servers")
		case !slices.Contains(out, sv):
			out = append(out, sv)
		}
	}
	return out
}

// tools returns the rows of the table for some servers.
func (e *emitter) tools(servers []*ir.Server) []tool {
	var out []tool
	server := map[string]string{} // by its tools
	for _, sv := range servers {
		for i := range sv.Tools {
			t := &sv.Tools[i]
			if other, ok := server[t.Name]; ok {
				e.diags.Errorf(codeDuplicateTool, t.Pos,
					"the tool %q of %q has the name of a tool of %q; one application needs distinct names",
					t.Name, sv.Name, other)
			}
			server[t.Name] = sv.Name
			row := tool{Name: t.Name, Roles: []string{}}
			for _, r := range e.roles {
				if e.permits(r, policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name}, t.Risk) {
					row.Roles = append(row.Roles, r.Name)
				}
			}
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// shared returns who may read the resources and get the prompts of some servers.
func (e *emitter) shared(servers []*ir.Server) []shared {
	var out []shared
	for _, sv := range servers {
		row := shared{Server: sv.Name, Resources: []string{}, Prompts: []string{}}
		for _, r := range e.roles {
			if e.permits(r, policy.Action{Group: ir.MCP, Server: sv.Name, Kind: policy.Resource}, "") {
				row.Resources = append(row.Resources, r.Name)
			}
			if e.permits(r, policy.Action{Group: ir.MCP, Server: sv.Name, Kind: policy.Prompt}, "") {
				row.Prompts = append(row.Prompts, r.Name)
			}
		}
		out = append(out, row)
	}
	for i := 1; i < len(out); i++ {
		if !slices.Equal(out[i-1].Resources, out[i].Resources) || !slices.Equal(out[i-1].Prompts, out[i].Prompts) {
			e.diags.Warnf(codeSharedResources, e.in.Options.Pos("servers"),
				"%q and %q give resources and prompts to different roles, and MCP-Nest does not name their server",
				out[i-1].Server, out[i].Server).
				Hint("a principal gets those that each server gives; guard the servers in two applications").
				Target("mcpnest").
				Loses(diag.Narrowing, string(ir.MCP))
			break
		}
	}
	return out
}

// held returns the roles that a principal may have.
func (e *emitter) held() []*ir.Role {
	var out []*ir.Role
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		if r.Held() {
			out = append(out, r)
			continue
		}
		e.diags.Warnf(codeUnclaimed, r.Pos, "the role %q has no claims: nobody has it", r.Name).
			Hint("write claims, such as claims: roles: [\""+r.Name+"\"]").
			Target("mcpnest").
			Subject("role "+r.Name).
			Loses(diag.Narrowing, string(ir.MCP))
	}
	return out
}

// permits reports whether a role may call a tool, or use what else a server has. An option
// decides about an ask. What the role leaves to an agent is refused: a server has no agent.
func (e *emitter) permits(r *ir.Role, a policy.Action, risk string) bool {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", err)
		return false
	}
	res := s.DecideWithoutAgent(a)
	if res.Decision != ir.Ask {
		return res.Decision == ir.Allow
	}
	unheld := e.in.Options.String("unheld_ask")
	if unheld == "permit" || unheld == "" && risk != "destructive" {
		return true
	}
	what := strconv.Quote(a.Arg)
	if a.Kind != policy.Tool {
		kinds := map[policy.MCPKind]string{policy.Resource: "resources", policy.Prompt: "prompts"}
		what = fmt.Sprintf("the %s of %q", kinds[a.Kind], a.Server)
		unlisted := policy.Action{Group: ir.MCP, Server: a.Server, Arg: contract.UnknownTool}
		if s.DecideWithoutAgent(unlisted).Decision == res.Decision { // nobody wrote about them
			return false
		}
	}
	e.diags.Warnf(codeUnheldAsk, res.Pos, "a server cannot ask about %s: it is refused", what).
		Hint("unheld_ask = \"permit\" leaves the question to the client").
		Target("mcpnest").
		Subject("role "+r.Name).
		Loses(diag.Narrowing, string(ir.MCP))
	return false
}

// authentication returns the table of what a token requires, "" where modec does not verify tokens.
func (e *emitter) authentication() string {
	o := e.in.Options
	if !o.Bool("jwt") {
		for _, name := range []string{"audience", "issuer", "jwks"} {
			if o.Text(name) != "" {
				e.diags.Warnf(codeToken, o.Pos(name), "%s has no effect without jwt = true", name).
					Path("targets.mcpnest." + name)
			}
		}
		return ""
	}
	for _, name := range []string{"audience", "issuer", "jwks"} {
		if o.Text(name) == "" {
			e.diags.Errorf(codeToken, o.Pos("jwt"), "a token cannot be verified without %s", name).
				Path("targets.mcpnest." + name).
				Hint(jwtExample)
		}
	}
	if u, err := url.Parse(o.String("jwks")); o.String("jwks") != "" &&
		(err != nil || u.Host == "" || u.Scheme != "https" && !(u.Scheme == "http" && loopback(u.Hostname()))) {
		e.diags.Errorf(codeToken, o.Pos("jwks"), "got %q, want an address that begins with https://", o.String("jwks")).
			Path("targets.mcpnest.jwks").
			Hint("whoever answers there can sign tokens; http:// is taken on this machine alone")
	}
	return "{ issuer: " + text(o.String("issuer")) + ", audience: " + texts(o.Strings("audience")) +
		", jwks: " + text(o.String("jwks")) + " }"
}

const jwtExample = "jwt = true needs issuer = \"https://id.example.com/\", " +
	"audience = [\"https://shop.example.com/mcp\"] and jwks = \"https://id.example.com/.well-known/jwks.json\""

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// header is the first line of every stub.
const header = "// Written by modec from the project's source; edits are overwritten.\n\n"

// table is what the template of policy.ts shows.
type table struct {
	Roles          []*ir.Role
	Tools          []tool
	Shared         []shared
	Authentication string
}

// holders writes who has a role: its claims, sorted, with their accepted values.
func holders(r *ir.Role) string {
	if r.Principals != "" {
		return text(string(r.Principals))
	}
	var all []string
	for _, claim := range slices.Sorted(maps.Keys(r.Claims)) {
		all = append(all, key(claim)+": "+texts(r.Claims[claim]))
	}
	return "{ " + strings.Join(all, ", ") + " }"
}
