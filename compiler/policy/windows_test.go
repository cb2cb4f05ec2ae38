package policy

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"modec.dev/modec/compiler/ir"
)

// Names that some file system takes for a denied one are denied, and those that it takes for
// another one than an allow has are not allowed.
func TestNamesThatFold(t *testing.T) {
	can := ir.Can{Read: withDefault(table(allow("docs/**", "*.md"), deny(".env", "secrets/", "/^internal\\/plan/")), ir.Ask)}
	can.Edit = bare(ir.Allow)
	p := modeOf(can)
	p.Guards = deny(".git/", "HEAD", ".claude/", "modec.toml")
	s := mustSubject(t, p, ir.SubjectRef{Mode: "m"})
	for path, d := range map[string]ir.Decision{
		".env": ir.Deny, ".env.": ir.Deny, ".env ": ir.Deny, ".env. . ": ir.Deny, ".env::$DATA": ir.Deny, ".env:x": ir.Deny,
		".ENV:x:$DATA": ir.Deny, "secrets./key": ir.Deny, "secrets::$INDEX_ALLOCATION/key": ir.Deny, "secrets \\key": ir.Deny,
		".e\u200cnv": ir.Deny, "\ufeff.env": ir.Deny, "se\u00adcrets/key": ir.Deny, "s\u2060ecrets/key": ir.Deny,
		"\uff0eenv": ir.Deny, "\uff53ecrets/key": ir.Deny, "\u017fecrets/key": ir.Deny, "internal/p\u200dlan": ir.Deny, "internal/plan.": ir.Deny,
		"SECRET~1/key": ir.Deny, "docs/ENV~1": ir.Deny, "secret~2": ir.Deny, "SEC1A2~1/key": ir.Deny,

		"docs/a": ir.Allow, "docs/a.": ir.Allow, "docs/a:b": ir.Allow, // docs/a to Windows
		"a.md": ir.Allow, "a.md:x": ir.Ask, "x:a.md": ir.Deny, "xy:a.md": ir.Ask, "a\u200d.md": ir.Allow,
		"docs/.../b": ir.Deny, "docs/.. /b": ir.Deny, "docs/x. /../b": ir.Allow, "...": ir.Deny, "docs/:x": ir.Deny, // nobody knows what it is
		"docs/a b/..c/.d": ir.Allow, "docs/~/a": ir.Allow, "docs/a~b": ir.Allow, "docs/file.txt.~1~": ir.Allow,
	} {
		if got := s.DecideAt(foldingPlace, Action{Group: ir.Read, Arg: path}); got.Decision != d {
			t.Errorf("read %q: got %s (%s), want %s", path, got.Decision, got.Rule, d)
		}
	}
	for _, path := range []string{
		".git./config", ".git /hooks/x", ".git::$INDEX_ALLOCATION/config", "sub/.git:x", ".g\u200cit/config", "\u200d.GIT/config",
		".gi\ufefft", "GIT~1/config", "sub/git~2/config", "HEAD.", "sub/he\u206aad", "docs/HEAD::$DATA", ".claude./settings.json", "CLAUDE~1/settings.json",
		"modec.toml ", "MODEC~1.TOM", "x/modec.toml::$DATA", ".\uff47it/config", ".git\\config", "docs/.git.\\config",
	} {
		r := s.DecideAt(foldingPlace, Action{Group: ir.Edit, Arg: path})
		if r.Decision != ir.Deny || !strings.HasPrefix(r.Rule, "guarded path ") {
			t.Errorf("edit %q: got %s (%s), want deny by a guard", path, r.Decision, r.Rule)
		}
	}
}

func TestFoldedForms(t *testing.T) {
	for _, same := range [][]string{
		{"straße", "STRASSE", "straẞe"}, {"file", "\ufb01le", "FI\u200bLE", "\uff46ile"}, {".git", ".g\u200cit", "\ufeff.git", ".gi\u206et", ".g\u200dI\ufe0ft"},
		{"café", "cafe\u0301", "CAFE\u200d\u0301"}, {"k", "\u212a"}, {"\u1112\u1161", "\ud558"},
	} {
		for _, s := range same[1:] {
			if Fold(s) != Fold(same[0]) {
				t.Errorf("%q and %q: got %q and %q, want one form", same[0], s, Fold(same[0]), Fold(s))
			}
		}
	}
	// What has a meaning in a path or a pattern does not come about, and no name vanishes.
	for _, s := range []string{"a\uff0fb", "\uff0a", "\uff5ba\uff0cb\uff5d", "\uff3b", "\u2100", "a/\u200d/b", "\u200c"} {
		if got := Fold(s); strings.Count(got, "/") != strings.Count(s, "/") || strings.ContainsAny(got, "*?[]{},!\\") || strings.Contains("/"+got+"/", "//") {
			t.Errorf("%q: got %q", s, got)
		}
	}
	// git's next_hfs_char (utf8.c).
	for _, r := range "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff" {
		if got := Fold(".g" + string(r) + "it"); got != ".git" {
			t.Errorf("%U: got %q", r, got)
		}
	}
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

// What denies a file denies it by its short name.
func TestShortNames(t *testing.T) {
	long := []string{".git", "secrets", "settings.json", ".env.local", "my file.txt", "a.b.c", "private+key.pem", ".claude", "modec.toml", "HEAD of all", "src"}
	patterns := []string{".git/", "secrets/**", "*.json", ".env*", "my file.txt", "*.{pem,c}", "**/settings.json", "?ecrets", "[m]odec.toml", "src/*/x", "HEAD*", "*"}
	for _, pattern := range patterns {
		s := mode(t, ir.Can{Read: withDefault(table(deny(pattern)), ir.Allow)})
		for _, a := range long {
			for _, b := range long {
				for n := range 6 {
					before := a + "/" + b
					after := short(a, n+1) + "/" + b
					if n%2 == 0 {
						after = a + "/" + short(b, n+1)
					}
					if s.Decide(Action{Group: ir.Read, Arg: before}).Decision == ir.Deny {
						if got := s.DecideAt(foldingPlace, Action{Group: ir.Read, Arg: after}); got.Decision != ir.Deny {
							t.Errorf("deny %q, %s for %s: got %s", pattern, after, before, got.Decision)
						}
					}
				}
			}
		}
	}
}
