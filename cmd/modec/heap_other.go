//go:build !linux

package main

// unmapProgram does nothing on this system.
func unmapProgram() {}
