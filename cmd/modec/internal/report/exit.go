package report

import "fmt"

// ExitCode ends a command whose message has been printed.
type ExitCode int

const (
	ExitFindings    ExitCode = 1 // findings, drift or denied
	ExitUsage       ExitCode = 2 // usage or environment
	ExitInterrupted ExitCode = 130
)

func (c ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }
