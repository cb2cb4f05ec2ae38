//go:build unix

package main

import "syscall"

// execute replaces the process, so that signals and the exit code are the
// agent's own.
func execute(file string, argv, env []string) error { return syscall.Exec(file, argv, env) }
