package output

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes a file for this process alone until it is closed, or fails at once.
func lockFile(f *os.File) error {
	const alone = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	return windows.LockFileEx(windows.Handle(f.Fd()), alone, 0, 1, 0, &windows.Overlapped{})
}
