package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
)

type runCmd struct {
	Subject string   `arg:"" help:"A role's name or a mode's slug."`
	Command []string `arg:"" passthrough:"" help:"The agent's command line, after --."`
}

func (runCmd) Help() string {
	return `Starts the agent with the arguments that ` + "`modec args`" + ` prints, right after the program's name. It
refuses where the artifacts are not those of the source, and where the command line has a flag that would
replace what the subject may do.

Example:
  modec run reviewer -- claude -p 'Review the last commit'`
}

func (runCmd) reports() []any { return []any{outcome{}} }

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
	for _, a := range command[1:] {
		if flag, _, _ := strings.Cut(a, "="); slices.Contains(launcher.Decisive(), flag) {
			return fmt.Errorf("%s would replace what %s may do: leave it out", flag, c.Subject)
		}
	}
	args, list, err := e.launchArgs(launcher, c.Subject, contract.ArgsOptions{}, mustBeFresh)
	if err != nil {
		return err
	}
	if list.HasErrors() {
		return e.ui.fail(list)
	}
	e.ui.diagnostics(list)
	file, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("%q cannot be run: %w", command[0], err)
	}
	return execute(file, slices.Concat(command[:1], args, command[1:]), os.Environ())
}
