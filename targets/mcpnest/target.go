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
// ask. There is no agent to leave a call to: what a role leaves unsaid is refused.
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
	"io/fs"
	"path"
	"slices"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/mcpnest/format"
	"modec.dev/modec/targets/mcpnest/model"
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
		{Name: "extension", Type: contract.String, Default: "none", Choices: []string{"none", "js"},
			Doc: "js: relative imports end in .js, which ECMAScript modules need (Nest 12). none: CommonJS."},
		{Name: "servers", Type: contract.Strings, Doc: "The inventory servers that this application implements."},
		{Name: "unheld_ask", Type: contract.String, Choices: []string{"permit", "deny"},
			Doc: "What becomes of an ask, which a server cannot put to a person. permit: the client in front asks. " +
				"deny: refuse. Default: deny for tools with the risk destructive, permit for others."},
		{Name: "version", Type: contract.Int, Default: 2, Choices: []string{"1", "2"},
			Doc: "The major version of MCP-Nest: 2, or 1 for 1.9.x."},
	}
}

// Codes documents what the emitter and the model report.
func (mcpnest) Codes() []diag.Doc { return slices.Concat(new(emitter).Codes(), model.Codes()) }

func (mcpnest) Owns() []string { return []string{format.Dir + "/*.ts"} }

// Governs returns Access for the guards.
func (mcpnest) Governs(p string, g ir.Group) contract.Halves {
	if g == ir.MCP && path.Dir(p) == format.Dir {
		return contract.Access
	}
	return contract.Neither
}

// Alone returns nothing: there is no agent to leave something to.
func (mcpnest) Alone(*ir.Project) []contract.Decider { return nil }

// Open reads the stubs as the application does.
func (mcpnest) Open(fsys fs.FS, o contract.Options) ([]contract.Decider, diag.List) {
	return model.Open(fsys, o)
}
