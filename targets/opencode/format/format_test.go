package format_test

import (
	"strings"
	"testing"

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
