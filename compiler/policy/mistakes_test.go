package policy

import (
	"strings"
	"testing"
)

// A rule of an agent's own is no pattern, and the message has the text to write instead.
func TestRulesOfAgentsAreNoPatterns(t *testing.T) {
	for _, c := range []struct {
		check func(string) error
		text  string
		want  string // at the end of the message; "": it is a pattern
	}{
		{CheckCommand, "Bash(rm:*)", `write "rm:*"`},
		{CheckCommand, " Shell(git push) ", `write "git push"`},
		{CheckCommand, "run_shell_command(npm test)", `write "npm test"`},
		{CheckCommand, "Read(.env)", `one of can.read, write ".env" there`},
		{CheckCommand, "WebFetch(domain:a.org)", `one of can.web, write "a.org" there`},
		{CheckCommand, "Bash()", "without the name of a tool"},
		{CheckCommand, "anything(x)", "without the name of a tool"},
		{CheckCommand, "rm:*", ""},
		{CheckCommand, "awk '{f(x)}'", ""},
		{CheckGlob, "Read(./.env)", `write ".env"`},
		{CheckGlob, "Edit(./docs/**)", `write "docs/**"`},
		{CheckGlob, "Write(~/.ssh/**)", `write "~/.ssh/**"`},
		{CheckGlob, "Bash(rm:*)", `one of can.command, write "rm:*" there`},
		{CheckGlob, "copy(1).md", ""},
		{CheckGlob, "copy(1)", ""},
		{CheckGlob, `C:\secrets\**`, `"/" between names (a backslash escapes only * ? [ ] { } , ! ^ - \)`},
		{CheckGlob, `app/\[id\]`, ""},
		{CheckHost, "WebFetch(domain:a.org)", `write "a.org"`},
		{CheckHost, "domain:a.org", `write "a.org"`},
		{CheckHost, "a.org", ""},
		{CheckToolGlob, "mcp__github__merge", `write "merge"`},
		{CheckToolGlob, "mcp__github", `write "*"`},
		{CheckToolGlob, "Mcp(github:merge)", `write "merge"`},
		{CheckToolGlob, "merge", ""},
		{CheckSlug, "Agent(review)", `write "review"`},
	} {
		got := ""
		if err := c.check(c.text); err != nil {
			got = err.Error()
		}
		if !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

// A deny that no command can match is not taken for one that holds.
func TestPatternsThatMatchNothing(t *testing.T) {
	for _, text := range []string{
		"git push && ls", "rm -rf|x", "a; b", "ls > x", "curl * | *", "* | sh", "git push || *", "ls &", "! rm", "if true", "rm -rf *;", "for x", "(rm *)",
		"git push &&", "a | b $X",
	} {
		if err := CheckRestriction(text); err == nil {
			t.Errorf("%q matches nothing, and is not refused", text)
		}
	}
	for _, text := range []string{
		"*", "rm", "rm *", "rm:*", "git * main", "npm*", "*sudo*", "git push --force *", "ls $X *", "echo $HOME", "*$(*", "*`*", "echo '&&'", `git commit -m "a; b"`, "FOO=1 npm *", "cd ..", "cd *",
		"sudo *", "timeout 5 *", `git add \*`, "find * -delete*", "eval *", "export *", "source x", ". x", "sh -c *", "[ *", "ls *.go", "cat ~/x", "./run *", "/usr/bin/git *", "[[ *", "xargs *", "awk '{print}'",
		"curl -o* *", "git commit -m *", "git log HEAD^", "node -e *", "echo \\;", "kill -9 *", "env *", "echo \"a > b\"", "touch *)*", "touch a(*)",
	} {
		if err := CheckRestriction(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAllowable(t *testing.T) {
	for text, want := range map[string]bool{
		"*": true, "npm test": true, "npm run *": true, "npm run:*": true, "npm*": true, "git * main": true, `git commit -m "wip *"`: true, `git add \*`: true, "timeout 5 ls": true, "ls *.go": true,
		"./run *": true, "git log 'HEAD^'": true, "cd sub": true, "make -j4 *": true,
		"git push && ls": false, "ls $X *": false, "echo $HOME": false, "ls > x": false, "cat ~/x": false, "FOO=1 npm *": false, "git log HEAD^": false, "a; b": false, "eval *": false,
	} {
		if got := Allowable(text); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
