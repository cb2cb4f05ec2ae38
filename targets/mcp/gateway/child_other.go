//go:build !unix

package gateway

import "os/exec"

func ownGroup(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
