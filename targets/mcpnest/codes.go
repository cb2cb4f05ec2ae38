package mcpnest

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeDuplicateTool   diag.Code = "mcpnest-duplicate-tool"
	codeNoServers       diag.Code = "mcpnest-no-servers"
	codeSharedResources diag.Code = "mcpnest-shared-resources"
	codeToken           diag.Code = "mcpnest-token"
	codeUnclaimed       diag.Code = "mcpnest-unclaimed"
	codeUnheldAsk       diag.Code = "mcpnest-unheld-ask"
	codeUnknownServer   diag.Code = "mcpnest-unknown-server"
)
