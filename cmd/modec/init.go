package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"modec.dev/modec/compiler/diag"
	schema "modec.dev/modec/cue"
)

type initCmd struct {
	Template      string `default:"default" placeholder:"NAME" help:"What to start from: --list-templates lists the names."`
	ListTemplates bool   `help:"List the templates and write nothing."`
	Into          string `arg:"" optional:"" name:"dir" help:"The folder to write into; created when missing. Default: the project folder."`
}

func (initCmd) Help() string {
	return `Writes modec.toml, a small source in modec/ and, under cue.mod/pkg, the schema, so that editors and cue vet understand the source offline. Files that exist are never overwritten: then nothing is written. A template is a project of its own for a common case: a reviewer, a pipeline, writers who change documents only.

Examples:
  modec init
  modec init --list-templates
  modec init --template reviewer
  modec init services/api && modec build -C services/api`
}

func (c *initCmd) Run(e *env) error {
	if c.ListTemplates {
		return e.ui.templates(schema.Templates())
	}
	files, err := initFiles(c.Template)
	if err != nil {
		return err
	}
	dir := e.output(c.Into)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create the folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
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
		return e.ui.emit(map[string]any{"version": 1, "command": "init", "status": "ok", "template": c.Template, "files": paths})
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
func initFiles(template string) ([]initFile, error) {
	all := schema.Template(template)
	if all == nil {
		var names []string
		for _, t := range schema.Templates() {
			names = append(names, t.Name)
		}
		return nil, fmt.Errorf("got template %q, want one of %s%s", template, diag.Quote(names), hintOf(diag.DidYouMean(template, names)))
	}
	var files []initFile
	for _, f := range append(all, schema.Vendor()...) {
		files = append(files, initFile{f.Name, f.Data})
	}
	return files, nil
}

// templates lists what a project can start from.
func (u *ui) templates(list []schema.TemplateInfo) error {
	if u.json {
		return u.emit(map[string]any{"version": 1, "command": "init", "status": "ok", "templates": list})
	}
	for _, t := range list {
		u.printf("%-18s %s\n", t.Name, t.Doc)
	}
	return nil
}
