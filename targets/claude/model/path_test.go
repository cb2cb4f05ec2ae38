package model

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// A pattern that is matched without an expression matches what the expression does.
func FuzzIgnored(f *testing.F) {
	for _, line := range []string{
		"", "/", "a", "a/", "/a", "/a/", "a/b", "*.md", "**", "/**", "**/", "a/**", "**/a", "a/**/b", "**/**", "*", "a*b*c", "***",
		"a//b", "é*", "\xff", "\ufffd", "[a]", "a?", `\a`, "a\nb", "**a", "a/**/", "docs/*", ".git/**",
	} {
		for _, rel := range []string{
			"", "a", "a/", "a/b", "x/a", "x/y/a/z", "a.md", "d/a.md", "abc", "a/b/c/b", "aXbYc", "é", "\xff", "\ufffd", "a\nb", "a//b",
		} {
			f.Add(line, rel)
		}
	}
	f.Fuzz(func(t *testing.T, line, rel string) {
		sameIgnored(t, line, rel)
	})
}

func TestIgnored(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range r.IntN(9) {
			b.WriteString([]string{"a", "b", "/", "/", "*", "**", "é", "\n", "A"}[r.IntN(9)])
		}
		return b.String()
	}
	for range 20_000 {
		line, rel := text(), text()
		sameIgnored(t, line, rel)
		sameIgnored(t, line, strings.ReplaceAll(line, "*", rel))
	}
}

func sameIgnored(t *testing.T, line, rel string) {
	t.Helper()
	ig, err := newIgnored(line)
	re, want := regexp.Compile(ignorePattern(line))
	if (err == nil) != (want == nil) {
		t.Fatalf("%q: got %v, want %v", line, err, want)
	}
	if err == nil && ig.match(rel) != re.MatchString(rel) {
		t.Fatalf("%q %q: got %v, want %v", line, rel, ig.match(rel), re.MatchString(rel))
	}
}

// What is asked of a file twice is answered alike, whatever folder is asked for in between.
func TestBelow(t *testing.T) {
	for _, arg := range []string{"Docs/Über.md", "/etc/x", "~/x", "/", root, root + "s/a"} {
		f := newFile(arg)
		for _, base := range []string{root, "/", home, root, "/", root + "/Docs", home} {
			want, in := below(base, f.clean)
			got := f.below(base)
			if in != (got != nil) || in && (got.exact != want || got.folded != fold(want)) {
				t.Errorf("%s below %s: got %+v, want %q", arg, base, got, want)
			}
		}
	}
}
