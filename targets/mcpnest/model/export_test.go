package model

import "fmt"

// KnownCode returns the digests of guards.ts with what is known of each, and those of
// strategy.ts.
func KnownCode() (guards map[string]string, strategies []string) {
	guards = map[string]string{}
	for digest, c := range knownCode {
		guards[digest] = fmt.Sprintf("MCP-Nest %d, strategy %v", c.major, c.strategy)
	}
	return guards, knownStrategy
}
