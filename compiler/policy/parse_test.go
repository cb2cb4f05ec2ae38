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

// A line is analysed at each place as if it had never been analysed at another.
func TestAnalyseAgain(t *testing.T) {
	names := func(root string) func(dir, file string) []string {
		return func(dir, file string) []string { return []string{root + dir + "/" + file} }
	}
	places := []*Place{
		{}, {Dirs: []string{"sub"}}, {Dirs: []string{".."}}, {Dirs: []string{"a", "b"}}, {Names: names("x/")}, {Names: names("/y/")},
		{Names: names(""), Folds: true}, {Dirs: []string{".."}, Names: names("")}, {Dirs: []string{"/abs"}, Names: names("")},
		{Names: func(string, string) []string { return nil }}, {Home: "~/src"},
	}
	for _, line := range []string{
		"git log", "cd src && git log", "a > b", "a < ~/b; c", "cd x~1; y", "watch 'cd x; rm y'", "watch 'x > /etc/y'", "sh -c 'cd a; b'",
		"./tool x", "eval 'a > b'", "if a; then cd b; fi; c", "cat <<'E'\nx\nE", "a $(cd b; c > d)", "pushd x; y", "", "if", "cd a",
		"f() { cd x; }; f; y", "env -S 'a > b'", strings.Repeat("a; ", 100),
	} {
		for range 2 {
			for i, p := range places {
				in := dirs{set: p.dirs()}
				if p.Names == nil && p.dirs()[0] == ".." {
					in = dirs{unknown: true}
				}
				got, want := analyse(p, line), analyseIn(in, p, line)
				if got.place != p {
					t.Errorf("%q at place %d: got another place", line, i)
				}
				if g, w := fmt.Sprintf("%+v", *got), fmt.Sprintf("%+v", *want); g != w {
					t.Errorf("%q at place %d: got %s, want %s", line, i, g, w)
				}
			}
		}
	}
}
