package main

import (
	"runtime"
	"runtime/debug"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/ir"
)

// release is set by the release build; a plain `go install` reads the module's
// version instead.
var release string

// version returns modec's own version, "devel" for a build from a work tree.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}

type versionCmd struct {
	textOrJSON
}

func (versionCmd) reports() []any { return []any{versionReport{}} }

// versionReport is the JSON of the version.
type versionReport struct {
	report.Envelope
	Modec string `json:"modec"`
	Model int    `json:"model" jsonschema:"the version of the compiled model"`
	Go    string `json:"go"`
}

func (versionCmd) Run(e *env) error {
	if e.ui.JSON {
		return e.ui.Emit(versionReport{e.ui.Envelope(), version(), ir.Version, runtime.Version()})
	}
	e.ui.Printf("modec %s\n", version())
	return nil
}
