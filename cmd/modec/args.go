package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

type argsCmd struct {
	textOrJSON
	acceptFlag
	Subject   string `arg:"" help:"A role's name or a mode's slug."`
	Target    string `placeholder:"NAME" help:"The agent: ${launchers}. Default: the first of modec.toml."`
	Null      bool   `short:"0" help:"End each argument with a NUL byte instead of quoting it for a shell."`
	Out       string `placeholder:"DIR" help:"Write the files that the arguments name into this folder."`
	Inline    bool   `help:"Put the settings into the argument instead of naming their file."`
	FlagsOnly bool   `help:"Use plain flags only, and report what they cannot carry."`
}

func (argsCmd) reports() []any { return []any{argsReport{}, report.Outcome{}} }

// argsReport is the JSON of an agent's arguments.
type argsReport struct {
	report.Envelope
	Args        []string  `json:"args"`
	Env         []string  `json:"env,omitempty" jsonschema:"variables, as NAME=VALUE; without a value: to take away"`
	Files       []string  `json:"files,omitempty" jsonschema:"what was written for an agent that modec does not start"`
	Diagnostics diag.List `json:"diagnostics" jsonschema:"what the arguments do not carry"`
}

// argsFailed is an option that no agent has: a command line that a failure is put into must
// not start an agent without its role.
const argsFailed = "--modec-args-failed"

func (c *argsCmd) Run(e *env) error {
	err := c.args(e)
	if err != nil && !e.ui.JSON {
		fmt.Fprint(e.ui.Out, argsFailed+c.end())
	}
	return err
}

// end is what ends the list of arguments.
func (c *argsCmd) end() string {
	if c.Null {
		return "\x00"
	}
	return "\n"
}

// files writes what sessions of a subject are started with, for an agent that modec does not start.
func (c *argsCmd) files(e *env, t contract.Target) error {
	req := e.request()
	req.Only = []string{t.Name()}
	res, diags := compiler.Compile(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	ref, err := res.Project.ParseSubject(c.Subject, "")
	if err != nil {
		return err
	}
	as, ok := contract.InView(t, res.Project, ref)
	if !ok {
		return fmt.Errorf("%s is not emitted for %s: its targets name others", ref, t.Name())
	}
	session, err := e.session(res, c.Out)
	if err != nil {
		return err
	}
	in := res.Input(t)
	in.Session = session.Policy()
	emitted, _ := t.Emit(in)
	var files []string
	for _, f := range emitted {
		if strings.HasPrefix(f.Path, contract.SessionPath(t.Name(), contract.SubjectName(as)+"/")) {
			files = append(files, session.Copies().Put(f))
		}
	}
	if len(files) == 0 {
		return fmt.Errorf("there is nothing to write for %s: sessions of %s have what `modec build` writes alone", ref,
			t.Name())
	}
	if err := session.Write(files); err != nil {
		return err
	}
	if e.ui.JSON {
		return e.ui.Emit(argsReport{Envelope: e.ui.Envelope(), Args: []string{}, Files: files, Diagnostics: diags})
	}
	for _, file := range files {
		e.ui.Printf("%s\n", diag.Clean(file))
	}
	return nil
}

func (c *argsCmd) args(e *env) error {
	if c.Inline && c.FlagsOnly {
		return errors.New("--inline and --flags-only exclude each other: leave one out")
	}
	launcher, err := e.launcher(c.Target)
	if err != nil {
		i := slices.IndexFunc(e.targets, func(t contract.Target) bool { return t.Name() == c.Target })
		if i < 0 || c.Out == "" {
			return err
		}
		return c.files(e, e.targets[i])
	}
	opt := contract.ArgsOptions{Inline: c.Inline, FlagsOnly: c.FlagsOnly}
	started, list, err := e.launch(launcher, c.Subject, c.Out, opt)
	if err != nil {
		return err
	}
	if list.HasErrors() {
		return e.ui.Fail(list)
	}
	if err := c.accept(e, started.res, started.ref, launcher); err != nil {
		return err
	}
	args := started.args
	if len(started.env) > 0 && !e.ui.JSON {
		return fmt.Errorf("%s takes a subject from variables too: start it by `modec run %s -- %s`, or ask for --json",
			launcher.Agent().Name, c.Subject, launcher.Agent().Programs[0])
	}
	if err := started.write(); err != nil {
		return err
	}
	switch {
	case e.ui.JSON:
		return e.ui.Emit(argsReport{Envelope: e.ui.Envelope(), Args: args, Env: started.env, Diagnostics: list})
	case c.Null:
		for _, a := range args {
			fmt.Fprintf(e.ui.Out, "%s\x00", a) // to the byte: a program reads it
		}
	default:
		quoted := make([]string, len(args))
		for i, a := range args {
			quoted[i] = contract.ShellQuote(a)
		}
		fmt.Fprint(e.ui.Out, strings.Join(quoted, " ")+c.end())
	}
	e.ui.Diagnostics(list)
	return nil
}
