package model

import "modec.dev/modec/compiler/ir"

// The tables below are what the binary 2.1.329 decided, asked through the
// loopback stand-in of e2e with a permission prompt tool: allow ran, ask was
// put to the tool.

// observedReading is the mode default without a rule.
var observedReading = map[ir.Decision][]string{
	ir.Allow: {
		"ls", "ls -la", "pwd", "cat README.md", "head -n 1 README.md", "tail README.md", "grep -r x src", "rg x",
		"find . -name x", "wc README.md", "echo hi", "which node", "whoami", "id", "date", "du -s", "df",
		"diff README.md README.md", "stat README.md", "file README.md", "tree", "sort README.md", "cut -c1 README.md",
		"tr a b", "jq . package.json", "uname", "hostname", "ps", "true", "false", "sleep 0.1", "git status",
		"git log", "git diff", "git show", "git branch", "git blame README.md", "git remote", "git remote -v",
		"git tag", "git rev-parse HEAD", "git ls-files", "git config --get user.name", "git stash list",
		"git describe", "git reflog", "X=1", "test -f x", "[ -f x ]", "basename x", "dirname x", "realpath .",
		"readlink x", "seq 3", "printf hi", "node --version", "python3 --version", "type ls", "cal", "uptime",
		"nproc", "arch", "groups", "locale", "free", "strings README.md", "hexdump README.md", "od README.md",
		"nl README.md", "md5sum README.md", "sha256sum README.md", "sed -n 1p README.md", "xargs echo", "man ls",
		"help", "history", "lsof", "netstat", "ss", "docker ps", "ls *", "ls 'a b'", "echo $HOME", "ls; pwd",
		"ls && pwd", "ls ", " pwd", "ls | wc", "! ls", "if true; then ls; fi", "while false; do ls; done", "ls 2>&1",
		"ls > /dev/null", "cat < README.md", "ls # x", "[[ -f x ]]", "timeout 5 ls", "command ls", "builtin pwd",
		"ls\t-la", "  ls", "'ls'", "l\\s", "ls -la .env", "cat .env", "#", "ls\npwd", "git status -s",
		"git status --porcelain", "git log --oneline", "git log -n 3", "git log -p", "git log -- src",
		"git log HEAD~3..", "git log --format=%H", "git diff HEAD", "git diff --stat", "git diff --no-index a b",
		"git show HEAD", "git branch -a", "git branch --list", "git branch -v", "git tag -l", "git stash show",
		"git ls-files -m", "git ls-remote", "git grep x", "git shortlog", "git cat-file -p HEAD", "git for-each-ref",
		"git rev-list HEAD", "git merge-base a b", "git worktree list", "git status && ls", "git blame x",
		"git rev-parse --show-toplevel", "git describe --tags", "git status > /dev/null 2>&1", "ls --foo",
		"cat --show-all README.md", "head -c 5 README.md", "grep -f x README.md", "find . -type f", "echo -n x",
		"sort -u README.md", "uniq", "uniq -c", "sed -n '1,2p' README.md", "sed s/a/b/", "xargs grep x", "xargs",
		"ps aux", "jq '.a' package.json", "du -sh src", "diff --x a b", "stat -c %n README.md", "which -a ls",
		"id root", "sleep 1", "true x", "uname -a", "date +%s", "df -h", "tr -d a", "cut -d: -f1 README.md", "ls -R",
		"cat -", "rev README.md", "tac README.md", "paste README.md", "comm a b", "column x", "fmt README.md",
		"fold README.md", "expand README.md", "cmp a b", "base64 README.md", "sha1sum README.md", "expr 1 + 1",
		"tsort x", "pgrep x", "tput cols", "fd x", "help cd", "node -v", "python --version", "docker images",
		"docker ps -a", "until true; do ls; done", "for i in a b; do ls; done", "[[ -f x ]] && ls", "test -f x && ls",
		"ls -la src", "ls -la ./src/", "cat '.env'", "cat < .env", "true && ls", "ls src one --two=3", "X=1; ls",
		"echo $((1+1))", "echo 'x'", "echo \\$X", "rg secret", "realpath /etc", "basename /etc/x",
		"test -f /etc/hostname", "du /etc", "tree /", "readlink /etc/x",
	},
	ir.Ask: {
		"find . -exec true {} +", "find . -delete -name zzz", "sort -o out README.md", "uniq README.md", "env",
		"printenv", "git log --output=x", "git branch x", "git tag x", "git add .", "cd /tmp", "export X=1", "X=1 ls",
		"npm --version", "command -v ls", "awk 1 README.md", "sed s/a/b/ README.md", "tee x", "less README.md",
		"alias", "set", "gh pr list", "cat /etc/hostname", "ls /", "head -n 3 /etc/hostname", "ls ..", "ls $HOME",
		"ls ~", "ls {a,b}", "echo $X", "echo $(ls)", "echo `ls`", "ls &", "(ls)", "{ ls; }",
		"for i in a b; do echo $i; done", "f() { ls; }; f", "ls > out", "ls >> out", "cat < /etc/hostname", "ls > $X",
		"cat <<E\nx\nE", "ls <(ls)", ":", "((1))", "time ls", "nice ls", "nohup ls", "stdbuf -oL ls", "exec ls",
		"env ls", "env X=1 ls", "LS", "ls\\\n-la", "/bin/ls", "./x", "ls 2>err", "ls &> out", "git log --ext-diff",
		"git log --pretty=x", "git log one --two=3", "git diff --ext-diff", "git diff --output=x",
		"git show --output=x", "git branch -D x", "git tag -d x", "git remote show origin", "git remote add x y",
		"git -C src status", "git -c core.pager=x log", "git --no-pager log", "git config --global x y",
		"git config --list", "git config user.name", "git stash", "git fetch", "git add -n .", "git status --x",
		"git reflog expire", "git checkout .", "git reset", "git commit -m x", "git", "git --version", "git help",
		"rg --pre x y", "find . -fprint x", "find . -ok true", "printf -v X y", "date -s x", "hostname foo",
		"sed -e s/a/b/ README.md", "sed -i s/a/b/ README.md", "xargs ls", "xargs rm", "xargs cat", "ps e",
		"tree -o x", "file -C", "jq -f x package.json", "jq 'env' package.json", "whoami x", "pwd -P",
		"tail -f /dev/null --pid=1", "cksum README.md", "getconf PAGE_SIZE", "pwd x", "man -P x ls", "node -e 1",
		"python3 -c 1", "docker run x", "case a in a) ls;; esac", "ls src/..", "ls src/../..", "ls; rm x", "X=1 true",
		"PATH=/tmp ls", "ls $X", "ls \"$X\"", "ls \"$HOME\"", "echo $HOME $PWD", "echo $?", "echo $PATH",
		"echo ${HOME}", "ls ~/x", "ls ~root", "grep x ../y", "rg x /etc", "find / -name x", "find .. -name x",
		"wc -l /etc/hostname", "stat /etc", "file /etc/hostname", "nl /etc/hostname", "md5sum /etc/hostname",
		"jq . /etc/x", "diff /etc/a b",
	},
}

// observedRules has Bash(foo *) and Edit(docs/**) in allow, Bash(ask *) in ask,
// Bash(den *) and Read(.env) in deny.
var observedRules = map[ir.Decision][]string{
	ir.Allow: {
		"foo", "ls", "foo a", "timeout 5 foo a", "time foo a", "nice foo a", "nohup foo a", "stdbuf -oL foo a",
		"nice -n 5 foo a", "command foo a", "foo a > /dev/null", "foo a 2>&1", "! foo a", "foo *", "foo a\nfoo b",
		"foo a; foo b | foo c || foo d", "if foo; then foo a; fi", "foo 'a", "foo  a", "foo\ta", "'foo' a", "fo\\o a",
		"foo \"a b\"", "foo < README.md", "foo ~", "foo a # x", "foo a > docs/o", "ls > docs/o2",
		"[ -f foo ] && foo a", "cat docs/a.md | foo a",
	},
	ir.Ask: {
		"cat /etc/hostname", "ls > out", "mkdir x", "ask a", "ask b && ls", "FOO=1 foo a", "env foo a",
		"foo a > out2", "foo a > /tmp/zz", "foo $(ls)", "foo $X", "sh -c 'den a'", "foo a &", "(foo a)", "{ foo a; }",
		"foo {a,b}", "foo <<E\nx\nE", "f() { foo; }; f", "for i in a; do foo $i; done", "foo <(ls)", "FOO a", "fooa",
		"echo a > .env", "xargs cat .env", "foo\\\n a", "foo a", "ask a > /dev/null", "FOO=1 ask a",
		"export Z=1; foo a", "foo a > $X", "foo a > docs/../n3",
	},
	ir.Deny: {
		"den a", "FOO=1 den a", "foo $(den a)", "(den a)", "if true; then den a; fi", "foo a && den b", "sudo den a",
		"xargs den a", "env den a", "'den' a", "d\\en a", "/bin/den a", "nohup den a", "time den a", "command den a",
		"exec den a", "! den a", "foo < .env", "cat .env", "cat ./docs/../.env", "nl .env", "md5sum .env",
	},
}

// observedDefault has Edit(ok/**), Bash(cat *) and Bash(okc *) in allow, Edit(sec/**)
// in ask and Edit(.env) in deny.
var observedDefault = map[ir.Decision][]string{
	ir.Allow: {
		"cat ok.txt", "okc /etc/x", "ls > ok/x",
	},
	ir.Ask: {
		"mkdir x", "mkdir -p a/b", "touch x", "rm x", "rm -r a", "rmdir zz", "mv README.md r2", "cp r2 r3",
		"sed -i s/a/b/ r2", "sed s/a/b/ r2", "ln -s a b", "chmod +x r2", "tee zz", "touch /tmp/yy", "rm /tmp/yy",
		"touch sec/x", "mkdir .git/x", "touch .claude/x", "cp /etc/hostname x", "rm -rf src", "foo > x",
		"cat README.md > x", "ls > sec/y", "ls > /tmp/yy", "ls > .git/yy", "touch $X", "timeout 5 touch y",
		"X=1 touch y", "nohup touch y", "touch y && ls", "touch y; foo", "(touch y)", "patch x", "dd if=a of=b",
		"git add .", "truncate x", "awk 1 r2", "rm ../zz", "touch ../zz", "cat /etc/hostname", "ls > docs/x",
	},
	ir.Deny: {
		"touch .env", "ls > .env", "rm .env", "mv .env x", "cp .env x",
	},
}

// observedAccept is the same in the mode acceptEdits.
var observedAccept = map[ir.Decision][]string{
	ir.Allow: {
		"mkdir x", "mkdir -p a/b", "touch x", "rm x", "rm -r a", "rmdir zz", "mv README.md r2", "cp r2 r3",
		"sed -i s/a/b/ r2", "sed s/a/b/ r2", "touch sec/x", "rm -rf src", "cat README.md > x", "ls > sec/y",
		"touch y && ls", "cat ok.txt", "okc /etc/x", "ls > ok/x", "ls > docs/x",
	},
	ir.Ask: {
		"ln -s a b", "chmod +x r2", "tee zz", "touch /tmp/yy", "rm /tmp/yy", "mkdir .git/x", "touch .claude/x",
		"cp /etc/hostname x", "foo > x", "ls > /tmp/yy", "ls > .git/yy", "touch $X", "timeout 5 touch y",
		"X=1 touch y", "nohup touch y", "touch y; foo", "(touch y)", "patch x", "dd if=a of=b", "git add .",
		"truncate x", "awk 1 r2", "rm ../zz", "touch ../zz", "cat /etc/hostname",
	},
	ir.Deny: {
		"touch .env", "ls > .env", "rm .env", "mv .env x", "cp .env x",
	},
}

// observedWhole has Bash in allow, Bash(den *) and Edit(.env) in deny.
var observedWhole = map[ir.Decision][]string{
	ir.Allow: {
		"ls > x", "foo $(x)", "(foo)", "cat /etc/hostname", "foo > /tmp/yy", "foo 'a", "cd /tmp && ls",
	},
	ir.Ask: {
		"ls > .git/x",
	},
	ir.Deny: {
		"den a", "ls > .env",
	},
}
