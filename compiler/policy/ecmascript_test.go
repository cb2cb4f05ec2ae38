package policy

import (
	"strings"
	"testing"

	"github.com/dlclark/regexp2/v2"

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

// sameAsRule compares an expression with the rule that it was written from.
func sameAsRule(t *testing.T, pattern string, d ir.Decision, path string) {
	t.Helper()
	source, composed, err := ECMAScript(pattern, d)
	if err != nil {
		return
	}
	match := func(source string) bool {
		re, err := regexp2.Compile(source, regexp2.ECMAScript)
		if err != nil {
			t.Fatalf("%q becomes %q: %v", pattern, source, err)
		}
		ok, err := re.MatchString(path)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if composed && (match(Decomposed()) || strings.ContainsFunc(path, func(r rune) bool { return r > 0xFFFF })) {
		return
	}
	if got, want := match("^(?:"+source+")$"), matchesRule(t, pattern, d, path); got != want {
		t.Errorf("%s %q on %q: the expression %s says %v, the rule %v", d, pattern, path, source, got, want)
	}
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
		if CheckGlob(pattern) != nil || path == "" || leavesRoot(path) || strings.Contains(path, `\`) || len(path) > 200 || !validText(path) {
			return // no path that an expression is asked about
		}
		var p filePath
		if p.read(path, false); string(p.exact.text) != path || path == "." {
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
