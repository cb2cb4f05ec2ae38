package policy

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// An expression that always takes too long is tried a few times only, and fails on the
// safe side whether it is tried or not.
func TestLateRegex(t *testing.T) {
	const slow = `^(a+)+$`
	table := func(d ir.Decision) *ir.Table {
		return &ir.Table{
			Default: &ir.Default{Decision: ir.Ask},
			Rules:   []ir.Rule{{Decision: d, Pattern: ir.Pattern{Kind: ir.Regex, Text: slow}}},
		}
	}
	e := New(&ir.Project{Modes: []ir.Mode{{Slug: "m", Can: ir.Can{Read: table(ir.Deny), Edit: table(ir.Allow)}}}})
	s, err := e.Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	path := strings.Repeat("a", 60) + "!"
	for range 100 {
		if d := s.Decide(Action{Group: ir.Read, Arg: path}).Decision; d != ir.Deny {
			t.Fatalf("a deny that is late: got %s", d)
		}
		if d := s.Decide(Action{Group: ir.Edit, Arg: path}).Decision; d != ir.Ask {
			t.Fatalf("an allow that is late: got %s", d)
		}
	}
	re, err := e.patterns.regexp(slow)
	if err != nil {
		t.Fatal(err)
	}
	if n := re.late.Load(); n != regexLate {
		t.Errorf("it took too long %d times, want it tried %d times and no more", n, regexLate)
	}
}
