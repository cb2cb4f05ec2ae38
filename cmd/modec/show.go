package main

import (
	"context"
	"errors"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
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

func (showCmd) reports() []any {
	return []any{report.MatrixReport{}, report.SheetReport{}, report.PageReport{}, report.Outcome{}}
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
		return e.ui.Fail(diags)
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
		return e.ui.Fail(diags)
	case c.HTML != "":
		return c.write(e, res, nil, sheets)
	case e.ui.JSON:
		return e.ui.Emit(report.SheetReport{Envelope: e.ui.Envelope(), HooksOff: disarmed(e.dir), Sheet: sheets[0]})
	}
	e.ui.Sheet(&sheets[0])
	e.tellOff()
	return nil
}

// matrix prints all subjects. It needs no target.
func (c *showCmd) matrix(e *env) error {
	res, diags := compiler.Open(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	rows, err := explain.Matrix(res)
	if err != nil {
		return err
	}
	if e.ui.JSON {
		servers := []report.ToolList{}
		for _, sv := range res.Project.Servers {
			x := report.ToolList{Server: sv.Name, Pos: sv.Pos, Place: sv.Place, Tools: []string{}}
			for _, t := range sv.Tools {
				x.Tools = append(x.Tools, t.Name)
			}
			servers = append(servers, x)
		}
		return e.ui.Emit(report.MatrixReport{Envelope: e.ui.Envelope(), HooksOff: disarmed(e.dir),
			Groups: ir.Decided, Subjects: rows, Servers: servers})
	}
	e.ui.Matrix(rows)
	e.tellOff()
	return nil
}

// page writes a page of all subjects.
func (c *showCmd) page(e *env) error {
	res, diags := compiler.Compile(e.ctx, e.sourceRequest())
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	sheets, diags := e.sheets(res, res.Project.Subjects())
	if diags.HasErrors() {
		return e.ui.Fail(diags)
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
	show, end := e.ui.Showing()
	defer end()
	var progress func(verify.Step)
	if show != nil {
		progress = func(s verify.Step) { show("looking at "+diag.Short(s.Subject.String()), s.Done, s.Total) }
	}
	return explain.Sheets(e.ctx, res, refs, progress)
}

// write writes the page, over nothing but a page that modec wrote.
func (c *showCmd) write(e *env, res *compiler.Result, rows []explain.Row, sheets []explain.Sheet) error {
	data, err := report.Page(res.Project.Name, rows, sheets)
	if err != nil {
		return err
	}
	file := e.abs(c.HTML)
	if err := report.PutPage(context.WithoutCancel(e.ctx), file, data, e.progress()); err != nil {
		return err
	}
	if e.ui.JSON {
		return e.ui.Emit(report.PageReport{Envelope: e.ui.Envelope(), File: file, Bytes: len(data),
			Subjects: len(sheets)})
	}
	e.ui.Note("wrote %s: %s of %s\n", diag.Clean(c.HTML), report.Size(len(data)), report.Count(len(sheets), "subject"))
	return nil
}
