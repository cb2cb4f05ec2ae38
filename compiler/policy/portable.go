package policy

import (
	"fmt"
	"strings"

	"modec.dev/modec/compiler/ecma"
)

// portable reports what other engines read otherwise than ECMAScript, or not at all, and
// what is a slip in most patterns: escapes that ECMAScript does not know and
// takes for the letter, characters by an octal number, an empty class, a class
// that looks like one of POSIX or like a subtraction, and numbered references
// beside named groups.
func portable(source string, p *ecma.Pattern) error {
	c := portability{source: source}
	for _, g := range p.Groups {
		c.named = c.named || g.Name != ""
	}
	p.Root.Terms(func(t ecma.Term) bool {
		if c.err == nil {
			c.term(t)
		}
		return c.err == nil
	})
	return c.err
}

type portability struct {
	source string
	named  bool // the pattern has named groups
	err    error
}

func (c *portability) fail(offset int, format string, args ...any) {
	if c.err == nil {
		c.err = &ecma.SyntaxError{Source: c.source, Offset: offset, Reason: fmt.Sprintf(format, args...)}
	}
}

func (c *portability) term(t ecma.Term) {
	switch t := t.(type) {
	case *ecma.Literal:
		c.literal(t.Char)
	case *ecma.Class:
		c.class(t)
	case *ecma.Group:
		if t.Name != "" && !strings.HasPrefix(c.source[t.Offset():], "(?<"+t.Name+">") || !isASCIIName(t.Name) {
			c.fail(t.Offset(), `want a name of letters, digits and "_" in "(?<name>…)"`)
		}
	case *ecma.Reference:
		if t.Name == "" && c.named {
			c.fail(t.Offset(), `want "\k<name>": engines number named groups differently`)
		}
	}
}

func isASCIIName(s string) bool {
	return strings.Trim(s, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == ""
}

// escapes lists the letters that ECMAScript gives a meaning after a backslash, for
// a character. Any other would be taken as itself by one engine and as an anchor
// or a class by another.
const escapes = "bBtnvfrxuk"

// letter returns the letter or digit behind the backslash of an escape, 0 where
// it is neither.
func letter(ch ecma.Char) byte {
	if len(ch.Escape) > 1 && (isLetter(ch.Escape[1]) || isDigit(ch.Escape[1])) {
		return ch.Escape[1]
	}
	return 0
}

// literal judges a character outside of classes.
func (c *portability) literal(ch ecma.Char) {
	switch e := letter(ch); {
	case '1' <= e && e <= '9':
		digits := c.source[ch.Offset()+1:]
		c.fail(ch.Offset(), `want a group for "\%s"`, digits[:len(digits)-len(strings.TrimLeft(digits, "0123456789"))])
	case e == 'k':
		c.fail(ch.Offset(), `want a named group for "\k"`)
	default:
		c.escape(ch)
	}
}

// escape judges a character anywhere.
func (c *portability) escape(ch ecma.Char) {
	rest := c.source[ch.Offset()+1:]
	switch e := letter(ch); {
	case e == 0:
		if ch.Unit == '\\' && ch.Escape == "" { // before a c that names no control character
			c.fail(ch.Offset(), `want "\\" for a backslash`)
		}
	case isDigit(e):
		if len(ch.Escape) > 2 || e != '0' || len(rest) > 1 && isDigit(rest[1]) {
			c.fail(ch.Offset(), `want "\xHH" for a character by its number`)
		}
	case e == 'c':
		c.fail(ch.Offset(), `want "\xHH" for a control character`)
	case strings.IndexByte(escapes, e) < 0:
		c.fail(ch.Offset(), `want no "\%c", which ECMAScript does not know`, e)
	case len(ch.Escape) == 2 && (e == 'x' || e == 'u'):
		c.fail(ch.Offset(), `want "\xHH" or "\uHHHH" after "\%c"`, e)
	}
}

func (c *portability) class(t *ecma.Class) {
	if len(t.Items) == 0 {
		c.fail(t.Offset(), `want a class that is not empty ("\]" for a "]")`)
	}
	for i, item := range t.Items {
		if item.Shorthand != nil {
			continue
		}
		c.member(item.First)
		if item.Last != nil {
			c.member(*item.Last)
		}
		if i > 0 && standsForItself(t.Items[i-1], '-') && item.First.Escape == "" && item.First.Unit == '[' ||
			item.Last != nil && item.Last.Escape == "" && item.Last.Unit == '[' {
			c.fail(item.First.Offset(), `want "\[" after "-" in a class`)
		}
	}
}

// standsForItself reports whether an item is a character that stands for itself.
func standsForItself(i ecma.Item, unit uint16) bool {
	return i.Shorthand == nil && i.Last == nil && i.First.Escape == "" && i.First.Unit == unit
}

// member judges a character in a class.
func (c *portability) member(ch ecma.Char) {
	switch e := letter(ch); {
	case e == 'B' || e == 'k':
		c.fail(ch.Offset(), `want no "\%c" in a class`, e)
	case ch.Escape == "" && strings.HasPrefix(c.source[ch.Offset():], "[:"):
		c.fail(ch.Offset(), `want no "[:…:]"`)
	default:
		c.escape(ch)
	}
}
