package mcpnest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/mcpnest/format"
)

// tool is a row of the table: the roles that may call it.
type tool struct {
	name   string
	roles  []string
	hidden bool // user.roles alone decides, so that @ToolRoles can filter the list
}

type emitter struct {
	in    contract.Input
	diags diag.List
}

// Emit compiles the table and its guards.
func (mcpnest) Emit(in contract.Input) ([]contract.File, diag.List) {
	e := &emitter{in: in}
	names := in.Options.Strings("servers")
	if len(names) == 0 {
		e.diags.Warnf(codeNoServers, diag.Pos{File: "modec.toml"},
			"got no servers that this application implements: nothing is emitted").
			Hint("servers = [\"NAME\"] in [targets.mcpnest]").
			Target("mcpnest")
		return nil, e.diags
	}
	tools := e.tools(names)
	if e.diags.HasErrors() {
		return nil, e.diags
	}
	form := stub{version: in.Options.Int("version")}
	if in.Options.String("extension") == "js" {
		form.suffix = ".js"
	}
	form.strategy = form.version != 1 && slices.ContainsFunc(tools, func(t tool) bool { return !t.hidden })
	files := []contract.File{
		{Path: format.Guards, Data: []byte(form.guards())},
		{Path: format.Index, Data: []byte(form.index())},
		{Path: format.Policy, Data: e.policyTS(form, tools)},
	}
	if form.strategy {
		files = append(files, contract.File{Path: format.Strategy, Data: []byte(form.strategyTS())})
	}
	return files, e.diags
}

// tools returns the rows of the table for some servers.
func (e *emitter) tools(names []string) []tool {
	var out []tool
	server := map[string]string{} // by its tools
	roles := e.claimed()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		sv := e.in.Project.Server(name)
		if sv == nil {
			e.diags.Errorf(codeUnknownServer, e.in.Options.Pos("servers"),
				"the inventory has no server %q", name).
				Path("targets.mcpnest.servers")
			continue
		}
		for i := range sv.Tools {
			t := &sv.Tools[i]
			if other, ok := server[t.Name]; ok {
				e.diags.Errorf(codeDuplicateTool, t.Pos,
					"the tool %q of %q has the name of a tool of %q; one application needs distinct names",
					t.Name, sv.Name, other)
			}
			server[t.Name] = sv.Name
			out = append(out, e.tool(sv, t, roles))
		}
	}
	slices.SortFunc(out, func(a, b tool) int { return strings.Compare(a.name, b.name) })
	return out
}

func (e *emitter) tool(sv *ir.Server, t *ir.Tool, roles []*ir.Role) tool {
	row := tool{name: t.Name, hidden: true, roles: []string{}}
	for _, r := range roles {
		if !e.permits(r, sv, t) {
			continue
		}
		row.roles = append(row.roles, r.Name)
		if _, ok := r.Claims["roles"]; !ok || len(r.Claims) > 1 {
			row.hidden = false
		}
	}
	return row
}

// claimed returns the roles that a token can give a principal.
func (e *emitter) claimed() []*ir.Role {
	var out []*ir.Role
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		if len(r.Claims) > 0 {
			out = append(out, r)
			continue
		}
		e.diags.Warnf(codeUnclaimed, r.Pos, "the role %q has no claims: nobody holds it", r.Name).
			Hint("write claims, such as claims: roles: [\""+r.Name+"\"]").
			Target("mcpnest").
			Subject("role "+r.Name).
			Loses(diag.Narrowing, string(ir.MCP))
	}
	return out
}

// permits reports whether a role may call a tool. What becomes of an ask is an option. What the
// role leaves to an agent is refused: a server has none.
func (e *emitter) permits(r *ir.Role, sv *ir.Server, t *ir.Tool) bool {
	s, err := e.in.Policy.Subject(ir.SubjectRef{Role: r.Name})
	if err != nil {
		e.diags.Errorf(diag.BadPattern, r.Pos, "%v", err)
		return false
	}
	res := s.Decide(policy.Action{Group: ir.MCP, Server: sv.Name, Arg: t.Name})
	if res.Decision != ir.Ask {
		return res.Decision == ir.Allow
	}
	unheld := e.in.Options.String("unheld_ask")
	if unheld == "permit" || unheld == "" && t.Risk != "destructive" {
		return true
	}
	e.diags.Warnf(codeUnheldAsk, res.Pos, "a server cannot ask about %q: it is refused", t.Name).
		Hint("unheld_ask = \"permit\" leaves the question to the client").
		Target("mcpnest").
		Subject("role "+r.Name).
		Loses(diag.Narrowing, string(ir.MCP))
	return false
}

// header is the first line of every stub.
const header = "// Written by modec from the project's source; edits are overwritten.\n\n"

// policyTS returns policy.ts: the tables and their types.
func (e *emitter) policyTS(form stub, tools []tool) []byte {
	var b strings.Builder
	b.WriteString(header + "/** Which claims of the verified user make a person a role: " +
		"every claim must hold one of its values. */\nexport const ROLE_CLAIMS = {\n")
	for i := range e.in.Project.Roles {
		if r := &e.in.Project.Roles[i]; len(r.Claims) > 0 {
			b.WriteString("  " + key(r.Name) + ": {" + claimValues(r.Claims) + " },\n")
		}
	}
	b.WriteString("} as const satisfies Record<string, Record<string, readonly string[]>>;\n\n" +
		"export type RoleName = keyof typeof ROLE_CLAIMS;\n\n" +
		"export interface ToolPolicy {\n" +
		"  /** The roles that may call the tool. */\n  readonly roles: readonly RoleName[];\n")
	if form.version != 1 {
		b.WriteString("  /** Whether `user.roles` alone decides, " +
			"so that @ToolRoles filters the list by `listed`. */\n  readonly hidden: boolean;\n" +
			"  /** The values of `user.roles` that see the tool. */\n  readonly listed: readonly string[];\n")
	}
	b.WriteString("}\n\n/** Who may call what. */\nexport const TOOL_POLICY = {\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "  %s: { roles: %s", key(t.name), texts(t.roles))
		if form.version != 1 {
			fmt.Fprintf(&b, ", hidden: %v, listed: %s", t.hidden, texts(e.listed(t)))
		}
		b.WriteString(" },\n")
	}
	b.WriteString("} as const satisfies Record<string, ToolPolicy>;\n\n" +
		"export type ToolName = keyof typeof TOOL_POLICY;\n")
	return []byte(b.String())
}

// claimValues writes the accepted values of claims, sorted by claim.
func claimValues(accepted map[string][]string) string {
	var all []string
	for _, claim := range slices.Sorted(maps.Keys(accepted)) {
		all = append(all, " "+key(claim)+": "+texts(accepted[claim]))
	}
	return strings.Join(all, ",")
}

// listed returns the values of user.roles that see a tool.
func (e *emitter) listed(t tool) []string {
	out := []string{}
	if !t.hidden {
		return out
	}
	for _, name := range t.roles {
		out = append(out, e.in.Project.Role(name).Claims["roles"]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
