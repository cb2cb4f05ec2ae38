package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/compiler/suggest"
)

type lintCmd struct {
	Path    []string `arg:"" optional:"" help:"Tell only of these files and folders of the source."`
	Fix     bool     `help:"Take out rules that decide nothing (duplicate-rule, shadowed-rule, void-rule)."`
	FailOn  string   `enum:"error,warning,note" default:"warning" help:"Exit 1 on findings of this severity or above: error, warning or note."`
	Staged  bool     `help:"Look at the index of git in place of the working tree."`
	Rules   bool     `help:"List the rules, with what each finds and an example of both sides."`
	Suggest bool     `help:"Tell where the source permits more than it seems to need, with a patch for each."`
	Apply   bool     `help:"Write the patches of the suggestions."`
}

func (lintCmd) Help() string {
	return `Loads and compiles the source and reports what is wrong with it, and what it probably does not mean: rules that decide nothing, permissions that are broader than they look, secrets, prompts that nobody reads. What the targets' formats cannot say modec build tells.

Each rule has a name. [lint] in modec.toml sets its severity (off, note, warning, error); a comment silences it at one place, with a reason:

  permissionMode: "bypassPermissions" // modec:ignore bypass-permissions it runs in a throw-away machine

With --fix rules that decide nothing are taken out of the CUE: it is proved first that no decision changes.

With --suggest it also tells where the source permits more than it seems to need: servers that a mode's prompts never mention, tools that change something in a mode that only reads, any command beside a narrow edit rule, servers of which everything is allowed unasked. Each comes with a patch; none of them raises a decision, which is proved before it is shown. What is not mentioned may be needed all the same: read before you apply.

Formats: text, json, sarif (2.1.0), and github for annotations of GitHub Actions.

Examples:
  modec lint
  modec lint --staged
  modec lint modec/roles --fail-on error
  modec lint --fix
  modec lint --format sarif > modec.sarif
  modec lint --rules
  modec lint --suggest --apply`
}

// lintReport is the JSON of a lint.
type lintReport struct {
	Version     int                  `json:"version"`
	Command     string               `json:"command"`
	Status      string               `json:"status"` // ok, findings
	Diagnostics diag.List            `json:"diagnostics"`
	Fixed       []string             `json:"fixed,omitempty"` // files
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
	if c.Rules {
		return e.ui.rules(lint.All(e.targets))
	}
	if c.Staged && (c.Fix || c.Apply) {
		return errors.New("got --staged with what writes the working tree, want one of them")
	}
	req, done, err := e.source(c.Staged)
	if err != nil {
		return err
	}
	defer done()
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		if e.ui.format == "sarif" || e.ui.format == "github" {
			return c.report(e, lintReport{Version: 1, Command: "lint", Diagnostics: diags})
		}
		return e.ui.fail("lint", diags)
	}
	report := lintReport{Version: 1, Command: "lint", Diagnostics: diag.List{}}
	for _, d := range diags {
		if d.Loss == diag.NoLoss && d.Severity != diag.Note {
			report.Diagnostics = append(report.Diagnostics, d)
		}
	}
	findings := res.Lint()
	if c.Fix {
		if findings, report.Fixed, err = c.fix(e, req, res, findings); err != nil {
			return err
		}
	}
	for _, f := range findings {
		report.Diagnostics = append(report.Diagnostics, f.Diagnostic)
	}
	report.Diagnostics.Sort()
	if len(c.Path) > 0 {
		report.Diagnostics = slices.DeleteFunc(report.Diagnostics, func(d diag.Diagnostic) bool { return !e.below(d.Pos.File, c.Path) })
	}
	if !c.Suggest && !c.Apply {
		return c.report(e, report)
	}
	return c.suggestions(e, req, res, report)
}

// suggestions looks for what the source could permit less, and applies it.
func (c *lintCmd) suggestions(e *env, req compiler.Request, res *compiler.Result, report lintReport) error {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	found, list := suggest.Project(e.ctx, root.FS(), req, res)
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
		if list := output.Put(e.dir, found.Files, output.ReplaceExisting); list.HasErrors() {
			return e.ui.fail("lint", list)
		}
		if !e.ui.json {
			e.ui.note("%s written\n", count(len(found.Files), "file"))
		}
	}
	return c.report(e, report)
}

// report prints what was found in the form that was asked for.
func (c *lintCmd) report(e *env, report lintReport) error {
	failed := slices.ContainsFunc(report.Diagnostics, func(d diag.Diagnostic) bool { return c.fails(d.Severity) })
	if report.Status = "ok"; failed {
		report.Status = "findings"
	}
	var err error
	switch {
	case e.ui.json:
		err = e.ui.emit(report)
	case e.ui.format == "sarif":
		err = diag.SARIF(e.ui.out, version(), report.Diagnostics, e.allCodes(), e.ui.render.Source)
	case e.ui.format == "github":
		diag.GitHub(e.ui.out, report.Diagnostics)
	default:
		for _, file := range report.Fixed {
			e.ui.printf("fixed %s\n", diag.Clean(file))
		}
		for _, d := range report.Diagnostics { // what was asked for, notes included
			e.ui.render.Render(e.ui.err, d)
		}
		if n := len(report.Diagnostics); n > 0 {
			e.ui.note("%s\n", count(n, "finding"))
		}
	}
	if err == nil && failed {
		return exitCode(1)
	}
	return err
}

func (c *lintCmd) fails(s diag.Severity) bool {
	for _, level := range []diag.Severity{diag.Error, diag.Warning, diag.Note} {
		if s == level {
			return true
		}
		if level.String() == c.FailOn {
			return false
		}
	}
	return false
}

// below reports whether a file of the project is one of those named on the command
// line, or in one of those folders.
func (e *env) below(file string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		return file != "" && below(e.abs(p), filepath.Join(e.dir, filepath.FromSlash(file)))
	})
}

// fix takes out what decides nothing, if it is so: the fixed source compiles, and no
// decision of it is another.
func (c *lintCmd) fix(e *env, req compiler.Request, res *compiler.Result, findings []lint.Finding) ([]lint.Finding, []string, error) {
	asked := slices.DeleteFunc(slices.Clone(findings), func(f lint.Finding) bool { return len(c.Path) > 0 && !e.below(f.Pos.File, c.Path) })
	fixed := lint.Fixes(res.Sources, asked)
	if len(fixed) == 0 {
		return findings, nil, nil
	}
	var files []contract.File
	for _, name := range slices.Sorted(maps.Keys(fixed)) {
		files = append(files, contract.File{Path: name, Data: fixed[name]})
	}
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	if req.FS, err = source.Overlay(root.FS(), res.Config.Source, fixed); err != nil {
		return nil, nil, err
	}
	after, diags := compiler.Open(e.ctx, req)
	if diags.HasErrors() {
		return nil, nil, fmt.Errorf("the fixed source would not compile: %w", diags)
	}
	changes, err := diff.Projects(res.Policy, after.Policy, verifySeed)
	if err != nil {
		return nil, nil, err
	}
	if n := len(changes.Changes) + len(changes.Others); n > 0 {
		return nil, nil, fmt.Errorf("the fixed source would decide otherwise (%s): nothing is written", totals(changes, "the source", "the fixed one"))
	}
	if list := output.Put(e.dir, files, output.ReplaceExisting); list.HasErrors() {
		return nil, nil, list
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	return after.Lint(), names, nil
}

// rules lists what lint looks for.
func (u *ui) rules(rules []lint.Rule) error {
	if u.json {
		return u.emit(struct {
			Version int         `json:"version"`
			Command string      `json:"command"`
			Rules   []lint.Rule `json:"rules"`
		}{1, "lint", rules})
	}
	for i, r := range rules {
		if i > 0 {
			u.printf("\n")
		}
		fix := ""
		if r.Fixable {
			fix = ", --fix takes it away"
		}
		u.printf("%s (%s%s)\n  %s\n", r.ID, r.Severity, fix, r.Doc)
		for _, x := range []struct{ word, text string }{{"bad ", r.Bad}, {"good", r.Good}} {
			for j, line := range strings.Split(x.text, "\n") {
				if word := x.word; line != "" {
					if j > 0 {
						word = "    "
					}
					u.printf("    %s  %s\n", word, line)
				}
			}
		}
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
func (u *ui) patch(fsys fs.FS, f contract.File) {
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
