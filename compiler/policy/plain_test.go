package policy

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

func TestPlain(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": true, "ls -la": true, "git commit -m 'a b'": true, "git log --format=%H": true, "a && b || c; d | e & f": true, "a;": true, "a &": true,
		"a\nb": true, "a &&\n\n b": true, "\n a": true, "make test 2>&1 | tail -5": true, "ls > out.txt": true, "ls 2> /dev/null": true, "wc < a": true, "a >> b 2>&1": true,
		`echo "$HOME/x"`: true, `echo "a $B c"`: true, `echo "é—→"`: true, "time ls": true, "[ -f x ]": true, "test -f x": true, "./run.sh x": true, "cat <<'EOF'\nany $(text) `x` \\\nEOF\n": true,
		"cat <<'EOF' | wc\nx\nEOF": true, "git commit -m \"$(cat <<'EOF'\nA subject\n\nIt's (a body) isn't it.\nEOF\n)\"": true, "grep -n 'a.*b$' x": true, "FOO": true, "a\t b": true,
		"git diff HEAD@{1}": false, "ls *.go": true, "ls src/?.ts a*": true, "grep --include=*.ts x": true, "git diff HEAD~1": true, "git show HEAD^": true, "git log HEAD~3..HEAD^2~1": true, "git diff main^..": true, "git diff @~1": true,
		"ls a'~'b": true, "git show HEAD~1:a.go": true, "curl http://a/?b=c": true, "ls x=~/a": false, "ls a:~b": false, "ls \"a\"~1": false, "ls ~a": false, "ls ^a": false, "*.sh": false, "a* b": false, "a~1 b": false, "ls > a*": false, "ls > a~1": false,
		"ls [a]*": false, "ls a*(b)": false, "test -f a*": false, "cd a*": false, "printf x a^": false, "exit *": false, "command *": false, "command a~1 x": false, "command ls a~1": true,
		// builtins that run or set something
		"printf -v HOME %s docs && git status": false, "read -r HOME <<'E'\ndocs\nE\ngit status": false, "printf -v PATH docs/bin; ls": false, "hash -p /bin/false ls; ls": false, "ls; hash -r": false,
		"git log | read -r X": false, "export A=b; ls": false, "export A=b": true, "read -r X": true, "command read X; ls": false, "command -p printf -v X y; ls": false, "time read X; ls": false, "'read' X; ls": false, "/bin/read X; ls": true,
		"printf '%s' x; ls": true, "printf 'x%n' HOME; ls": false, "printf '%-5n' HOME; ls": false, "printf %d 'HOME=5'; ls": false, "printf %d 'HOME=5'": true, "[ -f x ] && ls": true, "[ a '=' b ] && ls": true, "[ 1 -eq HOME=5 ]; ls": false,
		"exit 'path[$(evil)]'": false, "npm test || exit 1": true, "exit HOME": false, "shift PATH=5; ls": false, "wait; ls": true, "wait -p HOME; ls": false, "jobs -x sh -c evil": false, "jobs; ls": true, "compgen -W '$(evil)'": false,
		"complete -C evil x": false, "fc -s": false, "bind -x a": false, "enable -f x y": false, "mapfile -C evil -c 1 x": false, "set -e; ls": false, "set -e": true, "set -A 'path[$(x)]'": false, "command eval x": false, "command -v git && ls": true,
		"command \"$X\" y": false, "emulate sh -c evil": false, "zmodload x": false, "cd -- a && ls": true, "unset HOME; ls": false, "alias ls=x; ls": false, "unalias ls; ls": false, "getopts x HOME; ls": false, "let HOME=1; ls": false,
		// the text of a message
		"git commit -m \"$(cat <<'E'\nsay \"it\" (x) and `code` is 'fine'\n\n# a\nE\n)\"": true, "a \"$(cat <<'E'\n# it's\n'\nE\n)\"": false, "a \"$(cat <<'E'\n# (\n)\nE\n)\"": false, "a \"$(cat <<'E'\n\\' '\nE\n)\"": false,
		"a \"$(cat <<'E'\n\"it's\" 'x'\nE\n)\"": false, "a \"$(cat <<'E'\n\\(\n)\nE\n)\"": false, "a \"$(cat <<'E'\n${x\nE\n)\"": false, "a \"$(cat <<'E'\n$'x'\nE\n)\"": false, "a \"$(cat <<'E'\n'(' ')'\nE\n)\"": false, "a \"$(cat <<'E'\n'#\n'(\n)\nE\n)\"": false,
		"ls # x": false, "ls # x\\\ngit push": false, "X=1 ls": false, "X=1": false, "ls $X": false, "ls `x`": false, "ls \"`x`\"": false, "ls $(x)": false,
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
		"a list beside an allow":        {withDefault(table(allow("ls *")), ir.Allow), ir.Allow},
		"a deny beside everything":      {table(allow("*"), deny("git push *")), ir.Ask},
		"an ask beside everything":      {table(allow("*"), ask("git push *")), ir.Ask},
		"a deny beside an open default": {withDefault(table(deny("git push *")), ir.Allow), ir.Ask},
		"everything":                    {table(allow("*")), ir.Allow},
		"an open group":                 {bare(ir.Allow), ir.Allow},
		"what is left":                  {withDefault(list(), ir.Agent), ir.Agent},
	} {
		s := mode(t, ir.Can{Command: c.table, Read: bare(ir.Allow), Edit: bare(ir.Allow)})
		for _, line := range []string{"ls [a].go", "ls # x", "ls # x\\\ngit push", "(ls)", "ls $X", "for x in a; do ls; done",
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

// A builtin changes what later commands of a line mean: no list allows it beside them.
func TestBuiltinsBesideOthers(t *testing.T) {
	can := ir.Can{Command: withDefault(table(allow("printf *", "read *", "hash *", "export *", "git status *", "ls *", "exit *")), ir.Ask), Read: bare(ir.Allow), Edit: bare(ir.Allow)}
	s := mode(t, can)
	for line, want := range (lines{
		"printf -v HOME %s docs && git status": ir.Ask, "read -r HOME <<'E'\ndocs\nE\ngit status": ir.Ask, "printf -v PATH docs/bin; ls": ir.Ask, "hash -p /bin/false ls; ls": ir.Ask,
		"git status; read x": ir.Ask, "ls | read x": ir.Ask, "read x": ir.Allow, "export A=b": ir.Allow, "printf %s x && git status": ir.Allow, "exit 'path[$(echo EVIL)]'": ir.Ask, "ls || exit 1": ir.Allow,
	}) {
		if r := s.Decide(Action{Group: ir.Command, Arg: line}); r.Decision != want {
			t.Errorf("%q: got %s (%s), want %s", line, r.Decision, r.Explanation(), want)
		}
	}
}

// What a shell may put in the place of a word is allowed by a pattern that takes anything there,
// and held by whatever it could be.
func TestNamesOfFiles(t *testing.T) {
	for name, c := range map[string]struct {
		can  ir.Can
		want lines
	}{
		"patterns": {commands(allow("git diff *", "ls *", "rm *", "git show HEAD^", "git push * main", "npm*", "nice *", "timeout 5 ls *"), deny("rm -rf *", "ls *secret", "git diff -O *")), lines{
			"git diff HEAD~1": ir.Allow, "git diff main^..": ir.Allow, "ls *.ts": ir.Allow, "ls src/*.ts a*x": ir.Allow, "timeout 5 git diff HEAD^": ir.Allow, "npm run *": ir.Allow,
			"ls a* b* c* d* e*":   ir.Deny, // too many to try what could be "secret"
			"git show HEAD^":      ir.Deny, // may be "git show HEADS"
			"git push a* main":    ir.Deny, // may be "git push main"
			"rm *.tmp":            ir.Deny, // a file may be called "-rf"
			"rm a* -rf":           ir.Deny, // or there may be none
			"rm src/*.tmp":        ir.Allow,
			"rm a~1 -rf src":      ir.Deny,
			"ls s*":               ir.Deny,
			"ls s*.ts":            ir.Allow,
			"ls x^":               ir.Deny,
			"git diff -* x":       ir.Deny,
			"nice -n 5^ git diff": ir.Allow, // by nice *
		}},
		"wrappers":   {commands(allow("git diff *")), lines{"nice -n 5^ git diff": ir.Deny, "timeout 5 git diff a*": ir.Allow, "g*t diff": ir.Deny, "git d*": ir.Deny}},
		"everything": {commands(allow("*"), deny("git push *")), lines{"ls a*": ir.Allow, "git p*": ir.Deny, "git x^ push": ir.Deny, "git log HEAD^": ir.Allow}},
		"a set denied": {commands(allow("git *", "cat *"), deny("@git_read", "@readonly_filters")), lines{
			"git push a*": ir.Allow, "git l*": ir.Deny, "git lo^ x": ir.Deny, "git log HEAD^": ir.Deny, "git stash l*": ir.Deny, "cat a*": ir.Deny, "git \"$X\"": ir.Deny, "git log \"$X\"": ir.Deny}},
		"sets": {ir.Can{Command: table(allow("@git_read", "@readonly_filters")), Read: withDefault(table(deny("/secrets/**", ".env"), ask("*.key")), ir.Allow)}, lines{
			"git diff HEAD~1": ir.Allow, "git show HEAD^": ir.Allow, "git log HEAD~3..HEAD^2": ir.Allow, "git diff main^..": ir.Allow, "git merge-base main^ dev": ir.Allow, "git log origin/main^": ir.Allow,
			"git show HEAD^:src/a.go": ir.Allow, "git show HEAD^:secrets/key": ir.Deny, "git show x^/.env": ir.Deny, "git diff HEAD^..origin/dev~2": ir.Allow, "git show secrets/a/^": ir.Deny, "git show a/s^/../b": ir.Deny,
			"git blame .en^": ir.Deny, "git blame .env~1": ir.Deny, "git show secre^": ir.Deny, "git show secrets/k~x": ir.Deny, "git show SECRETS/^": ir.Deny, "git show HEAD~1:secrets/key": ir.Deny, "git show sec^/key": ir.Deny,
			"cat a~1": ir.Deny, "cat *.md": ir.Deny, "git log *.md": ir.Deny, "git log -S a^": ir.Deny, "git stash show a^": ir.Deny, "git log --since=a^": ir.Deny, "git show ../a^": ir.Deny, "git branch a^": ir.Deny}},
	} {
		s := mode(t, c.can)
		for line, want := range c.want {
			if r := s.Decide(Action{Group: ir.Command, Arg: line}); r.Decision != want {
				t.Errorf("%s: %q: got %s (%s), want %s", name, line, r.Decision, r.Explanation(), want)
			}
		}
	}
}

// The text of "$(cat <<'EOF' … )" is known to the letter, and judged as any other text.
func TestMessage(t *testing.T) {
	s := mode(t, ir.Can{Command: withDefault(table(allow("@git_read", "git commit *", "gh pr create *"), ask("git push *"), deny("git push --force *", "rm -rf *", "gh *--web*")), ir.Ask), Read: bare(ir.Allow)})
	text := func(command, body string) string { return command + " \"$(cat <<'EOF'\n" + body + "\nEOF\n)\"" }
	for line, want := range (lines{
		text("git commit -m", "feat: add the thing"):                                 ir.Allow,
		text("git commit -m", "feat: x\n\nIt costs $5, as `x` says \"so\" (a lot)."): ir.Allow,
		text("git commit -m", "git push --force x; rm -rf /"):                        ir.Allow,
		text("git commit -m", "it's"):                                                ir.Ask, // old shells find no end
		text("gh pr create --title x --body", "## Summary\n\n- a\n- `b`"):            ir.Allow,
		text("gh pr create --title x --body", "see --web"):                           ir.Deny,
		text("git", "push"):                              ir.Ask,
		text("git push", "--force"):                      ir.Deny,
		text("git log", "--output=x"):                    ir.Ask,
		text("git log", "main"):                          ir.Allow,
		"git commit -m \"$(cat <<EOF\nx\nEOF\n)\"":       ir.Deny,
		"git commit -m \"$(cat <<'EOF' x\nx\nEOF\n)\"":   ir.Deny,
		"git commit -m \"$(cat <<'EOF'; ls\nx\nEOF\n)\"": ir.Deny,
		"git commit -m $(cat <<'EOF'\nx\nEOF\n)":         ir.Deny,
		"git commit -m \"$(X=1 cat <<'EOF'\nx\nEOF\n)\"": ir.Deny,
	}) {
		if r := s.Decide(Action{Group: ir.Command, Arg: line}); r.Decision != want {
			t.Errorf("%q: got %s (%s), want %s", line, r.Decision, r.Explanation(), want)
		}
	}
	held := mode(t, ir.Can{Command: withDefault(table(allow("git commit *"), deny("cat *")), ir.Ask)})
	want(t, held, Action{Group: ir.Command, Arg: text("git commit -m", "x")}, ir.Deny)
}

// A reason names the part of the line that made the rule decide.
func TestReasons(t *testing.T) {
	can := ir.Can{Command: withDefault(table(allow("@git_read", "ls *", "npm test *")), ir.Ask), Read: withDefault(table(deny("secrets/")), ir.Allow), Edit: withDefault(table(deny("secrets/")), ir.Ask)}
	denying := can
	denying.Command = withDefault(table(allow("ls *", "npm test *"), ask("rm *"), deny("git push --force *")), ir.Ask)
	long := strings.Repeat("long ", 20)
	for _, c := range []struct {
		can       ir.Can
		line, why string
	}{
		{can, "jq .scripts", `default of command, since "jq .scripts" is in no list`},
		{can, "ls && jq 'a\nb' x", `default of command, since "jq 'a b' x" is in no list`},
		{can, "jq " + long, `default of command, since "jq long long long long long long long long long…" is in no list`},
		{can, "ls [a]", `default of command, since the line is not plain: "[" in "[a]"`},
		{can, "ls ~/a", `default of command, since the line is not plain: "~" in "~/a"`},
		{can, "ls # x", `default of command, since the line is not plain: the comment "# x"`},
		{can, "ls $X", `default of command, since the line is not plain: a variable is plain as "$NAME" in double quotes only, not in "$X"`},
		{can, "for x in a; do ls; done", `default of command, since the line is not plain: "for" is a word of the shell`},
		{can, "ls 'a!b'", `default of command, since the line is not plain: "!" in "'a!b'"`},
		{can, "ls {a,b}", `default of command, since the line is not plain: "{" in "{a,b}"`},
		{can, "ls > $X", "default of command, since " + `"$X" is not literal`},
		{can, "(ls)", `default of command, since the line is not plain: "(" in "(ls)"`},
		{can, "ls $(x)", `default of command, since "$(x)" is not literal`},
		{can, "cd ../.. && npm test", `default of command, since "cd ../.." leaves the project`},
		{can, "git show secrets/a", `deny "secrets/", since the command names "secrets/a"`},
		{can, "npm test > secrets/a", `deny "secrets/", since it writes "secrets/a"`},
		{can, "npm test > a", `default of edit, since it writes "a"`},
		{can, "ls", `allow "ls *"`},
		{denying, "git push --force x", `deny "git push --force *"`},
		{denying, "ls \"$(git rev-parse HEAD)\"", `'"$(git rev-parse HEAD)"' is not literal, and command has deny "git push --force *"`},
		{denying, "cd ../.. && npm test > docs/out.txt", `"cd ../.." leaves the project, and command has deny "git push --force *"`},
		{denying, "ls 'a", `it does not parse, and command has deny "git push --force *"`},
		{denying, "sh -c \"$X\"", `it is not known what "sh" runs, and command has deny "git push --force *"`},
		{ir.Can{Command: bare(ir.Ask)}, "ls", "default of command"},
		{ir.Can{Command: table(allow("*"), ask("rm *"))}, "ls # x", `the line is not plain: the comment "# x", and command has ask "rm *"`},
	} {
		if r := mode(t, c.can).Decide(Action{Group: ir.Command, Arg: c.line}); r.Explanation() != c.why {
			t.Errorf("%q: got %s %s, want %s", c.line, r.Decision, r.Explanation(), c.why)
		}
	}
}

// isPlain reports whether a command line is plain.
func isPlain(text string) bool { return notPlain(text) == "" }
