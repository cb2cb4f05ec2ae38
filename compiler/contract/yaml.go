package contract

import (
	"fmt"
	"strings"
	"unicode"
)

// QuoteYAML writes text as a double-quoted scalar of YAML 1.2 on one line.
// Control characters, line separators and what reorders a line are escaped,
// and any other character that escape reports; nil escapes no more.
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

// Unprintable reports a character that must not stand in an artifact as it is:
// a control, a line or paragraph separator, a byte order mark, a non-character,
// or one that reorders the line for whoever reviews it.
func Unprintable(r rune) bool {
	return r < ' ' || 0x7f <= r && r <= 0x9f || r == '\u2028' || r == '\u2029' || r == '\uFEFF' || 0xFFF0 <= r && r <= 0xFFFF || unicode.Is(unicode.Bidi_Control, r)
}
