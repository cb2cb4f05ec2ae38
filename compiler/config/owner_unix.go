//go:build unix

package config

import (
	"io/fs"
	"syscall"
)

// sameOwner reports whether two files belong to one user.
func sameOwner(a, b fs.FileInfo) bool {
	x, ok := a.Sys().(*syscall.Stat_t)
	y, also := b.Sys().(*syscall.Stat_t)
	return ok && also && x.Uid == y.Uid
}
