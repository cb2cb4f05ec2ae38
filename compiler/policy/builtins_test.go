package policy

import (
	"testing"

	"modec.dev/modec/compiler/ir"
)

func TestGitRead(t *testing.T) {
	can := commands(allow("@git_read", "cd *", "echo *"))
	can.Read = bare(ir.Allow)
	for _, line := range []string{
		"git status", "git status -sb", "git status --porcelain=v2", "git log", "git log --oneline -5", "git log -n 5 --author=x -- a b", "git log -p -S foo main..dev",
		"git log --since '2 days ago' --format=%H", "git diff", "git diff --cached --stat -U5 HEAD~1 -- a.go", "git show HEAD:a.go", "git blame -L 1,5 a.go",
		"git branch", "git branch -a --contains main", "git branch --show-current", "git tag -l", "git remote -v", "git remote get-url origin",
		"git stash list", "git stash show -p", "git reflog", "git reflog show main", "git config --get user.name", "git config --list", "git rev-parse --abbrev-ref HEAD",
		"git ls-files -o --exclude-standard", "git grep -n -e foo -- a", "git cat-file -p HEAD", "git worktree list", "git --no-pager log", "git -P diff",
		"timeout 5 git status", "git log 2>/dev/null", "git log && git diff", "git diff main...dev", "git describe --tags --match 'v*'", "git merge-base a b",
	} {
		testLines(t, line, can, lines{line: ir.Allow})
	}
	for _, line := range []string{
		// options that write, run programs or read elsewhere
		"git log --output=x", "git log --output x", "git log --outp=x", "git diff --ext-diff", "git diff --no-index a b", "git diff /etc/passwd /dev/null", "git diff ../a ../b",
		"git diff ~/a b", "git grep -O foo", "git grep --open-files-in-pager foo", "git grep -nOvi foo", "git blame --contents /etc/passwd a", "git show --textconv",
		"git diff -- /etc/passwd a", "git diff --abbrev /etc/passwd a", "git diff --color /etc/passwd a", "git log -5x",
		// subcommands that write
		"git", "git push", "git commit", "git branch new", "git branch -d x", "git branch -D x", "git branch --abbrev new", "git branch -m x", "git branch --edit-description",
		"git tag v1", "git tag -d v1", "git tag -n v1", "git remote add x y", "git remote update", "git remote -v update", "git remote show origin", "git stash", "git stash pop",
		"git stash -p", "git reflog expire", "git reflog --all expire", "git reflog --abbrev show expire", "git config user.name x", "git config user.name",
		"git config edit", "git config --global edit", "git config --show-scope --local a", "git config --edit", "git config --get a b c", "git config --unset a", "git worktree add x", "git submodule update", "git submodule foreach x", "git checkout x",
		"git status extra --output=x",
		// options before the subcommand, another program, another folder
		"git -c core.pager=x log", "git -C x status", "git --git-dir=x status", "git --exec-path=x log", "./git status", "/usr/bin/git status", "GIT_DIR=x git status",
		"env git status", "sudo git status", "cd sub && git status", "cd sub; git status", "PAGER=x git log", "alias git=x; git status", "git() { x; }; git status",
		// an option whose value is not the next word, or that takes none
		"git shortlog -n --output=x HEAD", "git shortlog --committer --output=x HEAD", "git rev-list -L --output=x HEAD", "git rev-list -n --output=x HEAD --output=y",
		"git stash show -G 0 -S --output=x", "git log -Op", "git log -pO x", "git diff -Ox", "git blame -L 1,2 -S x a", "git grep foo -f", "git log --no-index a b",
		"git log --end-of-options x", "git --paginate log", "git log --show-signature", "git log --format=%G?", "git log '--pretty=%h % GK'", "git shortlog --group=format:%+GS HEAD",
		"git for-each-ref --format '%(signature:grade)'", "git branch --sort=signature", "git log --stdin", "git cat-file --batch", "git cat-file --filters HEAD:a",
		"git cat-file --textconv HEAD:a", "git config user.name --get", "git config edit --list",
		// not literal
		"git log $X", "git log *", "git log $(x)", "git log -- {a,b}", "git $X", "git log > x", "git status; rm x",
	} {
		testLines(t, line, can, lines{line: ir.Deny})
	}
}

// What git reads is decided as a read, also where a commit has it.
func TestGitReadsFiles(t *testing.T) {
	can := commands(allow("@git_read"))
	can.Read = withDefault(table(deny("/secrets/**", ".env"), ask("*.key")), ir.Allow)
	for line, d := range (lines{
		"git show HEAD:src/a": ir.Allow, "git log main..dev -- src": ir.Allow, "git diff main...dev": ir.Allow, "git grep x src": ir.Deny, "git grep secrets/x src": ir.Deny,
		"git log -L1,5:src/a": ir.Allow, "git log -p": ir.Allow, "git show HEAD~2": ir.Allow, "git cat-file -p HEAD:src/a": ir.Allow, "git show :/fix": ir.Allow, "git show HEAD:": ir.Allow,
		"git show 'HEAD@{2024-01-01 12:30}:src/a'": ir.Allow, "git log --follow -- src/a": ir.Allow, "git grep -f src/a": ir.Deny, "git log -S secrets/x": ir.Allow,
		"git show HEAD:secrets/key": ir.Deny, "git show HEAD:./secrets/key": ir.Deny, "git show :secrets/key": ir.Deny, "git show :0:secrets/key": ir.Deny, "git show :./secrets/key": ir.Deny,
		"git show HEAD:src/../secrets/key": ir.Deny, "git show HEAD:SECRETS/key": ir.Deny, "git show 'HEAD^{/a:b}:secrets/key'": ir.Deny, "git show HEAD:secrets": ir.Deny, "git show v1:.env": ir.Deny,
		"git cat-file -p HEAD:secrets/key": ir.Deny, "git cat-file blob :secrets/key": ir.Deny, "git show HEAD:a.key": ir.Ask, "git rev-parse HEAD:secrets/key": ir.Deny,
		"git diff HEAD:secrets/key HEAD:src/a": ir.Deny, "git diff HEAD:src/a..HEAD:secrets/key": ir.Deny, "git diff HEAD:secrets/key..HEAD:src/a": ir.Deny, "git diff HEAD:src/a...HEAD:.env": ir.Deny,
		"git diff secrets/key": ir.Deny, "git diff -- secrets": ir.Deny, "git diff --cached secrets/key src/a": ir.Deny, "git log -p secrets": ir.Deny, "git log -p main -- secrets/key": ir.Deny,
		"git log -p -- :/secrets/key": ir.Deny, "git log -L1,5:secrets/key": ir.Deny, "git log -L 1,5:secrets/key": ir.Deny, "git log -L :f:secrets/key": ir.Deny, "git log -L '/a:b/,+2:.env'": ir.Deny,
		"git blame secrets/key": ir.Deny, "git blame HEAD -- .env": ir.Deny, "git blame --contents .env src/a": ir.Deny, "git blame --contents=.env src/a": ir.Deny, "git grep x -- secrets": ir.Deny,
		"git grep x HEAD:secrets": ir.Deny, "git grep -e x secrets": ir.Deny, "git grep -f .env": ir.Deny, "git grep -f.env": ir.Deny, "git grep -nf .env": ir.Deny, "git log --relative=secrets": ir.Deny,
		"git show -p HEAD -- a.key": ir.Ask, "git ls-files secrets": ir.Deny, "git ls-tree HEAD secrets/": ir.Deny, "git status secrets": ir.Deny,
		// patterns of git's own may match what is denied
		"git diff -- 'src/*'": ir.Deny, "git log -p -- ':(top)src'": ir.Deny, "git diff ':!src'": ir.Deny, "git diff ':^src'": ir.Deny, "git diff :/!src": ir.Deny, "git grep x '[s]ecrets'": ir.Deny, "git diff :": ir.Deny,
		"git diff -- src/../../x": ir.Deny,
	}) {
		testLines(t, line, can, lines{line: d})
	}
	can.Read = bare(ir.Allow)
	testLines(t, "every file", can, lines{"git diff -- 'src/*'": ir.Allow, "git diff ':!src'": ir.Allow, "git show 'HEAD^{/fix.*}'": ir.Allow, "git diff ':!../x'": ir.Deny})
	can.Read = withDefault(table(allow("src/**")), ir.Ask)
	testLines(t, "a list", can, lines{"git diff src/a": ir.Allow, "git log main -- src/a": ir.Allow, "git log main": ir.Ask, "git merge-base main dev": ir.Allow, "git diff 'src/*'": ir.Deny})
}

// git grep prints lines of any file.
func TestGitGrep(t *testing.T) {
	can := commands(allow("@git_read"))
	can.Read = bare(ir.Allow)
	testLines(t, "every file", can, lines{"git grep x": ir.Allow, "git grep x -- src": ir.Allow, "git grep x -- ../y": ir.Deny})
	can.Read = withDefault(table(deny("/secrets/**")), ir.Allow)
	testLines(t, "a deny", can, lines{"git grep x": ir.Deny, "git grep x -- src": ir.Deny})
}

func TestReadonlyFilters(t *testing.T) {
	can := commands(allow("@readonly_filters"))
	can.Read = table(allow("src/**"), ask("src/keys"), deny(".env"))
	for line, d := range (lines{
		"cat src/a": ir.Allow, "cat -n src/a src/b": ir.Allow, "cat < src/a": ir.Allow, "cat - src/a": ir.Allow, "head -5 src/a": ir.Allow, "head -n 5 -- src/a": ir.Allow,
		"tail -n5 src/a": ir.Allow, "wc -l src/a | sort -rn | uniq -c | head -1": ir.Allow, "sort -t: -k2 src/a": ir.Allow, "grep -n foo src/a": ir.Allow,
		"grep -e foo -e bar src/a": ir.Allow, "grep -A3 --color=never foo src/a": ir.Allow, "cut -d: -f1 src/a": ir.Allow, "tr a-z A-Z": ir.Allow, "echo hello": ir.Allow,
		"ls -la src": ir.Allow, "ls": ir.Allow, "pwd": ir.Allow, "basename /etc/passwd": ir.Allow, "true": ir.Allow, "cd src && cat a": ir.Allow, "cat src/keys": ir.Ask,
		"cat .env": ir.Deny, "cat src/../.env": ir.Deny, "cat src/.env": ir.Deny, "cat /etc/passwd": ir.Deny, "cat ~/.ssh/id": ir.Deny, "cat a": ir.Deny, "cd src && cat ../a": ir.Deny,
		"cd src; cat a": ir.Deny, // a, where cd failed
		"grep foo .env": ir.Deny, "grep -e foo .env": ir.Deny, "grep -ne foo .env": ir.Deny, "grep --regexp=foo .env": ir.Deny, "head -n 5 .env": ir.Deny, "ls /": ir.Deny,
		"grep --color .env foo": ir.Deny, "uniq src/a .env": ir.Deny, "sort -o x src/a": ir.Deny, "sort -uo x src/a": ir.Deny, "sort --output=x src/a": ir.Deny,
		"grep -r foo src": ir.Deny, "grep -f .env src/a": ir.Deny, "grep -R foo": ir.Deny, "wc --files0-from=x": ir.Deny, "tee x": ir.Deny, "sed -i s/a/b/ src/a": ir.Deny,
		"sed p src/a": ir.Deny, "awk 1 src/a": ir.Deny, "find src": ir.Deny, "xargs cat": ir.Deny, "cat $X": ir.Deny, "cat src/*": ir.Deny, "cat $(ls)": ir.Deny, "tail -f src/a": ir.Deny,
		// options behind operands are files to some systems
		"head src/a -n .env": ir.Deny, "cat src/a -n": ir.Deny, "uniq src/a -c": ir.Deny, "grep x src/a -e .env": ir.Deny, "cat src/a -- .env": ir.Deny, "sort src/a -k src/b": ir.Deny,
		"grep -f src/b src/a": ir.Allow, "grep -C 2 src/b src/a": ir.Allow, "grep -C 2 foo src/a": ir.Deny, "strings @src/a": ir.Deny, "strings src/a": ir.Allow, "strings -- @src/a": ir.Deny,
		"strings -n @src/a src/b": ir.Deny, "strings -n@src/a src/b": ir.Deny, "strings -n 4 src/b @src/a": ir.Deny, "strings -a -n '@src/a'": ir.Deny, "strings -n 4 src/b": ir.Allow,
		"sort --outp=x src/a": ir.Deny, "sort --files0-from=src/a": ir.Deny, "sort --compress-program=x src/a": ir.Deny, "sort -T x src/a": ir.Deny, "uniq src/a src/b": ir.Deny, "sort -ro x src/a": ir.Deny,
		"cat --unknown src/a": ir.Deny, "./cat src/a": ir.Deny, "X=1 cat src/a": ir.Deny, "date -s x": ir.Deny, "printf -v PATH x": ir.Deny, "diff src/a src/b": ir.Deny, "cat src/a > b": ir.Deny,
	}) {
		testLines(t, line, can, lines{line: d})
	}
}

// An entry more never takes from what the others allow.
func TestFiltersBesideOtherAllows(t *testing.T) {
	read := table(allow("src/**"), deny(".env"))
	for name, table := range map[string]*ir.Table{
		"everything":          table(allow("@readonly_filters"), allow("*")),
		"a pattern":           table(allow("@readonly_filters"), allow("cat *")),
		"a pattern before it": table(allow("cat *"), allow("@readonly_filters")),
		"the default":         withDefault(table(allow("@readonly_filters")), ir.Allow),
	} {
		testLines(t, name, ir.Can{Read: read, Command: table}, lines{
			"cat src/a": ir.Allow, "cat x": ir.Allow, "cat x | cat": ir.Allow, "cat .env": ir.Deny, "cat a < .env": ir.Deny})
	}
	for _, d := range []ir.Decision{ir.Ask, ir.Agent} {
		testLines(t, d.String(), ir.Can{Read: read, Command: withDefault(table(allow("@readonly_filters")), d)},
			lines{"cat src/a": ir.Allow, "cat x": d})
	}
	testLines(t, "a deny", ir.Can{Read: read, Command: table(allow("@readonly_filters"), allow("*"), deny("cat *"))},
		lines{"cat src/a": ir.Deny})
}

// In deny and ask a set holds behind wrappers too.
func TestBuiltinsInDeny(t *testing.T) {
	testLines(t, "deny", ir.Can{Command: withDefault(table(deny("@git_read")), ir.Allow)}, lines{
		"git status": ir.Deny, "sudo git status": ir.Deny, "/usr/bin/git log": ir.Deny, "git push": ir.Allow, "ls": ir.Allow, "sh -c 'git status'": ir.Deny})
}
