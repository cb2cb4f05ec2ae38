package ecma

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// SyntaxError is why a text is not a pattern.
type SyntaxError struct {
	Source string
	Offset int // in bytes
	Reason string
}

// Error returns the reason and the place, counted in characters from 1.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s (character %d)", e.Reason, Column(e.Source, e.Offset))
}

// Column returns which character of a source, counted from 1, begins at an offset.
func Column(source string, offset int) int { return utf8.RuneCountInString(source[:offset]) + 1 }

// Limits of a pattern. V8 has the same one of groups, and one of its stack
// in place of the depth.
const (
	maxDepth  = 250
	maxGroups = 1<<16 - 1
)

// Parse returns the tree of a pattern. It fails where `new RegExp(source)` throws a
// SyntaxError, on groups that nest too deep, on a text that is not UTF-8, and on
// what ES2025 added: (?i:…) and one name for several groups.
func Parse(source string) (*Pattern, error) {
	p := parser{source: source}
	for i, r := range source {
		if r == utf8.RuneError && !strings.HasPrefix(source[i:], string(r)) {
			return nil, &SyntaxError{source, i, "want UTF-8"}
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			p.src, p.offsets = append(p.src, unit), append(p.offsets, i)
		}
	}
	p.offsets = append(p.offsets, len(source))
	p.countGroups()
	root, err := p.alternation(0)
	switch {
	case err != nil:
		return nil, err
	case p.at < len(p.src):
		return nil, p.fail(p.at, `want a "(" for the ")"`)
	case len(p.groups) > maxGroups:
		return nil, p.fail(0, "want fewer groups")
	}
	for _, r := range p.references {
		if r.Number = p.names[r.Name]; r.Number == 0 {
			return nil, &SyntaxError{source, r.Offset(), fmt.Sprintf("want a group named %q", r.Name)}
		}
	}
	return &Pattern{Root: root, Groups: p.groups}, nil
}

type parser struct {
	source  string
	src     []uint16
	offsets []int // of each unit in the source
	at      int

	total      int            // capturing groups in the whole pattern
	named      bool           // some of them has a name
	groups     []*Group       // those read so far
	names      map[string]int // the numbers of the named ones
	references []*Reference   // by name, which may come before their group
}

func (p *parser) fail(at int, reason string) error {
	return &SyntaxError{p.source, p.offsets[at], reason}
}

func (p *parser) here() offset { return offset(p.offsets[p.at]) }

func (p *parser) peek(s string) bool {
	if len(p.src)-p.at < len(s) {
		return false
	}
	for i := range len(s) {
		if p.src[p.at+i] != uint16(s[i]) {
			return false
		}
	}
	return true
}

func (p *parser) take(s string) bool {
	if !p.peek(s) {
		return false
	}
	p.at += len(s)
	return true
}

// since returns the source from a unit on, up to here.
func (p *parser) since(at int) string { return p.source[p.offsets[at]:p.offsets[p.at]] }

// countGroups looks ahead: \1 is a reference only where the pattern has a group 1,
// and \k only where it has a named group.
func (p *parser) countGroups() {
	p.names = map[string]int{}
	inClass := false
	for i := 0; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
		case c == '(':
			rest := parser{src: p.src, at: i + 1}
			name := rest.take("?<") && !rest.peek("=") && !rest.peek("!")
			if name || !rest.peek("?") && rest.at == i+1 {
				p.total++
			}
			p.named = p.named || name
		}
	}
}

func (p *parser) alternation(depth int) (Alternation, error) {
	if depth > maxDepth {
		return nil, p.fail(p.at, fmt.Sprintf("want at most %d groups within each other", maxDepth))
	}
	all := Alternation{nil}
	for p.at < len(p.src) && p.src[p.at] != ')' {
		if p.take("|") {
			all = append(all, nil)
			continue
		}
		t, err := p.term(depth)
		if err == nil {
			t, err = p.repeated(t)
		}
		if err != nil {
			return nil, err
		}
		all[len(all)-1] = append(all[len(all)-1], t)
	}
	return all, nil
}

const nothingToRepeat = "want something to repeat before the quantifier"

// term reads one term without its quantifier.
func (p *parser) term(depth int) (Term, error) {
	at, c := p.here(), p.src[p.at]
	switch c {
	case '^', '$':
		p.at++
		return &Assertion{at, AssertionKind(rune(c))}, nil
	case '(':
		return p.group(depth)
	case '*', '+', '?':
		return nil, p.fail(p.at, nothingToRepeat)
	case '{':
		if _, ok := p.braces(); ok {
			return nil, p.fail(p.at, nothingToRepeat)
		}
	case '.':
		p.at++
		return &Any{at}, nil
	case '[':
		return p.class()
	case '\\':
		return p.escape()
	}
	p.at++
	return &Literal{Char{offset: at, Unit: c}}, nil
}

func (p *parser) group(depth int) (Term, error) {
	at, start := p.here(), p.at
	var t Term
	var body *Alternation
	look := func(kind LookKind) {
		l := &Look{offset: at, Kind: kind}
		t, body = l, &l.Body
	}
	group := func(g *Group) {
		g.offset, g.open = at, p.since(start)
		t, body = g, &g.Body
	}
	switch {
	case p.take("(?:"):
		group(&Group{})
	case p.take("(?="):
		look(Ahead)
	case p.take("(?!"):
		look(NotAhead)
	case p.take("(?<="):
		look(Behind)
	case p.take("(?<!"):
		look(NotBehind)
	case p.take("(?<"):
		name, ok := p.name()
		switch {
		case !ok:
			return nil, p.fail(start, `want a name of letters, digits and "_" in "(?<name>…)"`)
		case p.names[name] != 0:
			return nil, p.fail(start, fmt.Sprintf("want the group name %q once", name))
		}
		p.names[name] = len(p.groups) + 1
		g := &Group{Number: len(p.groups) + 1, Name: name}
		p.groups = append(p.groups, g)
		group(g)
	case p.peek("(?"):
		return nil, p.fail(start, `want "(?:", "(?=", "(?!", "(?<=", "(?<!" or "(?<name>" after "("`)
	default:
		p.at++
		g := &Group{Number: len(p.groups) + 1}
		p.groups = append(p.groups, g)
		group(g)
	}
	var err error
	if *body, err = p.alternation(depth + 1); err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fail(start, `want a ")" for the "("`)
	}
	return t, nil
}

// name reads a group's name up to its ">".
func (p *parser) name() (string, bool) {
	var name []uint16
	for p.at < len(p.src) {
		switch {
		case p.take(">"):
			s := string(utf16.Decode(name))
			return s, isName(s)
		case p.take(`\u`):
			units, ok := p.nameEscape()
			if !ok {
				return "", false
			}
			name = append(name, units...)
		default:
			name = append(name, p.src[p.at])
			p.at++
		}
	}
	return "", false
}

// nameEscape reads what follows \u in a group's name: HHHH or {H…}.
func (p *parser) nameEscape() ([]uint16, bool) {
	if !p.take("{") {
		unit, ok := p.hex(4)
		return []uint16{unit}, ok
	}
	start := p.at
	for p.at < len(p.src) && p.src[p.at] != '}' {
		p.at++
	}
	r, err := strconv.ParseUint(p.since(start), 16, 32)
	if err != nil || r > unicode.MaxRune || !p.take("}") {
		return nil, false
	}
	if r <= 0xFFFF {
		return []uint16{uint16(r)}, true
	}
	return utf16.Encode([]rune{rune(r)}), true
}

// isName reports whether a text is an IdentifierName of ECMAScript.
func isName(s string) bool {
	for i, r := range s {
		start := r == '$' || r == '_' || unicode.In(r, unicode.L, unicode.Nl, unicode.Other_ID_Start)
		more := i > 0 && (r == 0x200C || r == 0x200D ||
			unicode.In(r, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue))
		if !start && !more || unicode.In(r, unicode.Pattern_Syntax, unicode.Pattern_White_Space) && r != '$' {
			return false
		}
	}
	return s != ""
}

// repeated reads the quantifier that may follow a term.
func (p *parser) repeated(t Term) (Term, error) {
	start := p.at
	r := &Repetition{Term: t, Max: Unlimited}
	switch {
	case p.take("*"):
	case p.take("+"):
		r.Min = 1
	case p.take("?"):
		r.Max = 1
	default:
		b, ok := p.braces()
		if !ok {
			return t, nil
		}
		r.Min, r.Max, p.at = b.min, b.max, b.end
	}
	if !repeatable(t) {
		return nil, p.fail(start, nothingToRepeat)
	}
	if r.Max != Unlimited && r.Max < r.Min {
		return nil, p.fail(start, fmt.Sprintf(`want the smaller number first in "%s"`, p.since(start)))
	}
	r.Lazy = p.take("?")
	r.text = p.since(start)
	return r, nil
}

// repeatable reports whether a quantifier may follow a term: none may follow an
// assertion, unless it looks ahead (annex B).
func repeatable(t Term) bool {
	switch t := t.(type) {
	case *Assertion:
		return false
	case *Look:
		return t.Kind == Ahead || t.Kind == NotAhead
	}
	return true
}

// bounds are the numbers of a quantifier in braces and the unit behind it.
type bounds struct{ min, max, end int }

// braces reads {n}, {n,} or {n,m} and does not move on. Any other brace is a literal.
func (p *parser) braces() (bounds, bool) {
	rest := parser{src: p.src, at: p.at}
	if !rest.take("{") {
		return bounds{}, false
	}
	low, ok := rest.number()
	if !ok {
		return bounds{}, false
	}
	b := bounds{min: low, max: low}
	if rest.take(",") {
		b.max = Unlimited
		if n, ok := rest.number(); ok {
			b.max = n
		}
	}
	ok = rest.take("}")
	b.end = rest.at
	return b, ok
}

// number reads a decimal number. A larger one than an int32 has is that one, as in V8.
func (p *parser) number() (n int, ok bool) {
	for ; p.at < len(p.src) && isDigit(p.src[p.at]); p.at++ {
		n = min(n*10+int(p.src[p.at]-'0'), math.MaxInt32)
		ok = true
	}
	return n, ok
}

// class reads a class from its "[" on.
func (p *parser) class() (Term, error) {
	start := p.at
	t := &Class{offset: p.here()}
	p.at++
	t.Negated = p.take("^")
	for !p.take("]") {
		if p.at >= len(p.src) {
			return nil, p.fail(start, `want a "]" for the "["`)
		}
		at := p.at
		first, err := p.classAtom()
		if err != nil {
			return nil, err
		}
		t.Items = append(t.Items, first)
		if !p.peek("-") || p.peek("-]") || p.at+1 == len(p.src) {
			continue
		}
		dash := p.here()
		p.at++
		last, err := p.classAtom()
		if err != nil {
			return nil, err
		}
		switch {
		case first.Shorthand != nil || last.Shorthand != nil: // three items
			t.Items = append(t.Items, Item{First: Char{offset: dash, Unit: '-'}}, last)
		case last.First.Unit < first.First.Unit:
			return nil, p.fail(at, fmt.Sprintf(`want the range "%s" the other way round`, p.since(at)))
		default:
			t.Items[len(t.Items)-1].Last = &last.First
		}
	}
	return t, nil
}

// classAtom reads a unit or a shorthand of a class.
func (p *parser) classAtom() (Item, error) {
	at, start := p.here(), p.at
	if !p.take(`\`) {
		p.at++
		return Item{First: Char{offset: at, Unit: p.src[start]}}, nil
	}
	switch {
	case p.at == len(p.src):
		return Item{}, p.fail(start, nothingEscaped)
	case isShorthand(p.src[p.at]):
		p.at++
		return Item{Shorthand: &Shorthand{at, byte(p.src[p.at-1])}}, nil
	case p.take("b"):
		return Item{First: Char{at, '\b', p.since(start)}}, nil
	case p.peek("k") && p.named:
		return Item{}, p.fail(start, `want no "\k" in a class beside a named group`)
	case p.peek("c") && p.at+1 < len(p.src) && (isDigit(p.src[p.at+1]) || p.src[p.at+1] == '_'):
		p.at += 2
		return Item{First: Char{at, p.src[p.at-1] % 32, p.since(start)}}, nil
	}
	return Item{First: p.char(start)}, nil
}

const nothingEscaped = `want something after the last "\"`

// escape reads a term that begins with a backslash.
func (p *parser) escape() (Term, error) {
	at, start := p.here(), p.at
	p.at++
	if p.at == len(p.src) {
		return nil, p.fail(start, nothingEscaped)
	}
	c := p.src[p.at]
	switch {
	case isShorthand(c):
		p.at++
		return &Shorthand{at, byte(c)}, nil
	case c == 'b' || c == 'B':
		p.at++
		return &Assertion{at, AssertionKind(p.since(start))}, nil
	case c == 'k' && p.named:
		p.at++
		if p.take("<") {
			if name, ok := p.name(); ok {
				r := &Reference{offset: at, Name: name, text: p.since(start)}
				p.references = append(p.references, r)
				return r, nil
			}
		}
		return nil, p.fail(start, `want "\k<name>"`)
	case '1' <= c && c <= '9':
		before := p.at
		if n, _ := p.number(); n <= p.total {
			return &Reference{offset: at, Number: n, text: p.since(start)}, nil
		}
		p.at = before
	}
	return &Literal{p.char(start)}, nil
}

var controls = map[uint16]uint16{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r'}

// char reads what follows a backslash and stands for one unit; start is where the
// backslash stands. What has no meaning there stands for itself.
func (p *parser) char(start int) Char {
	at, c := offset(p.offsets[start]), p.src[p.at]
	if c == 'c' && (p.at+1 == len(p.src) || !isLetter(p.src[p.at+1])) {
		return Char{offset: at, Unit: '\\'} // the backslash itself; the c is read next
	}
	p.at++
	unit := c
	switch {
	case controls[c] != 0:
		unit = controls[c]
	case c == 'c':
		unit = p.src[p.at] % 32
		p.at++
	case '0' <= c && c <= '7':
		p.at--
		unit = p.octal()
	case c == 'x':
		if n, ok := p.hex(2); ok {
			unit = n
		}
	case c == 'u':
		if n, ok := p.hex(4); ok {
			unit = n
		}
	case isHalf(c): // of a character beyond U+FFFF, whose second half follows
		return Char{at, c, halfEscape}
	}
	return Char{at, unit, p.since(start)}
}

// halfEscape is the spelling of a first half behind a backslash: the half itself
// is written from its unit.
const halfEscape = `\`

// octal reads up to three octal digits, not above \377.
func (p *parser) octal() uint16 {
	n := uint16(0)
	for i := 0; i < 3 && n < 32 && p.at < len(p.src) && '0' <= p.src[p.at] && p.src[p.at] <= '7'; i++ {
		n = n*8 + p.src[p.at] - '0'
		p.at++
	}
	return n
}

// hex reads so many hexadecimal digits, or nothing.
func (p *parser) hex(digits int) (uint16, bool) {
	if len(p.src)-p.at < digits {
		return 0, false
	}
	n := uint16(0)
	for _, c := range p.src[p.at : p.at+digits] {
		switch {
		case isDigit(c):
			n = n*16 + c - '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n*16 + (c | 0x20) - 'a' + 10
		default:
			return 0, false
		}
	}
	p.at += digits
	return n, true
}

func isDigit(c uint16) bool  { return '0' <= c && c <= '9' }
func isLetter(c uint16) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isShorthand(c uint16) bool {
	switch c {
	case 'd', 'D', 'w', 'W', 's', 'S':
		return true
	}
	return false
}
