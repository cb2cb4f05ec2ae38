package policy

import (
	"regexp/syntax"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"modec.dev/modec/compiler/ir"
)

// languagesMeet reports whether a path exists that two patterns match, at least one of them
// an expression. Where it cannot find out, it reports true.
func (e *Engine) languagesMeet(a ir.Pattern, toA reach, b ir.Pattern, toB reach) (bool, error) {
	for _, p := range []ir.Pattern{a, b} {
		if p.Kind == ir.Plain && Fold(p.Text) != norm.NFC.String(foldRunes(norm.NFC.String(p.Text))) {
			return true, nil // its letters have other forms than those of case
		}
	}
	x, err := e.patterns.language(a, toA)
	if err != nil {
		return false, err
	}
	y, err := e.patterns.language(b, toB)
	if err != nil {
		return false, err
	}
	return x == nil || y == nil || programsMeet(x, y), nil
}

// language returns a program that matches at least the paths that a pattern matches, nil
// where there is none: an expression with a look-around or a back-reference is not regular.
func (p *patterns) language(x ir.Pattern, to reach) (*syntax.Prog, error) {
	key := languageKey{x, to}
	if prog, ok := p.languages.Load(key); ok {
		return prog.(*syntax.Prog), nil
	}
	prog, err := p.newLanguage(x, to)
	if err == nil {
		p.languages.Store(key, prog)
	}
	return prog, err
}

type languageKey struct {
	ir.Pattern
	reach
}

func (p *patterns) newLanguage(x ir.Pattern, to reach) (*syntax.Prog, error) {
	text := x.Text
	if x.Kind == ir.Plain {
		g, err := p.glob(x.Text, folded)
		if err != nil {
			return nil, err
		}
		text = g.regular(to)
	} else {
		var ok bool
		if text, ok = withSpaces(text); !ok {
			return nil, nil
		}
	}
	re, err := syntax.Parse("(?i)"+text, syntax.Perl)
	if err != nil {
		return nil, nil
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, nil
	}
	return prog, nil
}

// withSpaces writes what Go's white space lacks of ECMAScript's into an expression. It fails on
// a class that might be negated and has all but white space, which Go reads as less.
func withSpaces(text string) (out string, ok bool) {
	const spaces = `\s\v\p{Z}\x{FEFF}`
	var b strings.Builder
	class := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			switch {
			case class && text[i] == 'S':
				return "", false
			case text[i] != 's':
				b.WriteString(text[i-1 : i+1])
			case class:
				b.WriteString(spaces)
			default:
				b.WriteString("[" + spaces + "]")
			}
			continue
		case text[i] == '[' && !class:
			class = true
		case text[i] == ']':
			class = false
		}
		b.WriteByte(text[i])
	}
	return b.String(), true
}

// regular writes a glob in Go's grammar, anchored at both ends.
func (g glob) regular(to reach) string {
	var all []string
	for _, a := range g {
		var b strings.Builder
		slash := false
		for i, s := range a {
			switch {
			case s.kind == segAnyDepth && i == len(a)-1 && i == 0:
				b.WriteString(`(?s:.*)`)
				continue
			case s.kind == segAnyDepth && i == len(a)-1:
				b.WriteString(`(?s:/.*)?`)
				continue
			case slash:
				b.WriteByte('/')
			}
			if slash = s.kind != segAnyDepth; !slash {
				b.WriteString(`(?s:.*/)?`)
				continue
			}
			for _, e := range s.letters() {
				switch e.kind {
				case elemLiteral:
					b.WriteString(quoteRune(e.text))
				case elemStar:
					b.WriteString(`[^/]*`)
				default:
					b.WriteString(`[^/]`)
				}
			}
		}
		if to == andBelow {
			b.WriteString(`(?s:/.*)?`)
		}
		all = append(all, b.String())
	}
	return `\A(?:` + strings.Join(all, "|") + `)\z`
}

// quoteRune writes a letter so that it has no meaning of its own.
func quoteRune(s string) string {
	if strings.ContainsAny(s, `\.+*?()|[]{}^$`) {
		return `\` + s
	}
	return s
}

// mostPlaces bounds how many places of two programs are compared.
const mostPlaces = 100_000

// programsMeet reports whether a text exists in which both programs find a match. It takes
// every place for a word's boundary, and programs of more places than it compares for such.
func programsMeet(a, b *syntax.Prog) bool {
	begin := together{searching, searching, false, false}
	seen := newVisited(a, b)
	seen.add(begin)
	todo := []together{begin}
	var next []together
	inA, inB := newRead(a), newRead(b)
	for len(todo) > 0 {
		if seen.count > mostPlaces {
			return true
		}
		last := len(todo) - 1
		t := todo[last] // any order finds what is reached, and this one keeps little
		todo = todo[:last]
		if t.a == found && t.b == found {
			return true
		}
		next = t.follow(next[:0], a, b)
		if !t.ended && shareLetter(inA.at(t.a), inB.at(t.b)) {
			next = append(next, together{after(a, t.a), after(b, t.b), true, false})
		}
		for _, n := range next {
			if seen.add(n) {
				todo = append(todo, n)
			}
		}
	}
	return false
}

// visited are places in two programs: a bit each, or of large programs an entry.
type visited struct {
	count int
	row   int
	bits  []uint64
	some  map[together]bool
}

// mostBits bounds how many bits there may be.
const mostBits = 1 << 22

func newVisited(a, b *syntax.Prog) *visited {
	v := &visited{row: len(b.Inst) - found}
	if all := (len(a.Inst) - found) * v.row * 4; all <= mostBits {
		v.bits = make([]uint64, all/64+1)
	} else {
		v.some = map[together]bool{}
	}
	return v
}

// add reports whether a place is a new one.
func (v *visited) add(t together) bool {
	if v.bits == nil {
		if v.some[t] {
			return false
		}
		v.some[t] = true
		v.count++
		return true
	}
	at := ((t.a-found)*v.row + t.b - found) * 4
	if t.begun {
		at += 2
	}
	if t.ended {
		at++
	}
	if v.bits[at/64]&(1<<(at%64)) != 0 {
		return false
	}
	v.bits[at/64] |= 1 << (at % 64)
	v.count++
	return true
}

// read has the letters that are read at the places of a program, once they are asked for.
type read struct {
	prog    *syntax.Prog
	letters [][]rune
	known   []bool
}

func newRead(p *syntax.Prog) *read {
	return &read{p, make([][]rune, len(p.Inst)), make([]bool, len(p.Inst))}
}

func (r *read) at(place int) []rune {
	if place < 0 {
		return everyLetter
	}
	if !r.known[place] {
		r.letters[place], r.known[place] = lettersAt(r.prog, place), true
	}
	return r.letters[place]
}

var everyLetter = []rune{0, unicode.MaxRune}

// together is a place in two programs that read the same text: an instruction, or one of
// the two states of a search.
type together struct {
	a, b  int
	begun bool // a letter was read
	ended bool // no letter follows
}

const (
	searching = -1 // the match has not begun
	found     = -2 // the match has ended
)

// follow adds the places that are reached without reading a letter.
func (t together) follow(next []together, a, b *syntax.Prog) []together {
	moves, n := t.moves(a, t.a)
	for _, m := range moves[:n] {
		next = append(next, together{m.to, t.b, t.begun, t.ended || m.ends})
	}
	moves, n = t.moves(b, t.b)
	for _, m := range moves[:n] {
		next = append(next, together{t.a, m.to, t.begun, t.ended || m.ends})
	}
	return next
}

type move struct {
	to   int
	ends bool // only where the text ends
}

// moves returns the first n places that an instruction leads to.
func (t together) moves(p *syntax.Prog, at int) (to [2]move, n int) {
	switch at {
	case searching:
		return [2]move{{to: p.Start}}, 1
	case found:
		return to, 0
	}
	in := &p.Inst[at]
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		return [2]move{{to: int(in.Out)}, {to: int(in.Arg)}}, 2
	case syntax.InstCapture, syntax.InstNop:
		return [2]move{{to: int(in.Out)}}, 1
	case syntax.InstMatch:
		return [2]move{{to: found}}, 1
	case syntax.InstEmptyWidth:
		width := syntax.EmptyOp(in.Arg)
		if t.begun && width&syntax.EmptyBeginText != 0 {
			return to, 0
		}
		return [2]move{{to: int(in.Out), ends: width&syntax.EmptyEndText != 0}}, 1
	}
	return to, 0
}

// after returns the place after a letter is read.
func after(p *syntax.Prog, at int) int {
	if at < 0 {
		return at
	}
	return int(p.Inst[at].Out)
}

// lettersAt returns the letters that are read at an instruction, as pairs of the first and the
// last one; nil where none is.
func lettersAt(p *syntax.Prog, at int) []rune {
	in := &p.Inst[at]
	switch in.Op {
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return everyLetter
	case syntax.InstRune1:
		return []rune{in.Rune[0], in.Rune[0]}
	case syntax.InstRune:
		if len(in.Rune) > 1 {
			return in.Rune
		}
		letters := []rune{in.Rune[0], in.Rune[0]}
		if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
			for r := unicode.SimpleFold(in.Rune[0]); r != in.Rune[0]; r = unicode.SimpleFold(r) {
				letters = append(letters, r, r)
			}
		}
		return letters
	}
	return nil
}

func shareLetter(a, b []rune) bool {
	for i := 0; i+1 < len(a); i += 2 {
		for j := 0; j+1 < len(b); j += 2 {
			if a[i] <= b[j+1] && b[j] <= a[i+1] {
				return true
			}
		}
	}
	return false
}
