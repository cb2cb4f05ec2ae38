package kilo

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeAgentName      diag.Code = "kilo-agent-name"
	codeBeside         diag.Code = "kilo-beside-opencode"
	codeBadRule        diag.Code = "kilo-bad-rule"
	codeApproval       diag.Code = "kilo-approval"
	codeDeny           diag.Code = "kilo-deny"
	codeLegacy         diag.Code = "kilo-legacy"
	codeNativeRule     diag.Code = "kilo-claude-rule"
	codeNoFlags        diag.Code = "kilo-no-flags"
	codeProtected      diag.Code = "kilo-protected"
	codeRoleText       diag.Code = "kilo-role-text"
	codeSearch         diag.Code = "kilo-search"
	codeServerOff      diag.Code = "kilo-server-off"
	codeUnknownSetting diag.Code = "kilo-unknown-setting"
	codeUnknownSubject diag.Code = "kilo-unknown-subject"
	codeUnlisted       diag.Code = "kilo-unlisted"
)
