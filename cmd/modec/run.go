package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
)

type runCmd struct {
	acceptFlag
	Closed  bool     `help:"Start nothing where your own files allow what the source leaves to the agent."`
	Subject string   `arg:"" help:"A role's name or a mode's slug."`
	Command []string `arg:"" passthrough:"" help:"The agent's command line, after --."`
}

// unsaid lists what the user's own files allow where the source says nothing, and fails
// there with --closed.
func (c *runCmd) unsaid(e *env, t contract.Target, l *launch) error {
	allows, _ := e.filling(l.res, t, l.ref.Role)
	for _, a := range allows {
		e.ui.Render.Render(e.ui.Err, diag.Diagnostic{Severity: diag.Note, Pos: a.At, Message: fmt.Sprintf(
			"your own %q holds, because the source leaves %s to the agent", a.Rule, ir.Names(a.Groups))})
	}
	if c.Closed && len(allows) > 0 {
		return fmt.Errorf("%s of your own would decide what %s leaves to the agent: remove what is listed above, "+
			"or close the groups in the source", report.Count(len(allows), "rule"), l.ref)
	}
	return nil
}

func (runCmd) reports() []any { return []any{report.Outcome{}} }

func (c *runCmd) Run(e *env) error {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return fmt.Errorf("there is no command after --: `modec run %s -- PROGRAM` starts one of %s",
			c.Subject, strings.Join(programs(e.launchers()), ", "))
	}
	launcher, err := e.launcherOf(command[0])
	if err != nil {
		return err
	}
	started, list, err := e.launch(launcher, c.Subject, "", contract.ArgsOptions{})
	if err != nil {
		return err
	}
	if list.HasErrors() {
		return e.ui.Fail(list)
	}
	line := contract.CommandLine{Given: started.args, Variables: started.env, Own: command[1:],
		Env: started.environment(os.Environ())}
	if x, ok := launcher.Replaces(line); ok {
		return fmt.Errorf("%s would replace what %s may do (%s): %s", x.What, c.Subject, x.Does, x.Instead)
	}
	e.ui.Diagnostics(list)
	if err := c.accept(e, started.res, started.ref, launcher); err != nil {
		return err
	}
	if err := c.unsaid(e, launcher, started); err != nil {
		return err
	}
	file, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("%q cannot be run: %w", command[0], err)
	}
	if err := started.write(); err != nil {
		return err
	}
	return execute(file, slices.Concat(command[:1], started.args, command[1:]), started.environment(os.Environ()))
}
