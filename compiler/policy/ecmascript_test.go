package policy

import (
	"strings"
	"testing"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
)

// decides returns what a rule with that glob makes of a path: whether it
// matches.
func matchesRule(t *testing.T, pattern string, d ir.Decision, path string) bool {
	t.Helper()
	other := ir.Allow
	if d == ir.Allow {
		other = ir.Deny
	}
	p := &ir.Project{Modes: []ir.Mode{{Slug: "m", Can: ir.Can{Edit: &ir.Table{
		Default: &ir.Default{Decision: other}, Rules: []ir.Rule{{Decision: d, Pattern: ir.Pattern{Text: pattern}}}}}}}}
	s, err := New(p).Subject(ir.SubjectRef{Mode: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return s.Decide(Action{Group: ir.Edit, Arg: path}).Decision == d
}

// sameAsRule compares expressions with the rule that they were written from. A deny ignores
// the case and the form of letters, which they do not.
func sameAsRule(t *testing.T, pattern string, d ir.Decision, path string) {
	t.Helper()
	all, err := ECMAScript(pattern, d)
	if err != nil {
		return
	}
	got := false
	for _, x := range all {
		source := strings.Join(x.Parts, "")
		if x.Anywhere {
			source = "(.*/)?" + source
		}
		if d == ir.Allow {
			source += "$"
		} else {
			source += "(/|$)"
		}
		re, err := ecma.Compile("^(?=.*$)"+source, ecma.Options{})
		if err != nil {
			t.Fatalf("%q becomes %q: %v", pattern, source, err)
		}
		ok, err := re.Match(path)
		if err != nil {
			t.Fatal(err)
		}
		got = got || ok
	}
	want := matchesRule(t, pattern, d, path)
	switch {
	case got && !want && strings.ContainsFunc(path, func(r rune) bool { return r > 0xFFFF }):
		if d == ir.Allow {
			t.Errorf("%s %q on %q: the expressions %v match and the rule does not", d, pattern, path, all)
		}
	case got && !want, want && !got && !strings.ContainsAny(path, "\n\r\u2028\u2029") && exactly(pattern, path, d):
		t.Errorf("%s %q on %q: the expressions %v match: %v, the rule: %v", d, pattern, path, all, got, want)
	}
}

// exactly reports whether a rule decides by the letters as they are.
func exactly(pattern, path string, d ir.Decision) bool {
	wide := strings.ContainsFunc(path, func(r rune) bool { return r > 0xFFFF })
	return d == ir.Allow && !wide || d != ir.Allow && Fold(pattern) == pattern && Fold(path) == path
}

var ecmaPatterns = []string{"*.md", "**/*.md", "docs/**", "docs/", "/README.md", "src/*/x.go", "a/**/b", "**", "{a,b}/*.{ts,tsx}", "[a-c]?.txt", "[!x]y", "K;`", "Straße", "é", ".env*", "a.b+c(d)"}

var ecmaPaths = []string{"a.md", "docs/a.md", "DOCS/A.MD", "docs", "docs/x/y", "README.md", "x/README.md", "src/a/x.go", "src/x.go", "a/b", "a/c/d/b", "a/b/c", "b/q.tsx", "bz.txt", "xy", "zy", "k;`", "\u212a\u037e\u1fef", "STRASSE", "strasse", "E\u0301", "É", ".env.local", "x/.ENV", "a.b+c(d)", "aXb+c(d)", "a\nb.md", "👩.md"}

func TestECMAScript(t *testing.T) {
	for _, pattern := range ecmaPatterns {
		for _, path := range ecmaPaths {
			sameAsRule(t, pattern, ir.Deny, path)
			sameAsRule(t, pattern, ir.Allow, path)
		}
	}
}

func FuzzECMAScript(f *testing.F) {
	for i, pattern := range ecmaPatterns {
		f.Add(pattern, ecmaPaths[i%len(ecmaPaths)], true)
	}
	f.Fuzz(func(t *testing.T, pattern, path string, deny bool) {
		if CheckGlob(pattern) != nil || path == "" || LeavesRoot(path) || strings.Contains(path, `\`) || len(path) > 200 || !validText(path) {
			return // no path that an expression is asked about
		}
		var p filePath
		if p.read(path, posix); string(p.exact.text) != path || path == "." {
			return
		}
		d := ir.Allow
		if deny {
			d = ir.Deny
		}
		sameAsRule(t, pattern, d, path)
	})
}

func validText(s string) bool { return strings.ToValidUTF8(s, "") == s }
