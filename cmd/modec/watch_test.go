package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
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

// TestWatch: a change is built, an error is survived, and so is a source that is gone
// for a while; what a build writes starts no other, and the end is clean.
func TestWatch(t *testing.T) {
	t.Setenv("MODEC_CACHE", "off")
	dir := t.TempDir()
	for name, text := range cached {
		mustWrite(t, filepath.Join(dir, name), []byte(text))
	}
	said := &transcript{}
	e := &env{ui: newUI(said, said, &globals{}, dir), dir: dir, cwd: dir}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- (&buildCmd{}).watch(ctx, e) }()
	modes := func() string {
		data, _ := os.ReadFile(filepath.Join(dir, ".roomodes"))
		return string(data)
	}
	role := filepath.Join(dir, "modec", "modes", "code.cue")
	builds := func() int { return strings.Count(said.String(), "\n") }
	eventually(t, "built", func() bool { return strings.Contains(modes(), `"Code"`) && builds() == 1 }, said)

	write := func(file, from, to string) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		mustWrite(t, file, bytes.ReplaceAll(data, []byte(from), []byte(to)))
	}
	write(role, `"Code"`, `"Coder"`)
	eventually(t, "built again", func() bool { return strings.Contains(modes(), `"Coder"`) }, said)

	// A folder and a file in it that were not there before.
	mustWrite(t, filepath.Join(dir, "modec", "later", "b.cue"), []byte("package modec\n\nmodes: b: {name: \"B\", roleDefinition: \"r\"}\n"))
	eventually(t, "built with the new folder", func() bool { return strings.Contains(modes(), `"B"`) }, said)
	write(filepath.Join(dir, "modec", "later", "b.cue"), `"B"`, `"Bee"`)
	eventually(t, "built with a change in the new folder", func() bool { return strings.Contains(modes(), `"Bee"`) }, said)

	// An error leaves the files as they were.
	before := modes()
	write(role, `name:`, `nmae:`)
	eventually(t, "told of the error", func() bool { return strings.Contains(said.String(), "failed: the files stay as they were") }, said)
	if !strings.Contains(said.String(), "modec/modes/code.cue:4:") || modes() != before {
		t.Errorf("got %s", said)
	}
	write(role, `nmae:`, `name:`)
	eventually(t, "built after the error", func() bool { return strings.HasSuffix(strings.TrimSpace(said.String()), "ms") }, said)

	// The source is gone, and comes back.
	if err := os.Rename(filepath.Join(dir, "modec"), filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "told of the source that is gone", func() bool { return strings.Count(said.String(), "failed:") == 2 }, said)
	if err := os.Rename(filepath.Join(dir, "gone"), filepath.Join(dir, "modec")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "built when it is back", func() bool { return strings.HasSuffix(strings.TrimSpace(said.String()), "ms") }, said)
	n := builds()
	write(role, `"Coder"`, `"Last"`)
	eventually(t, "built what changed then", func() bool { return strings.Contains(modes(), `"Last"`) && builds() > n }, said)

	n = builds()
	time.Sleep(3 * settle)
	if builds() != n {
		t.Errorf("what a build writes starts another: %s", said)
	}
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
