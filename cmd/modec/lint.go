package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"modec.dev/modec/cmd/modec/internal/report"
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
	findingForms
	Path    []string `arg:"" optional:"" help:"Report only on these files and folders of the source."`
	Fix     bool     `help:"Remove rules that decide nothing (duplicate-rule, shadowed-rule, void-rule), in CUE files."`
	FailOn  string   `enum:"error,warning,note" default:"warning" help:"Exit 1 on error, warning or note and above."`
	Staged  bool     `help:"Look at git's index instead of the working tree."`
	Rules   bool     `help:"List the rules, each with an example of what it finds."`
	Suggest bool     `help:"Also show where the source permits more than it seems to need."`
	Apply   bool     `help:"Write the patches of the suggestions."`
}

func (lintCmd) reports() []any {
	return []any{report.LintReport{}, report.RulesReport{}, report.Outcome{}}
}

func (c *lintCmd) Run(e *env) error {
	if c.Rules {
		return e.ui.Rules(lint.All(e.targets))
	}
	if c.Staged && (c.Fix || c.Apply) {
		return errors.New("--staged looks at git's index, --fix and --apply write the working tree: leave one out")
	}
	from := workTree
	if c.Staged {
		from = gitIndex
	} else if err := e.readable(c.Path); err != nil {
		return err
	}
	req, done, err := e.source(from)
	if err != nil {
		return err
	}
	defer done()
	req.SourceAlone = true
	report := report.LintReport{Envelope: e.ui.Envelope(), Diagnostics: diag.List{}}
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	project := req.FS
	if project == nil {
		root, err := os.OpenRoot(e.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		project = contract.Plain(root.FS())
	}
	findings := res.Lint(project)
	if c.Fix {
		if findings, report.Fixed, err = c.fix(e, req, res, findings); err != nil {
			return err
		}
	}
	report.Diagnostics = c.reported(e, diags, findings)
	if !c.Suggest && !c.Apply {
		return c.report(e, report)
	}
	return c.suggestions(e, req, res, report)
}

// reported returns what is to be reported of a compilation and of what lint found.
func (c *lintCmd) reported(e *env, compiled diag.List, findings []lint.Finding) diag.List {
	list := diag.List{}
	for _, d := range compiled {
		if d.Loss == diag.NoLoss && d.Severity != diag.Note {
			list = append(list, d)
		}
	}
	for _, f := range findings {
		if f.Fix != nil && f.Hint == "" {
			f.Hint = report.MendsRule(f.Fix.Pos.File)
		}
		list = append(list, f.Diagnostic)
	}
	list.Sort()
	if len(c.Path) > 0 {
		list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return !e.below(d.Pos.File, c.Path) })
	}
	return list
}

// suggestions looks for what the source could permit less, and applies it.
func (c *lintCmd) suggestions(e *env, req compiler.Request, res *compiler.Result, result report.LintReport) error {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := contract.Plain(root.FS())
	found, list := suggest.Project(e.ctx, files, req, res)
	if list.HasErrors() {
		return e.ui.Fail(list)
	}
	result.Suggestions, result.Applied = found.Suggestions, c.Apply && len(found.Files) > 0
	result.Patches = patches(found.Files)
	if !e.ui.JSON {
		e.ui.Suggestions(files, found)
	}
	if c.Apply {
		if list := e.put(found.Files, output.ReplaceExisting); list.HasErrors() {
			return e.ui.Fail(list)
		}
		if !e.ui.JSON {
			e.ui.Note("%s written\n", report.Count(len(found.Files), "file"))
		}
	}
	return c.report(e, result)
}

func patches(files []contract.File) (list []report.Patch) {
	for _, f := range files {
		list = append(list, report.Patch{File: f.Path, Text: string(f.Data), Gone: f.Data == nil})
	}
	return list
}

// report prints what was found in the form that was asked for.
func (c *lintCmd) report(e *env, result report.LintReport) error {
	failed := slices.ContainsFunc(result.Diagnostics, func(d diag.Diagnostic) bool { return c.fails(d.Severity) })
	if result.Status = "ok"; failed {
		result.Status = "findings"
	}
	var err error
	switch {
	case e.ui.JSON:
		err = e.ui.Emit(result)
	case e.ui.Annotator != nil:
		err = e.ui.Annotator(result.Diagnostics)
	default:
		if e.ui.Quiet { // a hook prints at every commit what nobody has to do
			result.Diagnostics = slices.DeleteFunc(slices.Clone(result.Diagnostics),
				func(d diag.Diagnostic) bool { return !c.fails(d.Severity) })
		}
		e.ui.Lint(result)
	}
	if err == nil && failed {
		return report.ExitFindings
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

// fix removes what decides nothing, after a proof: the fixed source compiles, and it
// decides as before. It returns what lint finds then, and the files that it wrote.
func (c *lintCmd) fix(e *env, req compiler.Request, res *compiler.Result, findings []lint.Finding) (
	[]lint.Finding, []string, error) {
	asked := slices.DeleteFunc(slices.Clone(findings), func(f lint.Finding) bool {
		return len(c.Path) > 0 && !e.below(f.Pos.File, c.Path)
	})
	fixed := lint.Fixes(res.Sources, asked)
	if len(fixed) == 0 {
		return findings, nil, nil
	}
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	project := contract.Plain(root.FS())
	if req.FS, err = source.Overlay(project, res.Config.Source, fixed); err != nil {
		return nil, nil, err
	}
	after, diags := compiler.Open(e.ctx, req)
	if diags.HasErrors() {
		return nil, nil, fmt.Errorf("nothing is written, because the fixed source would not compile: %w", diags)
	}
	changes, err := diff.Projects(res.Policy, after.Policy, compiler.Seed)
	if err != nil {
		return nil, nil, err
	}
	if report.Differences(changes) > 0 {
		return nil, nil, fmt.Errorf("nothing is written, because the fixed source would decide otherwise: %s",
			report.Totals(changes, "the source", "the fixed one"))
	}
	names := slices.Sorted(maps.Keys(fixed))
	var files []contract.File
	for _, name := range names {
		files = append(files, contract.File{Path: name, Data: fixed[name]})
	}
	if list := e.put(files, output.ReplaceExisting); list.HasErrors() {
		return nil, nil, list
	}
	return after.Lint(project), names, nil
}
