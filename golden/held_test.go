package golden

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"modec.dev/modec/compiler/contract"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/verify"
)

// showcase is the project that the documents speak of.
const showcase = "acme"

// heldHead begins the table of what each agent holds, and is its only place in a document.
const heldHead = "| on the showcase | read | edit | command | web | mcp | modes |\n"

// documents writes with -update into the documents what each agent holds of the showcase, and fails where they say
// something else.
func documents(t *testing.T, report *verify.Report) {
	t.Helper()
	table := heldTable(report)
	for _, name := range []string{"../README.md", "../cmd/modec/help/targets.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		start := bytes.Index(text, []byte(heldHead))
		if start < 0 {
			t.Fatalf("%s has no table that begins with %q", name, heldHead)
		}
		end := start + bytes.Index(text[start:], []byte("\n\n")) + 1
		want := slices.Concat(text[:start], []byte(table), text[end:])
		switch {
		case bytes.Equal(text, want):
		case *update:
			if err := os.WriteFile(name, want, 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s (-says +verify); `go test ./golden -update` rewrites it\n%s", name,
				cmp.Diff(string(text[start:end]), table))
		}
	}
}

// heldTable is the table of what the surfaces of a report hold.
func heldTable(r *verify.Report) string {
	var b strings.Builder
	b.WriteString(heldHead + "|" + strings.Repeat(" --- |", 7) + "\n")
	for i := range r.Surfaces {
		s := &r.Surfaces[i]
		name := "`" + s.Target + "`"
		if s.Surface != "" {
			name += ", " + strings.ReplaceAll(s.Surface, "_", " ")
		}
		fmt.Fprintf(&b, "| %s |", name)
		for _, g := range []ir.Group{ir.Read, ir.Edit, ir.Command, ir.Web, ir.MCP, ir.Modes} {
			fmt.Fprintf(&b, " %s |", held(s, g))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// held says how an agent holds a group.
func held(s *verify.Surface, g ir.Group) string {
	halves := s.Governed[g]
	if halves == contract.Neither {
		return "no"
	}
	of := func(f verify.Finding) bool { return f.Group == g }
	var words []string
	if slices.ContainsFunc(s.Accepted, of) {
		words = append(words, "more")
	}
	if slices.ContainsFunc(s.Narrower, of) {
		words = append(words, "less")
	}
	if slices.ContainsFunc(s.Holes, of) {
		words = append(words, "holes")
	}
	if len(words) == 0 {
		words = []string{"exact"}
	}
	if halves == contract.Access {
		words[0] = "access: " + words[0]
	}
	return strings.Join(words, ", ")
}
