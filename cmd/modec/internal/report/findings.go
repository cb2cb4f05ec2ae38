package report

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lint"
	"modec.dev/modec/compiler/output"
)

// Annotations is what findings need to be shown by other programs: sarif and github.
type Annotations struct {
	Version string
	Codes   func() []diag.Doc  // all there are
	Rules   func() []lint.Rule // those of lint
	Folder  string             // of the project, where modec was called: "" or "shop/"
}

// Annotator returns what writes findings in a form for other programs: sarif or github; nil for
// any other form.
func (a Annotations) Annotator(u *Printer, form string) func(diag.List) error {
	switch form {
	case "sarif":
		return func(list diag.List) error {
			source := func(file string) ([]byte, error) {
				return u.Render.Source(strings.TrimPrefix(file, a.Folder))
			}
			return diag.SARIF(u.Out, a.Version, a.of(list), a.Codes(), source)
		}
	case "github":
		return func(list diag.List) error {
			diag.GitHub(u.Out, a.of(list))
			return nil
		}
	}
	return nil
}

// mostAnnotations are those that a page of GitHub shows of one step.
const mostAnnotations = 10

// Foremost returns the findings that a reviewer needs, as many as are shown: first what somebody did to a file, and
// one of each code at a place, which has the other spellings of one path.
func Foremost(list diag.List) (out diag.List) {
	type place struct {
		at   diag.Pos
		code diag.Code
	}
	seen := map[place]bool{}
	for _, d := range list {
		if at := (place{d.Pos, d.Code}); d.Pos.File == "" || !seen[at] {
			seen[at] = true
			out = append(out, d)
		}
	}
	done := map[diag.Code]bool{} // what somebody did
	for _, s := range states {
		done[s.Code] = true
	}
	rank := func(d diag.Diagnostic) int {
		switch {
		case done[d.Code]:
			return 0
		case d.Severity == diag.Note:
			return 4
		case d.Pos.File == "":
			return 3
		case d.Severity == diag.Error:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(out, func(a, b diag.Diagnostic) int { return cmp.Compare(rank(a), rank(b)) })
	if more := len(out) - mostAnnotations + 1; more > 1 {
		last := out[mostAnnotations-1]
		out = append(out[:mostAnnotations-1:mostAnnotations-1], diag.Diagnostic{
			Severity: last.Severity, Code: last.Code,
			Message: fmt.Sprintf("and %d more findings", more),
			Hint:    "`modec build --check --format sarif` has them all",
		})
	}
	return out
}

// of returns findings as other programs show them: each ends with the command that mends it, and its places are
// relative to where modec was called, which is the repository in CI.
func (a Annotations) of(list diag.List) (out diag.List) {
	fixable := map[diag.Code]bool{}
	for _, r := range a.Rules() {
		fixable[r.ID] = r.Fixable
	}
	at := func(p diag.Pos) diag.Pos {
		if p.File != "" {
			p.File = path.Join(a.Folder, p.File)
		}
		return p
	}
	for _, d := range list {
		if !strings.Contains(d.Hint, "`modec ") {
			d.Hint = strings.TrimPrefix(d.Hint+"; "+mending(d.Code, fixable[d.Code], d.Pos.File), "; ")
		}
		d.Pos, d.Related = at(d.Pos), slices.Clone(d.Related)
		for i := range d.Related {
			d.Related[i].Pos = at(d.Related[i].Pos)
		}
		out = append(out, d)
	}
	return out
}

// mending returns the command that mends a finding, or that says how.
func mending(code diag.Code, fixable bool, file string) string {
	switch {
	case fixable:
		return MendsRule(file)
	case code == diag.Wider:
		return "`modec verify` prints the exception that accepts it, where there is one"
	}
	return fmt.Sprintf("`modec explain --code %s` says what to do", code)
}

// Narrower returns the narrower losses of the targets as notes, and those that an exception accepts
// as they are.
func Narrower(res *compiler.Result) (list diag.List) {
	for _, o := range res.Outputs {
		for _, d := range o.Losses {
			if d.Needless || d.Loss == diag.Text {
				continue
			}
			if d.Loss == diag.Narrowing {
				d.Severity = diag.Note
			}
			list = append(list, d)
		}
	}
	return list
}

// states are the diagnostics of the ways in which a file can differ from what the source makes.
var states = map[output.State]diag.Diagnostic{
	output.Missing: {Code: diag.Missing, Message: "this file is missing", Hint: "`modec build` writes it"},
	output.Stale: {Code: diag.Stale, Message: "this file is stale: modec wrote it from another source",
		Hint: "`modec build` writes it again"},
	output.Edited: {Code: diag.Edited, Message: "somebody edited this file since modec wrote it",
		Hint: "move the change into the source (`modec migrate` offers a patch), " +
			"or `modec build --force`, which keeps a copy of it"},
	output.Foreign: {Code: diag.NotOurs, Message: "modec did not write this file, or an entry of it",
		Hint: "`modec migrate` takes it over, `modec build --force` overwrites it"},
	output.Orphaned: {Code: diag.Orphaned, Message: "the source no longer compiles to this file, or to an entry of it",
		Hint: "`modec build` removes it"},
	output.Touched: {Code: diag.Touched, Message: "somebody changed entries of their own since the last build",
		Hint: "`modec migrate` offers them as a patch of the source, " +
			"`modec build` keeps them beside it and notes that in modec.lock"},
	output.Removed: {Code: diag.Edited, Message: "somebody removed this file since modec took it over",
		Hint: "take what it says out of the source (`modec migrate` offers a patch), " +
			"or `modec build --force` writes it again"},
}

// Drifted returns what a check says of the files that a build would change, each at the first line
// that differs.
func Drifted(drift []output.Change) (list diag.List) {
	for i := range drift {
		d := states[drift[i].State]
		if drift[i].PutsBack() {
			d.Message = "somebody took out of this file what holds the agent back: " + Some(drift[i].Again)
			d.Hint = "`modec build` puts it back, `modec migrate` offers to take it out of the source"
		}
		d.Pos = diag.Pos{File: drift[i].Path}
		if have, _ := drift[i].Texts(); have != nil {
			d.Pos = FirstDifference(&drift[i])
		}
		list = append(list, d)
	}
	return list
}

// Absent returns the artifacts that are not on disk as findings.
func Absent(files []output.Change) (list diag.List) {
	for _, c := range files {
		d := states[output.Missing]
		if c.State == output.Removed {
			d = states[output.Removed]
		}
		d.Pos = diag.Pos{File: c.Path}
		list = append(list, d)
	}
	return list
}

// MendsRule says how a rule that decides nothing is taken out of a file.
func MendsRule(file string) string {
	if lint.Mends(file) {
		return "`modec lint --fix` removes it"
	}
	return "take it out: `modec lint --fix` changes CUE files alone"
}
