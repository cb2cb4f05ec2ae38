package thurbox

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeComma    diag.Code = "thurbox-comma"
	codeName     diag.Code = "thurbox-name"
	codeNoClaude diag.Code = "thurbox-no-claude"
	codeNoRoles  diag.Code = "thurbox-no-roles"
)
