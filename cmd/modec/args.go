package main

import (
	"errors"
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
	Target    string `placeholder:"NAME" help:"Whose arguments: one of ${launchers}. Default: the one of modec.toml's targets that can be started."`
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
	launcher, err := e.launcher(c.Target)
	if err != nil {
		return err
	}
	args, list, err := e.launchArgs(launcher, c.Subject, contract.ArgsOptions{Inline: c.Inline, FlagsOnly: c.FlagsOnly}, mayBeStale)
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

// freshness says whether the artifacts on disk must be those of the source.
type freshness bool

const (
	mayBeStale  freshness = false
	mustBeFresh freshness = true
)

// launchers are the targets whose agents can be started.
func (e *env) launchers() (list []contract.Launcher) {
	for _, t := range e.targets {
		if l, ok := t.(contract.Launcher); ok {
			list = append(list, l)
		}
	}
	return list
}

func programs(list []contract.Launcher) (names []string) {
	for _, l := range list {
		names = append(names, l.Agent().Programs...)
	}
	return names
}

// launcherOf returns the target whose agent a program is.
func (e *env) launcherOf(program string) (contract.Launcher, error) {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	for _, l := range e.launchers() {
		if slices.Contains(l.Agent().Programs, name) {
			return l, nil
		}
	}
	return nil, fmt.Errorf("%s is not an agent that modec can start as a subject: these are %s", name, strings.Join(programs(e.launchers()), ", "))
}

// launcher returns the target of a name; for no name the first that modec.toml compiles
// for, else the first there is.
func (e *env) launcher(name string) (contract.Launcher, error) {
	list := e.launchers()
	if name != "" {
		for _, l := range list {
			if l.Name() == name {
				return l, nil
			}
		}
		return nil, fmt.Errorf("target %q starts no agent", name)
	}
	if cfg, _ := compiler.ReadConfig(e.request()); cfg != nil {
		for _, t := range cfg.Targets {
			if l, ok := t.Target.(contract.Launcher); ok {
				return l, nil
			}
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there is no target that starts an agent")
	}
	return list[0], nil
}

// launchArgs compiles the project for the launcher's target alone and returns the
// arguments for a subject.
func (e *env) launchArgs(launcher contract.Launcher, subject string, opt contract.ArgsOptions, fresh freshness) ([]string, diag.List, error) {
	req := e.request()
	req.Only = []string{launcher.Name()}
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return nil, diags, nil
	}
	ref, err := res.Project.ParseSubject(subject, "")
	if err != nil {
		return nil, nil, err
	}
	if fresh == mustBeFresh {
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
