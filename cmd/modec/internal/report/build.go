package report

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
)

// What a build that writes no file says of the files.
const (
	UpToDate = "up to date:"
	TookOver = "took over, as people wrote it:" // the first one, which notes them in its lock
)

// AsMade prints the line of a check that finds every file as the source makes it, and what entries of people's own
// allow.
func (u *Printer) AsMade(changes []output.Change, filled string) {
	u.Note("%s as the source makes them\n", Count(standing(changes), "file"))
	if filled != "" {
		u.Note("%s: %s\n", filledTitle, diag.Clean(filled))
	}
}

// standing returns how many files stand after changes.
func standing(changes []output.Change) (n int) {
	for i := range changes {
		if changes[i].Action != output.Remove {
			n++
		}
	}
	return n
}

// UpToDate prints the one line of a build that has nothing to write.
func (u *Printer) UpToDate(
	reports []TargetReport, changes []output.Change, diags diag.List, word string, start time.Time,
) {
	files := standing(changes)
	if !u.Quiet {
		for _, d := range diags {
			// No build does it: a person has to. Where nothing is written, a warning says why.
			stays := d.Severity != diag.Note && (d.Code == diag.EntryChanged || d.Code == diag.BadLock)
			if stays || files == 0 && d.Severity == diag.Warning {
				u.Render.Render(u.Err, d)
			}
		}
	}
	more := ""
	if n := diags.Count(diag.Warning); n > 0 {
		more += ", " + Count(n, "warning")
	}
	losses, targets := 0, 0
	for i := range reports {
		losses += len(reports[i].Losses)
		if reports[i].Emits {
			targets++
		}
	}
	if losses > 0 {
		more += ", " + Count(losses, "loss")
	}
	if more != "" {
		more += " (-v lists them)"
	}
	ms := time.Since(start).Milliseconds()
	u.Note("%s %s of %s%s in %d ms\n", word, Count(files, "file"), Count(targets, "target"), more, ms)
}

// BuildLines is the most lines of a build without -v.
const BuildLines = 20

// Build prints a build: its warnings, the files of each target, and what the targets cannot
// say. Without -v it prints at most [BuildLines] lines with the summary.
func (u *Printer) Build(reports []TargetReport, diags diag.List, summary string) {
	rest := BuildLines - 1 - len(reports)
	rest -= u.Findings(diags, rest/2)
	for _, r := range reports {
		if r.Name == "modec" && len(r.Files) == 0 {
			continue
		}
		u.files(r)
		if u.Verbose {
			for j, d := range r.Losses {
				if j+1 < len(r.Losses) && r.Losses[j+1].Hint == d.Hint {
					d.Hint = "" // it stands below the last loss that it is for
				}
				u.loss(d)
			}
		}
	}
	if !u.Verbose && !u.Quiet {
		u.losses(reports, rest)
	}
	u.Note("%s\n", summary)
}

// PutBack prints what somebody took out of files and a build writes again, behind a verb.
func (u *Printer) PutBack(verb string, changes []output.Change) {
	for i := range changes {
		x := &changes[i]
		if len(x.Again) > 0 {
			u.Note("%s in %s, which somebody took out: %s\n", verb, diag.Clean(x.Path), diag.Clean(Some(x.Again)))
		}
		if x.Back != "" {
			u.Note("%s in %s what people wrote there, as of %s\n", verb, diag.Clean(x.Path), x.Back)
		}
	}
}

// Kept prints where copies are of what was overwritten.
func (u *Printer) Kept(diags diag.List) {
	for _, d := range diags {
		if d.Code == diag.Kept && d.Severity == diag.Note && !u.Verbose {
			u.Note("%s: %s\n", diag.Clean(d.Pos.String()), diag.Clean(d.Message))
		}
	}
}

// files prints the files of a target: one line, or one for each file with -v.
func (u *Printer) files(r TargetReport) {
	total, n := 0, 0
	var names, removed []string
	folders := map[string]int{}
	for _, c := range r.Files {
		if c.Action == output.Remove {
			removed = append(removed, c.Path)
			continue
		}
		total, n = total+c.Bytes, n+1
		folders[likeIt(c.Path)]++
	}
	for _, c := range r.Files {
		name := c.Path
		if folders[likeIt(name)] > 2 {
			name = likeIt(name)
		}
		if c.Action != output.Remove && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	head := fmt.Sprintf("%s: %s, %s", r.Name, Count(n, "file"), Size(total))
	if n == 0 && r.Sessions {
		head = r.Name + ": no files, what its sessions need is made when they start"
	}
	if u.Verbose {
		u.Note("%s  (%s)\n", head, r.Title)
		for _, c := range r.Files {
			if c.Action != output.Remove {
				u.Note("  %-44s %10s\n", c.Path, Size(c.Bytes))
			}
		}
		for _, name := range removed {
			u.Note("  removed %s\n", name)
		}
		return
	}
	if len(names) > 0 {
		head += ": " + strings.Join(names[:min(len(names), 4)], " ")
	}
	if len(names) > 4 {
		head += " …"
	}
	switch len(removed) {
	case 0:
	case 1:
		head += ", removed " + removed[0]
	default:
		head += fmt.Sprintf(", removed %s and %d more", removed[0], len(removed)-1)
	}
	u.Note("%s\n", head)
}

// likeIt returns a glob for the files of a file's folder and ending.
func likeIt(name string) string { return path.Dir(name) + "/*" + path.Ext(name) }

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

// remedy is what a person can do about several losses.
type remedy struct {
	loss    diag.Loss
	hint    string
	losses  diag.List
	targets []string
}

// remedies groups losses by what a person can do about them, those of the most concern
// first, and of these the most frequent ones. Losses that need nothing are left out.
func remedies(reports []TargetReport) []*remedy {
	var list []*remedy
	for _, r := range reports {
		for _, d := range r.Losses {
			if d.Needless {
				continue
			}
			i := slices.IndexFunc(list, func(x *remedy) bool {
				return x.loss == d.Loss && x.hint == d.Hint && (d.Hint != "" || x.losses[0].Code == d.Code) &&
					x.losses[0].Group == d.Group
			})
			if i < 0 {
				i = len(list)
				list = append(list, &remedy{loss: d.Loss, hint: d.Hint})
			}
			x := list[i]
			x.losses = append(x.losses, d)
			if !slices.Contains(x.targets, r.Name) {
				x.targets = append(x.targets, r.Name)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *remedy) int {
		x, _ := concern(a.loss)
		y, _ := concern(b.loss)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(len(b.losses), len(a.losses)))
	})
	return list
}

// losses prints what the targets cannot say, in a number of lines: for each remedy the first
// loss and how many more there are.
func (u *Printer) losses(reports []TargetReport, most int) {
	list := remedies(reports)
	shown := fitting(list, most)
	for _, x := range list[:shown] {
		d := x.losses[0]
		more := ""
		if n := len(x.losses) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more%s)", n, diag.Clean(subjectsOf(x.losses[1:])))
		}
		u.Printf("%s %s: %s: %s%s [%s]\n", u.lossWord(x.loss), strings.Join(x.targets, ", "), diag.Clean(whereOf(d)),
			diag.Clean(d.Message), more, d.Code)
		if x.hint != "" {
			u.Printf("    hint: %s\n", diag.Clean(u.typed(x.hint)))
		}
	}
	if shown < len(list) {
		n := 0
		for _, x := range list[shown:] {
			n += len(x.losses)
		}
		u.Printf("and %s for other reasons (-v lists them)\n", Count(n, "more loss"))
	}
}

// fitting returns how many remedies are shown in a number of lines: one at least, and all but
// none or several.
func fitting(list []*remedy, most int) int {
	lines, shown := 0, len(list)
	for i, x := range list {
		n := 1
		if x.hint != "" {
			n++
		}
		if lines+n > most-1 && i > 0 && shown == len(list) { // one line is for those that are left
			shown = i
		}
		lines += n
	}
	if lines <= most || shown == len(list)-1 {
		return len(list)
	}
	return shown
}

// lossWord writes what becomes of a permission, in colour on a terminal.
func (u *Printer) lossWord(l diag.Loss) string {
	colour := Yellow
	if l == diag.Widening {
		colour = Red
	}
	_, word := concern(l)
	return u.Paint(colour, word)
}

// loss prints one loss.
func (u *Printer) loss(d diag.Diagnostic) {
	more := ""
	if d.Subject != "" {
		more = " (" + d.Subject + ")"
	}
	u.Printf(
		"  %s %s: %s%s [%s]\n",
		u.lossWord(d.Loss),
		diag.Clean(whereOf(d)),
		diag.Clean(d.Message),
		diag.Clean(more),
		d.Code,
	)
	if d.Hint != "" {
		u.Printf("      hint: %s\n", diag.Clean(u.typed(d.Hint)))
	}
}

// whereOf is the place of a loss, or what it is about.
func whereOf(d diag.Diagnostic) string { return cmp.Or(d.Pos.String(), d.Subject, d.Target) }

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

// Diffs prints what a build would do to files, as a patch from what is on disk.
func (u *Printer) Diffs(changes []output.Change, of func(output.Change) bool) {
	for _, c := range changes {
		if c.Action == output.Unchanged || !of(c) {
			continue
		}
		have, want := c.Texts()
		u.Unified(PatchOf(c.Path, have, want))
	}
}

// Edits prints what somebody did to files, as a patch of what a build writes.
func (u *Printer) Edits(changes []output.Change, of func(output.Change) bool) {
	for _, c := range changes {
		if of(c) {
			have, want := c.Texts()
			u.Unified(PatchOf(c.Path, want, have))
		}
	}
}

// FirstDifferences names the first place where files differ from what a build would
// write: their lines are too long to show.
func (u *Printer) FirstDifferences(changes []output.Change, of func(output.Change) bool) {
	for _, c := range changes {
		if !of(c) {
			continue
		}
		at := diag.Clean(FirstDifference(&c).String())
		u.Printf("%s: the first difference; `modec build --force` writes the file again\n", at)
	}
}

func BuildSummary(res *compiler.Result, changes []output.Change, opt output.Options) string {
	n := map[output.Action]int{}
	for _, c := range changes {
		n[c.Action]++
	}
	verb := "built"
	if opt.DryRun {
		verb = "would build"
	}
	written := Count(n[output.Create]+n[output.Update], "file")
	s := fmt.Sprintf("%s %s: %s written", verb, Count(len(res.Outputs), "target"), written)
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
	return fmt.Sprintf("%s, %s, %s with %s", Count(len(p.Modes), "mode"), Count(len(p.Roles), "role"),
		Count(len(p.Servers), "server"), Count(tools, "tool"))
}

// BuildReport is the JSON of a build.
type BuildReport struct {
	Envelope
	Status      string         `json:"status" enum:"ok,drift" jsonschema:"drift: a file differs or permits more"`
	DryRun      bool           `json:"dryRun,omitempty" jsonschema:"nothing was written"`
	HooksOff    *HooksOff      `json:"hooksOff,omitempty" jsonschema:"somebody turned the hooks off"`
	Targets     []TargetReport `json:"targets"`
	Diagnostics diag.List      `json:"diagnostics" jsonschema:"warnings and errors that are not losses"`
}

// TargetReport is a target's part of a build.
type TargetReport struct {
	Name   string          `json:"name" jsonschema:"modec for what the hooks of several targets read"`
	Files  []output.Change `json:"files"`
	Losses diag.List       `json:"losses" jsonschema:"what the format cannot say"`
	Title  string          `json:"-"` // what the target is
	Emits  bool            `json:"-"` // it is a target of the source
	// Sessions is set where sessions of its agent are started with files of their own.
	Sessions bool `json:"-"`
}

// FirstDifference returns the first place where a file differs from what a build would write.
func FirstDifference(c *output.Change) diag.Pos {
	have, want := c.Texts()
	at := diag.Pos{File: c.Path, Line: 1, Col: 1}
	for i := 0; i < min(len(have), len(want)) && have[i] == want[i]; i++ {
		if at.Col++; have[i] == '\n' {
			at.Line, at.Col = at.Line+1, 1
		}
	}
	return at
}
