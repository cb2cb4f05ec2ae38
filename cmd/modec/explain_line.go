package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/secret"
	"modec.dev/modec/compiler/why"
)

// lineReport is the JSON of an explained line of an artifact.
type lineReport struct {
	report.Envelope
	File   string  `json:"file"`
	Line   int     `json:"line,omitempty"`
	Text   string  `json:"text,omitempty" jsonschema:"the line"`
	Causes []cause `json:"causes"`
}

// cause is a part of the source with the line in which it is written.
type cause struct {
	why.Cause
	Text string `json:"text,omitempty" jsonschema:"its line of the source"`
}

// line explains which parts of the source made a line of an artifact, or are in it.
func (c *explainCmd) line(e *env) error {
	file, line, err := e.place(c.Subject)
	if err != nil {
		return err
	}
	res, diags := compiler.Compile(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	project, emitter, ok := res.Emitter(file)
	if !ok {
		return fmt.Errorf("no target of this project writes %s: `modec build -v` lists what they write; "+
			"a decision is explained by `modec explain SUBJECT ACTION ARG`", file)
	}
	emit := func(p *ir.Project) ([]byte, bool) {
		if e.ctx.Err() != nil {
			return nil, false
		}
		return emitter(p)
	}
	report := lineReport{Envelope: e.ui.Envelope(), File: file, Line: line}
	var causes []why.Cause
	if line == 0 {
		causes, err = why.File(project, emit)
	} else {
		data, _ := emit(project)
		var made int
		if made, report.Text, err = e.emittedLine(file, line, data); err == nil {
			progress, end := e.ui.Progress("trying")
			causes, err = why.Line(project, emit, made, progress)
			end()
		}
	}
	if err == nil {
		err = e.ctx.Err()
	}
	if err != nil {
		return err
	}
	for _, x := range causes {
		report.Causes = append(report.Causes, cause{x, strings.TrimSpace(e.ui.Render.Line(x.Pos))})
	}
	if e.ui.JSON {
		return e.ui.Emit(report)
	}
	printCauses(e.ui, report)
	return nil
}

// place returns the file that was named, relative to the project, and the line.
func (e *env) place(file string) (_ string, line int, err error) {
	if i := strings.LastIndexByte(file, ':'); i >= 0 {
		if n, err := strconv.Atoi(file[i+1:]); err == nil {
			file, line = file[:i], n
		}
	}
	if contract.IsSession(file) {
		return file, line, nil
	}
	full := e.abs(file)
	if _, err := os.Stat(full); err != nil && !filepath.IsAbs(file) {
		full = filepath.Join(e.dir, file)
	}
	rel, err := filepath.Rel(e.dir, full)
	if err != nil || !filepath.IsLocal(rel) {
		return "", 0, fmt.Errorf("%s is outside the project: name an artifact of the project", file)
	}
	return filepath.ToSlash(rel), line, nil
}

// mostCauses is how many causes of a line are printed without -v: a bracket has one in each rule
// between it and the other one.
const mostCauses = 5

// causes prints what made a line, or what is in a file.
func printCauses(u *report.Printer, r lineReport) {
	if r.Line > 0 {
		u.Printf("%s:%d: %s\n", diag.Clean(r.File), r.Line, diag.Clean(strings.TrimSpace(r.Text)))
	}
	shown := r.Causes
	if r.Line > 0 && !u.Verbose {
		shown = shown[:min(len(shown), mostCauses)]
	}
	for _, x := range shown {
		of := ""
		if x.Of != "" {
			of = " of " + x.Of
		}
		effect := "changes it"
		switch {
		case r.Line == 0:
			effect = "is in it"
		case x.Gone:
			effect = "makes it"
		}
		u.Printf("  %s: %s%s %s\n", diag.Clean(x.Pos.String()), diag.Clean(x.What), diag.Clean(of), effect)
		if r.Line > 0 {
			u.Render.Excerpt(u.Out, x.Pos)
		}
	}
	if n := len(r.Causes) - len(shown); n > 0 {
		u.Printf("  and %s (-v lists them)\n", report.Count(n, "more cause"))
	}
	if len(r.Causes) == 0 {
		u.Printf("  no part of the source by itself: several make it, or it is always there\n")
	}
}

// emittedLine returns the line of the emitted artifact that stands at a line of the file
// on disk, where people may have written too.
func (e *env) emittedLine(file string, line int, emitted []byte) (made int, text string, err error) {
	data := emitted
	if !contract.IsSession(file) {
		data, err = contract.ReadPlain(filepath.Join(e.dir, filepath.FromSlash(file)))
	}
	if err != nil {
		return 0, "", fmt.Errorf("%s does not exist: `modec build` writes it", file)
	}
	disk := strings.Split(strings.TrimSuffix(secret.Blank(string(data)), "\n"), "\n")
	if line < 1 || line > len(disk) {
		return 0, "", fmt.Errorf("%s has no line %d: its lines are 1 to %d", file, line, len(disk))
	}
	text = disk[line-1]
	if made = why.Emitted(data, emitted, line); made > 0 {
		return made, text, nil
	}
	if asBuilt, ok := e.built(); ok && asBuilt(file, data) {
		return 0, "", fmt.Errorf("line %d of %s does not come from this source: people wrote it, and a build leaves "+
			"it as it is; `modec explain %s` lists what of the source is in the file", line, file, file)
	}
	return 0, "", fmt.Errorf("line %d of %s does not come from this source: somebody else wrote it, "+
		"or the file is stale, as `modec build --check` would say", line, file)
}
