//go:build unix && !aix && !solaris

package audit

import (
	"errors"
	"os"
	"syscall"
)

// tryLock locks a file against other programs until it is closed. It reports false where another one has the lock.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}
