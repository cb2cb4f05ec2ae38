package output

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// How long a run waits for another one that writes into the same folder.
const (
	patience = 10 * time.Second
	aMoment  = time.Second // before it says that it waits
)

// errTaken reports a lock that another process has.
var errTaken = errors.New("it is locked")

// Exclude keeps other processes from changing a project's source by the same function
// until the returned one is called. It waits for one that does, at most so long. The
// lock lies in the user's cache folder, not in the project.
func Exclude(dir string, wait time.Duration) (release func(), err error) {
	f, err := openLock(dir)
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

// openLock opens the file in the user's cache folder that stands for a name.
func openLock(name string) (*os.File, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	folder := filepath.Join(cache, "modec", "locks")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(name))
	return os.OpenFile(filepath.Join(folder, hex.EncodeToString(sum[:16])), os.O_RDWR|os.O_CREATE, 0o600)
}

// lockApart locks a file in the user's cache folder that stands for a folder, or fails at
// once.
func lockApart(dir *os.File) (release func(), err error) {
	f, err := openLock("folder " + dir.Name())
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// waiter waits for the lock of a folder.
type waiter struct {
	ctx      context.Context
	progress Progress
	since    time.Time
	told     bool
}

// take locks an open folder against other runs that write into it, until the returned
// function is called or the process ends. It waits for one that does.
func (w *waiter) take(dir *os.File) (release func(), err error) {
	if w.since.IsZero() {
		w.since = time.Now()
	}
	for {
		release, err := lockFolder(dir)
		if err == nil {
			return release, nil
		}
		if !errors.Is(err, errTaken) {
			return nil, fmt.Errorf("the folder cannot be locked: %w", err)
		}
		waited := time.Since(w.since)
		if waited > patience {
			return nil, errors.New("another modec has been writing into this folder for too long: " +
				"wait for it to end, or end it, and try again")
		}
		if waited > aMoment && !w.told && w.progress.Waits != nil {
			w.told = true
			w.progress.Waits()
		}
		select {
		case <-w.ctx.Done():
			return nil, context.Cause(w.ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Quiet waits until no run writes into the folder, and returns a mark of the locks there. A reader that finds another
// mark in the end may have read what a run was writing. It fails where the context ends.
func (o *Options) Quiet(ctx context.Context) (mark string, err error) {
	if handle, err := os.Open(o.Dir); err == nil {
		defer handle.Close()
		w := waiter{ctx: ctx, progress: o.Progress}
		if release, err := w.take(handle); err == nil {
			release()
		} else if ctx.Err() != nil {
			return "", err
		} // else nobody can tell, as where the folder cannot be locked
	}
	return o.mark(), nil
}

// mark returns what tells one state of the locks from another.
func (o *Options) mark() string {
	var marks []string
	for _, name := range []string{LockFile, PendingLock} {
		if info, err := os.Stat(filepath.Join(o.Dir, filepath.FromSlash(name))); err == nil {
			marks = append(marks, fmt.Sprint(name, info.Size(), info.ModTime().UnixNano()))
		}
	}
	return strings.Join(marks, " ")
}

// Disturbed reports whether a run wrote into the folder since [Options.Quiet] returned a mark.
func (o *Options) Disturbed(mark string) bool { return o.mark() != mark }
