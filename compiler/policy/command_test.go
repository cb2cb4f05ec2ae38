package policy

import (
	"path"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// lines lists, for one table of commands, lines and what they get.
type lines map[string]ir.Decision

// testLines tests what is decided of a line as its parser reads it; a list allows it only where
// it is plain (TestOddLines).
func testLines(t *testing.T, name string, can ir.Can, want lines) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Helper()
		s := mode(t, can)
		for line, d := range want {
			r := s.Decide(Action{Group: ir.Command, Arg: line})
			got := r.Decision
			if r.Odd {
				got = r.Read
			}
			if got != d {
				t.Errorf("%q: got %s (%s), want %s", line, got, r.Rule, d)
			}
		}
	})
}

func commands(lists ...[]ir.Rule) ir.Can { return ir.Can{Command: table(lists...)} }

func TestCommandPatterns(t *testing.T) {
	testLines(t, "exact", commands(allow("git status")), lines{
		"git status": ir.Allow, "  git   status ": ir.Allow, "git 'status'": ir.Allow, `git st\atus`: ir.Allow,
		"git status -s": ir.Deny, "git statusx": ir.Deny, `"git status"`: ir.Deny, `git\ status`: ir.Deny, "./git status": ir.Deny, "": ir.Deny})
	for _, p := range []string{"npm run *", "npm run:*", "npm  run  *"} {
		testLines(t, p, commands(allow(p)), lines{
			"npm run": ir.Allow, "npm run test": ir.Allow, "npm run test -- -v": ir.Allow, "npm runx": ir.Deny, "npm": ir.Deny})
	}
	testLines(t, "no word boundary", commands(allow("npm*")), lines{
		"npm": ir.Allow, "npm x": ir.Allow, "npmx": ir.Allow, "np": ir.Deny})
	testLines(t, "an inner wildcard takes spaces", commands(allow("git * main")), lines{
		"git log main": ir.Allow, "git log -1 main": ir.Allow, "git main": ir.Deny, "git log maint": ir.Deny})
	testLines(t, "several wildcards", commands(allow("a * b * c", "x*y*z *")), lines{
		"a 1 b 2 c": ir.Allow, "a b b b c c": ir.Allow, "a 1 2 c": ir.Deny, "a 1 b 2": ir.Deny, "xyz": ir.Allow, "x1y2z 3": ir.Allow, "x1z2y": ir.Deny, "xyz3": ir.Deny})
	testLines(t, "a colon elsewhere is itself", commands(allow("npm:* run")), lines{
		"npm:x run": ir.Allow, "npm run": ir.Deny})
	testLines(t, "quotes in a pattern", commands(allow(`git commit -m "wip *"`, `echo \*`)), lines{
		`git commit -m "wip one"`: ir.Allow, `git commit -m 'wip one'`: ir.Allow, `git commit -m wip one`: ir.Deny,
		`echo '*'`: ir.Allow, `echo "x"`: ir.Deny})
	testLines(t, "double quotes", commands(allow(`echo "a\"b\$c"`, `echo 'd"e\*'`)), lines{
		`echo "a\"b\$c"`: ir.Allow, `echo 'a"b$c'`: ir.Allow, `echo a\"b\$c`: ir.Allow, `echo "a\"b$c"`: ir.Deny, "echo \"a\\\n\\\"b\\$c\"": ir.Allow, `echo "d\"e*"`: ir.Allow, `echo "d\"ex"`: ir.Deny, `echo "\a"`: ir.Deny})
	testLines(t, "everything", commands(allow("*")), lines{
		"anything": ir.Allow, "a $(b)": ir.Allow, "if": ir.Allow, "a\x01": ir.Allow, "": ir.Allow})
}

func TestTheLowestCommandDecides(t *testing.T) {
	can := commands(allow("git log *", "ls *", "cat *"), ask("git commit *"), deny("git push *"))
	for _, line := range []string{
		"git log && git push", "git push || git log", "git log; git push", "git log | git push", "git log & git push",
		"git log\ngit push", "(git log; git push)", "{ git push; }", "if git log; then git push; fi", "if git push; then ls; fi",
		"if ls; then ls; elif git push; then ls; fi", "if ls; then ls; else git push; fi",
		"for i in a; do git push; done", "while git push; do ls; done", "until ls; do git push; done",
		"case x in x) git push;; esac", "! git push", "time git push", "coproc git push", "f() { git push; }", "function f { git push; }",
		"select x in a; do git push; done", "[[ -n $(git push) ]]", "(( $(git push) ))", "for ((i=$(git push);;)); do ls; done",
		"ls $(git push)", "ls `git push`", "ls \"$(git push)\"", "ls <(git push)", "cat < <(git push)", "ls > >(git push)",
		"ls ${x:-$(git push)}", "ls $((1+$(git push)))", "X=$(git push)", "X=$(git push) ls", "export X=$(git push)", "a=( $(git push) )",
		"a[$(git push)]=1", "ls $(ls $(git push))", "cat <<E\n$(git push)\nE", "cat <<< $(git push)", "case $(git push) in esac",
		"for x in $(git push); do ls; done", "ls ${a[$(git push)]}", "let x=$(git push)", "declare x=$(git push)",
		"ls ${a[$(git push)]:-x}", "ls ${x:$(git push)}", "ls ${x/$(git push)/y}", "ls ${x:=$(git push)}", "a[$(git push)]+=1", "declare -a x=($(git push))",
		"[[ x =~ $(git push) ]]", "ls \"${x:-\"$(git push)\"}\"", "ls $[ $(git push) ]", "ls {a,$(git push)}", "ls @($(git push))", "[[ x == @($(git push)) ]]",
		"case x in @($(git push))) ls;; esac", "let \"x=$(git push)\"", "ls \"`git push`\"", "ls > $(git push)", "ls 2>&$(git push)", "ls <<< \"$(git push)\"", "X[$(git push)]=1 ls",
		"for ((;;i=$(git push))); do ls; done", "select x in $(git push); do ls; done", "case x in $(git push)) ls;; esac", "coproc x { git push; }", "ls & git push", "ls |& git push",
		"time -p git push", "if ls; then ls; fi > $(git push)", "f() { ls; } > $(git push)", "export A B=`git push`", "readonly x=${y:-$(git push)}", "ls $(($(git push)))", "((x[$(git push)]++))",
		"while ls; do ls; done < <(git push)", "ls ${x#$(git push)}", "ls ${#x[$(git push)]}", "ls ${!x[$(git push)]}", "ls ~$(git push)", "ls $(< $(git push))", "[ $(git push) ]", "test -n \"$(git push)\"",
	} {
		testLines(t, line, can, lines{line: ir.Deny})
		testLines(t, "under an open group: "+line, ir.Can{Command: withDefault(table(deny("git push *")), ir.Allow), Edit: bare(ir.Allow), Read: bare(ir.Allow)}, lines{line: ir.Deny})
		testLines(t, "beside a *: "+line, ir.Can{Command: table(allow("*"), deny("git push *")), Edit: bare(ir.Allow), Read: bare(ir.Allow)}, lines{line: ir.Deny})
	}
	testLines(t, "a * is judged by what the text could become", commands(allow("*"), deny("git push *"), ask("rm *")), lines{
		"git $(x)": ir.Deny, "ls $(x)": ir.Allow, "git log $(x)": ir.Allow, "r$(x) y": ir.Ask, "$(x)": ir.Deny, "ls '": ir.Deny})
	testLines(t, "what does not parse may be an ask", commands(allow("*"), ask("rm *")), lines{"ls '": ir.Ask, "ls": ir.Allow})
	testLines(t, "allowed together", can, lines{
		"git log && ls -la | cat -n; git log": ir.Allow, "if ls; then git log; fi": ir.Allow, "for i in a b; do ls x; done": ir.Allow,
		"(ls; cat x) &": ir.Allow, "git log && git commit -m x": ir.Ask, "ls # git push": ir.Allow, "ls 'git push'": ir.Allow})
}

func TestDenySeesWhatIsRun(t *testing.T) {
	can := withDefault(table(deny("git push *")), ir.Allow)
	for _, line := range []string{
		// as it is written and quoted
		"git push", "git push origin main", "git  push", "'git' push", `g"i"t push`, `\git push`, `git pu\sh`, `git "push" x`, "git\\\n push",
		"git $'push'", "git 'push origin'", "\"git push\"", "git pu''sh",
		// assignments and wrappers
		"A=1 git push", "A=1 B=2 git push", "env git push", "env A=1 git push", "env -i A=b git push", "env -u X git push", "env -S 'git push'",
		"env -S'git push'", "env --split-string='git push'", "timeout 5 git push", "timeout -k 1 5 timeout 5 git push", "time -p git push",
		"nice -n 5 git push", "nice git push", "nohup git push", "stdbuf -oL git push", "command git push", "command -p git push",
		"exec git push", "exec -a x git push", "sudo git push", "sudo -u x git push", "sudo -u x env A=1 nice git push", "doas git push",
		"builtin git push", "xargs git push", "xargs -n1 git push", "echo push | xargs git", "xargs -I{} git {}", "find . -exec git push {} ;",
		`find . -exec git push \;`, "find . -execdir git push +", `find . -exec sudo git push \;`, "find . -exec git {} +",
		"watch 'git push'", "watch git push", "su -c 'git push'", "flock f git push", "setsid git push", "busybox sh -c 'git push'",
		"parallel git push ::: a", "noglob git push", "script -qc 'git push' /dev/null",
		// the program's folder, git's own options
		"/usr/bin/git push", "./git push", "sudo /usr/bin/git push", "git -C dir push", "git -c a=b push", "git --no-pager push",
		"git --git-dir=x push", "git --git-dir x -C y push origin", "env git -C x push", "/usr/bin/git -C x push",
		// other shells
		"sh -c 'git push'", "bash -c \"git push\"", "bash -lc 'ls; git push'", "bash -o pipefail -c 'git push'", "bash -eo pipefail -c 'git push'",
		"bash --norc -c 'git push'", "sh -c -- 'git push'", "zsh -c 'sh -c \"git push\"'", "sudo sh -c 'git push'", "eval git push", "eval 'git push'",
		"eval git 'push x'", "trap 'git push' EXIT", "bash <<< 'git push'", "bash <<E\ngit push\nE", "bash -s <<'E'\ngit push\nE",
		"alias x='git push'", "bash -c 'eval \"git push\"'", "timeout 5 sh -c 'git push'", "find . -exec sh -c 'git push' ;",
		// names that a file system may not tell apart
		"GIT push", "Git.exe push", "/usr/bin/GIT push", "sudo GIT push", "SUDO git push", "ENV Sh -c 'git push'", `C:\\Git\\git.exe push`,
		// what is known at run time only may be a push
		"git $X", "git ${X}", "git \"$X\"", "$X push", "git p*", "git pus?", "git [p]ush", "git {push,x}", "git $X push", "X=push; git $X",
		"git ${X:-push}", "g${X}t push", "git $(echo push)", "git `echo push`", "$(echo git) push", "{git,push}", "gi{t,} push", "git $'\\x70ush'",
		"git $\"push\"", "for x in push; do git $x; done", "f() { git \"$@\"; }; f push",
		// what runs there is not known
		"sh -c \"$X\"", "sh -c $X", "eval $X", "eval \"$X\"", "echo git push | sh", "bash", "sh -s", "bash < file", "bash <<E\n$X\nE", "fish -c 'git push'",
		"pwsh -c 'git push'", "bash $X", "sh -c",
		// and what does not parse
		"git push '", "if", "git log )", "git\x00push", "ls\rgit push", "\xff", strings.Repeat("a", maxLine+1), strings.Repeat("$(", 200) + strings.Repeat(")", 200),
	} {
		testLines(t, line, ir.Can{Command: can}, lines{line: ir.Deny})
	}
	testLines(t, "nothing else", ir.Can{Command: can}, lines{
		"git pushx": ir.Allow, "git log push": ir.Allow, "echo git push": ir.Allow, "git log $X": ir.Allow, "ls *.go": ir.Allow, "ls {a,b}": ir.Allow,
		"find . -name 'git push'": ir.Allow, "find . -type g": ir.Allow, "bash script.sh": ir.Allow, "sh -c 'git log'": ir.Allow,
		"bash --version": ir.Allow, "env git log": ir.Allow, "git -C x log": ir.Allow, "git": ir.Allow, "echo 'git push' | cat": ir.Allow})
}

func TestDenySeesAProgramWithAPath(t *testing.T) {
	testLines(t, "a path is held behind what runs it", commands(allow("*"), nil, deny("bin/x *", "./a.sh *")), lines{
		"bin/x y": ir.Deny, "FOO=1 bin/x y": ir.Deny, "env bin/x y": ir.Deny, "sudo bin/x": ir.Deny, "time bin/x y": ir.Deny,
		"./a.sh": ir.Deny, "sudo ./a.sh": ir.Deny, "nohup ./a.sh b": ir.Deny, "A=1 nice ./a.sh": ir.Deny,
		"bin/y": ir.Allow, "FOO=1 bin/y x": ir.Allow, "sudo ./b.sh": ir.Allow, "x y": ir.Allow})
}

func TestDenySeesTheProgramBehindAWrapper(t *testing.T) {
	can := commands(allow("*"), nil, deny("git push *", "rm *"))
	can.Read, can.Edit = bare(ir.Allow), bare(ir.Allow)
	testLines(t, "known whole", can, lines{
		"timeout 60 echo git push": ir.Allow, "timeout 5 echo rm x": ir.Allow, "nice -n 5 nohup echo rm": ir.Allow,
		"timeout 5 echo \"$X\"": ir.Allow, "time nice git push": ir.Deny, "timeout 5 nice rm x": ir.Deny})
	testLines(t, "not known", can, lines{
		"timeout --new 5 echo rm x": ir.Deny, "timeout $T echo rm x": ir.Deny, "nice -n $N echo rm x": ir.Deny,
		"sudo echo rm x": ir.Deny, "timeout 5 sudo echo rm x": ir.Deny, "timeout 5 \"$X\" rm x": ir.Deny})
}

func TestAllowStripsOnlyHarmlessWrappers(t *testing.T) {
	testLines(t, "stripped", commands(allow("go test *")), lines{
		"timeout 60 go test": ir.Allow, "timeout -k 5s 1m go test ./...": ir.Allow, "timeout --signal=KILL --foreground 5 go test": ir.Allow,
		"time go test": ir.Allow, "time -p go test": ir.Allow, "nice go test": ir.Allow, "nice -n 5 go test": ir.Allow, "nice -5 go test": ir.Allow,
		"nohup go test": ir.Allow, "stdbuf -oL -e 0 go test": ir.Allow, "timeout 5 nice nohup go test": ir.Allow})
	testLines(t, "not stripped", commands(allow("go test *")), lines{
		"A=1 go test": ir.Deny, "GOFLAGS=-toolexec=x go test": ir.Deny, "env go test": ir.Deny, "sudo go test": ir.Deny, "command go test": ir.Deny,
		"exec go test": ir.Deny, "xargs go test": ir.Deny, "sh -c 'go test'": ir.Deny, "eval go test": ir.Deny, "./go test": ir.Deny,
		"/usr/bin/go test": ir.Deny, "timeout go test": ir.Deny, "timeout --unknown 5 go test": ir.Deny, "A=1 timeout 5 go test": ir.Deny,
		"timeout 5 A=1 go test": ir.Deny, "timeout 5 ./go test": ir.Deny, "nice -x go test": ir.Deny, "timeout $T go test": ir.Deny, "PATH=.; go test": ir.Deny,
		"for PATH in .; do go test; done": ir.Deny, "for path in .; do go test; done": ir.Deny, "select PATH in .; do go test; done": ir.Deny,
		"coproc PATH { go test; }; go test": ir.Deny, "go test {PATH}>/dev/null": ir.Deny, "for ((PATH=1;;)); do go test; done": ir.Deny,
		"for i in .; do go test; done": ir.Allow, "export PATH=.; go test": ir.Deny, "go() { rm x; }; go test": ir.Deny, "alias go=rm; go test": ir.Deny})
	testLines(t, "written out", commands(allow("CI=1 go test *", "env go *", "sh -c *", "./tool *")), lines{
		"CI=1 go test x": ir.Allow, "CI=2 go test x": ir.Deny, "env go build": ir.Allow, "sh -c 'ls'": ir.Deny, "sh -c './tool x'": ir.Allow, "./tool": ir.Allow})
}

func TestNotLiteral(t *testing.T) {
	list := []string{
		"echo $(date)", "echo `date`", "$X", "$X y", "$(x) y", "*.sh", "{a,b} c", "echo <(date)", "echo ${x@P}", "echo ${!x}", "echo ${a[i]}",
		"echo $((x))", "echo ${x:=y}", "echo @(a|b)", "echo x > $F", "echo 'x", "echo $(", "=ls", "[[ $x -eq 1 ]]", "((x))", "let x=y", "echo x >! f",
	}
	for _, r := range []struct {
		name string
		can  *ir.Table
		d    ir.Decision
	}{
		{"no entry of a list matches", table(allow("echo *", "date", "x", "[[ *", "((*", "let *", "=*")), ir.Deny},
		{"at most ask", withDefault(table(allow("echo *", "date", "x"), ask("git push")), ir.Allow), ir.Ask},
		{"nothing is held back", withDefault(table(allow("echo *", "date", "x")), ir.Allow), ir.Allow},
		{"the default below", withDefault(table(allow("echo *", "date", "x")), ir.Ask), ir.Ask},
		{"deny where there is a deny", withDefault(table(allow("echo *", "date", "x"), deny("git push")), ir.Ask), ir.Deny},
	} {
		for _, line := range list {
			d := r.d
			if strings.Contains(line, " >") {
				d = min(d, ir.Ask) // where it writes is not known
			}
			testLines(t, r.name+": "+line, ir.Can{Command: r.can, Edit: bare(ir.Allow)}, lines{line: d})
		}
	}
	testLines(t, "a sign", commands(allow("*"), nil, deny("* --force *", "rm HEADx*", "cp HEADx HEADy")), lines{
		"git diff HEAD~1": ir.Allow, "git log HEAD^": ir.Allow, "rm HEAD~1": ir.Deny, "rm HEAD^": ir.Deny, "cp HEAD^": ir.Deny,
		"ls *.go": ir.Deny})
	for _, line := range list {
		d := ir.Allow
		if strings.Contains(line, " >") {
			d = ir.Ask // where it writes is not known
		}
		testLines(t, "a bare allow: "+line, ir.Can{Command: bare(ir.Allow), Edit: bare(ir.Allow)}, lines{line: d})
		testLines(t, "the entry *: "+line, ir.Can{Command: table(allow("*")), Edit: bare(ir.Allow)}, lines{line: d})
	}
}

// What a variable or a file glob may become is within a "*" and nothing else.
func TestHolesAreWithinAWildcard(t *testing.T) {
	testLines(t, "allow", commands(allow("ls *", "npm run test", "git log --*")), lines{
		"ls $HOME": ir.Allow, `ls "$HOME/x"`: ir.Allow, "ls *.go": ir.Allow, "ls {a,b}": ir.Allow, "ls ~/x": ir.Allow, "ls ${x:-y}": ir.Allow, "ls $((1+2))": ir.Allow,
		"npm run $X": ir.Deny, "npm run t*": ir.Deny, "ls$X": ir.Deny, "git log $X": ir.Deny, "git log --$X": ir.Allow})
}

func TestRedirects(t *testing.T) {
	can := commands(allow("echo *", "cat *"))
	can.Edit = table(allow("out/**"), ask("tmp/**"))
	can.Read = table(allow("in/**"))
	testLines(t, "judged as files", can, lines{
		"echo x > out/a": ir.Allow, "echo x >> out/a": ir.Allow, "echo x >| out/a": ir.Allow, "echo x &> out/a": ir.Allow, "echo x >& out/a": ir.Allow,
		"echo x > tmp/a": ir.Ask, "echo x > a": ir.Deny, "echo x >> a": ir.Deny, "echo x >| a": ir.Deny, "echo x &>> a": ir.Deny, "echo x >& a": ir.Deny,
		"echo x 2> a": ir.Deny, "echo x 2>&1 > out/a": ir.Allow, "> a": ir.Deny, "echo x > out/../a": ir.Deny, "echo x > /tmp/x": ir.Deny,
		"echo x > ~/.bashrc": ir.Deny, "cat < in/a": ir.Allow, "cat < a": ir.Deny, "cat <> in/a": ir.Deny, "cat <& 3": ir.Allow, "cat 0<&-": ir.Allow,
		"cat <& a": ir.Deny, "(echo x) > a": ir.Deny, "{ echo x; } > a": ir.Deny, "if cat x; then cat y; fi > a": ir.Deny,
		"for i in a; do echo x; done >> a": ir.Deny, "echo x > 'out/a b'": ir.Allow, "echo x > \"out/\"a": ir.Allow, "echo x > out/$X": ir.Deny,
		"echo x > out/*": ir.Deny, "cat <<E\nx\nE": ir.Allow, "cat <<< x": ir.Allow, "echo x | cat > a": ir.Deny, "f() { echo x; } > a": ir.Deny})
	testLines(t, "neutral", can, lines{
		"echo x 2>&1": ir.Allow, "echo x > /dev/null": ir.Allow, "echo x &> /dev/null": ir.Allow, "cat < /dev/null": ir.Allow,
		"echo x >&2": ir.Allow, "echo x 2>/dev/null >&2": ir.Allow, "echo x > /dev/tcp/host/80": ir.Deny})
	can.Edit = nil
	testLines(t, "a mode that may not edit", can, lines{"echo x > out/a": ir.Deny, "echo x > $F": ir.Deny})
}

func TestRedirectsAreEdits(t *testing.T) {
	p := modeOf(ir.Can{Default: def(ir.Allow), Edit: withDefault(table(deny(".claude/**", "CLAUDE.md")), ir.Allow)})
	s := mustSubject(t, p, ir.SubjectRef{Mode: "m"})
	for line, d := range (lines{
		"echo x > .claude/settings.json": ir.Deny, "echo x > ./a/../.claude/x": ir.Deny, "cd .claude && echo x > settings.json": ir.Deny,
		"cd .claude; echo x > settings.json": ir.Deny, "cd a && cd ..; echo x > CLAUDE.md": ir.Deny, "sh -c 'echo x > CLAUDE.md'": ir.Deny,
		"cd .claude; (cd agents); echo x > a": ir.Deny, "echo x > notes.md": ir.Allow, "cd $X; echo x > a": ir.Ask,
	}) {
		want(t, s, Action{Group: ir.Command, Arg: line}, d)
	}
}

func TestChangeOfFolder(t *testing.T) {
	can := commands(allow("echo *", "ls *", "./run *", "cd /opt"))
	can.Edit = table(allow("docs/**", "x"))
	testLines(t, "neutral inside the root", can, lines{
		"cd docs && ls": ir.Allow, "cd docs; ls": ir.Allow, "cd -- docs && ls": ir.Allow, "cd docs/a && cd .. && ls": ir.Allow,
		"cd .. && ls": ir.Deny, "cd && ls": ir.Deny, "cd - && ls": ir.Deny, "cd ~ && ls": ir.Deny, "cd /tmp && ls": ir.Deny, "cd $X && ls": ir.Deny,
		"cd /opt && ls": ir.Allow, "cd docs": ir.Deny, "pushd docs && ls": ir.Deny, "cd docs extra && ls": ir.Deny})
	testLines(t, "redirects follow", can, lines{
		"cd docs && echo x > a":             ir.Allow, // docs/a
		"cd docs; echo x > a":               ir.Deny,  // docs/a, or a where cd failed
		"cd docs; echo x > x":               ir.Allow, // docs/x or x
		"cd docs || echo x > x":             ir.Allow, // x
		"cd docs && echo x > ../x":          ir.Allow,
		"cd docs && echo x > ../../x":       ir.Deny,
		"(cd docs && ls); echo x > x":       ir.Allow,
		"(cd docs && ls); echo x > a":       ir.Deny,
		"cd docs && cd sub && echo x > a":   ir.Allow,
		"cd src && echo x > a":              ir.Deny,
		"cd /opt && echo x > x":             ir.Deny,
		"cd docs | echo x > a":              ir.Deny,
		"cd src && cd ../docs && echo > a":  ir.Allow,
		"while ls; do cd docs; done; ls >x": ir.Deny,
		"if cd docs; then echo x > a; fi":   ir.Deny, // the condition may have failed elsewhere
		"f() { cd docs; }; f; echo x > x":   ir.Deny,
		"cd() { ls; }; cd docs && ls > a":   ir.Deny,
	})
	testLines(t, "a program by its folder is another one then", can, lines{
		"./run x": ir.Allow, "cd docs && ./run x": ir.Deny, "cd docs && ls": ir.Allow})
}

func TestDecideCommandInAFolder(t *testing.T) {
	can := commands(allow("echo *"))
	can.Edit = table(allow("docs/**"))
	s := mode(t, can)
	for dir, d := range map[string]ir.Decision{"": ir.Deny, ".": ir.Deny, "docs": ir.Allow, "docs/a": ir.Allow, "src": ir.Deny, "/tmp": ir.Deny, "..": ir.Deny} {
		if r := commandIn(s, dir, "echo x > a"); r.Decision != d {
			t.Errorf("in %q: got %s (%s), want %s", dir, r.Decision, r.Rule, d)
		}
	}
}

func TestCommandRulesReadWell(t *testing.T) {
	s := mode(t, ir.Can{Command: withDefault(table(allow("git log *"), deny("git push *")), ir.Ask), Edit: table()})
	for line, rule := range map[string]string{
		"git push":         `deny "git push *"`,
		"git log":          `allow "git log *"`,
		"ls":               "default of command",
		"git log $(date)":  `not literal, and command has deny "git push *"`,
		"git log > a":      "edit writes no default",
		"git log > /etc/x": "edit writes no default",
	} {
		if r := s.Decide(Action{Group: ir.Command, Arg: line}); r.Rule != rule {
			t.Errorf("%q: got rule %q, want %q", line, r.Rule, rule)
		}
	}
}

func TestCheckCommand(t *testing.T) {
	for text, want := range map[string]string{
		"git status": "", "*": "", "a*b": "", `a \" b`: "",
		"": `got "", want a command`, "  ": `got "  ", want a command`, ":*": `got ":*", want a command before ":*"`,
		"a\nb": `got "a\nb", want one line without control characters`, "@x": `got "@x", want one of "@git_read", "@readonly_filters"`,
		`echo "a`: `got "echo \"a", want a closing " (or a backslash before it)`,
		"\xff":    `got "\xff", want UTF-8`,
	} {
		got := ""
		if err := CheckCommand(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestIntersect(t *testing.T) {
	h := string(rune(hole))
	for _, r := range []struct {
		a, b string
		want bool
	}{
		{"git push", "git " + h, true},
		{"git push", "git p" + h + "h", true},
		{"git push", "git l" + h, false},
		{"git push" + h, "git push origin", true},
		{"a" + h + "b", "a" + h + "c", false},
		{"a" + h + "b", h, true},
		{"", h, true},
		{h, "", true},
		{"a", "", false},
		{"git push", "git" + h + " push", true},
	} {
		if got := intersect(r.a, r.b); got != r.want {
			t.Errorf("%q and %q: got %v, want %v", r.a, r.b, got, r.want)
		}
	}
}

// A role in a mode gets the lower of the two decisions: by default the files that one
// side's filter reads are no business of the other's command list.
func TestFilterOfOneSide(t *testing.T) {
	p := &ir.Project{
		Modes: []ir.Mode{
			{Slug: "asks", Can: ir.Can{Read: table(deny("secrets/"), allow("**")), Command: bare(ir.Ask)}},
			{Slug: "silent", Can: ir.Can{Command: bare(ir.Ask)}},
		},
		Roles: []ir.Role{{Name: "reader", Can: ir.Can{
			Read:    table(deny("*.pem"), allow("**")),
			Command: withDefault(table(allow("@readonly_filters")), ir.Deny),
		}}},
	}
	for _, c := range []struct {
		mode, line string
		want       ir.Decision
	}{
		{"asks", "cat a.md", ir.Ask},
		{"asks", "cat secrets/a", ir.Deny}, // which a rule names
		{"asks", "cat k.pem", ir.Deny},
		{"asks", "cat < secrets/a", ir.Deny}, // a redirect is read by both
		{"silent", "cat ../x", ir.Ask},
	} {
		s := mustSubject(t, p, ir.SubjectRef{Role: "reader", Mode: c.mode})
		if got := commandIn(s, "", c.line); got.Decision != c.want {
			t.Errorf("%s: %s: got %s (%s), want %s", c.mode, c.line, got.Decision, got.Rule, c.want)
		}
	}
}

// commandIn decides a line that runs in a folder relative to the root.
func commandIn(s *Subject, dir, line string) Result {
	p := Place{Dirs: []string{path.Clean(dir)}}
	return s.DecideAt(&p, Action{Group: ir.Command, Arg: line})
}

// What a wrapper may run is judged wherever it leads: its files are at the line's place.
func TestGuessedRedirects(t *testing.T) {
	testLines(t, "guessed", commands(allow("watch *", "env *"), deny("rm *")), lines{
		"watch 'x > /etc/passwd'": ir.Deny, "env -S 'x > /etc/passwd'": ir.Allow, "watch 'rm x > /etc/passwd'": ir.Deny,
		"env -S 'cat < ~/x'": ir.Allow, "watch 'cd x; rm y'": ir.Deny})
	open := commands(deny("rm *"))
	open.Command.Default = def(ir.Allow)
	testLines(t, "joined", open, lines{
		`watch echo x \> /etc/passwd`: ir.Deny, `watch x\>/etc/passwd`: ir.Deny, `watch "ls;rm" x`: ir.Deny,
		`timeout 5 watch 'x > /etc/passwd'`: ir.Deny, `sudo watch x \>/etc/passwd`: ir.Deny, `env x \> /etc/passwd`: ir.Allow,
		`su -c x\>/etc/passwd`: ir.Deny, `script -c x\>/etc/passwd`: ir.Deny, `parallel x \>/etc/passwd ::: a`: ir.Deny,
		`watch echo $X \> y`: ir.Deny, "watch ls x": ir.Allow, `watch ls -l\;`: ir.Allow, `watch ls \| wc`: ir.Allow,
		"su 'x > /etc/passwd'": ir.Allow, "su -lc 'x > /etc/passwd'": ir.Deny, "su --com 'x > /etc/passwd'": ir.Deny,
		"script '-cx > /etc/passwd'": ir.Deny, "flock f ls 'a > /b'": ir.Allow, "runuser --command='x > /y'": ir.Deny,
		`npx -c 'x > /etc/passwd'`: ir.Deny, `npx vitest -t 'a > /b'`: ir.Allow, `nix-shell --run 'x > /etc/passwd'`: ir.Deny,
	})
}

// Where a command in a compound one changes the folder, no folder is known in it and behind it.
func TestCompoundsThatMove(t *testing.T) {
	can := ir.Can{Command: bare(ir.Allow), Edit: withDefault(table(deny("d/a")), ir.Allow), Read: bare(ir.Allow)}
	testLines(t, "compound", can, lines{
		"for i in 1; do ls > a; done": ir.Allow, "if x; then ls > a; fi": ir.Allow, "case x in y) ls > a;; esac": ir.Allow,
		"while x; do ls > a; if y; then cd d; fi; done": ir.Ask, "if x; then cd d; fi; ls > a": ir.Ask, "for i in 1; do cd d; ls > a; done": ir.Deny,
		"while x; do ls > a; f() { cd d; }; f; done": ir.Ask, "case x in y) cd d;; z) ls > a;; esac": ir.Ask, "(for i in 1; do cd d; done); ls > a": ir.Ask})
}
