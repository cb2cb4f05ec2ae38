//go:build unix

package output

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes a file for this process alone until it is closed, or fails at once.
func lockFile(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}
