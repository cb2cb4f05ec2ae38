package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
)

// settle is how long nothing has to change before a build: an editor or a checkout
// writes several files at once.
const settle = 80 * time.Millisecond

// watch builds, and builds again whenever the source changes, until the context ends.
// A build that fails is told like any other, and so is a source that is gone for a
// while.
func (c *buildCmd) watch(ctx context.Context, e *env) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("cannot watch files: %w", err)
	}
	defer w.Close()
	source := c.watchAll(e, w)
	if err := w.Add(e.dir); err != nil {
		return fmt.Errorf("cannot watch %s: %w", e.dir, err)
	}
	c.again(e)
	timer := time.NewTimer(settle)
	timer.Stop()
	for {
		select {
		case <-ctx.Done():
			e.ui.note("stopped\n")
			return nil
		case event, ok := <-w.Events:
			if !ok {
				return errors.New("the system stopped telling of changes")
			}
			if concerns(event, e.dir, source) {
				timer.Reset(settle)
			}
		case err := <-w.Errors:
			e.ui.failure(fmt.Errorf("while watching: %w", err)) // some may be lost: look at all of it
			timer.Reset(settle)
		case <-timer.C:
			source = c.watchAll(e, w)
			c.again(e)
		}
	}
}

// watchAll watches the source's folders, those that are new included, and returns the
// topmost. Where the project does not load, the folder is the default one.
func (c *buildCmd) watchAll(e *env, w *fsnotify.Watcher) string {
	source := filepath.Join(e.dir, "modec")
	if cfg, diags := compiler.LoadConfig(e.dir, nil, e.request().Targets); cfg != nil && !diags.HasErrors() {
		source = filepath.Join(e.dir, filepath.FromSlash(cfg.Source))
	}
	// What cannot be watched, a build tells of.
	_ = filepath.WalkDir(source, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = w.Add(name)
		}
		return err
	})
	return source
}

// concerns reports a change of modec.toml or of the source: what a build writes is
// none.
func concerns(event fsnotify.Event, dir, source string) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	return event.Name == filepath.Join(dir, compiler.ConfigFile) || event.Name == source || strings.HasPrefix(event.Name, source+string(os.PathSeparator)) || strings.HasPrefix(source, event.Name+string(os.PathSeparator))
}

// again builds once and says so in a line, after what the build has to say of errors.
func (c *buildCmd) again(e *env) {
	var said bytes.Buffer
	one := *e
	u := *e.ui
	u.out = &said
	one.ui = &u
	err := c.build(&one)
	line := strings.TrimSpace(said.String())
	if i := strings.LastIndexByte(line, '\n'); i >= 0 {
		line = line[i+1:]
	}
	if err != nil {
		if code := exitCode(0); !errors.As(err, &code) { // else it was told
			e.ui.failure(err)
		}
		line = "failed: the files stay as they were"
	}
	e.ui.printf("%s %s\n", time.Now().Format(time.TimeOnly), diag.Clean(line))
}
