//go:build unix

package output

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile takes a file for this process alone until it is closed, or fails at once.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return errTaken
	}
	return err
}

// lockFolder takes a folder for this process alone until the returned function is called,
// or fails at once. The lock is on the folder itself and leaves no file. Where the file
// system does not lock folders, it is on a file in the user's cache folder.
func lockFolder(dir *os.File) (release func(), err error) {
	err = lockFile(dir)
	if err == nil || errors.Is(err, errTaken) {
		return func() { unix.Flock(int(dir.Fd()), unix.LOCK_UN) }, err
	}
	return lockApart(dir)
}
