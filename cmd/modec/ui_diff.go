package main

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

func totals(r *diff.Report, a, b string) string {
	if differences(r) == 0 {
		return fmt.Sprintf("no permission differs between %s and %s", a, b)
	}
	s := fmt.Sprintf("%d widened, %d narrowed", r.Widened, r.Narrowed)
	if other := differences(r) - r.Widened - r.Narrowed; other > 0 {
		s += fmt.Sprintf(", %d changed otherwise", other)
	}
	return s + fmt.Sprintf(" from %s to %s", a, b)
}

// changes prints what differs, a line each, with the rules of both sides.
func (u *ui) changes(r *diff.Report) {
	list := inOneLine(r.Changes)
	for i := range list {
		c := &list[i]
		subject, what := diag.Clean(c.Subject), diag.Clean(action(c))
		u.printf("%s: %s (%s)%s\n", subject, what, u.kind(c.Kind), diag.Clean(examples(c)))
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

// inOneLine returns changes in which the groups of a subject that only one side has are one, where all are the same.
func inOneLine(list []diff.Change) (out []diff.Change) {
	for _, c := range list {
		if n := len(out) - 1; n >= 0 && c.Only != "" && c.Only == out[n].Only && c.Subject == out[n].Subject &&
			c.Kind == out[n].Kind && c.InTimes == out[n].InTimes && c.Before.Decision == out[n].Before.Decision &&
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

// action describes what changes in which way.
func action(c *diff.Change) string {
	if c.InTimes {
		rest := *c
		rest.InTimes = false
		return "at times, " + action(&rest)
	}
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

func (u *ui) kind(k diff.Kind) string {
	switch k {
	case diff.Widened:
		return u.paint(red, string(k))
	case diff.Narrowed:
		return u.paint(green, string(k))
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

// markdown prints what differs as tables.
func (u *ui) markdown(r *diff.Report, a, b string) {
	u.diffTitle(r, a, b)
	for _, s := range sections {
		u.section(r, s, open)
	}
}

// comment prints the same as a comment on a pull request: it begins with a marker, and
// what does not widen is folded.
func (u *ui) comment(r *diff.Report, a, b string) {
	u.printf("%s\n", marker)
	u.diffTitle(r, a, b)
	for _, s := range sections {
		u.section(r, s, s.shown)
	}
}

func (u *ui) diffTitle(r *diff.Report, a, b string) {
	title := "Permissions do not change"
	switch {
	case r.Widened > 0:
		title = "⚠️ Permissions widen"
	case differences(r) > 0:
		title = "Permissions change, and nothing widens"
	}
	u.printf("### %s\n\n%s.\n", title, plainCell(totals(r, a, b)))
}

func (u *ui) section(r *diff.Report, s section, fold folding) {
	changes := slices.DeleteFunc(inOneLine(r.Changes), func(c diff.Change) bool { return c.Kind != s.kind })
	others := slices.DeleteFunc(slices.Clone(r.Others), func(o diff.Other) bool { return o.Kind != s.kind })
	if len(changes)+len(others) == 0 {
		return
	}
	if fold {
		u.printf("\n<details><summary>%s</summary>\n", s.title)
	} else {
		u.printf("\n#### %s\n", s.title)
	}
	if len(changes) > 0 {
		u.printf("\n| subject | action | was | is | because |\n| --- | --- | --- | --- | --- |\n")
	}
	for i := range changes {
		u.changeRow(&changes[i])
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

func (u *ui) changeRow(c *diff.Change) {
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
	u.printf("| %s | %s%s | %s | **%s** | %s |\n", plainCell(c.Subject), cell(string(c.Group)+" "+c.What),
		plainCell(examples(c)), was, is, cell(because.Rule+origin(because)))
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
