package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mattn/go-isatty"
)

// person reports whether a person may be at the other end of a stream: it is a terminal.
func person(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// confirm asks a person in the terminal; without one it fails and names the flag that says yes.
func (e *env) confirm(question, flag string) error {
	if !person(e.stdin) || !person(e.ui.Err) {
		return fmt.Errorf("nobody can be asked here, and nothing was changed: add %s, or run it in a terminal", flag)
	}
	fmt.Fprintf(e.ui.Err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(e.stdin).ReadString('\n')
	if yes := strings.ToLower(strings.TrimSpace(answer)); err != nil || yes != "y" && yes != "yes" {
		return errors.New("nobody said yes, and nothing was done")
	}
	return nil
}
