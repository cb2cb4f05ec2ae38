package compiler

import (
	_ "embed"

	"modec.dev/modec/compiler/diag"
)

//go:embed codes.md
var codesText string

// Codes documents every diagnostic code of the compiler, sorted, for
// `modec explain --code`. Those of a target are its own.
func Codes() []diag.Doc { return diag.Docs(codesText) }
