package output

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Exclude keeps other processes from changing a project's source by the same function
// until the returned one is called. It waits for one that does, at most so long. The
// lock lies in the user's cache folder, not in the project.
func Exclude(dir string, wait time.Duration) (release func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	folder := filepath.Join(cache, "modec", "locks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("the source cannot be locked: %w", err)
	}
	sum := sha256.Sum256([]byte(dir))
	f, err := os.OpenFile(filepath.Join(folder, hex.EncodeToString(sum[:16])), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the source cannot be locked: %w", err)
	}
	for end := time.Now().Add(wait); ; time.Sleep(10 * time.Millisecond) {
		if err = lockFile(f); err == nil {
			return func() { f.Close() }, nil
		}
		if time.Now().After(end) {
			f.Close()
			return nil, fmt.Errorf("another modec changes the source: %w", err)
		}
	}
}
