package contract

import "strings"

// ShellQuote writes one word for a POSIX shell: bare where every character is plain, else in
// single quotes. Unlike Quote of mvdan.cc/sh it also takes line breaks, which a name may
// contain and single quotes keep.
func ShellQuote(s string) string {
	if s != "" && all(s, func(c rune) bool { return slugCharacter(c) || strings.ContainsRune("_./:@%+=,", c) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
