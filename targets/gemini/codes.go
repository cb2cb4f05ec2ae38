package gemini

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeAgentName      diag.Code = "gemini-agent-name"
	codeBadSetting     diag.Code = "gemini-bad-setting"
	codeApproval       diag.Code = "gemini-approval"
	codeDeny           diag.Code = "gemini-deny"
	codeExpression     diag.Code = "gemini-expression"
	codeHooksOff       diag.Code = "gemini-hooks-off"
	codeNativeRule     diag.Code = "gemini-claude-rule"
	codeNoFlags        diag.Code = "gemini-no-flags"
	codePrompt         diag.Code = "gemini-prompt"
	codeRoleText       diag.Code = "gemini-role-text"
	codeSearch         diag.Code = "gemini-search"
	codeServerOff      diag.Code = "gemini-server-off"
	codeSetting        diag.Code = "gemini-setting"
	codeTools          diag.Code = "gemini-tools"
	codeUnknownSetting diag.Code = "gemini-unknown-setting"
	codeUnknownSubject diag.Code = "gemini-unknown-subject"
	codeUnlisted       diag.Code = "gemini-unlisted"
)
