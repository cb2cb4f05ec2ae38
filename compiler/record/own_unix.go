//go:build unix

package record

import (
	"io/fs"
	"os"
	"syscall"
)

// own reports whether a file is the user's, and nobody else may write it.
func own(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
