package policy

import (
	"fmt"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"modec.dev/modec/compiler/ir"
)

// A line that is kept parses as one that is not, and stays as it was parsed when it is judged.
func TestParseLine(t *testing.T) {
	shown := func(f *syntax.File, err error) string {
		var b strings.Builder
		if err == nil {
			err = syntax.DebugPrint(&b, f)
		}
		return fmt.Sprint(b.String(), err)
	}
	s := mode(t, commands(allow("git log *"), deny("rm *"), ask("x")))
	for _, line := range []string{
		"git log --oneline | head -n 3 > x", `a "$(b 'c')"`, "for i in 1 2; do rm $i; done", "if", "cat <<'E'\nx\nE", "[[ a =~ b ]]",
		"sudo sh -c 'x; y'", "time -p ls", "{ a; } 2>&1", strings.Repeat("echo a; ", 100),
	} {
		want := shown(parse(line))
		for range 2 {
			s.Decide(Action{Group: ir.Command, Arg: line})
			if got := shown(ParseLine(line)); got != want {
				t.Errorf("%q: got %s, want %s", line, got, want)
			}
		}
	}
}

// What is kept is bounded, and the last values are among it.
func TestRecent(t *testing.T) {
	r := recent[int]{size: 10}
	for i := range 1000 {
		r.put(fmt.Sprint(i), i)
		if n := len(r.last) + len(r.older); n > 20 {
			t.Fatalf("got %d values, want 20 at most", n)
		}
		for back := range min(i+1, 10) {
			if v, ok := r.get(fmt.Sprint(i - back)); !ok || v != i-back {
				t.Fatalf("got %d, %v of %d, want it", v, ok, i-back)
			}
		}
	}
}
