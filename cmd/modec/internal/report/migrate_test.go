package report

import (
	"slices"
	"testing"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/migrate"
)

// A line that tells what is narrower has a witness, a reason and places; what decides now is named, where
// its text is longer than a line has room for.
func TestNarrowings(t *testing.T) {
	const expression = `fileRegex: ^(?!(.*[/\\])?(\.(git|modec|roo)|modec)([/\\]|$)).*\.md$`
	n := migrate.Narrowing{File: ".roomodes", Group: ir.Edit, Built: true, Was: ir.Ask, Rule: expression,
		At: diag.Pos{File: ".roomodes", Line: 3, Col: 5}, Form: migrate.LineBreak, Count: 2, Example: "x\n.md"}
	other, folder, short := n, n, n
	other.At.Line, other.Rule = 9, expression+"|"
	folder.Form, folder.Example, folder.Count = "", "a/.x/b.md", 1
	short.Rule, short.At, short.Form, short.Count = "edit writes no default", diag.Pos{}, "", 1
	want := []string{
		`narrower        .roomodes: edit "x\n.md" and 3 more, with a line break: asked about before, denied now: ` +
			`the new fileRegex takes usual paths inside the project only (.roomodes:3:5, .roomodes:9:5)`,
		`narrower        .roomodes: edit "a/.x/b.md": asked about before, denied now: the new fileRegex (.roomodes:3:5)`,
		`narrower        .roomodes: edit "x\n.md": asked about before, denied now: no rule of edit allows it`,
	}
	if got := narrowings([]migrate.Narrowing{n, other, folder, short}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
