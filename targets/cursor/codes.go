package cursor

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeApproval       diag.Code = "cursor-approval"
	codeBadToken       diag.Code = "bad-cursor-token"
	codeAsk            diag.Code = "cursor-ask"
	codeCLIOnly        diag.Code = "cursor-cli-only"
	codeDeny           diag.Code = "cursor-deny"
	codeName           diag.Code = "cursor-name"
	codeNameCollision  diag.Code = "cursor-name-collision"
	codeNativeRule     diag.Code = "cursor-claude-rule"
	codeNotHeld        diag.Code = "cursor-not-held"
	codeOrganisation   diag.Code = "cursor-organisation"
	codeServerField    diag.Code = "cursor-server-field"
	codeServerOff      diag.Code = "cursor-server-off"
	codeUnknownSubject diag.Code = "cursor-unknown-subject"
)
