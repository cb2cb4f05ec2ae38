package vscode

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// The codes that the emitter reports. codes.md documents every code of the target.
const (
	codeBadSetting     diag.Code = "bad-vscode-setting"
	codeCommand        diag.Code = "vscode-command"
	codeEdit           diag.Code = "vscode-edit"
	codeField          diag.Code = "vscode-field"
	codeLine           diag.Code = "vscode-line"
	codeNativeRule     diag.Code = "vscode-foreign-rule"
	codeNotHeld        diag.Code = "vscode-not-held"
	codePlace          diag.Code = "vscode-place"
	codeSetting        diag.Code = "vscode-setting"
	codeTools          diag.Code = "vscode-tools"
	codeUnknownSubject diag.Code = "vscode-unknown-subject"
)
