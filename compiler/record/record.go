// Package record keeps what a command remembers in the user's own cache folder, so that a repository cannot bring it
// along: what was accepted, what stood before modec, and the last verification. [Write] and [Keep] write a record,
// [Read] returns its bytes, and [PlaceIn] says where one lies.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// PlaceIn returns the path of a record in a folder of modec's in the user's cache folder; args are whatever it
// depends on besides the files. It returns "" where the user has no cache folder, with CI set, and with
// MODEC_CACHE=off.
func PlaceIn(folder, ending string, args ...string) string {
	if os.Getenv("CI") != "" || os.Getenv("MODEC_CACHE") == "off" {
		return ""
	}
	dir := Folder()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, folder, Name(args...)+ending)
}

// Name returns the name of the file of what some words name.
func Name(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Folder returns the folder of modec's in the user's cache folder, "" where the user has none.
func Folder() string {
	dir, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "modec")
}

// Program identifies the running program; another build of modec has another identity.
func Program(release string) string {
	file, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %s %d %d", release, file, info.Size(), info.ModTime().UnixNano())
}

// kept is how long an unused record is kept.
const kept = 60 * 24 * time.Hour

// Prune removes the records in a folder that were not used for some time.
func Prune(dir string, unused time.Duration) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > unused {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
