// Package record remembers what a build read and what it left on the disk, so that the next
// one can tell that nothing changed without evaluating CUE. [NewReads] notes what a build
// reads, [Record.Save] keeps that, and [Load] returns a record that is still valid. [Read] and
// [Write] keep other records of the user's own, such as the one of a verification.
//
// A record is valid for the exact bytes of every file that was read, the names in every
// folder that was listed, every file that was looked for and not found, the artifacts, the
// lock, the program and the day. It is in the user's own cache folder, so that a repository
// cannot bring one along.
package record

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modec.dev/modec/compiler/diag"
)

// version is the version of the form of a record, and of what it covers.
const version = 1

// Record is what one build read and left.
type Record struct {
	Version int    `json:"version"`
	Program string `json:"program"`
	Day     string `json:"day"` // exceptions end on a day
	// Project contains the states of what was read below the project's folder, Output of
	// what is below the output root, by path.
	Project map[string]string `json:"project"`
	Output  map[string]string `json:"output"`
	Summary Summary           `json:"summary"`
}

// Summary is what an unchanged build prints.
type Summary struct {
	Targets  int `json:"targets"`
	Files    int `json:"files"`
	Losses   int `json:"losses"`
	Warnings int `json:"warnings"`
	// Diagnostics are the warnings, which a check repeats each time.
	Diagnostics diag.List `json:"diagnostics,omitempty"`
	// Filled says what entries of somebody's own allow that the source leaves to the agents.
	Filled string `json:"filled,omitempty"`
}

// Place returns the path of the record of a build. args are whatever the outcome depends on
// besides the files. See [PlaceIn].
func Place(args ...string) string { return PlaceIn("builds", ".json", args...) }

// PlaceIn returns the path of a record in a folder of modec's in the user's cache folder. It
// returns "" where the user has no cache folder, with CI set, and with MODEC_CACHE=off.
func PlaceIn(folder, ending string, args ...string) string {
	if os.Getenv("CI") != "" || os.Getenv("MODEC_CACHE") == "off" {
		return ""
	}
	dir, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "modec", folder, sum([]byte(strings.Join(args, "\x00")))[:32]+ending)
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

// New returns an empty record of today.
func New(program string, today time.Time) *Record {
	return &Record{
		Version: version, Program: program, Day: today.UTC().Format(time.DateOnly),
		Project: map[string]string{}, Output: map[string]string{},
	}
}

// Load returns the record at a place if it is still valid for the files on the disk, else
// nil.
func Load(place, program string, today time.Time, project, output string) *Record {
	if place == "" || program == "" {
		return nil
	}
	var r Record
	if json.Unmarshal(Read(place), &r) != nil || len(r.Project) == 0 {
		return nil
	}
	now := New(program, today)
	if r.Version != now.Version || r.Program != now.Program || r.Day != now.Day {
		return nil
	}
	if !valid(project, r.Project) || !valid(output, r.Output) {
		return nil
	}
	return &r
}

// valid reports whether the disk has the states. It looks at several files at a time.
func valid(dir string, states map[string]string) bool {
	type entry struct{ name, state string }
	list := make([]entry, 0, len(states))
	for name, state := range states {
		list = append(list, entry{name, state})
	}
	var next atomic.Int64
	var changed atomic.Bool
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), 1+len(list)/64)
	for range workers {
		wg.Go(func() {
			for !changed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(list) {
					return
				}
				e := list[i]
				if onDisk(filepath.Join(dir, filepath.FromSlash(e.name)), e.state) != e.state {
					changed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return !changed.Load()
}

// The states of a path: the hash of a file that was read, or one of these.
const (
	absent = "absent"
	there  = "there" // a file that was not read
	folder = "folder"
	names  = "names "
	other  = "other" // a link, a device: never valid
)

// onDisk returns the state of a path on the disk, in the form of the state want.
func onDisk(file, want string) string {
	info, err := os.Lstat(file)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return absent
	case err != nil:
		return other
	case info.IsDir() && strings.HasPrefix(want, names):
		entries, err := os.ReadDir(file)
		if err != nil {
			return other
		}
		list := make([]string, 0, len(entries))
		for _, e := range entries {
			list = append(list, e.Name()+kind(e.Type()))
		}
		return listing(list)
	case info.IsDir():
		return folder
	case !info.Mode().IsRegular():
		return other
	case want == there:
		return there
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return other
	}
	return sum(data)
}

// kind marks the names of folders, links and the like in a listing.
func kind(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "/"
	case m.IsRegular():
		return ""
	}
	return "@"
}

// listing returns the state of a folder with some names.
func listing(list []string) string {
	slices.Sort(list)
	return names + sum([]byte(strings.Join(list, "\x00")))
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// File notes a file below the output root with the bytes that were left there.
func (r *Record) File(name string, data []byte) { r.Output[name] = sum(data) }

// Missing notes that there is no file of a name below the output root.
func (r *Record) Missing(name string) { r.Output[name] = absent }

// Save writes a record to its place, where the next run finds it. Without it the next run
// takes longer, so that Save ignores errors.
func (r *Record) Save(place string) {
	if place == "" || r.Program == "" || len(r.Project) == 0 {
		return
	}
	if data, err := json.Marshal(r); err == nil {
		Write(place, data)
	}
}

// kept is how long an unused record is kept.
const kept = 60 * 24 * time.Hour

// prune removes the records in a folder that were not used for long.
func prune(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > kept {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
