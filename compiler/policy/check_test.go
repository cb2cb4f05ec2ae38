package policy

import (
	"strings"
	"testing"
)

func TestCheckGlob(t *testing.T) {
	for text, want := range map[string]string{
		"**": "", "*.md": "", "/a": "", "a/": "", "a/**/b.{c,d}": "", "[a-z].x": "", `app/\[id\]`: "", "~/x": "", "../shared/**": "", "a!b": "",
		"":                                   `got "", want a file pattern`,
		"!a":                                 `got "!a", want a pattern without a leading "!": write it under deny instead`,
		"/":                                  `got "/", want a path below the root, or "**" for everything`,
		"a//b":                               `got "a//b", want no empty name between two "/"`,
		"./a":                                `got "./a", want a path without "."`,
		"a/../b":                             `got "a/../b", want a path without ".."`,
		`a\b`:                                `got "a\\b", want "/" between names (a backslash escapes only * ? [ ] { } , ! ^ - \)`,
		"[a":                                 `got "[a", want a "]" that ends the "["`,
		"[a/b]":                              `got "[a/b]", want no "/" inside "[…]"`,
		"[z-a]":                              `got "[z-a]", want the range "z-a" the other way round`,
		"**.md":                              `got "**.md", want "**" as a whole name ("**/*.md")`,
		"{,a}":                               `got "{,a}", want a name in every alternative of the braces`,
		"{a,b":                               `got "{a,b", want a "}" that ends the "{"`,
		"a\tb":                               `got "a\tb", want a pattern without control characters`,
		"\xff":                               `got "\xff", want UTF-8`,
		"[Z-a]":                              `got "[z-a]", want the range "z-a" the other way round (case-folded, as deny and ask compare)`,
		"[a-]":                               `got "[a-]", want a range with two ends inside "[…]"`,
		"[-a]":                               `got "[-a]", want "\-" for a "-" inside "[…]"`,
		"{a,b}/a}":                           `got "{a,b}/a}", want a doublestar pattern`,
		"**/a/**/b/**/c/**/d/**/e/**/f/**":   "",
		"**/a/**/b/**/c/**/d/**/e/**/f/**/g": `got "**/a/**/b/**/c/**/d/**/e/**/f/**/g", want at most 5 "**" between names: agents that compare by an expression try all ways to spread a path over them`,
		strings.Repeat("a", 1024):            "",
		strings.Repeat("a", 1025):            `got a file pattern of 1025 bytes, want at most 1024`,
		strings.Repeat("{a,b}", 9):           `got "` + strings.Repeat("{a,b}", 9) + `", want at most 256 alternatives in braces`,
	} {
		got := ""
		if err := CheckGlob(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCheckRegex(t *testing.T) {
	for text, want := range map[string]string{
		`\.md$`: "", `^(?:a|b)+?$`: "", `(?<=x)y`: "", `(?<n>a)\k<n>`: "", `(a)\1`: "", `[\]a-z\-]`: "", `\u00e9\x41`: "", `a{2,3}`: "", `\/`: "",
		"":                `got "", want a regex`,
		"(?i)a":           `got "(?i)a", want "(?:", "(?=", "(?!", "(?<=", "(?<!" or "(?<name>" after "(" (character 1)`,
		"(?>a)":           `got "(?>a)", want "(?:", "(?=", "(?!", "(?<=", "(?<!" or "(?<name>" after "(" (character 1)`,
		"(?<a-b>x)":       `got "(?<a-b>x)", want a name of letters, digits and "_" in "(?<name>…)" (character 1)`,
		`a\Z`:             `got "a\\Z", want no "\Z", which ECMAScript does not know (character 2)`,
		`\p{L}`:           `got "\\p{L}", want no "\p", which ECMAScript does not know (character 1)`,
		`\u{1f600}`:       `got "\\u{1f600}", want "\xHH" or "\uHHHH" after "\u" (character 1)`,
		`[a-z-[b]]`:       `got "[a-z-[b]]", want "\[" after "-" in a class (character 6)`,
		`[]`:              `got "[]", want a class that is not empty ("\]" for a "]") (character 1)`,
		`[^]`:             `got "[^]", want a class that is not empty ("\]" for a "]") (character 1)`,
		`[[:alpha:]]`:     `got "[[:alpha:]]", want no "[:…:]" (character 2)`,
		`\1`:              `got "\\1", want a group for "\1" (character 1)`,
		`(?<n>a)(b)\1`:    `got "(?<n>a)(b)\\1", want "\k<name>": engines number named groups differently (character 11)`,
		`(?<n>a)|(?<n>b)`: `got "(?<n>a)|(?<n>b)", want the group name "n" once (character 9)`,
		`\k<n>`:           `got "\\k<n>", want a named group for "\k" (character 1)`,
		`\`:               `got "\\", want something after the last "\" (character 1)`,
		`a^*`:             `got "a^*", want something to repeat before the quantifier (character 3)`,
		`(?<=a)+`:         `got "(?<=a)+", want something to repeat before the quantifier (character 7)`,
		`a\cJ`:            `got "a\\cJ", want "\xHH" for a control character (character 2)`,
		`[\c]`:            `got "[\\c]", want "\\" for a backslash (character 2)`,
		`[\B]`:            `got "[\\B]", want no "\B" in a class (character 2)`,
		`(?<é>a)`:         `got "(?<é>a)", want a name of letters, digits and "_" in "(?<name>…)" (character 1)`,
		`(?<\u0061>a)`:    `got "(?<\\u0061>a)", want a name of letters, digits and "_" in "(?<name>…)" (character 1)`,
		`\08`:             `got "\\08", want "\xHH" for a character by its number (character 1)`,
		"é[z-a]":          `got "é[z-a]", want the range "z-a" the other way round (character 3)`,
		`\012`:            `got "\\012", want "\xHH" for a character by its number (character 1)`,
		`(a`:              `got "(a", want a ")" for the "(" (character 1)`,
	} {
		got := ""
		if err := CheckRegex(text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestCheckSlug(t *testing.T) {
	for text, ok := range map[string]bool{"architect": true, "a-1": true, "*": true, "": false, "a*": false, "a b": false} {
		if err := CheckSlug(text); (err == nil) != ok {
			t.Errorf("slug %q: got %v, want ok %v", text, err, ok)
		}
	}
	for text, ok := range map[string]bool{"git_read": true, "readonly_filters": true, "": false, "rm": false} {
		if err := CheckBuiltin(text); (err == nil) != ok {
			t.Errorf("built-in %q: got %v, want ok %v", text, err, ok)
		}
	}
}

func TestFold(t *testing.T) {
	for _, same := range [][]string{
		{"README.md", "readme.MD"}, {"k", "K", "\u212a"}, {"s", "S", "\u017f"}, {"caf\u00e9", "CAFE\u0301"}, {"σ", "ς", "Σ"}, {"ß", "ẞ", "ss", "SS"}, {"ǆ", "ǅ", "Ǆ"},
		{"\u0345", "\u0399", "\u03b9", "\u1fbe"},
	} {
		for _, s := range same[1:] {
			if Fold(s) != Fold(same[0]) {
				t.Errorf("%q and %q: got %q and %q, want one form", same[0], s, Fold(same[0]), Fold(s))
			}
		}
	}
	for _, s := range []string{"ı", "İ", "sz", "a"} {
		for _, other := range []string{"i", "I", "ß", "A/"} {
			if Fold(s) == Fold(other) {
				t.Errorf("%q and %q: got one form %q, want two", s, other, Fold(s))
			}
		}
	}
}
