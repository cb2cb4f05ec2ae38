package roo

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeCommand        diag.Code = "roo-command"
	codeEdit           diag.Code = "roo-edit"
	codeIgnore         diag.Code = "roo-ignore"
	codeMCP            diag.Code = "roo-mcp"
	codeMCPApproval    diag.Code = "roo-mcp-approval"
	codeMCPOff         diag.Code = "roo-mcp-off"
	codeModel          diag.Code = "roo-model"
	codeRead           diag.Code = "roo-read"
	codeToolCollision  diag.Code = "roo-tool-collision"
	codeUnknownSetting diag.Code = "roo-unknown-setting"
	codeWeb            diag.Code = "roo-web"
)
