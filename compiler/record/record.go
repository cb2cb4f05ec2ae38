// Package record remembers, in the user's own cache folder, what a build read and what
// it left on disk, so that the next one can tell that nothing changed without reading
// CUE. A record skips work and never says what is right: it holds for the very bytes of
// every file that was read, the names in every folder that was listed, every file that
// was looked for and not found, the artifacts, the lock, the program and the day.
//
// It lies outside of the repository, which therefore cannot bring one along.
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

// version is that of the form of a record, and of what it is to cover.
const version = 1

// Record is what one build read and left.
type Record struct {
	Version int    `json:"version"`
	Program string `json:"program"`
	Day     string `json:"day"` // exceptions end on a day
	// Project are the states of what was read below the project's folder, Output below
	// the output root, by path.
	Project map[string]string `json:"project"`
	Output  map[string]string `json:"output"`
	Summary Summary           `json:"summary"`
}

// Summary is what an unchanged build has to say.
type Summary struct {
	Targets  int `json:"targets"`
	Files    int `json:"files"`
	Losses   int `json:"losses"`
	Warnings int `json:"warnings"`
	// Diagnostics are the warnings, which a check says each time.
	Diagnostics diag.List `json:"diagnostics,omitempty"`
}

// Place is where the record of a kind of run lies, "" where the user has no cache
// folder or wants none: with CI set, and with MODEC_CACHE=off. args are whatever the
// outcome depends on beside the files.
func Place(args ...string) string {
	if os.Getenv("CI") != "" || os.Getenv("MODEC_CACHE") == "off" {
		return ""
	}
	dir, err := os.UserCacheDir()
	if err != nil || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "modec", "builds", sum([]byte(strings.Join(args, "\x00")))[:32]+".json")
}

// Program identifies the running program: another build of modec is another one.
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
	return &Record{Version: version, Program: program, Day: today.UTC().Format(time.DateOnly), Project: map[string]string{}, Output: map[string]string{}}
}

// Load returns the record at a place if it still holds for the files on disk, else nil.
func Load(place, program string, today time.Time, project, output string) *Record {
	if place == "" || program == "" {
		return nil
	}
	data, err := os.ReadFile(place)
	if err != nil {
		return nil
	}
	var r Record
	want := New(program, today)
	if json.Unmarshal(data, &r) != nil || r.Version != want.Version || r.Program != want.Program || r.Day != want.Day || len(r.Project) == 0 {
		return nil
	}
	if !holds(project, r.Project) || !holds(output, r.Output) {
		return nil
	}
	return &r
}

// holds compares states with the disk, several files at a time.
func holds(dir string, states map[string]string) bool {
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
				if onDisk(filepath.Join(dir, filepath.FromSlash(list[i].name)), list[i].state) != list[i].state {
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
	other  = "other" // a link, a device: nothing holds for it
)

// onDisk is the state of a path, as far as want asks for it.
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

func kind(m os.FileMode) string {
	switch {
	case m.IsDir():
		return "/"
	case m.IsRegular():
		return ""
	}
	return "@"
}

func listing(list []string) string {
	slices.Sort(list)
	return names + sum([]byte(strings.Join(list, "\x00")))
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// File notes a file of the output root with the bytes that were left there.
func (r *Record) File(name string, data []byte) { r.Output[name] = sum(data) }

// Missing notes that no file is there.
func (r *Record) Missing(name string) { r.Output[name] = absent }

// Save puts a record at its place, where the next run finds it. A record that cannot
// be saved costs nothing but time.
func (r *Record) Save(place string) {
	if place == "" || r.Program == "" || len(r.Project) == 0 {
		return
	}
	data, err := json.Marshal(r)
	if err != nil {
		return
	}
	dir := filepath.Dir(place)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "new-*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), place)
	}
	if err != nil {
		os.Remove(f.Name())
		return
	}
	prune(dir)
}

// kept is how long a record is kept that nobody uses.
const kept = 60 * 24 * time.Hour

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
