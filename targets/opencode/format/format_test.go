package format_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/located"
	"modec.dev/modec/compiler/regexlang"
	"modec.dev/modec/targets/opencode/format"
)

// Patterns are compared as the program compares them.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"git *", "git", true}, {"git *", "git push", true}, {"git *", "gitk", false}, {"docs/*", "docs/a/b", true},
		{"*.md", "a/b.md", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {`a\b`, "a/b", true}, {"*", "", true},
		{"", "", true}, {"*x*y*", "axbycz", true}, {"*x*y", "xyx", false}, {"[1]", "1", false}, {"A", "a", false},
	} {
		if got := format.Match(c.pattern, c.text); got != c.want {
			t.Errorf("%q on %q: got %t", c.pattern, c.text, got)
		}
	}
}

// Two patterns overlap where their languages do.
func FuzzOverlap(f *testing.F) {
	for _, seed := range [][2]string{
		{"git *", "git"}, {"git *", "git push"}, {"git *", "*push*"}, {"git *", "g?t*"}, {"*.md", "docs/*"},
		{"*.md", "*.go"}, {"src/*", "docs/*"}, {"a*b", "ab*b"}, {"a*b", "a"}, {"", "*"}, {"", "?"}, {"*", "**"},
		{"*a*b", "?b*"}, {`a\*`, "a/b"}, {"x *", "x *"}, {" *", ""}, {"*ab*", "*ba*"}, {"ab", "a*b*c"}, {"a*a", "a"},
	} {
		f.Add(seed[0], seed[1])
	}
	sp := regexlang.New(regexlang.SetOf(func(rune) bool { return true }))
	language := func(t *testing.T, pattern string) regexlang.Language {
		l, err := format.Language(sp, pattern, func(r rune) rune { return r })
		if err != nil {
			t.Skip(err)
		}
		return l
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 40 || strings.ContainsFunc(a+b, func(c rune) bool { return c == 0 || c >= utf8.RuneSelf }) {
			t.Skip()
		}
		want := sp.Meets(language(t, a), language(t, b))
		if got := format.Overlap(a, b); got != want {
			t.Errorf("%q and %q: got %t, want %t", a, b, got, want)
		}
		if got := format.Overlap(b, a); got != want {
			t.Errorf("%q and %q: got %t, want %t", b, a, got, want)
		}
	})
}

// Of two files a key stands where the first one has it, and says what the second one says.
func TestMerged(t *testing.T) {
	read := func(permission string) *format.Config {
		c, diags := format.ReadConfig("f.json", []byte(`{"agent": {"a": {"permission": `+permission+`}}}`))
		if len(diags) > 0 {
			t.Fatal(diags)
		}
		return c
	}
	for _, c := range []struct{ first, second, want string }{
		{`{"rm": "allow", "*": "allow"}`, `{"rm": "deny"}`, "deny rm, allow *"},
		{`{"bash": {"rm *": "allow", "*": "allow"}}`, `{"bash": {"rm *": "deny", "ls": "ask"}}`,
			"deny bash rm *, allow bash, ask bash ls"},
		{`{"bash": {"rm *": "deny"}, "edit": "deny"}`, `{"bash": "allow"}`, "allow bash, deny edit"},
		{`{"bash": "allow"}`, `{"bash": {"ls": "ask", "*": "deny"}}`, "ask bash ls, deny bash"},
		{`{"b": "allow", "1": "deny"}`, `{}`, "deny 1, allow b"},
	} {
		var got []string
		for _, r := range format.Merged(read(c.first), read(c.second)).Agent("a").Permission {
			got = append(got, r.String())
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s and %s: got %s, want %s", c.first, c.second, text, c.want)
		}
	}
}

// opencode starts with none of these.
func TestReadConfigRefuses(t *testing.T) {
	for _, text := range []string{
		`{"permission": "maybe"}`, `{"permission": {"edit": "no"}}`, `{"permission": {"webfetch": {"*": "ask"}}}`,
		`{"permission": {"edit": {"*": 1}}}`, `{"permission": 1}`, `{`,
	} {
		if _, diags := format.ReadConfig("f.json", []byte(text)); !diags.HasErrors() {
			t.Errorf("%s: no error", text)
		}
	}
}

// Rules keep the order in which they were written only where it decides.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		permission string
		order      bool
	}{
		{`{"*": "ask", "edit": "deny", "bash": {"*": "ask", "git *": "allow", "git push *": "deny"}}`, false},
		{`{"edit": "deny", "bash": {"git *": "allow", "*": "ask"}}`, true},
		{`{"bash": {"rm *": "deny", "ls *": "allow"}}`, false},
		{`{"bash": {"rm *": "deny", "rm x": "allow"}}`, true},
		{`{"edit": "allow", "*": "deny"}`, true},
		{`{"edit": "deny", "github_*": "allow"}`, false},
	} {
		v, err := located.JSON("f.json", []byte(c.permission))
		if err != nil {
			t.Fatal(err)
		}
		rules, _, _ := format.ReadPermission(v, format.WithoutNulls)
		if got := format.Order(rules); (got != nil) != c.order {
			t.Errorf("%s: got the order %q", c.permission, got)
		}
		if again := format.Arrange(rules, format.Order(rules)); !format.Alike(rules, again) {
			t.Errorf("%s: got %v", c.permission, again)
		}
	}
}

// The rules of a role and of a mode decide, as one permission, no more than one behind the other.
func TestJoined(t *testing.T) {
	read := func(permission string) []format.Rule {
		v, err := located.JSON("f.json", []byte(permission))
		if err != nil {
			t.Fatal(err)
		}
		rules, _, _ := format.ReadPermission(v, format.WithoutNulls)
		return rules
	}
	for _, c := range []struct{ role, mode, want string }{
		{`{"bash": {"*": "ask", "ls": "allow"}}`, `{"bash": {"git *": "allow"}}`, "ask bash, allow bash ls, allow bash git *"},
		{`{"bash": {"ls": "allow"}}`, `{"*": "deny", "bash": {"git *": "allow"}}`, "deny *, allow bash git *"},
		{`{"edit": "allow", "bash": "ask"}`, `{"edit": {"x": "ask"}}`, "ask bash, allow edit, ask edit x"},
		{`{"github_a": "allow"}`, `{"github_*": "ask", "github_a": {"x": "deny"}}`, "ask github_*, deny github_a x"},
	} {
		all := append(read(c.role), read(c.mode)...)
		var got []string
		for _, r := range format.Joined(all) {
			got = append(got, r.String())
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s and %s: got %s, want %s", c.role, c.mode, text, c.want)
		}
	}
}

// What no permission has is refused with its reason.
func TestParseRuleRefuses(t *testing.T) {
	for _, text := range []string{`"a`, `"a"b`, "bash *", "webfetch https://*"} {
		if r, err := format.ParseRule(text, ir.Allow); err == nil {
			t.Errorf("%s: got %v", text, r)
		}
	}
	if _, err := format.ParseRule("tools.write", ir.Ask); err == nil {
		t.Error("the list of tools asks about nothing")
	}
}

// Drawn patterns match as the expression does that opencode makes of them.
func TestMatchDrawn(t *testing.T) {
	letters := []string{"a", "b", "*", "*", "?", " *", "/", `\`, "é", ".", " "}
	r := rand.New(rand.NewPCG(1, 2))
	text := func(n int, from []string) (s string) {
		for range r.IntN(n) {
			s += from[r.IntN(len(from))]
		}
		return s
	}
	matched := 0
	for range 100_000 {
		pattern, name := text(7, letters), text(8, slices.DeleteFunc(slices.Clone(letters), func(s string) bool {
			return strings.ContainsAny(s, "*?")
		}))
		begin, open := strings.CutSuffix(strings.ReplaceAll(pattern, `\`, "/"), " *")
		expr := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(begin))
		if open {
			expr += "( .*)?"
		}
		want := regexp.MustCompile(`(?s)\A` + expr + `\z`).MatchString(strings.ReplaceAll(name, `\`, "/"))
		if got := format.Match(pattern, name); got != want {
			t.Fatalf("got %v for %q and %q, want %v", got, pattern, name, want)
		}
		if want {
			matched++
		}
	}
	if matched < 1000 {
		t.Errorf("%d of them match, which says little", matched)
	}
}
