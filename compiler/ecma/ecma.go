// Package ecma reads and matches regular expressions as JavaScript does: the
// patterns of ECMA-262 (ES2024, with annex B for web browsers) without flags, as
// `new RegExp(source)` takes them.
//
// [Parse] returns a pattern as a tree, or a [SyntaxError] with the place where
// `new RegExp` throws one. [Pattern.String] writes the tree back to the letter.
// [Compile] parses and returns a [Regexp] that matches texts.
//
// # The tree
//
// A pattern is an [Alternation] of [Sequence]s of [Term]s. Without the flag u a
// pattern is a list of UTF-16 units, not of characters: "😀" is two units, hence
// two literals, and "😀+" repeats the second of them. Terms that take one unit
// ([Literal], [Any], [Shorthand], [Class]) are [Single]s and list their units.
//
// # How it is matched
//
// github.com/dlclark/regexp2/v2 2.12.0 does the matching, with its option ECMAScript.
// It was held against V8 (Node.js 20) on the patterns of testdata/patterns.json,
// which the end-to-end tests repeat, and once on two million random ones with
// eight texts each. It differs from V8 in this:
//
//   - It takes more for a pattern: (?i), (?i:…), (?>…), (?#…), (?'n'…), (?(1)…), and one
//     name for several groups. [Parse] refuses these, and the engine only sees
//     what Parse takes. (ES2025 has the second and the last.)
//   - It reads characters where V8 reads UTF-16 units: "." matches "😀", and
//     [😀-\uFFFF] is out of order. The tree is written for it in units, and a text
//     with characters beyond U+FFFF is handed over in units.
//   - It keeps parts of a pattern as UTF-8, in which no half of a surrogate pair can be
//     written, and takes one half for the other. The halves are moved to U+10D800 and up,
//     in the pattern and in the text.
//   - It refuses numbers that do not fit into an int32: V8 reads \10000000000 as \100 and
//     zeros, and a{3000000000} as a{2147483647}. They are written as V8 reads them.
//   - It needs 75 ms for \W, and 30 ms for a dot, where it ignores case. They are written
//     as what they exclude.
//
// The engine bounds its stack, and [Options].Timeout its time. An evaluation that reaches
// a bound fails with an error. The caller decides what that means; it does not mean
// that the pattern does not match.
package ecma

import (
	"strings"
	"unicode/utf16"
)

// Pattern is a pattern without flags.
type Pattern struct {
	Root Alternation
	// Groups are the capturing groups, the group number 1 first.
	Groups []*Group
}

// String returns the source of the pattern, to the letter.
func (p *Pattern) String() string { return p.Root.String() }

// Quote returns a pattern that matches a text, and nothing else.
func Quote(text string) string {
	var b strings.Builder
	for _, r := range text {
		if strings.ContainsRune(`\^$.*+?()[]{}|`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Alternation matches what one of its sequences matches. It has at least one.
type Alternation []Sequence

// Sequence matches its terms one behind the other. An empty one matches nothing but
// the place.
type Sequence []Term

// A Term is a *Literal, *Any, *Shorthand, *Class, *Group, *Look, *Assertion,
// *Reference or *Repetition.
type Term interface {
	// Offset returns where the term begins in the source, in bytes.
	Offset() int
	write(w *writer)
}

// A Single is a term that matches exactly one UTF-16 unit.
type Single interface {
	Term
	// Units returns the units that the term matches.
	Units() Units
}

type offset int

func (o offset) Offset() int { return int(o) }

// Literal matches one unit.
type Literal struct{ Char }

// Char is a unit as a pattern spells it.
type Char struct {
	offset
	Unit uint16
	// Escape is the spelling by a backslash (`\.`, `\x41`, `\cA`, `\101`), and ""
	// for a unit that stands for itself.
	Escape string
}

// Half reports whether the pattern spells half of a character beyond U+FFFF by that character.
func (c Char) Half() bool { return isHalf(c.Unit) && (c.Escape == "" || c.Escape == halfEscape) }

// Any is the dot: it matches every unit but a line terminator.
type Any struct{ offset }

// Shorthand is \d, \D, \w, \W, \s or \S.
type Shorthand struct {
	offset
	Letter byte
}

// Class is a class in brackets.
type Class struct {
	offset
	Negated bool // it matches what the items do not match
	Items   []Item
}

// Item is a part of a class: a shorthand, a unit, or a range of units.
type Item struct {
	Shorthand *Shorthand // nil for a unit and a range
	First     Char
	Last      *Char // the end of a range, nil for a unit
}

// Group is a group in parentheses.
type Group struct {
	offset
	Number int    // of a capturing group, 0 for one that does not capture
	Name   string // of a named group, its escapes resolved
	Body   Alternation

	open string // what opens it: "(", "(?:", "(?<name>"
}

// LookKind is where a look-around looks, and whether it must match there.
type LookKind string

const (
	Ahead     LookKind = "(?="
	NotAhead  LookKind = "(?!"
	Behind    LookKind = "(?<="
	NotBehind LookKind = "(?<!"
)

// Look is a look-around. It takes no unit.
type Look struct {
	offset
	Kind LookKind
	Body Alternation
}

// AssertionKind is what a simple assertion requires of its place.
type AssertionKind string

const (
	Start       AssertionKind = "^"  // the text begins here
	End         AssertionKind = "$"  // the text ends here
	Boundary    AssertionKind = `\b` // one side has a letter or digit of ASCII or "_", the other has not
	NotBoundary AssertionKind = `\B`
)

// Assertion is a simple assertion. It takes no unit.
type Assertion struct {
	offset
	Kind AssertionKind
}

// Reference matches what a capturing group matched last, and the empty text where
// that group has matched nothing.
type Reference struct {
	offset
	Number int    // of the group
	Name   string // where the reference names it

	text string
}

// Unlimited is the Max of a repetition without an upper bound.
const Unlimited = -1

// Repetition matches a term at least Min and at most Max times.
type Repetition struct {
	Term     Term
	Min, Max int
	Lazy     bool // it tries fewer first

	text string // the quantifier
}

// Offset returns where the repeated term begins.
func (r *Repetition) Offset() int { return r.Term.Offset() }

// String returns the source of an alternation.
func (a Alternation) String() string { return written(a, asRead{}) }

// String returns the source of a sequence.
func (s Sequence) String() string { return written(Alternation{s}, asRead{}) }

// A spelling is how terms are written that can be written in several ways.
type spelling interface {
	single(w *writer, t Single)
	quantifier(r *Repetition) string
}

// asRead writes a tree as the source has it.
type asRead struct{}

func (asRead) quantifier(r *Repetition) string { return r.text }

func (asRead) single(w *writer, t Single) {
	switch t := t.(type) {
	case *Literal:
		w.char(t.Char)
	case *Any:
		w.text(".")
	case *Shorthand:
		w.text(t.text())
	case *Class:
		w.text(t.open())
		for _, item := range t.Items {
			w.item(item)
		}
		w.text("]")
	}
}

func (s *Shorthand) text() string { return `\` + string(rune(s.Letter)) }

func (c *Class) open() string {
	if c.Negated {
		return "[^"
	}
	return "["
}

// writer writes a tree as UTF-16: two halves of a character that stand side by side
// become that character again.
type writer struct {
	units []uint16
	as    spelling
}

func written(a Alternation, as spelling) string {
	w := writer{as: as}
	w.alternation(a)
	return string(utf16.Decode(w.units))
}

func (w *writer) text(s string) { w.units = append(w.units, utf16.Encode([]rune(s))...) }

func (w *writer) char(c Char) {
	w.text(c.Escape)
	if c.Escape == "" || c.Escape == halfEscape {
		w.units = append(w.units, c.Unit)
	}
}

func (w *writer) item(i Item) {
	if i.Shorthand != nil {
		w.text(i.Shorthand.text())
		return
	}
	w.char(i.First)
	if i.Last != nil {
		w.text("-")
		w.char(*i.Last)
	}
}

func (w *writer) alternation(a Alternation) {
	for i, s := range a {
		if i > 0 {
			w.text("|")
		}
		for _, t := range s {
			t.write(w)
		}
	}
}

func (t *Literal) write(w *writer)   { w.as.single(w, t) }
func (t *Any) write(w *writer)       { w.as.single(w, t) }
func (t *Shorthand) write(w *writer) { w.as.single(w, t) }
func (t *Class) write(w *writer)     { w.as.single(w, t) }

func (t *Group) write(w *writer) {
	w.text(t.open)
	w.alternation(t.Body)
	w.text(")")
}

func (t *Look) write(w *writer) {
	w.text(string(t.Kind))
	w.alternation(t.Body)
	w.text(")")
}

func (t *Assertion) write(w *writer) { w.text(string(t.Kind)) }
func (t *Reference) write(w *writer) { w.text(t.text) }

func (t *Repetition) write(w *writer) {
	t.Term.write(w)
	w.text(w.as.quantifier(t))
}

// Terms calls f for every term of an alternation, at any depth, in the order of the
// source. It does not enter a term for which f returns false.
func (a Alternation) Terms(f func(Term) bool) {
	for _, s := range a {
		for _, t := range s {
			visit(t, f)
		}
	}
}

func visit(t Term, f func(Term) bool) {
	if !f(t) {
		return
	}
	switch t := t.(type) {
	case *Group:
		t.Body.Terms(f)
	case *Look:
		t.Body.Terms(f)
	case *Repetition:
		visit(t.Term, f)
	}
}
