package policy

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"modec.dev/modec/compiler/ir"
)

// No list allows a path that some file system takes for another one, and what holds something back
// in its group holds for it.
func TestPathsThatAreNotPlain(t *testing.T) {
	can := ir.Can{Read: withDefault(table(allow("docs/**", "*.md"), ask("internal/")), ir.Ask),
		Edit: withDefault(table(deny(".git/", "HEAD")), ir.Allow)}
	p := modeOf(can)
	s := mustSubject(t, p, ir.SubjectRef{Mode: "m"})
	for path, d := range map[string]ir.Decision{
		"docs/a": ir.Allow, "docs/a b/..c/.d": ir.Allow, "docs/~/a": ir.Allow, "docs/a~b": ir.Allow, "docs/a~": ir.Allow, "docs/./a": ir.Allow,
		"docs/2026-11-28T10:00": ir.Allow, "docs/\u8bbe\u8ba1\uff08\u521d\uff09": ir.Allow, "docs/at\u202f3.png": ir.Allow, "docs/e\u0301": ir.Allow, "docs/STRASSE": ir.Allow,
		"docs/a.": ir.Ask, "docs/a ": ir.Ask, "docs/a. . ": ir.Ask, "docs./a": ir.Ask, "docs/a.:x": ir.Ask, "a.md:x": ir.Ask,
		"docs/SECRET~1": ir.Ask, "DOCS~1/a": ir.Ask, "docs/file.txt.~1~": ir.Ask,
		"docs/\ufb01le": ir.Ask, "docs/\uff41": ir.Ask, "docs/a\u200db": ir.Ask, "\ufeffdocs/a": ir.Ask, "docs/\u017f": ir.Ask,
		"docs/...": ir.Deny, "docs/:x": ir.Deny, "docs/.. /b": ir.Deny, // nobody knows what it is
	} {
		if got := s.DecideAt(foldingPlace, Action{Group: ir.Read, Arg: path}); got.Decision != d {
			t.Errorf("read %q: got %s (%s), want %s", path, got.Decision, got.Rule, d)
		}
	}
	r := s.DecideAt(foldingPlace, Action{Group: ir.Edit, Arg: "docs/GIT~1"})
	if want := `not plain, and edit has deny ".git/"`; r.Decision != ir.Deny || r.Rule != want {
		t.Errorf("got %s by %s, want deny by %s", r.Decision, r.Rule, want)
	}
	// Git compares names with those of its index.
	log := mode(t, ir.Can{Command: table([]ir.Rule{{Decision: ir.Allow, Pattern: ir.Pattern{Kind: ir.Builtin, Text: "git_read"}}}),
		Read: withDefault(table(deny(".env")), ir.Allow)})
	want(t, log, Action{Group: ir.Command, Arg: "git log HEAD~1"}, ir.Allow)
	if got := log.DecideAt(foldingPlace, Action{Group: ir.Command, Arg: "git log HEAD~1"}); got.Decision != ir.Allow {
		t.Errorf("got %s (%s), want allow", got.Decision, got.Rule)
	}
}

// A path that some file system takes for another one never gets more than that one.
func TestNotPlainIsNeverHigher(t *testing.T) {
	spellings := map[string]func(string) string{
		"dot": func(s string) string { return s + "." }, "space": func(s string) string { return s + " " }, "dots": func(s string) string { return s + ". ." },
		"stream": func(s string) string { return s + "::$DATA" }, "dot and stream": func(s string) string { return s + ".:x" },
		"short": func(s string) string { return short(s, 1) }, "shortest": func(s string) string { return short(s, 5) },
		"ignored": func(s string) string { return s[:1] + "\u200d" + s[1:] }, "beginning": func(s string) string { return "\ufeff" + s },
		"wide": func(s string) string {
			return strings.Map(func(r rune) rune {
				if r < utf8.RuneSelf && !inNoName(r) {
					return r + 0xfee0
				}
				return r
			}, s)
		},
	}
	for _, model := range drawn(400) {
		p := (&source{model}).project()
		for _, ref := range []ir.SubjectRef{{Mode: "m"}, {Role: "r"}, {Mode: "m", Role: "r"}} {
			s := mustSubject(t, p, ref)
			for _, path := range []string{"a", "a.md", "src", "src/a", "src/a/b.go", "docs/a.md", "a/b/c", ".env", "x/src", "CLAUDE.md", ".roo/a.md", "docs/HEAD", ".claude/x"} {
				for _, g := range []ir.Group{ir.Read, ir.Edit} {
					most := s.Decide(Action{Group: g, Arg: path})
					for how, spell := range spellings {
						names := strings.Split(path, "/")
						for i := range names {
							names[i] = spell(names[i])
							arg := strings.Join(names, "/")
							if drive(arg) {
								continue // another path
							}
							got := s.DecideAt(foldingPlace, Action{Group: g, Arg: arg})
							if ir.Both(got.Decision, most.Decision) != got.Decision {
								t.Fatalf("%s %s: %s %q: got %s (%s), want at most %s (%s)", ref, how, g, arg, got.Decision, got.Rule, most.Decision, most.Rule)
							}
						}
					}
				}
			}
		}
	}
}

// oldLetters replaces compatibility forms by the letters that they stand for, and leaves out what
// file systems ignore.
func oldLetters(s string) string {
	var b []byte
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		form, composed := norm.NFKD.PropertiesString(s[i:]).Decomposition(), norm.NFD.PropertiesString(s[i:]).Decomposition()
		switch {
		case r >= 0xad && unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		case r >= utf8.RuneSelf && len(form) > 0 && !bytes.Equal(form, composed) && !strings.ContainsFunc(string(form), inNoName):
			b = append(b, form...)
		default:
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

var droppedFromShort, replacedInShort = regexp.MustCompile(`[ .]`), regexp.MustCompile(`[+,;=\[\]]`)

// short returns the short name that Windows makes of a long one.
func short(name string, n int) string {
	name = strings.TrimLeft(strings.ToUpper(name), ". ")
	base, extension := name, ""
	if i := strings.LastIndex(name, "."); i >= 0 {
		base, extension = name[:i], name[i:]
	}
	tidy := func(s string, length int) string {
		s = replacedInShort.ReplaceAllString(droppedFromShort.ReplaceAllString(s, ""), "_")
		return s[:min(len(s), length)]
	}
	out := tidy(base, 6)
	if n > 4 {
		out = tidy(base, 2) + "1A2F"
		n = 1
	}
	if out = fmt.Sprintf("%s~%d", out, n); tidy(extension, 3) != "" {
		out += "." + tidy(extension, 3)
	}
	return out
}
