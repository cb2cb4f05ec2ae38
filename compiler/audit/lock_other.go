//go:build !windows && (!unix || aix || solaris)

package audit

import "os"

// tryLock reports true: the system has no lock that ends with a program.
func tryLock(*os.File) (bool, error) { return true, nil }
