package claude

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeAllow          diag.Code = "claude-allow"
	codeAsked          diag.Code = "claude-asked"
	codeAskMode        diag.Code = "claude-ask-mode"
	codeAutoMode       diag.Code = "claude-auto-mode"
	codeBadRule        diag.Code = "bad-claude-rule"
	codeCommand        diag.Code = "claude-command"
	codeEdit           diag.Code = "claude-edit"
	codeExternal       diag.Code = "claude-external"
	codeFlags          diag.Code = "claude-flags"
	codeMode           diag.Code = "claude-mode"
	codeModes          diag.Code = "claude-modes"
	codeEnv            diag.Code = "claude-env"
	codeNamed          diag.Code = "claude-named-path"
	codeNameCollision  diag.Code = "claude-name-collision"
	codePlanMode       diag.Code = "claude-plan-mode"
	codeRead           diag.Code = "claude-read"
	codeRegex          diag.Code = "claude-regex"
	codeShared         diag.Code = "claude-shared"
	codeServerField    diag.Code = "claude-server-field"
	codeServers        diag.Code = "claude-servers"
	codeServerOff      diag.Code = "claude-server-off"
	codeTool           diag.Code = "claude-tool"
	codeToolName       diag.Code = "claude-tool-name"
	codeUnknownSetting diag.Code = "claude-unknown-setting"
	codeWeb            diag.Code = "claude-web"
)
