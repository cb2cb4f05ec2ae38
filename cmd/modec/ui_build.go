package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"modec.dev/modec/compiler"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/output"
	"modec.dev/modec/compiler/record"
	"modec.dev/modec/compiler/textdiff"
)

// upToDate prints the one line of a build that has nothing to do.
func (u *ui) upToDate(c *buildCmd, s record.Summary, start time.Time) {
	if c.Check {
		u.note("%s as the source makes them\n", count(s.Files, "file"))
		return
	}
	more := ""
	if s.Warnings > 0 {
		more += ", " + count(s.Warnings, "warning")
	}
	if s.Losses > 0 {
		more += ", " + count(s.Losses, "loss")
	}
	if more != "" {
		more += " (-v lists them)"
	}
	ms := time.Since(start).Milliseconds()
	u.note("up to date: %s of %s%s in %d ms\n", count(s.Files, "file"), count(s.Targets, "target"), more, ms)
}

// build prints a build's artifacts and losses, target by target.
func (u *ui) build(res *compiler.Result, changes []output.Change) {
	for i, r := range targetReports(res, changes) {
		total, files := 0, 0
		for _, c := range r.Files {
			if c.Action != output.Remove {
				total, files = total+c.Bytes, files+1
			}
		}
		title := "what every build writes"
		if i < len(res.Outputs) {
			title = res.Outputs[i].Target.Summary()
		}
		u.note("%s: %s, %s  (%s)\n", r.Name, count(files, "file"), size(total), title)
		for _, line := range u.artifacts(r.Files) {
			u.note("  %s\n", line)
		}
		u.losses(r.Losses)
	}
}

// artifacts lists files; without -v, three or more of one folder and ending
// are one line.
func (u *ui) artifacts(changes []output.Change) []string {
	type group struct {
		name     string
		n, bytes int
		removed  bool
	}
	var groups []group
	key := func(c output.Change) string {
		return path.Dir(c.Path) + "/*" + path.Ext(c.Path)
	}
	counts := map[string]int{}
	for _, c := range changes {
		counts[key(c)]++
	}
	index := map[string]int{}
	for _, c := range changes {
		k := c.Path
		if !u.verbose && counts[key(c)] > 2 {
			k = key(c)
		}
		if c.Action == output.Remove {
			groups = append(groups, group{name: c.Path, removed: true})
			continue
		}
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k] = i
			groups = append(groups, group{name: k})
		}
		groups[i].n++
		groups[i].bytes += c.Bytes
	}
	var lines []string
	for _, g := range groups {
		switch {
		case g.removed:
			lines = append(lines, "removed "+g.name)
		case g.n > 1:
			lines = append(lines, fmt.Sprintf("%-44s %10s  %d files", g.name, size(g.bytes), g.n))
		default:
			lines = append(lines, fmt.Sprintf("%-44s %10s", g.name, size(g.bytes)))
		}
	}
	return lines
}

// lossWords announce a loss, in the order of concern.
var lossWords = []struct {
	loss diag.Loss
	word string
}{{diag.Widening, "widened "}, {diag.Narrowing, "narrowed"}, {diag.Text, "dropped "}}

// concern returns the rank of a loss and its word.
func concern(l diag.Loss) (rank int, word string) {
	for i, w := range lossWords {
		if w.loss == l {
			return i, w.word
		}
	}
	return len(lossWords), ""
}

// losses prints what a target cannot say: each loss with -v, else one line for
// each code and group with its first place and the number of others.
func (u *ui) losses(list diag.List) {
	type key struct {
		code  diag.Code
		group string
	}
	var order []key
	by := map[key]diag.List{}
	for _, d := range list {
		k := key{d.Code, d.Group}
		if by[k] == nil {
			order = append(order, k)
		}
		by[k] = append(by[k], d)
	}
	slices.SortStableFunc(order, func(a, b key) int {
		x, _ := concern(by[a][0].Loss)
		y, _ := concern(by[b][0].Loss)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a.code, b.code))
	})
	for _, k := range order {
		if u.verbose {
			for _, d := range by[k] {
				more := ""
				if d.Subject != "" {
					more = " (" + diag.Clean(d.Subject) + ")"
				}
				u.loss(d, more)
			}
			continue
		}
		more := ""
		if n := len(by[k]) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more%s)", n, diag.Clean(subjectsOf(by[k][1:])))
		}
		u.loss(by[k][0], more)
	}
}

func (u *ui) loss(d diag.Diagnostic, more string) {
	_, word := concern(d.Loss)
	at := d.Pos.String()
	if at == "" {
		at = cmp.Or(d.Subject, d.Target)
	}
	u.printf("  %s %s: %s%s [%s]\n", word, at, diag.Clean(d.Message), more, d.Code)
	if d.Hint != "" {
		u.printf("      hint: %s\n", diag.Clean(d.Hint))
	}
}

// subjectsOf names the subjects of a group of losses, a few of them.
func subjectsOf(list diag.List) string {
	var names []string
	for _, d := range list {
		if d.Subject != "" && !slices.Contains(names, d.Subject) {
			names = append(names, d.Subject)
		}
	}
	const most = 3
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return ": " + strings.Join(names[:most], ", ") + " …"
	}
	return ": " + strings.Join(names, ", ")
}

// diffs prints what a build would do to files, as a patch from what is on disk.
func (u *ui) diffs(changes []output.Change, of func(output.Change) bool) {
	for _, c := range changes {
		if c.Action == output.Unchanged || !of(c) {
			continue
		}
		have, want := c.Texts()
		u.unified(textdiff.Patch(c.Path, have, want))
	}
}

// firstDifferences names the first place where files differ from what a build would
// write: their lines are too long to show.
func (u *ui) firstDifferences(changes []output.Change, of func(output.Change) bool) {
	for _, c := range changes {
		if !of(c) {
			continue
		}
		have, want := c.Texts()
		at := diag.Pos{File: c.Path, Line: 1, Col: 1}
		for i := 0; i < min(len(have), len(want)) && have[i] == want[i]; i++ {
			if at.Col++; have[i] == '\n' {
				at.Line, at.Col = at.Line+1, 1
			}
		}
		u.printf("%s: the first difference; `modec build --force` writes the file again\n", diag.Clean(at.String()))
	}
}

func buildSummary(res *compiler.Result, changes []output.Change, opt output.Options) string {
	n := map[output.Action]int{}
	for _, c := range changes {
		n[c.Action]++
	}
	verb := "built"
	if opt.DryRun {
		verb = "would build"
	}
	written := count(n[output.Create]+n[output.Update], "file")
	s := fmt.Sprintf("%s %s: %s written", verb, count(len(res.Outputs), "target"), written)
	if n[output.Unchanged] > 0 {
		s += fmt.Sprintf(", %d unchanged", n[output.Unchanged])
	}
	if n[output.Remove] > 0 {
		s += fmt.Sprintf(", %d removed", n[output.Remove])
	}
	return s + " from " + contents(res.Project)
}

// contents counts what a project defines.
func contents(p *ir.Project) string {
	tools := 0
	for i := range p.Servers {
		tools += len(p.Servers[i].Tools)
	}
	return fmt.Sprintf("%s, %s, %s with %s", count(len(p.Modes), "mode"), count(len(p.Roles), "role"),
		count(len(p.Servers), "server"), count(tools, "tool"))
}
