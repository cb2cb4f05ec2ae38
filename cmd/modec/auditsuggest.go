package main

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"modec.dev/modec/cmd/modec/internal/report"
	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/audit"
	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/suggest"
)

// wishReport is the JSON of what an audit asks of the source.
type wishReport struct {
	report.Envelope
	File        string            `json:"file"`
	Suggestions []wish            `json:"suggestions" jsonschema:"those with a patch first, the most frequent first"`
	Unnamed     []suggest.Unnamed `json:"unnamed,omitempty" jsonschema:"calls about what the log does not name"`
	Rare        int               `json:"rare" jsonschema:"what was refused or asked about less often"`
	Already     int               `json:"already" jsonschema:"what the source permits by now"`
	More        int               `json:"more" jsonschema:"what is as frequent as the last suggestion, and left out"`
}

// wish is a suggestion with its patch as text.
type wish struct {
	suggest.Wish
	Patch string `json:"patch,omitempty"`
}

// suggest turns what was refused or asked about again and again into patches of the source.
func (c *auditListCmd) suggest(e *env) error {
	var tally suggest.Tally
	log, err := c.read(e, func(ev *audit.Event) {
		if c.Patch != "" || c.wants(ev, time.Time{}) {
			tally.Add(ev)
		}
	})
	if err != nil {
		return err
	}
	req := e.request()
	res, diags := compiler.Open(e.ctx, req)
	if diags.HasErrors() {
		return e.ui.Fail(diags)
	}
	root, err := os.OpenRoot(e.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := contract.Plain(root.FS())
	in := suggest.Looking{FS: files, Request: req, Result: res, Seed: compiler.Seed, Least: c.Times,
		ID: c.Patch}
	if c.Patch != "" {
		in.Least = 1
	}
	found, err := tally.Wishes(e.ctx, in)
	if err != nil {
		return err
	}
	result := wishReport{Envelope: e.ui.Envelope(), File: e.fromRoot(log.File()), Unnamed: found.Unnamed,
		Rare: found.Rare, Already: found.Already, More: found.More}
	for _, w := range found.List {
		x := wish{Wish: w}
		for _, f := range w.Files {
			x.Patch += report.PatchOf(f.Path, contentOf(files, f), f.Data)
		}
		result.Suggestions = append(result.Suggestions, x)
	}
	switch {
	case c.Patch != "":
		return c.patch(e, files, result)
	case e.ui.JSON:
		return e.ui.Emit(result)
	}
	c.tell(e, result, res.Project)
	return nil
}

// read calls a function with the events of the log since the time that was named, and returns the log.
func (c *auditListCmd) read(e *env, each func(*audit.Event)) (*audit.Log, error) {
	since, err := sinceTime(c.Since, time.Now())
	if err != nil {
		return nil, err
	}
	log, err := e.openAudit()
	if err != nil {
		return nil, err
	}
	return log, audit.Read(log.File(), func(ev audit.Event) {
		if c.Patch != "" || !ev.Time.Before(since) {
			each(&ev)
		}
	})
}

// contentOf returns what a file has that is to be changed; nil where it is new.
func contentOf(fsys fs.FS, f contract.File) []byte {
	data, err := fs.ReadFile(fsys, f.Path)
	if err != nil {
		return nil
	}
	return data
}

// patch prints the patch of one suggestion, for a program that applies it.
func (c *auditListCmd) patch(e *env, fsys fs.FS, result wishReport) error {
	if len(result.Suggestions) == 0 {
		return fmt.Errorf("no suggestion has the id %q: `modec audit --suggest` lists them", c.Patch)
	}
	w := &result.Suggestions[0]
	if w.Why != "" {
		return fmt.Errorf("there is no patch for %s: %s", w, w.Why)
	}
	for _, f := range w.Files { // which may have a secret in it that a patch on the screen does not show
		have := contentOf(fsys, f)
		if string(report.Masked(have)) != string(have) || string(report.Masked(f.Data)) != string(f.Data) {
			return fmt.Errorf("%s has a secret in it, which a patch must not have: change the file yourself", f.Path)
		}
	}
	if e.ui.JSON {
		return e.ui.Emit(result)
	}
	e.ui.Unified(w.Patch)
	return nil
}

// tell prints the suggestions, and what is not suggested with the reason.
func (c *auditListCmd) tell(e *env, r wishReport, p *ir.Project) {
	patches := 0
	for i := range r.Suggestions {
		w := &r.Suggestions[i]
		if w.Why != "" {
			e.ui.Printf("not suggested: %s, %s: %s\n", diag.Clean(w.String()), often(w), diag.Clean(w.Why))
			continue
		}
		patches++
		e.ui.Printf("%s, %s\n", diag.Clean(w.String()), often(w))
		for j := range w.Permits {
			x := &w.Permits[j]
			e.ui.Printf("  would permit  %s: %s\n", diag.Clean(x.Subject),
				diag.Clean(report.Action(x)+report.Examples(x)))
		}
		e.ui.Unified(w.Patch)
		e.ui.Note("next: modec audit --suggest --patch %s | patch -p1%s\n", w.ID, e.patchFolder())
	}
	for _, u := range r.Unnamed {
		e.ui.Printf("not suggested: %s: %s, %s: %s\n", diag.Clean(u.Subject), u.Group, report.Count(u.Count, "time"),
			unnamedWhy(u, p))
	}
	switch {
	case len(r.Suggestions)+len(r.Unnamed) == 0:
		e.ui.Note("nothing was refused or asked about %s that the source does not permit\n",
			report.Count(c.Times, "time"))
	case patches > 0:
		e.ui.Note("%s; nothing was written. Apply what you want to permit, and then: modec build\n",
			report.Count(patches, "suggestion"))
	}
	if r.More > 0 {
		e.ui.Note("%d more are left out: --times or --since look for fewer\n", r.More)
	}
}

// unnamedWhy says why nothing is suggested for what the log does not name.
func unnamedWhy(u suggest.Unnamed, p *ir.Project) string {
	switch {
	case u.Group == ir.MCP:
		return "no tool of the inventory, or no subject"
	case p.Audit != nil && p.Audit.Arguments:
		return "calls about nothing that one rule names, or from before the log had their arguments"
	}
	return "the log has no arguments: `arguments = true` in [audit] has them written from then on"
}

// often says how often something was wished.
func often(w *wish) string {
	var parts []string
	for _, x := range []struct {
		n    int
		word string
	}{{w.Refused, "refused"}, {w.Asked, "asked"}, {w.Declined, "declined"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", x.word, report.Count(x.n, "time")))
		}
	}
	return strings.Join(parts, ", ") + ", last " + w.Last.Local().Format(time.DateOnly)
}

// patchFolder returns what the program that applies a patch needs to find the project from where modec was called.
func (e *env) patchFolder() string {
	if dir := e.seen(e.dir); dir != "" {
		return " -d " + dir
	}
	return ""
}
