package main

import (
	"fmt"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
)

type argsCmd struct {
	textOrJSON
	acceptFlag
	Subject   string `arg:"" help:"A role's name or a mode's slug."`
	Target    string `placeholder:"NAME" help:"The agent: ${launchers}; cursor with --out."`
	Null      bool   `short:"0" help:"End each argument with a NUL byte instead of quoting it for a shell."`
	Out       string `placeholder:"DIR" help:"Put the files that the arguments name into this folder."`
	FlagsOnly bool   `help:"Use plain flags only, and report what they cannot carry."`
}

func (argsCmd) reports() []any { return []any{argsReport{}, report.Outcome{}} }

// argsReport is the JSON of an agent's arguments.
type argsReport struct {
	report.Envelope
	Args        []string  `json:"args"`
	Env         []string  `json:"env,omitempty" jsonschema:"variables, as NAME=VALUE; without a value: to take away"`
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

func (c *argsCmd) args(e *env) error {
	launcher, err := e.launcher(c.Target)
	target := contract.Target(launcher)
	for _, t := range e.targets {
		if err != nil && t.Name() == c.Target && c.Out != "" { // a person starts it
			target, err = t, nil
		}
	}
	if err != nil {
		return err
	}
	started, list, err := e.launch(target, c.Subject, c.Out, contract.ArgsOptions{FlagsOnly: c.FlagsOnly})
	if err != nil {
		return err
	}
	if list.HasErrors() {
		return e.ui.Fail(list)
	}
	if err := c.accept(e, started.res, started.ref, target); err != nil {
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
		return e.ui.Emit(argsReport{e.ui.Envelope(), args, started.env, list})
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
