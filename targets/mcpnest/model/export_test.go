package model

// KnownCode returns the major versions of MCP-Nest by the known code's files and digests.
func KnownCode() map[string]map[string]int { return knownCode() }
