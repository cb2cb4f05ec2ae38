package compiler

import "modec.dev/modec/compiler/diag"

func Codes() []diag.Doc { return nil }
