package main

import (
	"os"
	"runtime/debug"
)

const (
	heapGrowth = 400       // per cent of what lives, until it is collected
	heapLimit  = 240 << 20 // bytes, from which on it is collected sooner
	heapOfMany = 40        // per cent, of what serves for days and keeps little of each caller
)

// collectSeldom lets a command that allocates much and keeps little run with fewer collections,
// as long as its memory is small. What the environment says of that holds.
func collectSeldom() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(heapGrowth)
		debug.SetMemoryLimit(heapLimit)
	}
}

// collectOften lets a command that serves from now on keep little memory, and gives back what it took to compile.
func collectOften() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(heapOfMany)
	}
	debug.FreeOSMemory()
}
