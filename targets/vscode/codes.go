package vscode

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeField diag.Code = "vscode-field"
	codeTools diag.Code = "vscode-tools"
)
