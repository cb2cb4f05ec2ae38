// Package mcpnest emits TypeScript guards for NestJS applications that serve
// MCP with MCP-Nest: for each tool of the source one decorator that hides and
// blocks it together, a typed table of who may call what, and a check at
// start-up that every tool carries its decorator.
//
// Sources: @rekog/mcp-nest 2.0.5 and 1.9.11. One stub cannot serve both majors:
// in 2.x guards run in an RPC context, `@ToolGuards` is gone and listing is
// filtered by `@ToolRoles` alone; in 1.9 `@ToolGuards` does both.
//
// # What is enforced
//
// Access: whether a principal may call a tool, read resources and get prompts. Roles come
// from the claims of the verified user on the raw request, never from the body, headers
// or tool arguments: in 2.x the obvious switchToHttp().getRequest() of a guard
// returns the caller's own arguments and can be forged. Whether a person
// confirms a call is the client's matter; unheld_ask says what becomes of an
// ask. There is no agent to leave a call to: what a role leaves unsaid is refused.
//
// # How
//
// MCP-Nest's own means do not suffice. In 2.x guards do not filter lists, @ToolRoles reads
// user.roles or user.user_data.roles alone and names the roles that would have passed; in
// 1.9 a refusal differs from an unknown name; in both, tools that are registered at run time
// pass no guard, and resources and prompts are not filtered. So the policy is enforced by
// name where MCP-Nest binds its handlers: by PolicyMcpStrategy in 2.x, by PolicyMcpExecutor,
// which withPolicy puts into the module, in 1.9. What is hidden is answered like what does
// not exist, to the letter. The decorators stay as a second lock: a guard on the method
// where somebody connects another strategy.
//
// Sessions are refused at start. 1.9 answers a session as the one who began it; 2.x binds
// the handlers again for each message of a session, where two messages can cross.
//
// # What is lost
//
// MCP-Nest does not say to which server a resource or a prompt belongs: where the application
// implements several, a principal gets those that each of them gives.
package mcpnest

import (
	"io/fs"
	"path"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/targets/mcpnest/format"
	"modec.dev/modec/targets/mcpnest/model"
	"modec.dev/modec/targets/mcpnest/review"
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
		{Name: "audience", Type: contract.Strings,
			Doc: "With jwt: the audiences of a token, one of which it has to have."},
		{Name: "extension", Type: contract.String, Default: "none", Choices: []string{"none", "js"},
			Doc: "js: relative imports end in .js, which ECMAScript modules need (Nest 12). none: CommonJS."},
		{Name: "issuer", Type: contract.String, Doc: "With jwt: the issuer of a token."},
		{Name: "jwks", Type: contract.String, Doc: "With jwt: the address of the issuer's public keys."},
		{Name: "jwt", Type: contract.Bool, Default: false,
			Doc: "Emit TokenGuard, which verifies bearer tokens with jose."},
		{Name: "servers", Type: contract.Strings, Doc: "The inventory servers that this application implements."},
		{Name: "sources", Type: contract.Strings, Doc: "Globs over the application's TypeScript, whose guards " +
			"`modec lint` then reviews."},
		{Name: "unheld_ask", Type: contract.String, Choices: []string{"permit", "deny"},
			Doc: "What becomes of an ask, which a server cannot put to a person. permit: the client in front asks. " +
				"deny: refuse. Default: deny for tools with the risk destructive, permit for others."},
		{Name: "version", Type: contract.Int, Default: 2, Choices: []string{"1", "2"},
			Doc: "The major version of MCP-Nest: 2, or 1 for 1.9.x."},
	}
}

// Codes documents what the target reports.
func (mcpnest) Codes() []diag.Doc { return diag.Docs(codesText) }

// ReviewRules are what Review finds.
func (mcpnest) ReviewRules() []contract.LintRule { return review.Rules() }

// Review finds guards of the application that trust what the caller writes.
func (mcpnest) Review(project fs.FS, o contract.Options) diag.List {
	if len(o.Strings("sources")) == 0 {
		return nil
	}
	return review.Sources(review.Request{Files: project, Patterns: o.Strings("sources"), Pos: o.Pos("sources"),
		Version: o.Int("version")})
}

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
