package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/suggest"
	"modec.dev/modec/compiler/target"
)

type lintCmd struct {
	Suggest bool `help:"Tell where the source permits more than it seems to need, with a patch for each."`
	Apply   bool `help:"Write the patches of the suggestions."`
}

func (lintCmd) Help() string {
	return `Loads and compiles the source and reports what is wrong with it, without what the targets' formats cannot say (modec build tells that).

With --suggest it also tells where the source permits more than it seems to need: servers that a mode's prompts never mention, tools that change something in a mode that only reads, any command beside a narrow edit rule, servers of which everything is allowed unasked. Each comes with a patch; none of them raises a decision, which is proved before it is shown. What is not mentioned may be needed all the same: read before you apply.

Examples:
  modec lint
  modec lint --suggest
  modec lint --suggest --apply`
}

// lintReport is the JSON of a lint.
type lintReport struct {
	Version     int                  `json:"version"`
	Command     string               `json:"command"`
	Status      string               `json:"status"`
	Diagnostics diag.List            `json:"diagnostics"`
	Suggestions []suggest.Suggestion `json:"suggestions,omitempty"`
	Patches     []patch              `json:"patches,omitempty"`
	Applied     bool                 `json:"applied,omitempty"`
}

// patch is a file of the source as the suggestions leave it.
type patch struct {
	File string `json:"file"`
	Text string `json:"text"`
}

func (c *lintCmd) Run(e *env) error {
	req := e.request()
	res, diags := compiler.Compile(req)
	diags = slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.Loss != diag.NoLoss || d.Severity == diag.Note })
	if diags.HasErrors() {
		return e.ui.fail("lint", diags)
	}
	report := lintReport{Version: 1, Command: "lint", Status: "ok", Diagnostics: diags}
	if report.Diagnostics == nil {
		report.Diagnostics = diag.List{}
	}
	if !e.ui.json {
		e.ui.diagnostics(diags)
	}
	if c.Suggest || c.Apply {
		root, err := os.OpenRoot(e.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		found, list := suggest.Project(root.FS(), req, res)
		if list.HasErrors() {
			return e.ui.fail("lint", list)
		}
		report.Suggestions, report.Applied = found.Suggestions, c.Apply && len(found.Files) > 0
		for _, f := range found.Files {
			report.Patches = append(report.Patches, patch{f.Path, string(f.Data)})
		}
		if !e.ui.json {
			e.ui.suggestions(root.FS(), found)
		}
		if c.Apply {
			if list := compiler.Put(e.dir, found.Files, true); list.HasErrors() {
				return e.ui.fail("lint", list)
			}
			if !e.ui.json {
				e.ui.note("%s written\n", count(len(found.Files), "file"))
			}
		}
	}
	if e.ui.json {
		return e.ui.emit(report)
	}
	return nil
}

// suggestions prints what was found, and each patch after it.
func (u *ui) suggestions(fsys fs.FS, found *suggest.Result) {
	if len(found.Suggestions) == 0 {
		u.note("nothing to suggest\n")
		return
	}
	for _, s := range found.Suggestions {
		u.printf("%s: suggestion: %s: %s [%s]\n", diag.Clean(s.Pos.String()), diag.Clean(s.Subject), diag.Clean(s.Message), s.Code)
	}
	for _, f := range found.Files {
		u.patch(fsys, f)
	}
}

// patch prints a new file, or the lines of an old one that change: patches replace
// words and add no lines to what is there.
func (u *ui) patch(fsys fs.FS, f target.File) {
	var old []string
	if data, err := fs.ReadFile(fsys, f.Path); err == nil {
		old = strings.Split(string(data), "\n")
	}
	u.printf("patch %s\n", diag.Clean(f.Path))
	for i, line := range strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n") {
		switch {
		case old == nil:
			u.printf("  + %s\n", diag.Clean(strings.ReplaceAll(line, "\t", "    ")))
		case i < len(old) && old[i] != line:
			u.printf("  %s- %s\n  %s+ %s\n", lineNumber(i), diag.Clean(strings.TrimSpace(old[i])), lineNumber(i), diag.Clean(strings.TrimSpace(line)))
		}
	}
}

func lineNumber(line int) string { return fmt.Sprintf("%4d ", line+1) }
