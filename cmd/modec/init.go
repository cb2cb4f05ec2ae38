package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	schema "modec.dev/modec/cue"
)

type initCmd struct {
	Into string `arg:"" optional:"" name:"dir" help:"The folder to write into; created when missing. Default: the project folder."`
}

func (initCmd) Help() string {
	return `Writes modec.toml, a small source in modec/ and, under cue.mod/pkg, the schema, so that editors and cue vet understand the source offline. Files that exist are never overwritten: then nothing is written.

Examples:
  modec init
  modec init services/api && modec build -C services/api`
}

func (c *initCmd) Run(e *env) error {
	dir := e.dir
	if c.Into != "" {
		if dir = c.Into; !filepath.IsAbs(dir) {
			dir = filepath.Join(e.cwd, dir)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create the folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files, err := initFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := root.Lstat(f.path); err == nil {
			return fmt.Errorf("got a folder that already has %s, want none of the files of a new project", f.path)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	var paths []string
	for _, f := range files {
		if err := root.MkdirAll(path.Dir(f.path), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(f.path, f.data, 0o644); err != nil {
			return err
		}
		paths = append(paths, f.path)
	}
	if e.ui.json {
		return e.ui.emit(map[string]any{"version": 1, "command": "init", "status": "ok", "files": paths})
	}
	for _, p := range paths {
		e.ui.note("wrote %s\n", p)
	}
	next := "modec build"
	if rel, err := filepath.Rel(e.cwd, dir); err == nil && rel != "." {
		next += " -C " + rel
	}
	e.ui.note("next: %s\n", next)
	return nil
}

type initFile struct {
	path string
	data []byte
}

// initFiles lists a new project's files: the template's, then the schema's.
func initFiles() ([]initFile, error) {
	var files []initFile
	tree := schema.Template()
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(tree, p)
		files = append(files, initFile{p, b})
		return err
	})
	for _, f := range schema.Vendor() {
		files = append(files, initFile{f.Name, f.Data})
	}
	return files, err
}
