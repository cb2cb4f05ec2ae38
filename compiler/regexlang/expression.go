package regexlang

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"unicode"
	"unicode/utf8"

	"modec.dev/modec/compiler/ecma"
)

// ErrNotRegular is why an expression has no language: what it matches at a place depends on what
// it matched before, or on more letters than the next.
var ErrNotRegular = errors.New("the expression is not regular")

// follow is what may follow at a place of an expression: where the text begins there, where a letter of a word stands
// before, and where another letter does. Each is the language of the whole rest of the text.
type follow struct{ begin, word, other Language }

// alike returns what follows wherever the place is.
func alike(l Language) follow { return follow{l, l, l} }

// inWord are the letters of words: a boundary is where one of them stands beside none.
var inWord = SetOf(func(c rune) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
})

// mostCopies bounds how often counted repetitions repeat what stands in them.
const mostCopies = 1000

// reader reads an expression from its end to its beginning.
type reader struct {
	*Space
	inAnyCase bool
	as        func(rune) rune // what a letter is read as; nil: as it is
	bound     *Bound          // nil: an expression is about characters
	groups    []*ecma.Group
	copies    int
	err       error
}

// Bound is how the language of an expression over UTF-16 units comes to be one of letters. A line
// separator is taken for a line feed, and any other unit beyond ASCII for [Other]. Where an expression
// tells these apart, the language is one of more texts, or of fewer; and so where it looks behind or refers back to
// what it matched.
type Bound struct {
	Fewer   bool // the language has only texts in which the expression finds a match; else all of them
	AnyUnit bool // the dot matches line terminators too
}

// anywhere returns the texts in which an expression finds a match.
func (r *reader) anywhere(read func(follow) follow) (Language, error) {
	f := read(alike(All))
	if r.err != nil {
		return None, r.err
	}
	return r.Or(f.begin, r.inside(r.Cat(r.Chars(r.alphabet), All), f)), nil
}

// inside returns the texts of a language without the empty one, each with what follows behind its last letter.
func (r *reader) inside(l Language, then follow) Language {
	if then.word == then.other {
		return r.cat(l, then.word)
	}
	ends := func(set Set) Language { return r.And(l, r.Cat(All, r.Chars(set))) }
	return r.Or(r.cat(ends(inWord), then.word), r.cat(ends(inWord.not()), then.other))
}

func (r *reader) fail(why string) follow {
	r.err = fmt.Errorf("%w: %s", ErrNotRegular, why)
	return follow{}
}

// one reads a letter of a set.
func (r *reader) one(set Set, then follow) follow {
	if r.as != nil {
		read := set
		set = SetOf(func(c rune) bool { return read.has(letter(r.as(c))) })
	}
	if then.word == then.other {
		return alike(r.cat(r.Chars(set), then.word))
	}
	return alike(r.Or(r.cat(r.Chars(set.and(inWord)), then.word), r.cat(r.Chars(set.and(inWord.not())), then.other)))
}

// starts is the place where the text begins, and ends the one where it ends.
func starts(then follow) follow { return follow{then.begin, None, None} }

func (r *reader) ends(then follow) follow {
	return follow{r.And(then.begin, Empty), r.And(then.word, Empty), r.And(then.other, Empty)}
}

// boundary is the place where a word begins or ends.
func (r *reader) boundary(then follow) follow {
	word := r.Cat(r.Chars(inWord), All)
	return follow{r.And(then.begin, word), r.Without(then.word, word), r.And(then.other, word)}
}

// noBoundary is any other place.
func (r *reader) noBoundary(then follow) follow {
	word := r.Cat(r.Chars(inWord), All)
	return follow{r.Without(then.begin, word), r.And(then.word, word), r.Without(then.other, word)}
}

// or returns what follows in one of two ways.
func (r *reader) or(a, b follow) follow {
	return follow{r.Or(a.begin, b.begin), r.Or(a.word, b.word), r.Or(a.other, b.other)}
}

// either reads alternatives.
func (r *reader) either(n int, read func(i int) follow) follow {
	out := alike(None)
	for i := range n {
		out = r.or(out, read(i))
	}
	return out
}

// repeat reads what repeats, most < 0 for without end. What has no place in it but letters may
// repeat so.
func (r *reader) repeat(least, most int, lettersOnly bool, read func(follow) follow, then follow) follow {
	if r.copies += max(least, most); r.copies > mostCopies {
		return r.fail("it repeats too much")
	}
	out := then
	if most < 0 {
		if !lettersOnly {
			return r.fail("a place repeats")
		}
		one := read(alike(Empty)).word
		if then.word == then.other {
			more := r.cat(r.Star(one), then.word)
			out = follow{r.Or(then.begin, r.cat(r.And(one, Some), more)), more, more}
		} else {
			more := r.inside(r.And(r.Star(one), Some), then)
			out = r.or(then, alike(more))
		}
	}
	for range most - least {
		out = r.or(read(out), then)
	}
	for range least {
		out = read(out)
	}
	return out
}

// Go returns the texts in which an expression of Go's package regexp finds a match.
func (s *Space) Go(expr string) (Language, error) { return s.GoAs(expr, nil) }

// GoAs returns the texts in which it finds a match when each of their letters is read as another
// one.
func (s *Space) GoAs(expr string, as func(rune) rune) (Language, error) {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return None, err
	}
	r := reader{Space: s, as: as}
	return r.anywhere(func(then follow) follow { return r.goExpression(re, then) })
}

func (r *reader) goExpression(re *syntax.Regexp, then follow) follow {
	if r.err != nil {
		return follow{}
	}
	sub := func(then follow) follow { return r.goExpression(re.Sub[0], then) }
	switch re.Op {
	case syntax.OpNoMatch:
		return alike(None)
	case syntax.OpEmptyMatch:
		return then
	case syntax.OpLiteral:
		for i := len(re.Rune) - 1; i >= 0; i-- {
			set := letterSet(re.Rune[i])
			if re.Flags&syntax.FoldCase != 0 {
				set = letterSetInAnyCase(re.Rune[i])
			}
			then = r.one(set, then)
		}
		return then
	case syntax.OpCharClass:
		return r.one(SetOf(func(c rune) bool { return inRanges(re.Rune, c) }), then)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return r.one(SetOf(func(c rune) bool { return c != '\n' || re.Op == syntax.OpAnyChar }), then)
	case syntax.OpBeginText:
		return starts(then)
	case syntax.OpEndText:
		return r.ends(then)
	case syntax.OpWordBoundary:
		return r.boundary(then)
	case syntax.OpNoWordBoundary:
		return r.noBoundary(then)
	case syntax.OpCapture:
		return sub(then)
	case syntax.OpStar:
		return r.repeat(0, -1, lettersOnly(re), sub, then)
	case syntax.OpPlus:
		return r.repeat(1, -1, lettersOnly(re), sub, then)
	case syntax.OpQuest:
		return r.repeat(0, 1, lettersOnly(re), sub, then)
	case syntax.OpRepeat:
		return r.repeat(re.Min, re.Max, lettersOnly(re), sub, then)
	case syntax.OpConcat:
		for i := len(re.Sub) - 1; i >= 0; i-- {
			then = r.goExpression(re.Sub[i], then)
		}
		return then
	case syntax.OpAlternate:
		return r.either(len(re.Sub), func(i int) follow { return r.goExpression(re.Sub[i], then) })
	}
	return r.fail("it is about lines")
}

func inRanges(ranges []rune, c rune) bool {
	for i := 0; i+1 < len(ranges); i += 2 {
		if ranges[i] <= c && c <= ranges[i+1] {
			return true
		}
	}
	return false
}

// lettersOnly reports whether an expression has no place in it that takes no letter.
func lettersOnly(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return false
	}
	for _, sub := range re.Sub {
		if !lettersOnly(sub) {
			return false
		}
	}
	return true
}

// ECMAScript returns the texts in which an expression of ECMAScript finds a match. It fails for
// one that looks behind, refers back to what it matched, or repeats a place. With anyCase "a" matches "A" too.
func (s *Space) ECMAScript(p *ecma.Pattern, anyCase bool) (Language, error) {
	return s.ecmaScript(p, reader{Space: s, inAnyCase: anyCase})
}

// ECMAScriptAs returns the texts in which it finds a match when each of their letters is read as
// another one.
func (s *Space) ECMAScriptAs(p *ecma.Pattern, as func(rune) rune) (Language, error) {
	return s.ecmaScript(p, reader{Space: s, as: as})
}

// ECMAScriptWithin returns the texts in which it finds a match, as far as a bound tells them.
func (s *Space) ECMAScriptWithin(p *ecma.Pattern, b Bound) (Language, error) {
	return s.ecmaScript(p, reader{Space: s, bound: &b})
}

func (s *Space) ecmaScript(p *ecma.Pattern, r reader) (Language, error) {
	r.groups = p.Groups
	return r.anywhere(func(then follow) follow { return r.alternation(p.Root, then) })
}

func (r *reader) alternation(a ecma.Alternation, then follow) follow {
	return r.either(len(a), func(i int) follow {
		f := then
		for j := len(a[i]) - 1; j >= 0; j-- {
			f = r.term(a[i][j], f)
		}
		return f
	})
}

func (r *reader) term(t ecma.Term, then follow) follow {
	if r.err != nil {
		return follow{}
	}
	switch t := t.(type) {
	case ecma.Single:
		return r.one(r.units(t), then)
	case *ecma.Group:
		return r.alternation(t.Body, then)
	case *ecma.Assertion:
		switch t.Kind {
		case ecma.Start:
			return starts(then)
		case ecma.End:
			return r.ends(then)
		case ecma.Boundary:
			return r.boundary(then)
		}
		return r.noBoundary(then)
	case *ecma.Look:
		switch t.Kind {
		case ecma.Ahead:
			f := r.lookedAt(t)
			return follow{r.And(f.begin, then.begin), r.And(f.word, then.word), r.And(f.other, then.other)}
		case ecma.NotAhead:
			f := r.lookedAt(t)
			return follow{r.Without(then.begin, f.begin), r.Without(then.word, f.word), r.Without(then.other, f.other)}
		}
		return r.unsure("it looks behind", then)
	case *ecma.Reference:
		return r.unsure("it refers back to what it matched", r.again(t, then))
	case *ecma.Repetition:
		read := func(then follow) follow { return r.term(t.Term, then) }
		return r.repeat(t.Min, t.Max, takesLetters(ecma.Alternation{{t.Term}}), read, then)
	}
	return r.fail("it is unknown")
}

// unsure reads a term that matches at most what is given, and that no language says.
func (r *reader) unsure(why string, most follow) follow {
	switch {
	case r.bound == nil:
		return r.fail(why)
	case r.bound.Fewer:
		return alike(None)
	}
	return most
}

// again reads what a reference may match: nothing, or what its group may.
func (r *reader) again(t *ecma.Reference, then follow) follow {
	if r.bound == nil || r.bound.Fewer {
		return then
	}
	for i, g := range r.groups {
		if (t.Name == "" && t.Number == i+1 || t.Name != "" && t.Name == g.Name) && takesLetters(g.Body) {
			return r.or(then, r.alternation(g.Body, then))
		}
	}
	return r.or(then, alike(r.inside(Some, then)))
}

// takesLetters reports whether an expression only takes letters, wherever it stands.
func takesLetters(a ecma.Alternation) bool {
	only := true
	a.Terms(func(t ecma.Term) bool {
		switch t.(type) {
		case *ecma.Look, *ecma.Assertion, *ecma.Reference:
			only = false
		}
		return only
	})
	return only
}

// lookedAt reads the body of a look-around. Where it must not match, more texts of it are fewer
// of the whole.
func (r *reader) lookedAt(t *ecma.Look) follow {
	if r.bound != nil && t.Kind == ecma.NotAhead {
		before := *r.bound
		defer func() { *r.bound = before }()
		r.bound.Fewer = !r.bound.Fewer
	}
	return r.alternation(t.Body, alike(All))
}

// units returns the letters that a term matches.
func (r *reader) units(t ecma.Single) Set {
	if r.bound != nil {
		return r.bound.units(t)
	}
	if c, ok := t.(*ecma.Class); ok && r.inAnyCase && c.Negated {
		named := *c
		named.Negated = false
		return r.units(&named).not()
	}
	u := t.Units()
	has := func(c rune) bool { return u.Contains(uint16(c)) }
	if !r.inAnyCase {
		set := ascii(u)
		if has(Other) {
			set.add(letter(Other))
		}
		return set
	}
	return SetOf(func(c rune) bool { return has(c) || has(unicode.ToUpper(c)) || has(unicode.ToLower(c)) })
}

// beyond are the units that a letter stands for beside itself.
var beyond = map[byte][]ecma.Range{
	'\n': {{First: 0x2028, Last: 0x2029}},
	0:    {{First: 0, Last: 0}, {First: utf8.RuneSelf, Last: 0x2027}, {First: 0x202A, Last: 0xFFFF}},
}

// units returns the letters that stand for the units that a term matches.
func (b *Bound) units(t ecma.Single) Set {
	u := t.Units()
	if _, dot := t.(*ecma.Any); dot && b.AnyUnit {
		u = ecma.Units{{First: 0, Last: 0xFFFF}}
	}
	set := ascii(u)
	for letter, units := range beyond {
		own := letter != 0
		some, every := own && set.has(letter), !own || set.has(letter)
		for _, r := range units {
			n := 0
			for _, has := range u {
				n += max(0, int(min(r.Last, has.Last))-int(max(r.First, has.First))+1)
			}
			some, every = some || n > 0, every && n > int(r.Last)-int(r.First)
		}
		set = set.and(letters(letter).not())
		if every || some && !b.Fewer {
			set.add(letter)
		}
	}
	return set
}

// ascii returns the letters of ASCII that are among some units.
func ascii(u ecma.Units) (set Set) {
	for _, r := range u {
		for c := max(1, r.First); c <= min(r.Last, utf8.RuneSelf-1); c++ {
			set.add(byte(c))
		}
	}
	return set
}

func letters(c byte) (set Set) {
	set.add(c)
	return set
}
