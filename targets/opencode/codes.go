package opencode

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeAgentName      diag.Code = "opencode-agent-name"
	codeApproval       diag.Code = "opencode-approval"
	codeBadRule        diag.Code = "opencode-bad-rule"
	codeDeny           diag.Code = "opencode-deny"
	codeNativeRule     diag.Code = "opencode-claude-rule"
	codeNoFlags        diag.Code = "opencode-no-flags"
	codeRoleText       diag.Code = "opencode-role-text"
	codeSearch         diag.Code = "opencode-search"
	codeServerOff      diag.Code = "opencode-server-off"
	codeUnknownSetting diag.Code = "opencode-unknown-setting"
	codeUnknownSubject diag.Code = "opencode-unknown-subject"
	codeUnlisted       diag.Code = "opencode-unlisted"
)
