package main

import (
	"context"
	"errors"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/verify"
)

type showCmd struct {
	textOrJSON
	Subject string `arg:"" optional:"" help:"A mode's slug or a role's name; mode:x or role:x where both exist."`
	Mode    string `placeholder:"SLUG" help:"The mode that the role works in."`
	HTML    string `name:"html" placeholder:"FILE" help:"Write one page that needs nothing else into this file."`
}

func (showCmd) reports() []any { return []any{matrixReport{}, sheetReport{}, pageReport{}, outcome{}} }

// matrixReport is the JSON of all subjects.
type matrixReport struct {
	envelope
	HooksOff *hooksOff     `json:"hooksOff,omitempty"`
	Groups   []ir.Group    `json:"groups"`
	Subjects []explain.Row `json:"subjects" jsonschema:"modes first, in the order of the source"`
	Servers  []toolList    `json:"servers"`
}

// toolList is a server of the source with the names of its tools.
type toolList struct {
	Server string   `json:"server"`
	Pos    diag.Pos `json:"pos"`
	ir.Place
	Tools []string `json:"tools"`
}

// sheetReport is the JSON of one subject.
type sheetReport struct {
	envelope
	HooksOff *hooksOff `json:"hooksOff,omitempty"`
	explain.Sheet
}

// pageReport is the JSON of a page that was written.
type pageReport struct {
	envelope
	File     string `json:"file" jsonschema:"the page"`
	Bytes    int    `json:"bytes"`
	Subjects int    `json:"subjects"`
}

func (c *showCmd) Run(e *env) error {
	if c.Mode != "" && c.Subject == "" {
		return errors.New("--mode is for a role that works in it: `modec show ROLE --mode MODE`")
	}
	switch {
	case c.Subject == "" && c.HTML == "":
		return c.matrix(e)
	case c.Subject == "":
		return c.page(e)
	}
	res, diags := compiler.Compile(e.ctx, e.sourceRequest())
	if diags.HasErrors() {
		return e.ui.fail(diags)
	}
	name, role := c.Subject, ""
	if c.Mode != "" {
		name, role = c.Mode, strings.TrimPrefix(c.Subject, "role:")
	}
	ref, err := res.Project.ParseSubject(name, role)
	if err != nil {
		return err
	}
	sheets, diags := e.sheets(res, []ir.SubjectRef{ref})
	switch {
	case diags.HasErrors():
		return e.ui.fail(diags)
	case c.HTML != "":
		return c.write(e, res, nil, sheets)
	case e.ui.json:
		return e.ui.emit(sheetReport{e.ui.envelope(), disarmed(e.dir), sheets[0]})
	}
	e.ui.sheet(&sheets[0])
	e.tellOff()
	return nil
}

// matrix prints all subjects. It needs no target.
func (c *showCmd) matrix(e *env) error {
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.fail(diags)
	}
	rows, err := explain.Matrix(res)
	if err != nil {
		return err
	}
	if e.ui.json {
		servers := []toolList{}
		for _, sv := range res.Project.Servers {
			x := toolList{sv.Name, sv.Pos, sv.Place, []string{}}
			for _, t := range sv.Tools {
				x.Tools = append(x.Tools, t.Name)
			}
			servers = append(servers, x)
		}
		return e.ui.emit(matrixReport{e.ui.envelope(), disarmed(e.dir), ir.Decided, rows, servers})
	}
	e.ui.matrix(rows)
	e.tellOff()
	return nil
}

// page writes a page of all subjects.
func (c *showCmd) page(e *env) error {
	res, diags := compiler.Compile(e.ctx, e.sourceRequest())
	if diags.HasErrors() {
		return e.ui.fail(diags)
	}
	sheets, diags := e.sheets(res, res.Project.Subjects())
	if diags.HasErrors() {
		return e.ui.fail(diags)
	}
	rows, err := explain.Matrix(res)
	if err != nil {
		return err
	}
	return c.write(e, res, rows, sheets)
}

// sheets returns all that there is to know of subjects, in their order.
func (e *env) sheets(res *compiler.Result, refs []ir.SubjectRef) ([]explain.Sheet, diag.List) {
	collectSeldom()
	show, end := e.ui.showing()
	defer end()
	var progress func(verify.Step)
	if show != nil {
		progress = func(s verify.Step) { show("looking at "+diag.Short(s.Subject.String()), s.Done, s.Total) }
	}
	return explain.Sheets(e.ctx, res, refs, progress)
}

// write writes the page, over nothing but a page that modec wrote.
func (c *showCmd) write(e *env, res *compiler.Result, rows []explain.Row, sheets []explain.Sheet) error {
	data, err := htmlPage(res.Project.Name, rows, sheets)
	if err != nil {
		return err
	}
	file := e.abs(c.HTML)
	if err := putPage(context.WithoutCancel(e.ctx), file, data, e.progress()); err != nil {
		return err
	}
	if e.ui.json {
		return e.ui.emit(pageReport{e.ui.envelope(), file, len(data), len(sheets)})
	}
	e.ui.note("wrote %s: %s of %s\n", diag.Clean(c.HTML), size(len(data)), count(len(sheets), "subject"))
	return nil
}
