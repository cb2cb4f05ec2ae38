package contract

import "strings"

// ShellQuote writes one word for a POSIX shell: bare where every character is
// plain, else in single quotes. Unlike mvdan.cc/sh's Quote it also takes line
// breaks, which a name may hold and single quotes keep.
func ShellQuote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("_-./:@%+=,", c))
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
