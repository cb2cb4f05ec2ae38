package main

import (
	"fmt"
	"os"
	"path"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/memfs"
	"modec.dev/modec/compiler/migrate"
	"modec.dev/modec/compiler/originals"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/source"
	"modec.dev/modec/cue"
)

type initCmd struct {
	textOrJSON
	Template      string `default:"default" placeholder:"NAME" help:"What to start from."`
	ListTemplates bool   `help:"List the templates and write nothing."`
	Force         bool   `help:"Write a project below another one, or beside the files of agents."`
	Into          string `arg:"" optional:"" name:"dir" help:"The folder to write into. Default: the project."`
}

func (initCmd) here() {}

func (initCmd) reports() []any { return []any{initReport{}, templatesReport{}, report.Outcome{}} }

// initReport is the JSON of a new project.
type initReport struct {
	report.Envelope
	Status   string   `json:"status" enum:"ok"`
	Template string   `json:"template"`
	Files    []string `json:"files"`
}

// templatesReport is the JSON of the list of templates.
type templatesReport struct {
	report.Envelope
	Status    string             `json:"status" enum:"ok"`
	Templates []cue.TemplateInfo `json:"templates"`
}

func (c *initCmd) Run(e *env) error {
	if c.ListTemplates {
		return printTemplates(e.ui, cue.Templates())
	}
	if c.Into == "" && !c.Force {
		if err := e.apart(); err != nil {
			return err
		}
	}
	files, err := initFiles(c.Template)
	if err != nil {
		return err
	}
	dir := e.output(c.Into)
	there, err := e.agentFiles(dir, files)
	if err != nil {
		return err
	}
	if len(there) > 0 && !c.Force {
		return fmt.Errorf("the files of an agent are here already (%s), and nothing was written: `%s` makes a source "+
			"of them, and `--force` writes a template beside them", diag.Clean(report.Few(there)), e.migrating(dir))
	}
	if err := e.inTheWay(dir, "modec", files, "move that away, or name another folder: `modec init DIR`"); err != nil {
		return err
	}
	opt := output.PutOptions{Dir: dir, Existing: output.KeepExisting, Progress: e.progress()}
	if list := output.Put(e.ctx, files, opt); list.HasErrors() {
		return e.ui.Fail(list)
	}
	if record := originals.Load(dir); len(record.Imports) > 0 { // of a source that is gone
		record.Imports = nil
		if err := record.Save(); err != nil {
			return err
		}
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if e.ui.JSON {
		return e.ui.Emit(initReport{e.ui.Envelope(), "ok", c.Template, paths})
	}
	for _, p := range paths {
		e.ui.Note("wrote %s\n", p)
	}
	e.ui.At = e.elsewhere(dir)
	e.ui.Note("next: modec build\n")
	return nil
}

// migrating returns the command that imports what a folder has.
func (e *env) migrating(dir string) string {
	if at := e.elsewhere(dir); at != "" {
		return "modec " + at + " migrate"
	}
	return "modec migrate"
}

// agentFiles returns the files of agents in a folder that can be imported. It fails where the folder has
// one of a new project's files.
func (e *env) agentFiles(dir string, files []contract.File) ([]string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil // not there yet; or else the writer reports what is wrong with it
	}
	defer root.Close()
	for _, f := range files {
		if _, err := root.Lstat(f.Path); err == nil {
			return nil, fmt.Errorf("the folder has %s already, and nothing was written: "+
				"name a folder without the files of a project", f.Path)
		} else if !notThere(err) {
			return nil, err
		}
	}
	req := migrate.Request{Root: contract.Plain(root.FS()), Targets: e.targets, Ignored: e.ignored(dir, dir)}
	return migrate.Importable(e.ctx, req), nil
}

// inTheWay fails where a folder has something in the place of a folder of a new source, or files there that are no
// part of a source.
func (e *env) inTheWay(dir, folder string, files []contract.File, mend string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil // as above
	}
	defer root.Close()
	written := memfs.FS{}
	for _, f := range files {
		written[f.Path] = f.Data
		for p := path.Dir(f.Path); p != "."; p = path.Dir(p) {
			if info, err := root.Lstat(p); err == nil && info.Mode().IsRegular() {
				return fmt.Errorf("%s is a file here, and the source needs a folder of that name: "+
					"nothing was written; %s", diag.Clean(p), mend)
			}
		}
	}
	tree, err := source.Overlay(contract.Plain(root.FS()), folder, written)
	if err != nil {
		return nil // there is no such folder
	}
	req := e.request()
	req.FS = tree
	_, diags := compiler.Open(e.ctx, req)
	for _, d := range diags {
		if _, ours := written[d.Pos.File]; d.Severity == diag.Error && !ours {
			return fmt.Errorf("the folder %s has files that are no part of a source (%s: %s), "+
				"and nothing was written: %s", diag.Clean(folder), diag.Clean(d.Pos.String()),
				diag.Clean(d.Message), mend)
		}
	}
	return nil
}

// initFiles lists a new project's files: the template's, then the schema's.
func initFiles(template string) ([]contract.File, error) {
	all := cue.Template(template)
	if all == nil {
		names := templateNames()
		return nil, fmt.Errorf("there is no template %q: the templates are %s%s",
			template, diag.Quote(names), report.HintOf(diag.DidYouMean(template, names)))
	}
	var files []contract.File
	for _, f := range append(all, cue.Vendor()...) {
		files = append(files, contract.File{Path: f.Name, Data: f.Data})
	}
	return files, nil
}

func templateNames() (names []string) {
	for _, t := range cue.Templates() {
		names = append(names, t.Name)
	}
	return names
}

// printTemplates lists what a project can start from.
func printTemplates(u *report.Printer, list []cue.TemplateInfo) error {
	if u.JSON {
		return u.Emit(templatesReport{u.Envelope(), "ok", list})
	}
	for _, t := range list {
		u.Printf("%-18s %s\n", t.Name, t.Doc)
	}
	return nil
}
