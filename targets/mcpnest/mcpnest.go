// Package mcpnest emits TypeScript guards for NestJS applications that serve
// MCP with MCP-Nest: for each tool of the source one decorator that hides and
// blocks it together, a typed table of who may call what, and a check at
// start-up that every tool carries its decorator.
//
// Sources: @rekog/mcp-nest 2.0.5 and 1.9.11. One stub cannot serve both majors:
// in 2.x guards run in an RPC context, `@ToolGuards` is gone and listing is
// filtered by `@ToolRoles` alone; in 1.9 `@ToolGuards` does both.
//
// # What the guards hold
//
// Access: whether a person may call a tool. A person's roles come from the
// claims of the verified user on the raw request, never from the body, headers
// or tool arguments: in 2.x the obvious switchToHttp().getRequest() of a guard
// returns the caller's own arguments and can be forged. Whether a person
// confirms a call is the client's matter; unheld_ask says what becomes of an
// ask.
//
// # Who is listed what
//
// In 1.9 guards hide as they block. 2.x filters the list by req.user.roles
// alone: `@ToolRoles` hides a tool whose every role is made by the claim roles
// and no other. Where other claims decide, strategy.ts is emitted too: a
// PolicyMcpStrategy that filters the list by the policy, and that assertPolicy
// then demands.
//
// # What is lost
//
// In 2.x `@ToolRoles` reads user.roles as a list only, so that a person whose
// token has a string there is refused by MCP-Nest itself (narrower; the guard
// takes both), and its refusals name the claim values that would have passed.
// Tools registered at run time pass no guard. Resources and prompts are not
// filtered by MCP-Nest at all, and not emitted: guardOf serves them too.
package mcpnest

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
)

type mcpnest struct{}

// New returns the target.
func New() contract.Target { return mcpnest{} }

func (mcpnest) Name() string { return "mcpnest" }
func (mcpnest) Summary() string {
	return "MCP-Nest: guards, decorators and a policy table in TypeScript"
}

func (mcpnest) Options() []contract.Option {
	return []contract.Option{
		{Name: "extension", Type: contract.String, Default: "none", Choices: []string{"none", "js"}, Doc: "js: relative imports end in .js, which ECMAScript modules need (Nest 12). none: CommonJS."},
		{Name: "servers", Type: contract.Strings, Doc: "The inventory servers that this application implements."},
		{Name: "unheld_ask", Type: contract.String, Choices: []string{"permit", "deny"}, Doc: "What becomes of an ask, which a server cannot put to a person. permit: the client in front asks. deny: refuse. Default: deny for tools with the risk destructive, permit for others."},
		{Name: "version", Type: contract.Int, Default: 2, Choices: []string{"1", "2"}, Doc: "The major version of MCP-Nest: 2, or 1 for 1.9.x."},
	}
}

const dir = "mcp-nest/modec/"

func (mcpnest) Owns() []string { return []string{dir + "*.ts"} }

// Governs: guards hold access.
func (mcpnest) Governs(p string, g ir.Group) contract.Halves {
	if g == ir.MCP && path.Dir(p)+"/" == dir {
		return contract.Access
	}
	return contract.Neither
}

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
		e.diags.Warnf(codeNoServers, diag.Pos{File: "modec.toml"}, "got no servers that this application implements: nothing is emitted").
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
		{Path: dir + "guards.ts", Data: []byte(form.guards())},
		{Path: dir + "index.ts", Data: []byte(form.index())},
		{Path: dir + "policy.ts", Data: e.policyTS(form, tools)},
	}
	if form.strategy {
		files = append(files, contract.File{Path: dir + "strategy.ts", Data: []byte(form.strategyTS())})
	}
	return files, e.diags
}

func (e *emitter) tools(names []string) []tool {
	var out []tool
	seen := map[string]string{}
	roles := e.claimed()
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		sv := e.in.Project.Server(name)
		if sv == nil {
			e.diags.Errorf(codeUnknownServer, e.in.Options.Pos("servers"), "got unknown server %q, want one of the inventory", name).
				Path("targets.mcpnest.servers")
			continue
		}
		for _, t := range sv.Tools {
			if other, ok := seen[t.Name]; ok {
				e.diags.Errorf(codeDuplicateTool, t.Pos, "got the tool %q of %q, which %q has too, want distinct names in one application", t.Name, sv.Name, other)
			}
			seen[t.Name] = sv.Name
			row := tool{name: t.Name, hidden: true, roles: []string{}}
			for _, r := range roles {
				if !e.permits(r, sv, &t) {
					continue
				}
				row.roles = append(row.roles, r.Name)
				if _, ok := r.Claims["roles"]; !ok || len(r.Claims) > 1 {
					row.hidden = false
				}
			}
			out = append(out, row)
		}
	}
	slices.SortFunc(out, func(a, b tool) int { return strings.Compare(a.name, b.name) })
	return out
}

// claimed lists the roles that a token can make a person.
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

const header = "// Written by modec from the project's source; edits are overwritten.\n\n"

// text writes a TypeScript string literal: JSON, with the two line separators
// that older parsers take for line breaks escaped, nothing that could end a
// script element, and no character that hides or reorders what a reviewer reads.
func text(s string) string {
	b, err := json.Marshal(s) // escapes <, >, &, U+2028 and U+2029
	if err != nil {
		return `""`
	}
	var out strings.Builder
	for _, r := range string(b) {
		if !unicode.Is(unicode.Cf, r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// key writes an object's key: computed where a literal __proto__ would set the
// prototype instead.
func key(s string) string {
	if s == "__proto__" {
		return "[" + text(s) + "]"
	}
	return text(s)
}

func texts(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = text(s)
	}
	return "[" + strings.Join(q, ", ") + "]"
}

func (e *emitter) policyTS(form stub, tools []tool) []byte {
	var b strings.Builder
	b.WriteString(header)
	b.WriteString("/** Which claims of the verified user make a person a role: every claim must hold one of its values. */\nexport const ROLE_CLAIMS = {\n")
	for i := range e.in.Project.Roles {
		r := &e.in.Project.Roles[i]
		if len(r.Claims) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  %s: {", key(r.Name))
		for j, claim := range slices.Sorted(maps.Keys(r.Claims)) {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, " %s: %s", key(claim), texts(r.Claims[claim]))
		}
		b.WriteString(" },\n")
	}
	b.WriteString("} as const satisfies Record<string, Record<string, readonly string[]>>;\n\nexport type RoleName = keyof typeof ROLE_CLAIMS;\n\n")
	b.WriteString("export interface ToolPolicy {\n  /** The roles that may call the tool. */\n  readonly roles: readonly RoleName[];\n")
	if form.version != 1 {
		b.WriteString("  /** Whether `user.roles` alone decides, so that @ToolRoles filters the list by `listed`. */\n  readonly hidden: boolean;\n  /** The values of `user.roles` that see the tool. */\n  readonly listed: readonly string[];\n")
	}
	b.WriteString("}\n\n/** Who may call what. */\nexport const TOOL_POLICY = {\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "  %s: { roles: %s", key(t.name), texts(t.roles))
		if form.version != 1 {
			fmt.Fprintf(&b, ", hidden: %v, listed: %s", t.hidden, texts(e.listed(t)))
		}
		b.WriteString(" },\n")
	}
	b.WriteString("} as const satisfies Record<string, ToolPolicy>;\n\nexport type ToolName = keyof typeof TOOL_POLICY;\n")
	return []byte(b.String())
}

// listed are the values of user.roles that see a tool.
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
