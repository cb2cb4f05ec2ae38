package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the form in which deny and ask compare patterns and paths: whatever the case of
// their letters, in Unicode NFC. "STRASSE", "straße" and "Straße" have one form.
func Fold(s string) string {
	if isASCII(s) {
		return lowerASCII(s)
	}
	// Folding can undo the composed form, so it is composed again.
	s = norm.NFC.String(foldRunes(norm.NFC.String(s)))
	return strings.ReplaceAll(s, "ß", "ss")
}

// foldRunes replaces every rune by one representative of those that differ in case only: simple
// case folding, one rune for one rune.
func foldRunes(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[i]) // not UTF-8: kept, so that two such names stay two
		} else {
			b = utf8.AppendRune(b, foldRune(r))
		}
		i += n
	}
	return string(b)
}

// foldRune returns the representative of the runes that equal r but for case:
// an ASCII letter where there is one (K and the Kelvin sign are k), else the
// smallest lower-case letter, else the smallest of them.
func foldRune(r rune) rune {
	best := r
	for next := unicode.SimpleFold(r); ; next = unicode.SimpleFold(next) {
		if better(next, best) {
			best = next
		}
		if next == r {
			return best
		}
	}
}

func better(a, b rune) bool {
	if ra, rb := rankCase(a), rankCase(b); ra != rb {
		return ra < rb
	}
	return a < b
}

func rankCase(r rune) int {
	switch {
	case 'a' <= r && r <= 'z':
		return 0
	case unicode.IsLower(r):
		return 1
	}
	return 2
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = lowerByte(b[i])
			}
			return string(b)
		}
	}
	return s
}

func lowerByte(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
