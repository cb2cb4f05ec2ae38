package policy

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Fold returns the form in which deny and ask compare patterns and paths: Unicode NFC, in
// lower case for ASCII. Two names that some file system takes for one have the same form:
//
//   - Letters that differ in case or composition.
//   - Code points that Unicode ignores by default: a zero-width joiner, a byte order mark, a soft
//     hyphen. HFS+ ignores some of them (git's utf8.c, next_hfs_char), ext4 and f2fs with case
//     folding all (Linux, fs/unicode: utf8nfdicf).
//   - Letters and their compatibility forms, such as ligatures and full-width letters: ZFS with
//     normalization=formKC or formKD.
//   - ß and ss, by full case folding: APFS, ext4 and f2fs.
//
// A form that would bring what has a meaning in a pattern or a path stays as it is.
func Fold(s string) string {
	if isASCII(s) {
		return lowerASCII(s)
	}
	s = foldRunes(compatible(withoutIgnorable(norm.NFC.String(s))))
	// Folding can undo the composed form, so it is composed again.
	s = norm.NFC.String(foldRunes(norm.NFC.String(s)))
	return strings.ReplaceAll(s, "ß", "ss")
}

// ignorable reports whether Unicode ignores a code point by default, or nearly so.
func ignorable(r rune) bool {
	return r >= 0xad &&
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// withoutIgnorable returns a text without ignorable code points. A text of nothing else stays.
func withoutIgnorable(s string) string {
	if strings.IndexFunc(s, ignorable) < 0 {
		return s
	}
	names := strings.Split(s, "/")
	for i, name := range names {
		var b strings.Builder
		for j := 0; j < len(name); {
			r, n := utf8.DecodeRuneInString(name[j:])
			if !ignorable(r) {
				b.WriteString(name[j : j+n]) // a byte that is not UTF-8 too
			}
			j += n
		}
		if b.Len() > 0 {
			names[i] = b.String()
		}
	}
	return strings.Join(names, "/")
}

// compatible replaces compatibility forms by the letters, digits and ".", "_" and "-" that they
// stand for.
func compatible(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		form := norm.NFKD.PropertiesString(s[i:]).Decomposition()
		composed := norm.NFD.PropertiesString(s[i:]).Decomposition()
		if r >= utf8.RuneSelf && !bytes.Equal(form, composed) && nameable(form) {
			b = append(b, form...)
		} else {
			b = append(b, s[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// nameable reports whether a form has no ASCII characters but those of ordinary names.
func nameable(form []byte) bool {
	for _, c := range form {
		if c < utf8.RuneSelf && !isLetter(c) && !isDigit(c) && strings.IndexByte("._-", c) < 0 {
			return false
		}
	}
	return len(form) > 0
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
