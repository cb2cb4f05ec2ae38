package mcpnest

import "modec.dev/modec/compiler/diag"

// The codes that the emitter reports.
const (
	codeDuplicateTool   diag.Code = "mcpnest-duplicate-tool"
	codeNoServers       diag.Code = "mcpnest-no-servers"
	codeSharedResources diag.Code = "mcpnest-shared-resources"
	codeToken           diag.Code = "mcpnest-token"
	codeUnclaimed       diag.Code = "mcpnest-unclaimed"
	codeUnheldAsk       diag.Code = "mcpnest-unheld-ask"
	codeUnknownServer   diag.Code = "mcpnest-unknown-server"
)

// Codes documents what the emitter reports.
func (*emitter) Codes() []diag.Doc {
	return []diag.Doc{
		{Code: codeNoServers, Text: "The option servers names no server, so that there is nothing to guard. Name the " +
			"inventory servers that the NestJS application implements: servers = [\"shop\"]."},
		{Code: codeUnknownServer, Text: "The option servers names a server that the inventory does not have, so that " +
			"its tools would be served without a guard. Correct the name, or add the server to servers in the source."},
		{Code: codeDuplicateTool, Text: "Two of the servers that the application implements have a tool of the same " +
			"name. MCP-Nest knows tools by name only. Rename one, or guard the servers in two applications."},
		{Code: codeUnheldAsk, Text: "A server cannot ask the person in front of the client. The source asks about " +
			"this tool, and it is refused because unheld_ask is deny (the default for destructive tools). Set " +
			"unheld_ask = \"permit\" where the client asks."},
		{Code: codeSharedResources, Text: "The application implements several servers, and they give their resources " +
			"or prompts to different roles. MCP-Nest does not say of which server a resource is, so that a principal " +
			"gets those that every one of them gives. Guard the servers in two applications."},
		{Code: codeToken, Text: "jwt = true verifies tokens, and a token is verified against an issuer, an audience " +
			"and the issuer's public keys, which are read over https. Write all three, or verify tokens in a guard " +
			"of your own and leave jwt out."},
		{Code: codeUnclaimed, Text: "A role without claims is held by nobody: no token makes a person this role, and " +
			"its permissions reach no guard. Write claims, or \"authenticated\" or \"anyone\" for them, or leave the " +
			"role to the other targets."},
	}
}
