package mcpnest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// text writes a TypeScript string literal: JSON, with the two line separators
// that older parsers take for line breaks escaped, nothing that could end a
// script element, and no character that hides or reorders what a reviewer reads.
func text(s string) string {
	b, err := json.Marshal(s) // escapes <, >, &, U+2028 and U+2029
	if err != nil {
		return `""`
	}
	var out strings.Builder
	for _, r := range string(b) {
		if !unicode.Is(unicode.Cf, r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&out, `\u%04x`, unit)
		}
	}
	return out.String()
}

// key writes an object's key: computed where a literal __proto__ would set the
// prototype instead.
func key(s string) string {
	if s == "__proto__" {
		return "[" + text(s) + "]"
	}
	return text(s)
}

// texts writes a list of string literals.
func texts(list []string) string {
	q := make([]string, len(list))
	for i, s := range list {
		q[i] = text(s)
	}
	return "[" + strings.Join(q, ", ") + "]"
}
