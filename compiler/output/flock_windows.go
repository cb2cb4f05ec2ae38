package output

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes a file for this process alone until it is closed, or fails at once.
func lockFile(f *os.File) error {
	const alone = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err := windows.LockFileEx(windows.Handle(f.Fd()), alone, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errTaken
	}
	return err
}

// lockFolder takes a folder for this process alone until the returned function is called,
// or fails at once. Windows does not lock folders.
func lockFolder(dir *os.File) (release func(), err error) { return lockApart(dir) }
