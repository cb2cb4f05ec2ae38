package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/output"
)

type argsCmd struct {
	Subject   string `arg:"" help:"A role's name or a mode's slug."`
	Null      bool   `short:"0" help:"End each argument with a NUL byte instead of quoting for a shell."`
	Inline    bool   `help:"Put the settings into the argument instead of naming their file."`
	FlagsOnly bool   `help:"Bare flags; what they cannot carry (ask, hooks, rules with a parenthesis) is reported."`
}

func (argsCmd) Help() string {
	return `Prints the arguments that start Claude Code as a role or in a mode, quoted for a POSIX shell, on one line. They name the settings that ` + "`modec build`" + ` wrote.

Examples:
  eval "claude $(modec args reviewer)"
  modec args ci-runner --null | xargs -0 claude -p 'Run the tests'
  modec args reviewer --json`
}

func (c *argsCmd) Run(e *env) error {
	if c.Inline && c.FlagsOnly {
		return fmt.Errorf("got --inline and --flags-only, want one of them")
	}
	args, list, err := launchArgs(e, c.Subject, contract.ArgsOptions{Inline: c.Inline, FlagsOnly: c.FlagsOnly}, false)
	if err != nil {
		return err
	}
	if list.HasErrors() {
		return e.ui.fail("args", list)
	}
	switch {
	case e.ui.json:
		return e.ui.emit(struct {
			Args        []string  `json:"args"`
			Diagnostics diag.List `json:"diagnostics"`
		}{args, orEmpty(list)})
	case c.Null:
		for _, a := range args {
			e.ui.printf("%s\x00", a)
		}
	default:
		quoted := make([]string, len(args))
		for i, a := range args {
			quoted[i] = contract.ShellQuote(a)
		}
		e.ui.printf("%s\n", strings.Join(quoted, " "))
	}
	e.ui.diagnostics(list)
	return nil
}

// launchArgs compiles the project for the launcher's target alone and returns
// the arguments for a subject. With fresh set, the artifacts on disk must be
// those of this source.
func launchArgs(e *env, subject string, opt contract.ArgsOptions, fresh bool) ([]string, diag.List, error) {
	req := e.request()
	i := slices.IndexFunc(req.Targets, func(t contract.Target) bool { _, ok := t.(contract.Launcher); return ok })
	if i < 0 {
		return nil, nil, fmt.Errorf("no target can start an agent")
	}
	launcher := req.Targets[i].(contract.Launcher)
	req.Only = []string{launcher.Name()}
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return nil, diags, nil
	}
	ref, err := res.Project.ParseSubject(subject, "")
	if err != nil {
		return nil, nil, err
	}
	if fresh {
		if err := e.fresh(res); err != nil {
			return nil, nil, err
		}
	}
	opt.Dir = relativeDir(e)
	args, list := launcher.Args(res.Input(launcher), ref, opt)
	return args, append(diags, list...), nil
}

// fresh reports an error where the artifacts on disk are not those of the source.
func (e *env) fresh(res *compiler.Result) error {
	changes, list := res.Write(e.ctx, output.Options{Dir: e.dir, Version: version(), DryRun: true, Force: true})
	if list.HasErrors() {
		return fmt.Errorf("the artifacts cannot be read: %s", list[0])
	}
	for _, c := range changes {
		if c.Action != output.Unchanged && c.Action != output.Remove {
			return fmt.Errorf("the artifacts are not those of the source (%s differs); run `modec build` first", c.Path)
		}
	}
	return nil
}

// relativeDir is the project folder as the caller can name it: relative to the
// working directory where it is below it, else absolute.
func relativeDir(e *env) string {
	rel, err := filepath.Rel(e.cwd, e.dir)
	if err != nil || strings.HasPrefix(rel, "..") {
		return e.dir
	}
	return rel
}
