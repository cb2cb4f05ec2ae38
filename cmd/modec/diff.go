package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/config"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/gittree"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/textdiff"
)

type diffCmd struct {
	A      string `arg:"" optional:"" help:"A folder with a modec.toml, or a git revision. Default: HEAD."`
	B      string `arg:"" optional:"" help:"Likewise. Default: the working tree."`
	Text   bool   `help:"Print what changes in the artifacts, line by line, instead."`
	Staged bool   `help:"Compare with the index in place of the working tree."`
	FailOn string `enum:"none,widen,change" default:"none" help:"Exit 1 on what widens (widen) or on any change (change)."`
}

func (diffCmd) Help() string {
	return `Decides the same actions by two sources and tells which decisions differ: what is permitted that was not (widened), and what no longer is (narrowed), with the rules on both sides and their places. Prompts and comments make no difference. A revision is read with git; nothing is checked out.

A line stands for all actions that the same two rules decide. Actions are tried out, one for each rule and many beside: what no pattern of either source speaks of is not among them.

Formats: text, json, markdown, and github for a comment on a pull request.

Examples:
  modec diff
  modec diff main
  modec diff v1.2.0 v1.3.0 --format markdown
  modec diff origin/main --fail-on widen --format github
  modec diff ../other-checkout .`
}

// diffReport is the JSON of a diff.
type diffReport struct {
	Version int    `json:"version"`
	Command string `json:"command"`
	Status  string `json:"status"` // same, changed
	A       string `json:"a"`
	B       string `json:"b"`
	*diff.Report
	Files []fileDiff `json:"files,omitempty"` // with --text
}

type fileDiff struct {
	Path  string `json:"path"`
	Patch string `json:"patch"`
}

// diffSide is one of the two sources.
type diffSide struct {
	name string
	res  *compiler.Result
}

func (c *diffCmd) Run(e *env) error {
	ctx := context.Background()
	if a, b, ok := strings.Cut(c.A, ".."); ok && c.B == "" && a != "" && b != "" && !strings.ContainsAny(c.A, "/\\") { // A..B
		c.A, c.B = a, b
	}
	if c.A == "" {
		c.A = "HEAD"
	}
	if c.B == "" && c.Staged {
		c.B = gittree.Index
	}
	before, diags, err := c.load(ctx, e, c.A)
	if err != nil {
		return err
	}
	if diags.HasErrors() {
		return e.ui.fail("diff", diags)
	}
	after, diags, err := c.load(ctx, e, c.B)
	if err != nil {
		return err
	}
	if diags.HasErrors() {
		return e.ui.fail("diff", diags)
	}
	if c.Text {
		return c.text(e, before, after)
	}
	report, err := diff.Projects(before.engine(), after.engine(), verifySeed)
	if err != nil {
		return err
	}
	report.Exceptions(before.exceptions(), after.exceptions())
	n := len(report.Changes) + len(report.Others)
	switch {
	case e.ui.json:
		status := "same"
		if n > 0 {
			status = "changed"
		}
		err = e.ui.emit(diffReport{1, "diff", status, before.name, after.name, report, nil})
	case e.ui.format == "markdown", e.ui.format == "github":
		e.ui.markdown(report, before.name, after.name, e.ui.format == "github")
	default:
		e.ui.changes(report)
		e.ui.note("%s\n", totals(report, before.name, after.name))
	}
	if err == nil && (c.FailOn == "widen" && report.Widened > 0 || c.FailOn == "change" && n > 0) {
		return exitCode(1)
	}
	return err
}

func totals(r *diff.Report, a, b string) string {
	if len(r.Changes)+len(r.Others) == 0 {
		return fmt.Sprintf("no permission differs between %s and %s", a, b)
	}
	s := fmt.Sprintf("%d widened, %d narrowed", r.Widened, r.Narrowed)
	if other := len(r.Changes) + len(r.Others) - r.Widened - r.Narrowed; other > 0 {
		s += fmt.Sprintf(", %d changed otherwise", other)
	}
	return s + fmt.Sprintf(" from %s to %s", a, b)
}

// load compiles a side: a folder, a revision, or "" for the working tree.
func (c *diffCmd) load(ctx context.Context, e *env, side string) (diffSide, diag.List, error) {
	req := e.request()
	p := diffSide{name: side}
	switch folder, ok := e.folder(side); {
	case side == "":
		p.name = "the working tree"
	case ok:
		req.Root = folder
	default:
		tree, err := gittree.Open(ctx, e.dir, side)
		if err != nil {
			return p, nil, err
		}
		defer tree.Close()
		if p.name = side; side == gittree.Index {
			p.name = "the index"
		}
		if _, err := fs.Stat(tree, config.File); errors.Is(err, fs.ErrNotExist) {
			return p, nil, nil // before the project was there
		}
		req.FS = tree
	}
	var diags diag.List
	if c.Text {
		p.res, diags = compiler.Compile(e.ctx, req)
	} else {
		p.res, diags = compiler.Open(e.ctx, req)
	}
	for i := range diags { // two sources have files of the same names
		diags[i].Message = "in " + p.name + ": " + diags[i].Message
	}
	return p, diags, nil
}

// source asks for the project as it lies on disk or, staged, as the index of git has
// it; the lines around a diagnostic come from there then. done ends what that needs.
func (e *env) source(staged bool) (req compiler.Request, done func(), err error) {
	req = e.request()
	if !staged {
		return req, func() {}, nil
	}
	tree, err := gittree.Open(context.Background(), e.dir, gittree.Index)
	if err != nil {
		return req, nil, err
	}
	e.ui.render.Source = func(file string) ([]byte, error) { return fs.ReadFile(tree, file) }
	req.FS = tree
	return req, func() { tree.Close() }, nil
}

// folder returns the folder that an argument names, if it is a project.
func (e *env) folder(name string) (string, bool) {
	if name == "" {
		return "", false
	}
	dir := e.abs(name)
	info, err := os.Stat(filepath.Join(dir, config.File))
	return dir, err == nil && info.Mode().IsRegular()
}

// engine decides for a side; for one that is not there, nobody may do anything.
func (p diffSide) engine() *policy.Engine {
	if p.res == nil {
		return policy.New(compiler.Empty())
	}
	return p.res.Policy
}

func (p diffSide) exceptions() (out []diff.Exception) {
	if p.res == nil {
		return nil
	}
	for _, a := range p.res.Config.Accepted() {
		out = append(out, diff.Exception{Text: fmt.Sprintf("%s, %s: %s (until %s)", a.Target, a.Subject, a.What, a.Until.Format(time.DateOnly)), Pos: a.Pos})
	}
	return out
}

func (p diffSide) files() map[string][]byte {
	out := map[string][]byte{}
	if p.res != nil {
		for _, f := range p.res.Files() {
			out[f.Path] = f.Data
		}
	}
	return out
}

// text compares the artifacts of both sides.
func (c *diffCmd) text(e *env, before, after diffSide) error {
	a, b := before.files(), after.files()
	all := maps.Clone(a)
	maps.Copy(all, b)
	files := []fileDiff{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if patch := textdiff.Patch(p, a[p], b[p]); patch != "" {
			files = append(files, fileDiff{p, patch})
		}
	}
	if e.ui.json {
		status := "same"
		if len(files) > 0 {
			status = "changed"
		}
		if err := e.ui.emit(diffReport{1, "diff", status, before.name, after.name, nil, files}); err != nil {
			return err
		}
	} else {
		for _, f := range files {
			e.ui.unified(f.Patch)
		}
		e.ui.note("%s of %s differ\n", count(len(files), "file"), count(len(all), "file"))
	}
	if c.FailOn == "change" && len(files) > 0 {
		return exitCode(1)
	}
	return nil
}

// changes prints what differs, a line each, with the rules of both sides.
func (u *ui) changes(r *diff.Report) {
	for i := range r.Changes {
		c := &r.Changes[i]
		u.printf("%s: %s (%s)%s\n", diag.Clean(c.Subject), diag.Clean(action(c)), u.kind(c.Kind), diag.Clean(examples(c)))
		for _, s := range []struct {
			word string
			side diff.Side
		}{{"was", c.Before}, {"now", c.After}} {
			if c.Only == "" {
				u.printf("  %s  %s%s\n", s.word, diag.Clean(s.side.Rule), diag.Clean(origin(s.side)))
			}
		}
	}
	for _, o := range r.Others {
		at := ""
		if p := o.Pos.String(); p != "" {
			at = "  " + p
		}
		u.printf("%s: %s (%s)%s\n", diag.Clean(o.What), diag.Clean(o.Text), u.kind(o.Kind), diag.Clean(at))
	}
}

func origin(s diff.Side) string {
	out := ""
	if s.From != "" {
		out = " of " + s.From
	}
	if p := s.Pos.String(); p != "" {
		out += "  " + p
	}
	return out
}

// action says what changes in which way.
func action(c *diff.Change) string {
	switch c.Only {
	case "after":
		return fmt.Sprintf("is new, %s %s up to %s", c.Group, c.What, c.After.Decision)
	case "before":
		return fmt.Sprintf("is gone, %s %s was up to %s", c.Group, c.What, c.Before.Decision)
	}
	return fmt.Sprintf("%s %s %s → %s", c.Group, c.What, c.Before.Decision, c.After.Decision)
}

// examples names actions that a pattern stands for.
func examples(c *diff.Change) string {
	switch {
	case c.Only != "":
		return ""
	case c.Group == ir.MCP && strings.HasSuffix(c.What, ":*"):
		return ", " + count(c.Count, "tool")
	case c.Group == ir.MCP, len(c.Examples) == 1 && c.Examples[0] == c.What:
		return ""
	}
	return ", as " + strings.Join(c.Examples, "; ")
}

func (u *ui) kind(k diff.Kind) string {
	if !u.colour || k == diff.Changed {
		return string(k)
	}
	colour := "32"
	if k == diff.Widened {
		colour = "31"
	}
	return "\x1b[" + colour + "m" + string(k) + "\x1b[0m"
}

// marker lets whoever posts the comment find the one of an earlier run.
const marker = "<!-- modec diff -->"

// markdown prints what differs as tables, one a subject. As a comment it begins with a
// marker and folds what narrows.
func (u *ui) markdown(r *diff.Report, a, b string, comment bool) {
	if comment {
		u.printf("%s\n", marker)
	}
	title := "Permissions do not change"
	switch {
	case r.Widened > 0:
		title = "⚠️ Permissions widen"
	case len(r.Changes)+len(r.Others) > 0:
		title = "Permissions change, and nothing widens"
	}
	u.printf("### %s\n\n%s.\n", title, plainCell(totals(r, a, b)))
	for _, k := range []diff.Kind{diff.Widened, diff.Narrowed, diff.Changed} {
		u.section(r, k, comment && k != diff.Widened)
	}
}

func (u *ui) section(r *diff.Report, k diff.Kind, fold bool) {
	of := func(c diff.Change) bool { return c.Kind == k }
	others := slices.DeleteFunc(slices.Clone(r.Others), func(o diff.Other) bool { return o.Kind != k })
	if !slices.ContainsFunc(r.Changes, of) && len(others) == 0 {
		return
	}
	heading := map[diff.Kind]string{diff.Widened: "Widened", diff.Narrowed: "Narrowed", diff.Changed: "Changed otherwise"}[k]
	if fold {
		u.printf("\n<details><summary>%s</summary>\n", heading)
	} else {
		u.printf("\n#### %s\n", heading)
	}
	if slices.ContainsFunc(r.Changes, of) {
		u.printf("\n| subject | action | was | is | because |\n| --- | --- | --- | --- | --- |\n")
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		if !of(*c) {
			continue
		}
		because := c.After
		if because.Pos.IsZero() {
			because = c.Before
		}
		was, is := c.Before.Decision.String(), c.After.Decision.String()
		switch c.Only {
		case "after":
			was, is = "no such subject", "up to "+is
		case "before":
			was, is = "up to "+was, "no such subject"
		}
		u.printf("| %s | %s%s | %s | **%s** | %s |\n", plainCell(c.Subject), cell(string(c.Group)+" "+c.What), plainCell(examples(c)), was, is, cell(because.Rule+origin(because)))
	}
	if len(others) > 0 {
		u.printf("\n")
	}
	for _, o := range others {
		u.printf("- %s %s\n", plainCell(o.What), cell(o.Text))
	}
	if fold {
		u.printf("\n</details>\n")
	}
}

// cell writes a text as code in a table, whatever it holds.
func cell(s string) string {
	return code(strings.ReplaceAll(diag.Clean(s), "|", `\|`))
}

// code writes a text between more backticks than it holds in a row.
func code(s string) string {
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	pad := ""
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		pad = " "
	}
	return fence + pad + s + pad + fence
}

// plainCell writes a text so that nothing of it is markup.
func plainCell(s string) string {
	var b strings.Builder
	for _, c := range diag.Clean(s) {
		if strings.ContainsRune("\\`*_{}[]<>()#+!|~@&", c) {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
