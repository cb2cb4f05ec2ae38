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
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/diag"
)

// settle is how long nothing has to change before a build: an editor or a checkout
// writes several files at once.
const settle = 80 * time.Millisecond

// watch builds, and builds again whenever the source changes, until the context ends.
// A build that fails is told like any other, and so is a source that is gone for a
// while.
func (c *buildCmd) watch(ctx context.Context, e *env) error {
	w, err := e.watch()
	if err != nil {
		return err
	}
	c.again(e)
	if err := w.run(ctx, func() { c.again(e) }); err != nil {
		return err
	}
	e.ui.note("stopped\n")
	return nil
}

// watcher tells of changes of a project's source, or of one file.
type watcher struct {
	*env
	w      *fsnotify.Watcher
	file   string // "": the source
	source string // the topmost folder of the source
}

// watch begins to watch the source.
func (e *env) watch() (*watcher, error) { return e.watching("", e.dir) }

// watchFile begins to watch one file, also where it is replaced by another.
func (e *env) watchFile(file string) (*watcher, error) { return e.watching(file, filepath.Dir(file)) }

func (e *env) watching(file, dir string) (*watcher, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("cannot watch files: %w", err)
	}
	w := &watcher{env: e, w: fs, file: file}
	w.all()
	if err := fs.Add(dir); err != nil {
		fs.Close()
		return nil, fmt.Errorf("cannot watch %s: %w", dir, err)
	}
	return w, nil
}

// run calls changed after each change, when nothing changes for a moment, until the
// context ends.
func (w *watcher) run(ctx context.Context, changed func()) error {
	defer w.w.Close()
	timer := time.NewTimer(settle)
	timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-w.w.Events:
			if !ok {
				return errors.New("the system stopped telling of changes")
			}
			if w.concerns(event) {
				timer.Reset(settle)
			}
		case err := <-w.w.Errors:
			w.ui.failure(fmt.Errorf("while watching: %w", err)) // some may be lost: look at all of it
			timer.Reset(settle)
		case <-timer.C:
			w.all()
			changed()
		}
	}
}

// all watches the source's folders, those that are new included. Where the project
// does not load, the folder is the default one.
func (w *watcher) all() {
	if w.file != "" {
		return
	}
	w.source = filepath.Join(w.dir, "modec")
	if cfg, diags := compiler.ReadConfig(w.request()); cfg != nil && !diags.HasErrors() {
		w.source = filepath.Join(w.dir, filepath.FromSlash(cfg.Source))
	}
	// What cannot be watched, a build tells of.
	_ = filepath.WalkDir(w.source, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = w.w.Add(name)
		}
		return err
	})
}

// concerns reports a change of the file, or of modec.toml or the source: what a build
// writes is none.
func (w *watcher) concerns(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	if w.file != "" {
		return event.Name == w.file
	}
	return event.Name == filepath.Join(w.dir, config.File) || event.Name == w.source || strings.HasPrefix(event.Name, w.source+string(os.PathSeparator)) || strings.HasPrefix(w.source, event.Name+string(os.PathSeparator))
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
