package model

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/cursor/format"
)

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"git", "git", true},
		{"git", "gitk", false},
		{" git ", "git", true},
		{"*", "", true},
		{"*", "a/b", true}, // crosses "/"
		{"*", ".hidden", true},
		{"*", "a\nb", false}, // and no line
		{"**", "a\u2028b", false},
		{"a*c", "abbc", true},
		{"a*c", "ac", true},
		{"a*c", "a\nc", false},
		{"a\nb*", "a\nbc", true},
		{"a*b*c", "axbxbxc", true},
		{"a*ab", "ab", false}, // the parts do not overlap
		{"**/.env", "/w/.env", true},
		{"**/.env", ".env", false},
		{"**/.env", "/w/.ENV", false},
		{"a?c", "abc", false}, // everything else is literal
		{"a?c", "a?c", true},
		{"{a,b}", "a", false},
		{"[a]", "a", false},
		{"!x", "y", false},
		{"a.c", "abc", false},
		{"(", "(", true},
		{"\xff*", "\xffx", true},
		{"\xff*", "\xff\nx", false},
		{"\xff", "\xff", true},
	} {
		if got := newGlob(c.pattern).match(c.text); got != c.want {
			t.Errorf("%q matches %q: got %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

// A pattern matches what an expression does in which a star is any text of one line.
func TestGlobAsExpression(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func(of ...string) string {
		var b strings.Builder
		for range r.IntN(8) {
			b.WriteString(of[r.IntN(len(of))])
		}
		return b.String()
	}
	matched := 0
	for range 50_000 {
		pattern, other := text("a", "b", "*", "*", "\n", "\u2028", "é"), text("a", "b", "\n", "\r", "\u2029", "é")
		for _, text := range []string{other, strings.ReplaceAll(pattern, "*", other)} {
			expr := strings.ReplaceAll(regexp.QuoteMeta(format.Trim(pattern)), `\*`, `[^\n\r\x{2028}\x{2029}]*`)
			want := regexp.MustCompile(`\A(?:` + expr + `)\z`).MatchString(text)
			if got := newGlob(pattern).match(text); got != want {
				t.Fatalf("%q matches %q: got %v, want %v", pattern, text, got, want)
			}
			if want {
				matched++
			}
		}
	}
	if matched < 5_000 {
		t.Errorf("%d matches are too few", matched)
	}
}

// parsed reads a token.
func parsed(text string) (token, bool) {
	t, ok := format.ParseToken(text, diag.Pos{})
	return newToken(t), ok
}

func TestShellTokens(t *testing.T) {
	for _, c := range []struct {
		token, command string
		want           bool
	}{
		{"git", "git", true},
		{"git", "git push", true},
		{"git", "gitk", false},
		{"git", "/usr/bin/git", false},
		{"git push", "git push", true},
		{"git push", "git push -f", true},
		{"git push", "git  push", false},
		{"git push", "git pushx", false},
		{"git push", "git -C x push", false},
		{"git push", "git\tpush", false},
		{"git push", "GIT push", false},
		{"npm:ci", "npm ci", true},
		{"npm:ci", "npm   ci", true},
		{"npm:ci", "npm ci -x", false},
		{"npm:ci", "npm", false},
		{"npm:ci", "npm:ci", true}, // the whole token is tried too
		{"npm:*", "npm", true},
		{"npm:*", "npm run a/b", true},
		{"git:push*", "git push origin a/b", true},
		{"git:push*", "git\npush", false},
		{"*", "anything at all", true},
		{"*", "echo 'a\nb'", true}, // by its first word
		{"", "ls", false},
		{"", " ", true},
		{"rm*", "rmdir x", true},
		{"npm:audit --json", "npm audit --json", true},
		{"npm:audit --json", "npm audit", false},
	} {
		tok, ok := parsed("Shell(" + c.token + ")")
		if !ok {
			t.Fatalf("%q is no token", c.token)
		}
		if got := tok.matchesShell(c.command); got != c.want {
			t.Errorf("Shell(%s) matches %q: got %v, want %v", c.token, c.command, got, c.want)
		}
	}
}

func TestMCPTokens(t *testing.T) {
	for _, c := range []struct {
		token, server, tool string
		want                bool
	}{
		{"github:list", "github", "list", true},
		{"GitHub : LIST", " github", "List ", true},
		{"github:list", "github::mcpScope:a", "list", true},
		{"github:list", "user-github", "list", false},
		{"github:*", "github", "", true},
		{"*:list", "any", "list", true},
		{"*:*", "a", "b\nc", true}, // `*` alone is no expression
		{"github:l*", "github", "list/all", true},
		{"github:l*", "github", "l\nx", false},
		{"*git*:*", "project-0-x-github", "y", true},
		{"github", "github", "github", false},
		{"github:", "github", "", true},
		{"a:b:c", "a", "b:c", true},
		{"github:!delete", "github", "list", false},
	} {
		tok, ok := parsed("Mcp(" + c.token + ")")
		if !ok {
			t.Fatalf("%q is no token", c.token)
		}
		if got := tok.matchesMCP(c.server, c.tool); got != c.want {
			t.Errorf("Mcp(%s) matches %q %q: got %v, want %v", c.token, c.server, c.tool, got, c.want)
		}
	}
}

func TestHostTokens(t *testing.T) {
	for _, c := range []struct {
		entry, host string
		want        bool
	}{
		{"*", "any.example", true},
		{"docs.example", "docs.example", true},
		{"Docs.Example", " DOCS.example ", true},
		{"docs.example", "docs.example.", false},
		{"docs.example", "x.docs.example", false},
		{"*.docs.example", "x.y.docs.example", true},
		{"*.docs.example", "docs.example", true},
		{"*.docs.example", "xdocs.example", false},
		{"10.0.0.0/8", "10.1.2.3", true},
		{"10.0.0.0/8", "11.1.2.3", false},
		{"10.0.0.0/8", "10.example", false},
		{"[::1]", "::1", true},
		{"fe80::/10", "[fe80::1]", true},
		{"x/y", "x", false},
		{"docs.*", "docs.example", false},
	} {
		if got := newHostEntry(c.entry).match(c.host); got != c.want {
			t.Errorf("WebFetch(%s) matches %q: got %v, want %v", c.entry, c.host, got, c.want)
		}
	}
	for arg, want := range map[string]string{"A.example": "a.example", "a.example:8443": "a.example",
		"[::1]:80": "[::1]", "::1": "::1", "bücher.example": "xn--bcher-kva.example", "": ""} {
		if got := hostname(arg); got != want {
			t.Errorf("the host of %q: got %q, want %q", arg, got, want)
		}
	}
}

func TestAbsolute(t *testing.T) {
	for p, want := range map[string]string{
		"a/b": root + "/a/b", "./a/../b": root + "/b", "../x": home + "/x", "/etc/x": "/etc/x", "~": home, "~/x": home +
			"/x", "~x": root + "/~x",
		"file:///etc/x": "/etc/x", "": root, "a\\b": root + "/a\\b", "C:/x": root + "/C:/x",
	} {
		if got := absolute(p); got != want {
			t.Errorf("%q: got %q, want %q", p, got, want)
		}
	}
}

func TestSplitShell(t *testing.T) {
	for _, c := range []struct {
		line string
		want []string
		safe bool
	}{
		{"npm test", []string{"npm test"}, true},
		{"npm   test", []string{"npm test"}, true},
		{"npm \\\n test", []string{"npm test"}, true},
		{"FOO=1 npm test", []string{"npm test"}, true},
		{"FOO=1", nil, true},
		{"a && b; c | d & e", []string{"a", "b", "c", "d", "e"}, true},
		{"a $(b) `c` <(d)", []string{"a $(b) `c` <(d)", "b", "c", "d"}, true},
		{"(a); { b; }; ! c", []string{"a", "b", "c"}, true},
		{"if a; then b; fi; f() { c; }", []string{"a", "b", "c"}, true},
		{"'git' push", []string{"'git' push"}, true},
		{"time npm $(b)", []string{"time npm $(b)", "b"}, true},
		{"export X=$(a); [ -f x ] && unset Y; [[ -f z ]]", []string{"a"}, true},
		{"let x=1", []string{"let x=1"}, true},
		{"$X y", []string{"$X y"}, true},
		{"", nil, true},
		{"# x", nil, true},
		{"a > x", []string{"a"}, true},
		{"a >> sub/x 2>&1", []string{"a"}, true},
		{"a > /dev/null", []string{"a"}, true},
		{"a > /tmp/x", []string{"a"}, true},
		{"a > /etc/x", []string{"a"}, false},
		{"a > ../x", []string{"a"}, false},
		{"a > ~/x", []string{"a"}, false},
		{"a > $X", []string{"a"}, false},
		{"a < /etc/x", []string{"a"}, true},
		{"a < /etc/x > x", []string{"a"}, false},
		{"a <<< x", []string{"a"}, false},
		{"a <<E\nx\nE", []string{"a"}, true},
		{"a >&2", []string{"a"}, true},
		{"a >&5", []string{"a"}, false},
		{"a <> x", []string{"a"}, false},
		// What follows a redirect belongs to it.
		{"rm > x -rf /", []string{"rm"}, true},
		{"git 2>&1 push", []string{"git"}, true},
		{"a < f b; c > g d", []string{"a", "c"}, false},
		{"a <<< x b c", []string{"a b c"}, false},
		{"> x rm y", []string{"rm y"}, true},
		{"FOO=1 > x rm y", []string{"rm y"}, true},
		{"a > x $(b c) d", []string{"a", "b c"}, true},
		{"ls\\\n-la", []string{"ls -la"}, true},
		{"ls \"a\\\nb\"", []string{"ls \"a\\\nb\""}, true},
		{"coproc a b", []string{"coproc a b"}, true},
		{"time -p a", []string{"time -p a"}, true},
		{"time", []string{"time"}, true},
		{"((1))", []string{"((1))"}, true},
		// tree-sitter recovers from what no shell runs.
		{"npm test '", []string{"npm test"}, true},
		{"ls )", []string{"ls"}, true},
		{"| a b", []string{"a b"}, true},
		{"a &&", []string{"a"}, true},
		{"a | ; b", []string{"a", "b"}, true},
		{"a >", []string{"a"}, true},
		{"&&", nil, true},
	} {
		got := splitShell(c.line)
		if !slices.Equal(got.commands, c.want) || got.redirects != c.safe {
			t.Errorf("%q: got %q, redirects %v, want %q, %v", c.line, got.commands, got.redirects, c.want, c.safe)
		}
	}
}

// Where operators stand alone, nothing is refused for certain.
func TestDoubtful(t *testing.T) {
	for line, want := range map[string]bool{"ls '": false, "ls )": false, "ls\n)": false, "a ; b '": false,
		"a &&": true, "a |": true, "; a": true, "a ;; b": true, "a > ; b": true, "a > > b": true, "&&": true,
		"a >": true, "a && b": false} {
		if got := splitShell(line).doubtful; got != want {
			t.Errorf("%q: got %v, want %v", line, got, want)
		}
	}
}

func TestShellDecision(t *testing.T) {
	read := func(tokens ...string) (out []token) {
		for _, text := range tokens {
			tok, _ := format.ParseToken("Shell("+text+")", diag.Pos{Line: len(out) + 1})
			out = append(out, newToken(tok))
		}
		return out
	}
	deny, allow := read("git push", "sudo"), read("git", "npm test")
	for _, c := range []struct {
		line string
		want ir.Decision
	}{
		{"npm test", ir.Allow},
		{"npm test && git status", ir.Allow},
		{"npm test && make", ir.Ask},
		{"npm test; sudo x", ir.Deny},
		{"git push", ir.Deny}, // a deny before an allow
		{"git status $(git push)", ir.Deny},
		{"/usr/bin/git push", ir.Ask},
		{"GIT_DIR=x git status", ir.Allow},
		{"npm test > x", ir.Allow},
		{"npm test > /etc/x", ir.Ask},
		{"git push > /etc/x", ir.Deny},
		{"npm test '", ir.Allow}, // tree-sitter recovers
		{"git push '", ir.Deny},
		{"git > x push", ir.Allow}, // and takes words after a redirect for files
		{"x '", ir.Ask},
		{"; npm test", ir.Allow},
		{"; git push", ir.Allow},
		{"git push &&", ir.Allow},
		{"; make", ir.Ask},
		{"", ir.Ask},
		{"X=1", ir.Ask},
	} {
		if got, rule, _ := shellDecision(deny, allow, c.line, "f"); got != c.want {
			t.Errorf("%q: got %s by %s, want %s", c.line, got, rule, c.want)
		}
	}
	if got, _, at := shellDecision(nil, nil, "ls", "f"); got != ir.Ask || at.File != "f" {
		t.Errorf("without entries: got %s at %v", got, at)
	}
}

// An entry that allows matches what picomatch does too, which the documentation means and the CLI may use.
func TestAllowGlob(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"create_*", "create_issue", true},
		{"create_?ssue", "create_issue", true},
		{"create_?ssue", "create_ssue", false},
		{"[c]reate", "create", true},
		{"[!c]reate", "create", false},
		{"[^c]reate", "xreate", true},
		{"{create,x}", "create", true},
		{"{create,x}", "x", true},
		{"{create,x}", "createx", false},
		{"{create,x}", "{create,x}", true}, // as the engine was observed to read it
		{"a{b,c{d,e}}f", "acef", true},
		{"a{b,c{d,e}}f", "acf", false},
		{"+(ab)", "abab", true},
		{"+(ab)", "", false},
		{"@(ab|cd)", "cd", true},
		{"@(ab|cd)", "abcd", false},
		{"?(ab)c", "c", true},
		{"*(ab)c", "ababc", true},
		{"!(ab)", "x", true},
		{"!ab", "x", true},
		{"!ab", "ab", false},
		{"!!ab", "ab", true},
		{"!ab*", "abc", false},
		{`\create`, "create", true},
		{`\\create`, "create", false},
		{"(ab|c)d", "cd", true},
		{"a)b", "a)b", true},
		{"a}b", "a}b", true},
		{"{ab", "{ab", true},
		{"a[b", "a[b", true},
		{"{1..3}", "2", true},
		{"[[:alpha:]]b", "ab", true},
		{"[z-a]", "z", true}, // which nobody can read
		{"a|b", "b", false},
	} {
		g := newAllowGlob(c.pattern)
		if got := g.match(c.text); got != c.want {
			t.Errorf("%q matches %q: got %v, want %v", c.pattern, c.text, got, c.want)
		}
		alphabet, plain := policy.Plain(ir.Command)
		sp := regexlang.New(alphabet)
		if got := sp.Has(g.language(sp), c.text); regexp.MustCompile(plain).MatchString(c.text) && got != c.want {
			t.Errorf("the language of %q has %q: got %v, want %v", c.pattern, c.text, got, c.want)
		}
		for _, one := range samples(c.pattern) {
			if !g.match(one) {
				t.Errorf("%q does not match %q, which is said to be a sample", c.pattern, one)
			}
		}
	}
	if token, _ := parsed("Mcp(github:{a,b})"); token.matchesMCP("github", "a") {
		t.Error("a token that denies matches by a reading that was not observed")
	}
}
