package report

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/suggest"
)

// mostPlaces is how many more places a finding names.
const mostPlaces = 3

// Lint prints what lint found, notes included.
func (u *Printer) Lint(report LintReport) {
	for _, file := range report.Fixed {
		u.Printf("fixed %s\n", diag.Clean(file))
	}
	for _, d := range together(report.Diagnostics) {
		if more := len(d.Related) - mostPlaces; more > 1 && !u.Verbose {
			d.Related = append(slices.Clip(d.Related[:mostPlaces]),
				diag.Related{Message: fmt.Sprintf("and of %d more (-v lists them)", more)})
		}
		u.Render.Render(u.Err, d)
	}
	if n := len(report.Diagnostics); n > 0 {
		what := "finding"
		if !slices.ContainsFunc(report.Diagnostics, func(d diag.Diagnostic) bool { return d.Severity < diag.Note }) {
			what = "note" // nothing has to be done
		}
		u.Note("%s\n", Count(n, what))
	}
}

// together returns findings in which those that say the same are one, with the other places: an import writes a list of
// a file for each subject that has it.
func together(list diag.List) (out diag.List) {
	for _, d := range list {
		i := slices.IndexFunc(out, func(o diag.Diagnostic) bool {
			return o.Code == d.Code && o.Severity == d.Severity && o.Message == d.Message && o.Hint == d.Hint
		})
		if i < 0 || len(d.Related) > 0 {
			out = append(out, d)
			continue
		}
		text := "the same"
		if d.Subject != "" {
			text += " of " + d.Subject
		}
		out[i].Related = append(slices.Clone(out[i].Related), diag.Related{Pos: d.Pos, Message: text})
	}
	return out
}

// Rules lists what lint looks for.
func (u *Printer) Rules(rules []lint.Rule) error {
	if u.JSON {
		return u.Emit(RulesReport{u.Envelope(), rules})
	}
	for i, r := range rules {
		if i > 0 {
			u.Printf("\n")
		}
		fix := ""
		if r.Fixable {
			fix = ", --fix removes it"
		}
		u.Printf("%s (%s%s)\n  %s\n", r.ID, r.Severity, fix, r.Doc)
		u.example("bad ", r.Bad)
		u.example("good", r.Good)
	}
	return nil
}

// example prints the lines of an example, the first of them behind a word.
func (u *Printer) example(word, text string) {
	for j, line := range strings.Split(text, "\n") {
		if j > 0 {
			word = "    "
		}
		if line != "" {
			u.Printf("    %s  %s\n", word, line)
		}
	}
}

// Suggestions prints what was found, and each patch after it.
func (u *Printer) Suggestions(fsys fs.FS, found *suggest.Result) {
	if len(found.Suggestions) == 0 {
		u.Note("nothing to suggest\n")
		return
	}
	for _, s := range found.Suggestions {
		at, subject := diag.Clean(s.Pos.String()), diag.Clean(s.Subject)
		u.Printf("%s: suggestion: %s: %s [%s]\n", at, subject, diag.Clean(s.Message), s.Code)
	}
	for _, f := range found.Files {
		u.patch(fsys, f)
	}
}

// patch prints a new file, or the lines of an old one that change: patches replace
// words and add no lines to what is there.
func (u *Printer) patch(fsys fs.FS, f contract.File) {
	var old []string
	if data, err := fs.ReadFile(fsys, f.Path); err == nil {
		old = strings.Split(string(data), "\n")
	}
	u.Printf("patch %s\n", diag.Clean(f.Path))
	for i, line := range strings.Split(strings.TrimSuffix(string(f.Data), "\n"), "\n") {
		number := fmt.Sprintf("%4d ", i+1)
		switch {
		case old == nil:
			u.Printf("  + %s\n", diag.Clean(strings.ReplaceAll(line, "\t", "    ")))
		case i < len(old) && old[i] != line:
			u.Printf("  %s- %s\n", number, diag.Clean(strings.TrimSpace(old[i])))
			u.Printf("  %s+ %s\n", number, diag.Clean(strings.TrimSpace(line)))
		}
	}
}

// LintReport is the JSON of a lint.
type LintReport struct {
	Envelope
	Status      string               `json:"status" enum:"ok,findings"`
	Diagnostics diag.List            `json:"diagnostics"`
	Fixed       []string             `json:"fixed,omitempty" jsonschema:"the files that --fix changed"`
	Suggestions []suggest.Suggestion `json:"suggestions,omitempty"`
	Patches     []Patch              `json:"patches,omitempty"`
	Applied     bool                 `json:"applied,omitempty" jsonschema:"the patches were written"`
}

// Patch is a file of the source as the suggestions leave it.
type Patch struct {
	File string `json:"file"`
	Text string `json:"text"`
	Gone bool   `json:"gone,omitempty" jsonschema:"the file goes: nothing is left in it"`
}

// RulesReport is the JSON of lint's rules.
type RulesReport struct {
	Envelope
	Rules []lint.Rule `json:"rules"`
}
