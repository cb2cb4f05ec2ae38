package main

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"modec.dev/modec/compiler/config"
)

// transcript is what a watcher says, while it goes on.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *transcript) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *transcript) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// eventually waits for something that a watcher does.
func eventually(t *testing.T, what string, done func() bool, said *transcript) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("not %s; it said\n%s", what, said)
}

// buildsOnce checks that what a build writes starts no other: no file outside of the source
// concerns a watcher.
func buildsOnce(t *testing.T, e *env, dir string) {
	t.Helper()
	w, err := e.watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.w.Close()
	written := 0
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir || name == filepath.Join(dir, config.File) {
			return err
		}
		if name == w.source {
			return fs.SkipDir
		}
		written++
		if w.concerns(fsnotify.Event{Name: name, Op: fsnotify.Write}) {
			t.Errorf("%s, which a build writes, starts another", name)
		}
		return nil
	})
	if err != nil || written == 0 {
		t.Errorf("got %d files of a build, %v", written, err)
	}
}

// TestWatch: a change is built, an error is survived, and so is a source that is gone
// for a while; what a build writes starts no other, and the end is clean.
func TestWatch(t *testing.T) {
	t.Setenv("MODEC_CACHE", "off")
	dir := t.TempDir()
	for name, text := range cached {
		mustWrite(t, filepath.Join(dir, name), []byte(text))
	}
	said := &transcript{}
	ctx, stop := context.WithCancel(t.Context())
	e := testEnv(ctx, dir, said)
	ended := make(chan error)
	go func() { ended <- (&buildCmd{}).watch(e) }()
	modes := func() string {
		data, _ := os.ReadFile(filepath.Join(dir, ".roomodes"))
		return string(data)
	}
	role := filepath.Join(dir, "modec", "modes", "code.cue")
	until := func(what string, done func() bool) {
		t.Helper()
		eventually(t, what, done, said)
	}
	builds := func() int { return strings.Count(said.String(), "\n") }
	until("built", func() bool { return strings.Contains(modes(), `"Code"`) && builds() == 1 })

	write := func(file, from, to string) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, file, bytes.ReplaceAll(data, []byte(from), []byte(to)))
	}
	write(role, `"Code"`, `"Coder"`)
	until("built again", func() bool { return strings.Contains(modes(), `"Coder"`) })

	// A folder and a file in it that were not there before.
	mode := "package modec\n\nmodes: b: {name: \"B\", roleDefinition: \"r\"}\n"
	mustWrite(t, filepath.Join(dir, "modec", "later", "b.cue"), []byte(mode))
	until("built with the new folder", func() bool { return strings.Contains(modes(), `"B"`) })
	write(filepath.Join(dir, "modec", "later", "b.cue"), `"B"`, `"Bee"`)
	until("built with a change in the new folder", func() bool { return strings.Contains(modes(), `"Bee"`) })

	// An error leaves the files as they were.
	before := modes()
	write(role, `name:`, `nmae:`)
	until("told of the error", func() bool {
		return strings.Contains(said.String(), "failed: the files stay as they were")
	})
	if !strings.Contains(said.String(), "modec/modes/code.cue:4:") || modes() != before {
		t.Errorf("got %s", said)
	}
	write(role, `nmae:`, `name:`)
	built := func() bool { return strings.HasSuffix(strings.TrimSpace(said.String()), "ms") }
	until("built after the error", built)

	// The source is gone, and comes back.
	if err := os.Rename(filepath.Join(dir, "modec"), filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	until("told of the source that is gone", func() bool { return strings.Count(said.String(), "failed:") == 2 })
	if err := os.Rename(filepath.Join(dir, "gone"), filepath.Join(dir, "modec")); err != nil {
		t.Fatal(err)
	}
	until("built when it is back", built)
	n := builds()
	write(role, `"Coder"`, `"Last"`)
	until("built what changed then", func() bool { return strings.Contains(modes(), `"Last"`) && builds() > n })

	buildsOnce(t, e, dir)
	stop()
	select {
	case err := <-ended:
		if err != nil || !strings.HasSuffix(said.String(), "stopped\n") {
			t.Errorf("got %v\n%s", err, said)
		}
	case <-time.After(30 * time.Second):
		t.Error("it does not stop")
	}
}
