package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/ir"
)

// In the text of a command, hole stands for what is known at run time only, within for such
// text without a space, and inner for a space inside a word. None can be typed: a line with
// control characters does not parse.
const (
	hole   = '\x00'
	inner  = '\x01'
	within = '\x02'
)

// commandPattern is a compiled command pattern. Pieces are the literal texts
// between its wildcards.
type commandPattern struct {
	all   bool
	exact piecewise // as an allow compares: a space inside a word is no space
	loose piecewise // as deny and ask compare
	raw   piecewise // the pattern as it is written, for the text as it is written
	end   ending    // a trailing " *" or ":*": nothing follows, or a space does
}

// maxHoled bounds the texts with holes that are compared, which takes time in
// proportion to the pattern's length times the text's. A longer one counts as
// matched.
const maxHoled = 4096

// piecewise is a text with a wildcard between every two pieces.
type piecewise []string

// CheckCommand reports why a text is not a command pattern. The grammar is that
// of Claude Code's Bash rules:
//
//	npm test        this text exactly
//	npm run *       "npm run" alone, or followed by a space and anything
//	npm run:*       the same
//	npm*            any text that starts so: "npmx" too
//	git * main      "*" matches any text, spaces included
//	*               every command, also one that does not parse
//
// Quotes and backslashes are removed as a shell does, so the words of pattern
// and command are compared: git commit -m "wip *". A "*" is a wildcard in quotes
// too; "\*" is the character. Runs of spaces count as one.
func CheckCommand(text string) error {
	if err := notATool(ir.Command, text); err != nil {
		return err
	}
	_, err := parseCommandPattern(text)
	return err
}

func parseCommandPattern(text string) (*commandPattern, error) {
	trimmed := strings.Trim(text, " ")
	switch {
	case trimmed == "":
		return nil, fmt.Errorf("got %q, want a command", text)
	case !utf8.ValidString(text):
		return nil, fmt.Errorf("got %q, want UTF-8", text)
	case strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return nil, fmt.Errorf("got %q, want one line without control characters", text)
	case strings.Trim(trimmed, "* ") == "":
		return &commandPattern{all: true}, nil
	case strings.HasPrefix(trimmed, ":*"):
		return nil, fmt.Errorf(`got %q, want a command before ":*"`, text)
	case strings.HasPrefix(trimmed, "@"):
		return nil, fmt.Errorf("got %q, want one of %s", text, strings.Join(quotedBuiltins(), ", "))
	}
	p := &commandPattern{}
	body := trimmed
	for _, end := range []string{":*", " *"} {
		if b, ok := strings.CutSuffix(body, end); ok && !strings.HasSuffix(b, `\`) {
			body, p.end = strings.TrimRight(b, " "), ofWord
			break
		}
	}
	var err error
	if p.exact, err = unquotePattern(body); err != nil {
		return nil, fmt.Errorf("got %q, %w", text, err)
	}
	for _, piece := range p.exact {
		p.loose = append(p.loose, strings.ReplaceAll(piece, string(rune(inner)), " "))
	}
	p.raw = strings.Split(strings.Join(strings.Fields(body), " "), "*")
	return p, nil
}

// unquotePattern removes the quotes of a pattern and splits it at its
// wildcards.
func unquotePattern(body string) (piecewise, error) {
	pieces := piecewise{}
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case c == '*':
			pieces = append(pieces, b.String())
			b.Reset()
		case quote == 0 && (c == ' ' || c == '\t'):
			for i+1 < len(body) && (body[i+1] == ' ' || body[i+1] == '\t') {
				i++
			}
			b.WriteByte(' ')
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case c == quote && quote != 0:
			quote = 0
		case c == '\\' && (quote == 0 || escapedIn(quote, body[i+1:])):
			if i++; i == len(body) {
				return nil, errors.New(`want something after the last "\"`)
			}
			writeQuoted(&b, body[i])
		case quote != 0:
			writeQuoted(&b, c)
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("want a closing %s (or a backslash before it)", string(rune(quote)))
	}
	return append(pieces, b.String()), nil
}

// escapedIn reports whether a backslash inside quotes escapes what follows: "*"
// in either, so that it can be written at all.
func escapedIn(quote byte, rest string) bool {
	return rest != "" && (rest[0] == '*' || quote == '"' && strings.IndexByte("\\\"$`", rest[0]) >= 0)
}

func writeQuoted(b *strings.Builder, c byte) {
	if c == ' ' {
		c = inner
	}
	b.WriteByte(c)
}

// allows reports whether the pattern matches every text that t may become.
func (p *commandPattern) allows(t string) bool {
	return p.all || p.exact.match(t, p.end)
}

// open reports whether the pattern matches whatever follows, behind a space, a text that it matches.
func (p *commandPattern) open() bool {
	return p.all || p.end == ofWord || p.exact[len(p.exact)-1] == ""
}

// holds reports whether the pattern matches a text that t may become.
func (p *commandPattern) holds(t string) bool {
	if p.all {
		return true
	}
	if strings.ContainsAny(t, string(rune(hole))+string(rune(within))) {
		return len(t) > maxHoled || p.loose.meets(t, p.end)
	}
	return p.loose.match(t, p.end)
}

// ending is where a pattern ends: at the end of the text, or at that of a word of it.
type ending bool

const (
	ofText ending = false
	ofWord ending = true
)

// match is glob matching. Behind the end of a word a space and anything may follow.
func (pieces piecewise) match(t string, at ending) bool {
	rest, ok := strings.CutPrefix(t, pieces[0])
	if !ok {
		return false
	}
	last := len(pieces) - 1
	if last == 0 {
		return rest == "" || at == ofWord && rest[0] == ' '
	}
	for _, piece := range pieces[1:last] {
		_, after, ok := strings.Cut(rest, piece)
		if !ok {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, pieces[last]) || at == ofWord && strings.Contains(rest, pieces[last]+" ")
}

// meets reports whether the pattern and a text with holes have a text in
// common: the intersection of two globs.
func (pieces piecewise) meets(t string, at ending) bool {
	p := strings.Join(pieces, string(rune(hole)))
	return intersect(p, t) || at == ofWord && intersect(p+" "+string(rune(hole)), t)
}

// intersect reports whether two globs have a text in common. The wildcard of a is hole, that of b
// is within too.
func intersect(a, b string) bool {
	// reach[j]: some text leads through all of a read so far and b[:j].
	reach, next := make([]bool, len(b)+1), make([]bool, len(b)+1)
	reach[0] = true
	skipHoles(reach, b)
	for i := 0; i < len(a); i++ {
		clear(next)
		any := false
		if a[i] == hole {
			// The wildcard takes any number of bytes of b.
			seen := false
			for j := range reach {
				seen = seen || reach[j]
				next[j] = seen
			}
			any = seen
		} else {
			for j := 0; j < len(b); j++ {
				if !reach[j] {
					continue
				}
				switch {
				case b[j] == a[i]:
					next[j+1], any = true, true
				case b[j] == hole, b[j] == within && a[i] != ' ':
					next[j], any = true, true // b's wildcard takes the byte
				}
			}
			skipHoles(next, b)
		}
		if !any {
			return false
		}
		reach, next = next, reach
	}
	return reach[len(b)]
}

// skipHoles lets b's wildcards stand for nothing.
func skipHoles(reach []bool, b string) {
	for j := 0; j < len(b); j++ {
		if reach[j] && (b[j] == hole || b[j] == within) {
			reach[j+1] = true
		}
	}
}
