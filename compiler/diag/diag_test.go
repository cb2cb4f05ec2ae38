package diag

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPosString(t *testing.T) {
	for want, p := range map[string]Pos{
		"":      {},
		"a":     {File: "a"},
		"a:2":   {File: "a", Line: 2},
		"a:2:3": {File: "a", Line: 2, Col: 3},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Sorting goes by place, then severity, and drops repetitions.
func TestSort(t *testing.T) {
	at := func(line int) Pos { return Pos{File: "f", Line: line, Col: 1} }
	l := List{
		{Code: "c", Pos: at(3)},
		{Code: "b", Pos: at(1), Severity: Warning},
		{Code: "a", Pos: at(1)},
		{Code: "c", Pos: at(3)},
	}
	l.Sort()
	var got []Code
	for _, d := range l {
		got = append(got, d.Code)
	}
	if want := []Code{"a", "b", "c"}; !cmp.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if l.Err() == nil || l.Count(Warning) != 1 {
		t.Error("an error or a warning is lost")
	}
	if (List{{Severity: Warning}}).Err() != nil {
		t.Error("warnings are no error")
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"roleDefinition", "name", "sonnet"}
	for got, want := range map[string]string{
		"roledefinition": `did you mean "roleDefinition"?`,
		"nmae":           `did you mean "name"?`,
		"sonet":          `did you mean "sonnet"?`,
		"completely":     "",
		"":               "",
	} {
		if hint := DidYouMean(got, known); hint != want {
			t.Errorf("%q: got %q, want %q", got, hint, want)
		}
	}
}

func render(d Diagnostic, source string) string {
	r := Renderer{Source: func(string) ([]byte, error) {
		if source == "" {
			return nil, errors.New("none")
		}
		return []byte(source), nil
	}}
	var b strings.Builder
	r.Render(&b, d)
	return b.String()
}

func TestRender(t *testing.T) {
	d := Diagnostic{Code: "bad-choice", Pos: Pos{"a.cue", 2, 9}, Message: `got "x", want "y"`, Hint: `did you mean "y"?`,
		Related: []Related{{Pos{"b.cue", 1, 1}, "also set here"}}}
	want := `a.cue:2:9: error: got "x", want "y" [bad-choice]
    2 |     model: "x"
      |            ^
  b.cue:1:1: also set here
  hint: did you mean "y"?
`
	if diff := cmp.Diff(want, render(d, "package a\n\tmodel: \"x\"\r\n")); diff != "" {
		t.Error(diff)
	}
	if got := render(d, ""); strings.Contains(got, "|") {
		t.Errorf("got an excerpt without a source:\n%s", got)
	}
}

// A place past the end of its file or line must not break the rendering, and
// nothing of a source reaches the terminal as a command or reorders it.
func TestRenderHostile(t *testing.T) {
	for _, source := range []string{"", "\n", "short", "\x1b[2J\u202e\x07", strings.Repeat("x", 5000), strings.Repeat("日本", 300)} {
		for _, p := range []Pos{{"f", 1, 1}, {"f", 1, 4000}, {"f", 99, 1}, {"f", 1, 0}} {
			got := render(Diagnostic{Pos: p, Message: "a\x1b[31m\nb\u202e"}, source)
			if strings.ContainsAny(got, "\x1b\x07\u202e") {
				t.Errorf("%q at %v: control characters in %q", source, p, got)
			}
			for _, line := range strings.Split(got, "\n") {
				if len([]rune(line)) > 140 {
					t.Errorf("%v: a line of %d characters", p, len([]rune(line)))
				}
			}
		}
	}
}

func TestColor(t *testing.T) {
	var b strings.Builder
	(&Renderer{Color: true}).Render(&b, Diagnostic{Message: "m"})
	if got, want := b.String(), "\x1b[1;31merror:\x1b[0m m\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
