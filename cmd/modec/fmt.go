package main

import (
	"fmt"
	"slices"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/source"
)

type fmtCmd struct {
	textOrJSON
	Path  []string `arg:"" optional:"" help:"Only these files and folders of the source."`
	Check bool     `help:"Write nothing; exit 1 where a file is not formatted."`
	Diff  bool     `help:"Write nothing; print what would change, line by line."`
}

func (fmtCmd) reports() []any { return []any{fmtReport{}, report.Outcome{}} }

// fmtReport is the JSON of a formatting.
type fmtReport struct {
	report.Envelope
	Status string   `json:"status" enum:"ok,findings" jsonschema:"findings: with --check, a file is not formatted"`
	Files  []string `json:"files" jsonschema:"those that change"`
}

func (c *fmtCmd) Run(e *env) error {
	if err := e.readable(c.Path); err != nil {
		return err
	}
	req := e.request()
	files, diags := req.Format()
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	if len(c.Path) > 0 {
		files = slices.DeleteFunc(files, func(f source.Formatted) bool { return !e.below(f.Path, c.Path) })
	}
	result := fmtReport{e.ui.Envelope(), "ok", []string{}}
	var written []contract.File
	for _, f := range files {
		result.Files = append(result.Files, f.Path)
		written = append(written, contract.File{Path: f.Path, Data: f.Now})
	}
	var end error
	if c.Check && len(files) > 0 {
		result.Status, end = "findings", report.ExitFindings
	}
	if c.Diff && !e.ui.JSON {
		for _, f := range files {
			e.ui.Unified(report.PatchOf(f.Path, f.Was, f.Now))
		}
		return end
	}
	if !c.Check && !c.Diff {
		if diags := e.put(written, output.ReplaceExisting); diags.HasErrors() {
			return e.ui.Fail(diags)
		}
	}
	if e.ui.JSON {
		if err := e.ui.Emit(result); err != nil {
			return err
		}
		return end
	}
	for _, name := range result.Files {
		e.ui.Printf("%s\n", diag.Clean(name))
	}
	if end != nil && !e.ui.Quiet { // beside the list, which scripts read
		fmt.Fprintf(e.ui.Err, "not formatted: %s; `modec fmt` writes what `modec fmt --diff` shows\n",
			report.Count(len(result.Files), "file"))
	}
	return end
}
