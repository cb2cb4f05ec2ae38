package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"modec.dev/modec/compiler/explain"
	"modec.dev/modec/compiler/ir"
)

// However many subjects there are, and however long their names, the matrix fits a terminal.
func TestMatrixFits(t *testing.T) {
	for _, name := range []string{"a", strings.Repeat("long-name-", 6)} {
		var rows []explain.Row
		for i := range 150 {
			kind := []string{"mode", "role"}[i/100]
			r := explain.Row{Subject: fmt.Sprintf("%s %s%d", kind, name, i), Steers: []ir.Group{ir.Read}}
			for _, g := range ir.Decided {
				r.Cells = append(r.Cells, explain.Cell{Group: g, Decision: ir.Allow, Lists: []ir.Decision{ir.Deny, ir.Ask, ir.Agent}})
			}
			rows = append(rows, r)
		}
		var out bytes.Buffer
		(&Printer{Out: &out}).Matrix(rows)
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > ShowWidth {
				t.Errorf("%d characters: %s", n, line)
			}
		}
		if n := strings.Count(out.String(), "A+d?-"); n != 150*len(ir.Decided) {
			t.Errorf("got %d cells", n)
		}
	}
}

// Nothing of a source is markup in the page.
func TestPageEscapes(t *testing.T) {
	const evil = "</title><script>alert(1)</script>\"'\u202e"
	x := explain.Sheet{Row: explain.Row{Subject: "role " + evil, Description: evil}, Elsewhere: []string{evil},
		Source: []explain.Source{{Subject: evil, PermissionMode: evil, Groups: []explain.Group{{Group: ir.Read,
			Rules: []explain.Rule{{Server: evil, Pattern: evil}}}}}},
		Servers: []explain.Server{{Server: evil, Tools: []explain.Tool{{Name: evil}, {Name: "b", Decision: ir.Ask}}}},
		Agents: []explain.Agent{{Target: "claude", Surface: evil, Artifacts: []string{evil},
			Groups: []explain.Holding{{Group: ir.Read, Artifacts: []string{evil}, Changes: []explain.Change{{Example: evil}}}}}}}
	text, err := Page(evil, []explain.Row{x.Row}, []explain.Sheet{x})
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("<script")) || bytes.Contains(text, []byte("ZgotmplZ")) {
		t.Errorf("the source got through: %s", text)
	}
	if bytes.Contains(text, []byte("unsafe")) || !bytes.Contains(text, []byte("style-src 'sha256-")) ||
		bytes.Contains(text, []byte("sha256-STYLE")) {
		t.Errorf("the policy does not name the style sheet: %.900s", text)
	}
	if n := bytes.Count(text, []byte("<main>")); n != 1 || !bytes.HasPrefix(text, []byte(pageMark)) {
		t.Errorf("this is no page: %s", text)
	}
}
