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

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/diag"
)

// settle is how long nothing has to change before a build. An editor or a checkout
// writes several files at once.
const settle = 80 * time.Millisecond

// watch builds, and builds again after each change of the source, until the context ends.
// It reports a build that fails and goes on, also where the source is gone for a while.
func (c *buildCmd) watch(e *env) error {
	e.ui.Endless = true
	w, err := e.watch()
	if err != nil {
		return err
	}
	c.again(e)
	if err := w.run(e.ctx, func() { c.again(e) }); err != nil {
		return err
	}
	e.ui.Note("stopped\n")
	return nil
}

// watcher reports changes of a project's source, or of one file.
type watcher struct {
	*env
	w      *fsnotify.Watcher
	file   string // "": the source
	source string // the topmost folder of the source
	also   string // a file beside modec.toml that counts too
}

// watch starts watching the source.
func (e *env) watch() (*watcher, error) { return e.watching("", e.dir) }

// watchFile starts watching one file. It sees also when another takes its place.
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

// run calls changed after each change, once nothing changes for a moment, until the
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
				return errors.New("the system no longer reports changes of files")
			}
			if w.concerns(event) {
				timer.Reset(settle)
			}
		case err := <-w.w.Errors:
			w.ui.Failure(fmt.Errorf("while watching: %w", err)) // some may be lost: look at all of it
			timer.Reset(settle)
		case <-timer.C:
			w.all()
			changed()
		}
	}
}

// all watches the project's folder, which may be another one by now or back, and the source's folders, new ones
// included. Where modec.toml is missing or not read, it watches the first alone: nobody says what the source is.
func (w *watcher) all() {
	if w.file != "" {
		return
	}
	_ = w.w.Add(w.dir)
	w.source = filepath.Join(w.dir, "modec")
	cfg, diags := compiler.ReadConfig(w.request())
	if cfg == nil || diags.HasErrors() {
		return
	}
	w.source = filepath.Join(w.dir, filepath.FromSlash(cfg.Source))
	// A build reports what cannot be watched.
	_ = filepath.WalkDir(w.source, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = w.w.Add(name)
		}
		return err
	})
}

// concerns reports whether an event is a change of the file, or of modec.toml or the
// source. What a build writes is not.
func (w *watcher) concerns(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	if w.file != "" {
		return event.Name == w.file
	}
	const slash = string(os.PathSeparator)
	return event.Name == filepath.Join(w.dir, config.File) || event.Name == w.source ||
		w.also != "" && event.Name == filepath.Join(w.dir, w.also) ||
		strings.HasPrefix(event.Name, w.source+slash) || strings.HasPrefix(w.source, event.Name+slash)
}

// again builds once and prints one line about it, after the errors.
func (c *buildCmd) again(e *env) {
	var said bytes.Buffer
	one := *e
	u := *e.ui
	u.Out = &said
	one.ui = &u
	_, err := c.build(&one)
	if e.ctx.Err() != nil {
		return
	}
	line := strings.TrimSpace(said.String())
	if i := strings.LastIndexByte(line, '\n'); i >= 0 {
		line = line[i+1:]
	}
	if err != nil {
		if code := report.ExitCode(0); !errors.As(err, &code) { // else it was printed
			e.ui.Failure(err)
		}
		line = "failed: the files stay as they were"
	}
	e.ui.Printf("%s %s\n", time.Now().Format(time.TimeOnly), diag.Clean(line))
}
