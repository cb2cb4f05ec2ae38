//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
)

// execute runs the agent and ends with its exit code.
func execute(file string, argv, env []string) error {
	cmd := exec.Command(file, argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exitCode(exit.ExitCode())
	}
	return err
}
