package diag

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/secret"
)

// Renderer writes diagnostics for a person: the line `file:line:col: error:
// message [code]`, the source line with a caret, places that belong to it, and
// a hint.
type Renderer struct {
	// Source returns a file's text for the excerpt; nil or an error leaves it
	// out.
	Source func(file string) ([]byte, error)
	// Color turns terminal colours on.
	Color bool
	// Typed changes the commands that a message or a hint names into those to type where the reader is; nil for none.
	Typed func(text string) string

	lines map[string][][]byte
}

// tabWidth is what a tab counts for in an excerpt.
const tabWidth = 4

// Render writes one diagnostic.
func (r *Renderer) Render(w io.Writer, d Diagnostic) {
	var b strings.Builder
	if p := Clean(d.Pos.String()); p != "" {
		b.WriteString(r.paint(bold, p+":") + " ")
	}
	b.WriteString(r.paint(severityColor[d.Severity], d.Severity.String()+":") + " ")
	if d.Target != "" {
		b.WriteString(d.Target + ": ")
	}
	b.WriteString(r.typed(d.Message))
	if d.Code != "" {
		b.WriteString(r.paint(dim, " ["+string(d.Code)+"]"))
	}
	b.WriteByte('\n')
	r.excerpt(&b, d.Pos, severityColor[d.Severity])
	for _, rel := range d.Related {
		at := Clean(rel.Pos.String())
		b.WriteString("  " + strings.TrimPrefix(fmt.Sprintf("%s: %s\n", at, r.typed(rel.Message)), ": "))
	}
	if d.Hint != "" {
		fmt.Fprintf(&b, "  %s %s\n", r.paint(cyan, "hint:"), r.typed(d.Hint))
	}
	io.WriteString(w, b.String())
}

func (r *Renderer) typed(text string) string {
	if r.Typed != nil {
		text = r.Typed(text)
	}
	return Clean(text)
}

// Excerpt writes the line of a place and a caret under its column; nothing where it cannot be read.
func (r *Renderer) Excerpt(w io.Writer, p Pos) {
	var b strings.Builder
	r.excerpt(&b, p, cyan)
	io.WriteString(w, b.String())
}

// Line returns the line of a place, "" where it cannot be read.
func (r *Renderer) Line(p Pos) string {
	line, _ := r.line(p)
	return line
}

// excerpt writes the source line and a caret under the column.
func (r *Renderer) excerpt(b *strings.Builder, p Pos, color string) {
	line, ok := r.line(p)
	if !ok {
		return
	}
	no := fmt.Sprintf("%5d", p.Line)
	text, col := expand(line, p.Col)
	const most = 120
	if runes := []rune(text); len(runes) > most { // keep the column in sight
		from := max(0, min(col-most/2, len(runes)-most))
		text, col = string(runes[from:from+most]), col-from
	}
	fmt.Fprintf(b, "%s %s\n", r.paint(dim, no+" |"), text)
	if p.Col > 0 {
		fmt.Fprintf(b, "%s %s%s\n", r.paint(dim, "      |"), strings.Repeat(" ", col), r.paint(color, "^"))
	}
}

func (r *Renderer) line(p Pos) (string, bool) {
	if r.Source == nil || p.File == "" || p.Line < 1 {
		return "", false
	}
	lines, ok := r.lines[p.File]
	if !ok {
		if text, err := r.Source(p.File); err == nil {
			lines = bytes.Split([]byte(secret.Blank(string(text))), []byte("\n"))
		}
		if r.lines == nil {
			r.lines = map[string][][]byte{}
		}
		r.lines[p.File] = lines
	}
	if p.Line > len(lines) {
		return "", false
	}
	return strings.TrimSuffix(string(lines[p.Line-1]), "\r"), true
}

// expand replaces tabs and what a terminal would obey, and returns the display
// column, from 0, of the byte column col.
func expand(line string, col int) (string, int) {
	var b strings.Builder
	at, width := -1, 0
	for i, c := range line {
		if at < 0 && i >= col-1 {
			at = width
		}
		switch {
		case c == '\t':
			n := tabWidth - width%tabWidth
			b.WriteString(strings.Repeat(" ", n))
			width += n
		case c == utf8.RuneError || c < ' ' || c == 0x7f || bidi(c):
			b.WriteRune('\uFFFD')
			width++
		default:
			b.WriteRune(c)
			width++
		}
	}
	if at < 0 {
		at = width
	}
	return b.String(), at
}

// bidi reports the characters that reorder a terminal line ("trojan source").
func bidi(c rune) bool {
	return 0x202a <= c && c <= 0x202e || 0x2066 <= c && c <= 0x2069
}

// Clean makes text from a source safe to print on one terminal line.
func Clean(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t' || c == '\r':
			return ' '
		case c < ' ' || c == 0x7f || 0x80 <= c && c <= 0x9f || bidi(c):
			return '\uFFFD'
		}
		return c
	}, s)
}

// EscapeJSON writes the characters in the texts of a JSON document that control a terminal or reorder a line as
// escapes, which mean the same.
func EscapeJSON(data []byte) []byte {
	control := func(c rune) bool { return 0x7f <= c && c <= 0x9f || bidi(c) }
	if bytes.IndexFunc(data, control) < 0 {
		return data
	}
	var out []byte
	for _, c := range string(data) {
		if control(c) {
			out = fmt.Appendf(out, "\\u%04x", c)
		} else {
			out = utf8.AppendRune(out, c)
		}
	}
	return out
}

var colour = regexp.MustCompile("^\x1b\\[[0-9;]*m")

// Printable makes text of several lines safe to print: beside line breaks, tabs and colours nothing in it
// controls a terminal or reorders a line.
func Printable(s string) string {
	unsafe := func(c rune) bool { return c != '\n' && c != '\t' && (c < ' ' || 0x7f <= c && c <= 0x9f || bidi(c)) }
	if strings.IndexFunc(s, unsafe) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if paint := colour.FindString(s); paint != "" {
			b.WriteString(paint)
			s = s[len(paint):]
			continue
		}
		c, n := utf8.DecodeRuneInString(s)
		switch {
		case strings.HasPrefix(s, "\r\n"):
			b.WriteString("\r")
		case unsafe(c):
			b.WriteRune('\uFFFD')
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// Terminal colours.
const (
	bold   = "1"
	dim    = "2"
	red    = "1;31"
	yellow = "1;33"
	cyan   = "36"
)

var severityColor = [...]string{red, yellow, cyan}

func (r *Renderer) paint(color, s string) string {
	if !r.Color {
		return s
	}
	return "\x1b[" + color + "m" + s + "\x1b[0m"
}
