package ecma

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/dlclark/regexp2/v2"
)

// Regexp is a pattern that can be matched. It may be used by several goroutines.
type Regexp struct {
	*Pattern
	engine *regexp2.Regexp
}

// Options say how a pattern is matched. The zero value has no flag and no bound.
type Options struct {
	IgnoreCase bool          // the flag i
	Timeout    time.Duration // of one evaluation
}

// maxStack bounds the engine's stack for one evaluation, in integers: 8 MiB.
const maxStack = 1 << 20

// ErrEngine is why a pattern that Parse takes cannot be matched.
var ErrEngine = errors.New("the engine does not take the pattern")

// Compile returns a pattern for matching. It fails with a [SyntaxError] where [Parse]
// does, and else with [ErrEngine].
func Compile(source string, o Options) (*Regexp, error) {
	p, err := Parse(source)
	if err != nil {
		return nil, err
	}
	return p.Compile(o)
}

// Compile returns the pattern for matching.
func (p *Pattern) Compile(o Options) (*Regexp, error) {
	options, as := regexp2.RegexOptions(regexp2.ECMAScript), spelling(forEngine{})
	if o.IgnoreCase {
		options, as = regexp2.ECMAScript|regexp2.IgnoreCase, forFolding{}
	}
	engine, err := regexp2.Compile(written(p.Root, as), options, regexp2.OptionMaxBacktrackingStackSize(maxStack))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEngine, err)
	}
	if o.Timeout > 0 {
		engine.MatchTimeout = o.Timeout
	}
	return &Regexp{Pattern: p, engine: engine}, nil
}

// Match reports whether the pattern matches somewhere in a text, as
// RegExp.prototype.test does. It fails when the evaluation reaches a limit.
func (r *Regexp) Match(text string) (bool, error) {
	if strings.ContainsFunc(text, func(c rune) bool { return c > 0xFFFF }) {
		return r.engine.MatchRunes(movedUnits(text))
	}
	return r.engine.MatchString(text)
}

// movedBy moves the halves of surrogate pairs to code points of private use, which the
// engine can write as UTF-8.
const movedBy = 0x10D800 - 0xD800

// movedUnits returns the UTF-16 units of a text.
func movedUnits(text string) []rune {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		if r <= 0xFFFF {
			out = append(out, r)
			continue
		}
		high, low := utf16.EncodeRune(r)
		out = append(out, high+movedBy, low+movedBy)
	}
	return out
}

// forEngine writes a tree for the engine: as it was read, but for what the package
// comment lists.
type forEngine struct{}

// quantifier writes numbers as far as they go: the engine refuses those that do not fit
// into an int32.
func (forEngine) quantifier(r *Repetition) string {
	if max(r.Min, r.Max) < math.MaxInt32 {
		return r.text
	}
	text := fmt.Sprintf("{%d,", r.Min)
	if r.Max != Unlimited {
		text += strconv.Itoa(r.Max)
	}
	if text += "}"; r.Lazy {
		text += "?"
	}
	return text
}

// single writes what names a half of a surrogate pair with the moved one. What matches by
// exclusion matches the moved ones anyway. A character by its octal number is
// written so that no digit behind it can make it the number of a group.
func (forEngine) single(w *writer, t Single) {
	switch t := t.(type) {
	case *Literal:
		if isHalf(t.Unit) || t.byNumber() {
			w.movedUnit(t.Unit)
			return
		}
	case *Class:
		if touchesHalves(t) {
			w.text(t.open())
			for _, r := range t.listed() {
				w.movedRange(r)
			}
			w.text("]")
			return
		}
	}
	asRead{}.single(w, t)
}

// touchesHalves reports whether an item of a class that names its units names a half of
// a surrogate pair.
func touchesHalves(t *Class) bool {
	for _, item := range t.Items {
		if item.Shorthand != nil {
			continue
		}
		last := item.First.Unit
		if item.Last != nil {
			last = item.Last.Unit
		}
		if item.First.Unit <= lastHalf && last >= firstHalf {
			return true
		}
	}
	return false
}

// The halves of surrogate pairs.
const (
	firstHalf = 0xD800
	lastHalf  = 0xDFFF
)

// movedRange writes a range of a class, split where the halves have moved away.
func (w *writer) movedRange(r Range) {
	for _, part := range []Range{{0, firstHalf - 1}, {firstHalf, lastHalf}, {lastHalf + 1, 0xFFFF}} {
		if low, high := max(r.First, part.First), min(r.Last, part.Last); low <= high {
			w.movedUnit(low)
			if low < high {
				w.text("-")
				w.movedUnit(high)
			}
		}
	}
}

func (w *writer) movedUnit(unit uint16) {
	if isHalf(unit) {
		w.text(string(rune(unit) + movedBy))
	} else {
		w.text(fmt.Sprintf(`\u%04X`, unit))
	}
}

// byNumber reports whether the escape is an octal number, or a digit that stands for itself.
func (c Char) byNumber() bool { return len(c.Escape) > 1 && isDigit(uint16(c.Escape[1])) }

// forFolding writes a tree for the engine where it ignores case. What leaves out a few
// units is written by these: the engine looks up the other case of every unit
// that a term names, which takes 75 ms for `\W`. None of the units that are left out has
// another case among the rest.
type forFolding struct{ forEngine }

func (f forFolding) single(w *writer, t Single) {
	switch t := t.(type) {
	case *Any:
		w.text(`[^\n\r\u2028\u2029]`)
		return
	case *Shorthand:
		if lower := strings.ToLower(string(rune(t.Letter))); lower != string(rune(t.Letter)) {
			w.text(`[^\` + lower + `]`)
			return
		}
	}
	f.forEngine.single(w, t)
}
