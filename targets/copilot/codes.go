package copilot

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

const (
	codeAgents         diag.Code = "copilot-agents"
	codeAsked          diag.Code = "copilot-asked"
	codeCommands       diag.Code = "copilot-commands"
	codeEdit           diag.Code = "copilot-edit"
	codeHooksOff       diag.Code = "copilot-hooks-off"
	codeNativeRule     diag.Code = "copilot-foreign-rule"
	codeNoFlags        diag.Code = "copilot-no-flags"
	codeRead           diag.Code = "copilot-read"
	codeServerOff      diag.Code = "copilot-server-off"
	codeUnknownSetting diag.Code = "copilot-unknown-setting"
	codeWeb            diag.Code = "copilot-web"
)
