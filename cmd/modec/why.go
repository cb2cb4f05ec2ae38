package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/why"
)

type whyCmd struct {
	Place string `arg:"" name:"file[:line]" help:"An artifact, and a line of it as it lies on disk."`
}

func (whyCmd) Help() string {
	return `Tells which rule, field or server of the source made a line of an artifact, with its place. It takes each part of the source away in turn, writes the artifact again and looks whether the line is still what it was: a line may have several causes, and one that is there in any case (a guard, a form that the agent wants) has none.

Without a line it tells which modes, roles and servers are in the file.

Examples:
  modec why .roomodes:42
  modec why .claude/modec/reviewer.settings.json:17 --json
  modec why .mcp.json`
}

// whyReport is the JSON of a why.
type whyReport struct {
	Version int         `json:"version"`
	Command string      `json:"command"`
	File    string      `json:"file"`
	Line    int         `json:"line,omitempty"`
	Text    string      `json:"text,omitempty"`
	Causes  []why.Cause `json:"causes"`
}

func (c *whyCmd) Run(e *env) error {
	file, line := c.Place, 0
	if i := strings.LastIndexByte(file, ':'); i >= 0 {
		if n, err := strconv.Atoi(file[i+1:]); err == nil {
			file, line = file[:i], n
		}
	}
	full := e.abs(file)
	if _, err := os.Stat(full); err != nil && !filepath.IsAbs(file) {
		full = filepath.Join(e.dir, file)
	}
	rel, err := filepath.Rel(e.dir, full)
	if err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("got %s, want an artifact of the project", file)
	}
	rel = filepath.ToSlash(rel)
	res, diags := compiler.Compile(e.ctx, e.request())
	if diags.HasErrors() {
		return e.ui.fail("why", diags)
	}
	emit, ok := res.Emitter(rel)
	if !ok {
		return fmt.Errorf("got %s, which no target of this project writes: `modec build -v` lists what they do", rel)
	}
	report := whyReport{Version: 1, Command: "why", File: rel, Line: line, Causes: []why.Cause{}}
	if line == 0 {
		report.Causes, err = why.File(res.Project, emit)
	} else {
		data, _ := emit(res.Project)
		var made int
		if made, report.Text, err = e.emittedLine(rel, line, data); err == nil {
			progress, end := e.ui.progress("trying")
			report.Causes, err = why.Line(res.Project, emit, made, progress)
			end()
		}
	}
	if err != nil {
		return err
	}
	if e.ui.json {
		report.Causes = orEmpty(report.Causes)
		return e.ui.emit(report)
	}
	if line > 0 {
		e.ui.printf("%s:%d: %s\n", diag.Clean(rel), line, diag.Clean(strings.TrimSpace(report.Text)))
	}
	for _, x := range report.Causes {
		of := ""
		if x.Of != "" {
			of = " of " + x.Of
		}
		effect := "changes it"
		if x.Gone {
			effect = "makes it"
		}
		if line == 0 {
			effect = "is in it"
		}
		e.ui.printf("  %s: %s%s %s\n", diag.Clean(x.Pos.String()), diag.Clean(x.What), diag.Clean(of), effect)
	}
	if len(report.Causes) == 0 {
		e.ui.printf("  no part of the source by itself: it is always there\n")
	}
	return nil
}

// emittedLine finds the line of an artifact as it is emitted that stands at a line of
// the file on disk, in which others may write too.
func (e *env) emittedLine(file string, line int, emitted []byte) (made int, text string, err error) {
	data, err := os.ReadFile(filepath.Join(e.dir, filepath.FromSlash(file)))
	if err != nil {
		return 0, "", fmt.Errorf("got %s, which is not there: `modec build` writes it", file)
	}
	disk := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if line < 1 || line > len(disk) {
		return 0, "", fmt.Errorf("got line %d of %s, want one of 1 to %d", line, file, len(disk))
	}
	text = disk[line-1]
	if made = why.Emitted(data, emitted, line); made > 0 {
		return made, text, nil
	}
	return 0, "", fmt.Errorf("got line %d of %s, which is not of this source: somebody else wrote it, or the file is stale (`modec build --check`)", line, file)
}
