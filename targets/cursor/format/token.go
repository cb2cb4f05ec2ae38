package format

import (
	"strings"

	"modec.dev/modec/compiler/diag"
	"modec.dev/modec/compiler/lazy"
)

// Keyword is what a token of cli.json is about.
type Keyword string

const (
	Shell    Keyword = "Shell" // Bash in the file is the same
	Read     Keyword = "Read"
	Write    Keyword = "Write"
	MCP      Keyword = "Mcp"
	WebFetch Keyword = "WebFetch"
)

// Token is an entry of permissions.allow or permissions.deny.
type Token struct {
	Text    string // as it stands in the file
	At      diag.Pos
	Keyword Keyword
	Inside  string // what stands in the brackets, without surrounding space
}

const space = `[\s\v\x{feff}\pZ]*`

var tokenShape = lazy.Regexp(`\A` + space + `(Shell|Bash|Read|Write|Mcp|WebFetch)` + space +
	`\(([^\n\r\x{2028}\x{2029}]*)\)` + space + `\z`)

// ParseToken reads a token; false for a text that no matcher of the engine reads
// (@cursor/sdk 1.0.32).
func ParseToken(text string, at diag.Pos) (Token, bool) {
	m := tokenShape().FindStringSubmatch(text)
	if m == nil {
		return Token{}, false
	}
	keyword := Keyword(m[1])
	if keyword == "Bash" {
		keyword = Shell
	}
	return Token{Text: text, At: at, Keyword: keyword, Inside: Trim(m[2])}, true
}

// Host returns the host inside a WebFetch token as the engine compares it: in lower
// case, an IPv6 address without brackets.
func Host(inside string) string {
	s := Fold(inside)
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		return strings.TrimSuffix(inner, "]")
	}
	return s
}
