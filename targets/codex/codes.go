package codex

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

const (
	codeAgents         diag.Code = "codex-agents"
	codeCommands       diag.Code = "codex-commands"
	codeEdit           diag.Code = "codex-edit"
	codeNativeRule     diag.Code = "codex-foreign-rule"
	codeNoFlags        diag.Code = "codex-no-flags"
	codeRead           diag.Code = "codex-read"
	codeRequirements   diag.Code = "codex-requirements"
	codeResources      diag.Code = "codex-resources"
	codeServer         diag.Code = "codex-server"
	codeUnknownSetting diag.Code = "codex-unknown-setting"
	codeUnlisted       diag.Code = "codex-unlisted"
	codeWeb            diag.Code = "codex-web"
)
