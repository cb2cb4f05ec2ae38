package roo

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// utf16Units returns a text's UTF-16 units. The engine keeps texts as UTF-8 now and
// then, which has no halves of a surrogate pair: those move to a plane of
// their own.
func utf16Units(s string) []rune {
	out := make([]rune, 0, len(s))
	for _, r := range s {
		if r <= 0xFFFF {
			out = append(out, r)
			continue
		}
		high, low := utf16.EncodeRune(r)
		out = append(out, moved(high), moved(low))
	}
	return out
}

const movedBy = 0x100000

func moved(unit rune) rune {
	if utf16.IsSurrogate(unit) {
		return unit + movedBy
	}
	return unit
}

// unitSet holds UTF-16 units as pairs of a first and a last one.
type unitSet []rune

var (
	breakUnits = unitSet{'\n', '\n', '\r', '\r', 0x2028, 0x2029}
	digitUnits = unitSet{'0', '9'}
	wordUnits  = unitSet{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
	spaceUnits = unitSet{'\t', '\r', ' ', ' ', 0xA0, 0xA0, 0x1680, 0x1680, 0x2000, 0x200A, 0x2028, 0x2029, 0x202F, 0x202F, 0x205F, 0x205F, 0x3000, 0x3000, 0xFEFF, 0xFEFF}
)

// not returns the units that a set does not hold.
func (s unitSet) not() unitSet {
	s = slices.Clone(s)
	var pairs [][2]rune
	for i := 0; i < len(s); i += 2 {
		pairs = append(pairs, [2]rune{s[i], s[i+1]})
	}
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	var out unitSet
	next := rune(0)
	for _, p := range pairs {
		if p[0] > next {
			out = append(out, next, p[0]-1)
		}
		next = max(next, p[1]+1)
	}
	if next <= 0xFFFF {
		out = append(out, next, 0xFFFF)
	}
	return out
}

// classEscapes are the escapes that stand for a set.
var classEscapes = map[uint16]unitSet{'d': digitUnits, 'D': digitUnits.not(), 'w': wordUnits, 'W': wordUnits.not(), 's': spaceUnits, 'S': spaceUnits.not()}

// write writes a set as a class of the engine.
func (p *regexParser) write(s unitSet, negate bool) {
	if p.fold {
		s = s.folded()
	}
	if len(s) == 0 {
		p.out.WriteString(map[bool]string{false: `(?!)`, true: `[\s\S]`}[negate])
		return
	}
	if !negate && len(s) == 2 && s[0] == s[1] {
		writeUnit(&p.out, s[0])
		return
	}
	p.out.WriteByte('[')
	if negate {
		p.out.WriteByte('^')
	}
	for i := 0; i < len(s); i += 2 {
		// A range splits where the halves of surrogate pairs moved away.
		for _, part := range [][2]rune{{0, 0xD7FF}, {0xD800, 0xDFFF}, {0xE000, 0xFFFF}} {
			if low, high := max(s[i], part[0]), min(s[i+1], part[1]); low <= high {
				writeUnit(&p.out, low)
				if high > low {
					p.out.WriteByte('-')
					writeUnit(&p.out, high)
				}
			}
		}
	}
	p.out.WriteByte(']')
}

func writeUnit(b *strings.Builder, unit rune) {
	if utf16.IsSurrogate(unit) {
		b.WriteRune(moved(unit))
		return
	}
	fmt.Fprintf(b, `\u%04X`, unit)
}

// folded adds the units that equal one of the set under the flag i: those with
// the same upper case (ECMA-262, Canonicalize without the flag u).
func (s unitSet) folded() unitSet {
	out := slices.Clone(s)
	for i := 0; i < len(s); i += 2 {
		for r := s[i]; r <= s[i+1]; r++ {
			for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
				if x <= 0xFFFF && canonicalUnit(x) == canonicalUnit(r) {
					out = append(out, x, x)
				}
			}
		}
	}
	return out
}

func canonicalUnit(r rune) rune {
	if r < 0x80 {
		return unicode.ToUpper(r)
	}
	upper := []rune(cases.Upper(language.Und).String(string(r)))
	if len(upper) != 1 || upper[0] < 0x80 || upper[0] > 0xFFFF {
		return r
	}
	return upper[0]
}

// class reads a class after its "[".
func (p *regexParser) class() error {
	negate := p.take("^")
	var all unitSet
	for {
		if p.at >= len(p.src) {
			return errors.New("unterminated character class")
		}
		if p.take("]") {
			p.write(all, negate)
			return nil
		}
		low, one, err := p.classAtom()
		if err != nil {
			return err
		}
		if !p.peek("-") || p.at+1 < len(p.src) && p.src[p.at+1] == ']' {
			all = append(all, low...)
			continue
		}
		p.at++
		if p.at >= len(p.src) {
			return errors.New("unterminated character class")
		}
		high, other, err := p.classAtom()
		switch {
		case err != nil:
			return err
		case !one || !other:
			all = append(append(append(all, low...), '-', '-'), high...)
		case high[0] < low[0]:
			return errors.New("range out of order in character class")
		default:
			all = append(all, low[0], high[0])
		}
	}
}

// classAtom reads one member of a class and reports whether it is one unit.
func (p *regexParser) classAtom() (s unitSet, one bool, err error) {
	c := p.src[p.at]
	p.at++
	if c != '\\' {
		return unitSet{rune(c), rune(c)}, true, nil
	}
	if p.at >= len(p.src) {
		return nil, false, errors.New(`\ at the end`)
	}
	if s, ok := classEscapes[p.src[p.at]]; ok {
		p.at++
		return s, false, nil
	}
	var unit rune
	switch {
	case p.take("b"):
		unit = '\b'
	case p.peek("c") && p.at+1 < len(p.src) && (isDigitUnit(p.src[p.at+1]) || p.src[p.at+1] == '_'):
		unit = rune(p.src[p.at+1] % 32)
		p.at += 2
	case p.peek("k") && len(p.names) > 0:
		return nil, false, errors.New(`invalid \k in a class`)
	default:
		unit = p.character()
	}
	return unitSet{unit, unit}, true, nil
}

// escape reads what follows a backslash outside a class.
func (p *regexParser) escape() (repeatable bool, err error) {
	if p.at >= len(p.src) {
		return false, errors.New(`\ at the end`)
	}
	c := p.src[p.at]
	if s, ok := classEscapes[c]; ok {
		p.at++
		p.write(s, false)
		return true, nil
	}
	switch {
	case p.take("b"):
		p.out.WriteString(atBoundary)
		return false, nil
	case p.take("B"):
		p.out.WriteString(noBoundary)
		return false, nil
	case c == 'k' && len(p.names) > 0:
		p.at++
		if !p.take("<") {
			return false, errors.New("invalid named reference")
		}
		name, ok := p.name()
		if !ok {
			return false, errors.New("invalid named reference")
		}
		p.refers = true
		p.references = append(p.references, name)
		p.out.WriteString(reference(name))
		return true, nil
	case '1' <= c && c <= '9':
		at := p.at
		if n, _ := p.number(); n <= p.groups && n < math.MaxInt32 {
			p.refers = true
			fmt.Fprintf(&p.out, `(?:\%d)`, n)
			return true, nil
		}
		p.at = at
	}
	unit := p.character()
	p.write(unitSet{unit, unit}, false)
	return true, nil
}

var controlEscapes = map[uint16]rune{'t': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r'}

// character reads an escape that stands for one unit. What is none stands for
// itself.
func (p *regexParser) character() rune {
	c := p.src[p.at]
	if r, ok := controlEscapes[c]; ok {
		p.at++
		return r
	}
	switch {
	case c == 'c':
		if p.at+1 < len(p.src) && isLetterUnit(p.src[p.at+1]) {
			r := rune(p.src[p.at+1] % 32)
			p.at += 2
			return r
		}
		// A lone \c is a backslash, and the c is read next.
		return '\\'
	case '0' <= c && c <= '7':
		return p.octal()
	case c == 'x' || c == 'u':
		n := map[uint16]int{'x': 2, 'u': 4}[c]
		if r, ok := hexUnits(p.src[p.at+1:], n); ok {
			p.at += 1 + n
			return r
		}
	}
	p.at++
	return rune(c)
}

// octal reads up to three octal digits, not above \377.
func (p *regexParser) octal() rune {
	n, most := 0, 3
	if p.src[p.at] > '3' {
		most = 2
	}
	for i := 0; i < most && p.at < len(p.src) && '0' <= p.src[p.at] && p.src[p.at] <= '7'; i++ {
		n = n*8 + int(p.src[p.at]-'0')
		p.at++
	}
	return rune(n)
}

func hexUnits(src []uint16, n int) (rune, bool) {
	if len(src) < n {
		return 0, false
	}
	var r rune
	for _, c := range src[:n] {
		d := strings.IndexRune("0123456789abcdef", unicode.ToLower(rune(c)))
		if d < 0 || c >= 0x80 {
			return 0, false
		}
		r = r*16 + rune(d)
	}
	return r, true
}

func isDigitUnit(c uint16) bool { return '0' <= c && c <= '9' }
func isLetterUnit(c uint16) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
