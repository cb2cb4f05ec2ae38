package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

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

func (lintCmd) reports() []any { return []any{lintReport{}, rulesReport{}, outcome{}} }

// lintReport is the JSON of a lint.
type lintReport struct {
	envelope
	Status      string               `json:"status" enum:"ok,findings"`
	Diagnostics diag.List            `json:"diagnostics"`
	Fixed       []string             `json:"fixed,omitempty" jsonschema:"the files that --fix changed"`
	Suggestions []suggest.Suggestion `json:"suggestions,omitempty"`
	Patches     []patch              `json:"patches,omitempty"`
	Applied     bool                 `json:"applied,omitempty" jsonschema:"the patches were written"`
}

// patch is a file of the source as the suggestions leave it.
type patch struct {
	File string `json:"file"`
	Text string `json:"text"`
	Gone bool   `json:"gone,omitempty" jsonschema:"the file goes: nothing is left in it"`
}

// rulesReport is the JSON of lint's rules.
type rulesReport struct {
	envelope
	Rules []lint.Rule `json:"rules"`
}

func (c *lintCmd) Run(e *env) error {
	if c.Rules {
		return e.ui.rules(lint.All(e.targets))
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
	report := lintReport{envelope: e.ui.envelope(), Diagnostics: diag.List{}}
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.fail(diags)
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
			f.Hint = mendsRule(f.Fix.Pos.File)
		}
		list = append(list, f.Diagnostic)
	}
	list.Sort()
	if len(c.Path) > 0 {
		list = slices.DeleteFunc(list, func(d diag.Diagnostic) bool { return !e.below(d.Pos.File, c.Path) })
	}
	return list
}

// mendsRule says how a rule that decides nothing is taken out of a file.
func mendsRule(file string) string {
	if lint.Mends(file) {
		return "`modec lint --fix` removes it"
	}
	return "take it out: `modec lint --fix` changes CUE files alone"
}

// suggestions looks for what the source could permit less, and applies it.
func (c *lintCmd) suggestions(e *env, req compiler.Request, res *compiler.Result, report lintReport) error {
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := contract.Plain(root.FS())
	found, list := suggest.Project(e.ctx, files, req, res)
	if list.HasErrors() {
		return e.ui.fail(list)
	}
	report.Suggestions, report.Applied = found.Suggestions, c.Apply && len(found.Files) > 0
	report.Patches = patches(found.Files)
	if !e.ui.json {
		e.ui.suggestions(files, found)
	}
	if c.Apply {
		if list := e.put(found.Files, output.ReplaceExisting); list.HasErrors() {
			return e.ui.fail(list)
		}
		if !e.ui.json {
			e.ui.note("%s written\n", count(len(found.Files), "file"))
		}
	}
	return c.report(e, report)
}

func patches(files []contract.File) (list []patch) {
	for _, f := range files {
		list = append(list, patch{f.Path, string(f.Data), f.Data == nil})
	}
	return list
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
	case e.ui.annotator != nil:
		err = e.ui.annotator(report.Diagnostics)
	default:
		if e.ui.quiet { // a hook prints at every commit what nobody has to do
			report.Diagnostics = slices.DeleteFunc(slices.Clone(report.Diagnostics),
				func(d diag.Diagnostic) bool { return !c.fails(d.Severity) })
		}
		e.ui.lint(report)
	}
	if err == nil && failed {
		return exitFindings
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
	if differences(changes) > 0 {
		return nil, nil, fmt.Errorf("nothing is written, because the fixed source would decide otherwise: %s",
			totals(changes, "the source", "the fixed one"))
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
