package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// plainPath reports whether every file system takes the names of a path for themselves alone. It
// is not plain with
//
//   - "~" before a digit inside of a name: "PROGRA~1" is short for another name on Windows
//   - a dot or a space at the end of a name, which is not there on Windows: ".env."
//   - a letter or a digit that Unicode takes for others, as a ligature or a full-width one: ZFS may
//     do so
//   - a code point that Unicode ignores by default, as a zero-width joiner: HFS+ and ext4 may do so
func plainPath(raw string) bool {
	for _, name := range namesOf(raw) {
		file, _, _ := strings.Cut(name, ":")
		if file != "." && file != ".." && strings.TrimRight(file, ". ") != file {
			return false
		}
		for at := 1; at+1 < len(name); at++ {
			if name[at] == '~' && isDigit(name[at+1]) {
				return false
			}
		}
	}
	return isASCII(raw) || !strings.ContainsFunc(norm.NFC.String(raw), standsForOthers)
}

// standsForOthers reports whether some file system takes a character for others, or ignores it.
func standsForOthers(r rune) bool {
	form := norm.NFKC.String(string(r))
	return r >= 0xad &&
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		form != string(r) && !strings.ContainsFunc(form, inNoName)
}

// inNoName reports whether a character of ASCII is not one of ordinary names.
func inNoName(r rune) bool {
	return r < utf8.RuneSelf && !isLetter(byte(r)) && !isDigit(byte(r)) && !strings.ContainsRune("._-", r)
}

// nameless reports whether nothing stays of some name of a path on Windows, as of "...": nobody
// knows what that opens.
func nameless(raw string) bool {
	for _, name := range namesOf(raw) {
		file, _, _ := strings.Cut(name, ":")
		if name != "." && name != ".." && strings.Trim(file, ". ") == "" {
			return true
		}
	}
	return false
}

// namesOf splits a path at its slashes, and at backslashes as Windows does.
func namesOf(raw string) []string {
	return strings.FieldsFunc(raw, func(r rune) bool { return r == '/' || r == '\\' })
}
