// Package textdiff compares two texts line by line.
package textdiff

import (
	"fmt"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// Op is what happens to a line.
type Op byte

const (
	Same   Op = ' '
	Delete Op = '-'
	Insert Op = '+'
)

// Line is a line of a diff, without its line break.
type Line struct {
	Op   Op
	Text string
	// Old and New are its numbers from 1, 0 where the text does not have it.
	Old, New int
}

// Lines compares two texts. A last line without a line break counts as one.
func Lines(a, b string) []Line {
	d := diffmatchpatch.New()
	d.DiffTimeout = 0 // the same texts always give the same diff
	x, y, all := d.DiffLinesToRunes(a, b)
	var out []Line
	before, after := 0, 0
	for _, part := range d.DiffCharsToLines(d.DiffMainRunes(x, y, false), all) {
		for line := range strings.SplitSeq(strings.TrimSuffix(part.Text, "\n"), "\n") {
			l := Line{Op: Same, Text: line}
			if part.Type != diffmatchpatch.DiffInsert {
				before++
				l.Old = before
			}
			if part.Type != diffmatchpatch.DiffDelete {
				after++
				l.New = after
			}
			switch part.Type {
			case diffmatchpatch.DiffDelete:
				l.Op = Delete
			case diffmatchpatch.DiffInsert:
				l.Op = Insert
			}
			out = append(out, l)
		}
	}
	return out
}

// Unified writes a diff as `diff -u` does, with lines of context around each change;
// "" where nothing changed.
func Unified(from, to, a, b string, context int) string {
	lines := Lines(a, b)
	var out strings.Builder
	for i := 0; i < len(lines); {
		if lines[i].Op == Same {
			i++
			continue
		}
		// A hunk goes on while changes are no further apart than their context.
		start, end := max(0, i-context), i+1
		for j := i + 1; j < len(lines) && j <= end+2*context; j++ {
			if lines[j].Op != Same {
				end = j + 1
			}
		}
		end = min(len(lines), end+context)
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
		}
		writeHunk(&out, lines, start, end)
		i = end
	}
	return out.String()
}

// around is how many lines of context a patch has on each side of a change.
const around = 3

// Patch writes what changes in a file as git does; nil is a file that is not there.
func Patch(path string, before, after []byte) string {
	from, to := "a/"+path, "b/"+path
	if before == nil {
		from = "/dev/null"
	}
	if after == nil {
		to = "/dev/null"
	}
	return Unified(from, to, string(before), string(after), around)
}

func writeHunk(out *strings.Builder, lines []Line, start, end int) {
	var old, added, before, after int
	for i := range start { // the numbers of the lines before the hunk
		before, after = max(before, lines[i].Old), max(after, lines[i].New)
	}
	for _, l := range lines[start:end] {
		if l.Op != Insert {
			old++
		}
		if l.Op != Delete {
			added++
		}
	}
	if old > 0 {
		before++
	}
	if added > 0 {
		after++
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(before, old), span(after, added))
	for _, l := range lines[start:end] {
		fmt.Fprintf(out, "%c%s\n", l.Op, l.Text)
	}
}

func span(first, n int) string {
	if n == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d,%d", first, n)
}
