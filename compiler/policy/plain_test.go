package policy

import (
	"testing"

	"modec.dev/modec/compiler/ir"
)

func TestPlain(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": true, "ls -la": true, "git commit -m 'a b'": true, "git log --format=%H": true, "a && b || c; d | e & f": true, "a;": true, "a &": true,
		"a\nb": true, "a &&\n\n b": true, "\n a": true, "make test 2>&1 | tail -5": true, "ls > out.txt": true, "ls 2> /dev/null": true, "wc < a": true, "a >> b 2>&1": true,
		`echo "$HOME/x"`: true, `echo "a $B c"`: true, `echo "é—→"`: true, "time ls": true, "[ -f x ]": true, "test -f x": true, "./run.sh x": true, "cat <<'EOF'\nany $(text) `x` \\\nEOF\n": true,
		"cat <<'EOF' | wc\nx\nEOF": true, "git commit -m \"$(cat <<'EOF'\nA subject\n\nIt's (a body) isn't it.\nEOF\n)\"": true, "grep -n 'a.*b$' x": true, "FOO": true, "a\t b": true,
		"git diff HEAD@{1}": false, "ls *.go": false, "ls # x": false, "ls # x\\\ngit push": false, "X=1 ls": false, "X=1": false, "ls $X": false, "ls `x`": false, "ls \"`x`\"": false, "ls $(x)": false,
		"ls \"$(x)\"": false, "(ls)": false, "{ ls; }": false, "if a; then b; fi": false, "for x in a; do b; done": false, "! a": false, "a \\\n b": false, "a\\ b": false, "~/x": false, "ls ~": false,
		"a =b": false, "a '!'": false, "a \"!x\"": false, `a '\'`: false, "a \"\\n\"": false, "a |& b": false, "a &> b": false, "a >| b": false, "a <> b": false, "a 12> b": false, "a >& b": false, "a 2>&-": false,
		"a {x}> b": false, "> x": false, "< x": false, "a > /dev/tcp/x/1": false, "a <<EOF\nx\nEOF": false, "a <<< x": false, "a <<-'EOF'\nx\nEOF": false, "cat <<'EOF'\nx\nEOF)\nEOF\n": false,
		"cat <<'EOF'\nx": false, "cat <<'EOF'": false, "a <<'E F'\nx\nE F": false, "a ;; b": false, "a & & b": false, "a; ; b": false, "&& a": false, "a &&": false, "a |": false, "repeat 1 x": false, "- x": false,
		"noglob x": false, "time -- git push": false, "exec x": false, ". x": false, "source x": false, "echo \"${x}\"": false, "echo \"$x\"": false, "echo \"$V:h\"": false, "echo \"$V[x]\"": false,
		"echo \"$1\"": false, "printf -v 'x[$(evil)]'": false, "test -v 'a[$(x)]'": false, "read 'x[1]'": false, "[ -v 'x[1]' ]": false, "git commit -m \"$(cat <<'EOF'\nEOF)\"; evil; ls \"": false,
		"git commit -m \"$(cat <<'EOF'\na \" b\nEOF\n)\"": false, "git commit -m \"$(cat <<'EOF'\nit's\nEOF\n)\"": false, "git commit -m \"$(cat <<'EOF'\n) (\nEOF\n)\"": false, "a\x00": false, "a\r\nb": false, "a \xff": false, "a\x0bb": false, "": false,
		"a 'x\ny'": true, "a \"x\n\ny $V\"": true, "a <<'E' 'x\ny'\nz\nE": false, "a 'x\ny' <<'E'\nz\nE": true, "a 'x\ty'": false, "'' x": false, "ls>x": false, "a >2>x": false, "a'": false, "a \"": false, "coproc x": false, "a ^ b": false, "a [b]": false, "a ]": false, "time": false, "time time ls": true, "%1": false, "+x": false,
	} {
		if got := isPlain(line); got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
}

// No list allows a line that is not plain. Where the rest is left to the agent, so is such a
// line; where everything is allowed, nothing is known that it could evade.
func TestOddLines(t *testing.T) {
	list := func() *ir.Table { return table(allow("ls *"), deny("git push *")) }
	for name, c := range map[string]struct {
		table *ir.Table
		want  ir.Decision // of a line in which nothing is denied
	}{
		"a list that closes with deny":  {withDefault(table(allow("ls *")), ir.Deny), ir.Deny},
		"a list that closes with ask":   {withDefault(list(), ir.Ask), ir.Ask},
		"a list that denies":            {list(), ir.Deny},
		"a list beside an allow":        {withDefault(table(allow("ls *")), ir.Allow), ir.Ask},
		"a deny beside everything":      {table(allow("*"), deny("git push *")), ir.Ask},
		"an ask beside everything":      {table(allow("*"), ask("git push *")), ir.Ask},
		"a deny beside an open default": {withDefault(table(deny("git push *")), ir.Allow), ir.Ask},
		"everything":                    {table(allow("*")), ir.Allow},
		"an open group":                 {bare(ir.Allow), ir.Allow},
		"what is left":                  {withDefault(list(), ir.Agent), ir.Agent},
	} {
		s := mode(t, ir.Can{Command: c.table, Read: bare(ir.Allow), Edit: bare(ir.Allow)})
		for _, line := range []string{"ls *.go", "ls # x", "ls # x\\\ngit push", "(ls)", "ls $X", "for x in a; do ls; done",
			"ls \"${x:-'}\"; evil #'}\"", "for y in '$(evil)'; do for z in \"${y@P}\"; do ls; done; done"} {
			if r := s.Decide(Action{Group: ir.Command, Arg: line}); r.Decision > c.want {
				t.Errorf("%s: %q: got %s (%s), want %s", name, line, r.Decision, r.Rule, c.want)
			}
		}
		if r := s.Decide(Action{Group: ir.Command, Arg: "ls -la"}); r.Decision != ir.Allow || r.Odd {
			t.Errorf("%s: a plain line: got %s", name, r.Decision)
		}
	}
}
