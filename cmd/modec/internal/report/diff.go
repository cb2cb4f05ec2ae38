package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/diff"
	"modec.dev/modec/compiler/ir"
)

func Totals(r *diff.Report, a, b string) string {
	if Differences(r) == 0 {
		return fmt.Sprintf("no permission differs between %s and %s", a, b)
	}
	s := fmt.Sprintf("%d widened, %d narrowed", r.Widened, r.Narrowed)
	if other := Differences(r) - r.Widened - r.Narrowed; other > 0 {
		s += fmt.Sprintf(", %d changed otherwise", other)
	}
	return s + fmt.Sprintf(" from %s to %s", a, b)
}

// Changes prints what differs, a line each, with the rules of both sides.
func (u *Printer) Changes(r *diff.Report) {
	list := InOneLine(r.Changes)
	for i := range list {
		c := &list[i]
		subject, what := diag.Clean(c.Subject), diag.Clean(Action(c))
		u.Printf("%s: %s (%s)%s\n", subject, what, u.kind(c.Kind), diag.Clean(Examples(c)))
		for _, s := range []struct {
			word string
			side diff.Side
		}{{"was", c.Before}, {"now", c.After}} {
			if c.Only == "" {
				u.Printf("  %s  %s%s\n", s.word, diag.Clean(s.side.Rule), diag.Clean(origin(s.side)))
			}
		}
	}
	for _, o := range r.Others {
		at := ""
		if p := o.Pos.String(); p != "" {
			at = "  " + p
		}
		u.Printf("%s: %s (%s)%s\n", diag.Clean(o.What), diag.Clean(o.Text), u.kind(o.Kind), diag.Clean(at))
	}
}

// InOneLine returns changes in which the groups of a subject that only one side has are one, where all are the same.
func InOneLine(list []diff.Change) (out []diff.Change) {
	for _, c := range list {
		if n := len(out) - 1; n >= 0 && c.Only != "" && c.Only == out[n].Only && c.Subject == out[n].Subject &&
			c.Kind == out[n].Kind && c.InTimes == out[n].InTimes && c.SomeArgs == out[n].SomeArgs &&
			c.Agent == out[n].Agent && c.Before.Decision == out[n].Before.Decision &&
			c.After.Decision == out[n].After.Decision {
			out[n].What += fmt.Sprintf(", %s %s", c.Group, c.What)
			continue
		}
		out = append(out, c)
	}
	return out
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

// Action describes what changes in which way.
func Action(c *diff.Change) string {
	rest := *c
	switch {
	case c.Agent != "":
		rest.Agent = ""
		return "on " + c.Agent + ", " + Action(&rest)
	case c.InTimes:
		rest.InTimes = false
		return "at times, " + Action(&rest)
	}
	if c.SomeArgs {
		rest.SomeArgs = false
		return "with some arguments, " + Action(&rest)
	}
	switch c.Only {
	case "after":
		return fmt.Sprintf("is new, %s %s up to %s", c.Group, c.What, c.After.Decision)
	case "before":
		return fmt.Sprintf("is gone, %s %s was up to %s", c.Group, c.What, c.Before.Decision)
	}
	return fmt.Sprintf("%s %s %s → %s", c.Group, c.What, c.Before.Decision, c.After.Decision)
}

// Examples names actions that a pattern stands for.
func Examples(c *diff.Change) string {
	switch {
	case c.Only != "":
		return ""
	case c.Group == ir.MCP && strings.HasSuffix(c.What, ":*"):
		return ", " + Count(c.Count, "tool")
	case c.Group == ir.MCP, len(c.Examples) == 1 && c.Examples[0] == c.What:
		return ""
	}
	var quoted []string
	for _, x := range c.Examples {
		if !contract.HasUnknown(x) {
			quoted = append(quoted, strconv.Quote(x))
		}
	}
	if len(quoted) == 0 {
		return ""
	}
	return ", as " + strings.Join(quoted, ", ")
}

func (u *Printer) kind(k diff.Kind) string {
	switch k {
	case diff.Widened:
		return u.Paint(Red, string(k))
	case diff.Narrowed:
		return u.Paint(green, string(k))
	}
	return string(k)
}

// marker identifies the comment, so that a later run can replace it.
const marker = "<!-- modec diff -->"

// section is a part of the Markdown of a diff.
type section struct {
	kind  diff.Kind
	title string
	shown folding // in a comment
}

type folding bool

const (
	open   folding = false
	folded folding = true
)

var sections = []section{
	{diff.Widened, "Widened", open},
	{diff.Narrowed, "Narrowed", folded},
	{diff.Changed, "Changed otherwise", folded},
}

// Markdown prints what differs as tables.
func (u *Printer) Markdown(r *diff.Report, a, b string) {
	u.diffTitle(r, a, b)
	for _, s := range sections {
		u.section(r, s, open)
	}
}

// Comment prints the same as a comment on a pull request: it begins with a marker, and
// what does not widen is folded.
func (u *Printer) Comment(r *diff.Report, a, b string) {
	u.Printf("%s\n", marker)
	u.diffTitle(r, a, b)
	for _, s := range sections {
		u.section(r, s, s.shown)
	}
}

func (u *Printer) diffTitle(r *diff.Report, a, b string) {
	title := "Permissions do not change"
	switch {
	case r.Widened > 0:
		title = "⚠️ Permissions widen"
	case Differences(r) > 0:
		title = "Permissions change, and nothing widens"
	}
	u.Printf("### %s\n\n%s.\n", title, plainCell(Totals(r, a, b)))
}

func (u *Printer) section(r *diff.Report, s section, fold folding) {
	changes := slices.DeleteFunc(InOneLine(r.Changes), func(c diff.Change) bool { return c.Kind != s.kind })
	others := slices.DeleteFunc(slices.Clone(r.Others), func(o diff.Other) bool { return o.Kind != s.kind })
	if len(changes)+len(others) == 0 {
		return
	}
	if fold {
		u.Printf("\n<details><summary>%s</summary>\n", s.title)
	} else {
		u.Printf("\n#### %s\n", s.title)
	}
	if len(changes) > 0 {
		u.Printf("\n| subject | action | was | is | because |\n| --- | --- | --- | --- | --- |\n")
	}
	for i := range changes {
		u.changeRow(&changes[i])
	}
	if len(others) > 0 {
		u.Printf("\n")
	}
	for _, o := range others {
		u.Printf("- %s %s\n", plainCell(o.What), cell(o.Text))
	}
	if fold {
		u.Printf("\n</details>\n")
	}
}

func (u *Printer) changeRow(c *diff.Change) {
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
	u.Printf("| %s | %s%s | %s | **%s** | %s |\n", plainCell(c.Subject), cell(string(c.Group)+" "+c.What),
		plainCell(Examples(c)), was, is, cell(because.Rule+origin(because)))
}

// cell writes any text as code in a table.
func cell(s string) string {
	return code(strings.ReplaceAll(diag.Clean(s), "|", `\|`))
}

// code writes a text between more backticks than it has in a row.
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

// DiffReport is the JSON of a diff.
type DiffReport struct {
	Envelope
	Status string `json:"status" enum:"same,changed"`
	A      string `json:"a" jsonschema:"the side before"`
	B      string `json:"b" jsonschema:"the side after"`
	*diff.Report
}

// TextDiffReport is the JSON of a diff of the artifacts.
type TextDiffReport struct {
	Envelope
	Status string     `json:"status" enum:"same,changed"`
	A      string     `json:"a" jsonschema:"the side before"`
	B      string     `json:"b" jsonschema:"the side after"`
	Files  []FileDiff `json:"files"`
}

type FileDiff struct {
	Path  string `json:"path"`
	Patch string `json:"patch"`
}

// SameOrChanged is the status of a comparison.
func SameOrChanged(differences int) string {
	if differences > 0 {
		return "changed"
	}
	return "same"
}

func Differences(r *diff.Report) int { return len(r.Changes) + len(r.Others) }
