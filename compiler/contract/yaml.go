package contract

import (
	"fmt"
	"strings"
	"unicode"
)

// QuoteYAML writes text as a double-quoted scalar of YAML 1.2 on one line. It escapes the
// characters that Unprintable reports, and those that escape reports; nil: no others.
func QuoteYAML(s string, escape func(rune) bool) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r <= 0xFFFF && (Unprintable(r) || escape != nil && escape(r)):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Unprintable reports whether a character must be escaped in an artifact: a control, a line
// or paragraph separator, a byte order mark, a non-character, or one that reorders the line
// for whoever reviews it.
func Unprintable(r rune) bool {
	switch {
	case r < ' ', 0x7f <= r && r <= 0x9f, 0xFFF0 <= r && r <= 0xFFFF:
		return true
	case r == '\u2028', r == '\u2029', r == '\uFEFF':
		return true
	}
	return unicode.Is(unicode.Bidi_Control, r)
}
