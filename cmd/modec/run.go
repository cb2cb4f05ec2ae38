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
	Command []string `arg:"" passthrough:"" help:"The agent's command, after --."`
}

func (runCmd) Help() string {
	return `Starts the agent with the arguments that ` + "`modec args`" + ` prints, put right after the command's name. It refuses when the artifacts are not those of the source.

Example:
  modec run reviewer -- claude -p 'Review the last commit'`
}

// decisive are flags of the agent that would replace what the subject may do:
// of two --settings Claude Code 2.1.329 keeps the last.
var decisive = []string{"--settings", "--setting-sources", "--permission-mode", "--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--bare", "--safe-mode"}

func (c *runCmd) Run(e *env) error {
	command := c.Command
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return fmt.Errorf("got no command, want one after --, such as claude")
	}
	for _, a := range command[1:] {
		if flag, _, _ := strings.Cut(a, "="); slices.Contains(decisive, flag) {
			return fmt.Errorf("got %s beside the subject's own settings, which it would replace; want a command without it", flag)
		}
	}
	args, list, err := launchArgs(e, c.Subject, contract.ArgsOptions{}, true)
	if err != nil {
		return err
	}
	if list.HasErrors() {
		return e.ui.fail("run", list)
	}
	e.ui.diagnostics(list)
	file, err := exec.LookPath(command[0])
	if err != nil {
		return fmt.Errorf("got command %q, which cannot be run: %w", command[0], err)
	}
	return execute(file, slices.Concat(command[:1], args, command[1:]), os.Environ())
}
