package roo

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf16"

	"github.com/dlclark/regexp2"
)

// judgedRegex is an ECMAScript expression without the flag u, as
// `new RegExp(source)` reads it (ECMA-262 with annex B): it sees UTF-16 units.
//
// The engine used here reads much of that grammar otherwise, so that the
// expression is parsed and written anew: every character as a class of units,
// every assertion by lookaround, every group by its number.
//
// One thing the engine cannot say: a group in a repetition forgets its match
// with every round. A reference beside such a group counts as a match.
type judgedRegex struct {
	re     *regexp2.Regexp
	unsure bool
	late   atomic.Int32 // evaluations that took too long
}

// judgedTimeout bounds one evaluation. Roo has no bound; an evaluation that
// takes longer here counts as a match, since it may become one there. An
// expression that is late judgedLate times is not tried any more.
const (
	judgedTimeout = 2 * time.Second
	judgedLate    = 3
)

// newJudgedRegex fails where `new RegExp` throws a SyntaxError.
func newJudgedRegex(source string, ignoreCase bool) (*judgedRegex, error) {
	p := regexParser{src: utf16.Encode([]rune(source)), fold: ignoreCase}
	p.countGroups()
	if err := p.disjunction(0); err != nil {
		return nil, err
	}
	if p.at < len(p.src) {
		return nil, errors.New("unmatched )")
	}
	for _, name := range p.references {
		if p.names[name] == 0 {
			return nil, fmt.Errorf("no group is named %q", name)
		}
	}
	out := p.out.String()
	for _, name := range p.references {
		out = strings.ReplaceAll(out, reference(name), fmt.Sprintf(`(?:\%d)`, p.names[name]))
	}
	re, err := regexp2.Compile(out, regexp2.ECMAScript)
	if err != nil {
		return nil, fmt.Errorf("no engine for it: %w", err)
	}
	re.MatchTimeout = judgedTimeout
	return &judgedRegex{re: re, unsure: p.refers && p.repeats}, nil
}

// test is RegExp.prototype.test.
func (r *judgedRegex) test(s string) bool {
	if r.unsure || r.late.Load() >= judgedLate {
		return true
	}
	ok, err := r.re.MatchRunes(utf16Units(s))
	if err != nil {
		r.late.Add(1)
	}
	return ok || err != nil
}

// regexParser reads an expression and writes it for the engine.
type regexParser struct {
	src    []uint16
	at     int
	out    strings.Builder
	fold   bool
	groups int            // capturing groups in the whole expression
	opened int            // those read so far
	names  map[string]int // the number of each named group
	// references are the names after \k, which may come before their group.
	references []string
	refers     bool // the expression refers to a group
	repeats    bool // it repeats a group that captures
}

func reference(name string) string { return "\x00" + name + "\x00" }

func (p *regexParser) peek(s string) bool {
	for i := range len(s) {
		if p.at+i >= len(p.src) || p.src[p.at+i] != uint16(s[i]) {
			return false
		}
	}
	return true
}

func (p *regexParser) take(s string) bool {
	if !p.peek(s) {
		return false
	}
	p.at += len(s)
	return true
}

// countGroups numbers the groups first: \1 is a reference only where the
// expression has a group 1, and \k one only where it has named groups.
func (p *regexParser) countGroups() {
	p.names = map[string]int{}
	class := false
	for i := 0; i < len(p.src); i++ {
		switch c := p.src[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			rest := regexParser{src: p.src, at: i + 1}
			if !rest.peek("?") {
				p.groups++
			} else if rest.take("?<") && !rest.peek("=") && !rest.peek("!") {
				p.groups++
				if name, ok := rest.name(); ok {
					p.names[name] = p.groups
				}
			}
		}
	}
}

// name reads a group's name up to its ">".
func (p *regexParser) name() (string, bool) {
	for i := p.at; i < len(p.src); i++ {
		if p.src[i] == '>' {
			name := string(utf16.Decode(p.src[p.at:i]))
			p.at = i + 1
			return name, isRegexName(name)
		}
	}
	return "", false
}

func isRegexName(s string) bool {
	for i, r := range s {
		if r != '_' && r != '$' && (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) && (r < '0' || '9' < r || i == 0) && r < 0x80 {
			return false
		}
	}
	return s != ""
}

const regexDepth = 250

func (p *regexParser) disjunction(depth int) error {
	if depth > regexDepth {
		return errors.New("groups nest too deep")
	}
	for p.at < len(p.src) && p.src[p.at] != ')' {
		if p.take("|") {
			p.out.WriteByte('|')
			continue
		}
		start, opened := p.out.Len(), p.opened
		repeatable, err := p.term(depth)
		if err != nil {
			return err
		}
		end := p.at
		if err := p.quantifier(start, repeatable); err != nil {
			return err
		}
		p.repeats = p.repeats || p.at > end && p.opened > opened
	}
	return nil
}

// Assertions, written out: the engine's $ also holds before a last line break
// and its \b knows the letters of every script.
const (
	wordUnit   = `[A-Za-z0-9_]`
	atEnd      = `(?![\s\S])`
	atStart    = `(?<![\s\S])`
	atBoundary = `(?:(?<=` + wordUnit + `)(?!` + wordUnit + `)|(?<!` + wordUnit + `)(?=` + wordUnit + `))`
	noBoundary = `(?:(?<=` + wordUnit + `)(?=` + wordUnit + `)|(?<!` + wordUnit + `)(?!` + wordUnit + `))`
)

// term reads one term and reports whether a quantifier may follow.
func (p *regexParser) term(depth int) (repeatable bool, err error) {
	switch c := p.src[p.at]; c {
	case '^':
		p.at++
		p.out.WriteString(atStart)
		return false, nil
	case '$':
		p.at++
		p.out.WriteString(atEnd)
		return false, nil
	case '(':
		return p.group(depth)
	case '*', '+', '?':
		return false, errors.New("nothing to repeat")
	case '{':
		if _, _, ok := p.braces(); ok {
			return false, errors.New("nothing to repeat")
		}
		p.at++
		p.write(unitSet{'{', '{'}, false)
	case '.':
		p.at++
		p.write(breakUnits, true)
	case '[':
		p.at++
		return true, p.class()
	case '\\':
		p.at++
		return p.escape()
	default:
		p.at++
		p.write(unitSet{rune(c), rune(c)}, false)
	}
	return true, nil
}

func (p *regexParser) group(depth int) (repeatable bool, err error) {
	open := ""
	repeatable = true
	switch {
	case !p.peek("(?"):
		p.at++
		open = "("
		p.opened++
	case p.take("(?:"):
		open = "(?:"
	case p.take("(?="):
		open = "(?="
	case p.take("(?!"):
		open = "(?!"
	case p.take("(?<="):
		open, repeatable = "(?<=", false
	case p.take("(?<!"):
		open, repeatable = "(?<!", false
	case p.take("(?<"):
		name, ok := p.name()
		p.opened++
		if !ok || p.names[name] != p.opened {
			return false, errors.New("invalid or duplicate group name")
		}
		open = "("
	default:
		return false, errors.New("invalid group")
	}
	p.out.WriteString(open)
	if err := p.disjunction(depth + 1); err != nil {
		return false, err
	}
	if !p.take(")") {
		return false, errors.New("unterminated group")
	}
	p.out.WriteByte(')')
	return repeatable, nil
}

// quantifier reads what may follow a term that was written from start on.
func (p *regexParser) quantifier(start int, repeatable bool) error {
	var q string
	switch {
	case p.take("*"):
		q = "*"
	case p.take("+"):
		q = "+"
	case p.take("?"):
		q = "?"
	default:
		text, end, ok := p.braces()
		if !ok {
			return nil
		}
		if text == "" {
			return errors.New("numbers out of order in {} quantifier")
		}
		q, p.at = text, end
	}
	if !repeatable {
		return errors.New("nothing to repeat")
	}
	// In a group of its own the term is one thing to the engine, an assertion too.
	term := p.out.String()[start:]
	before := p.out.String()[:start]
	p.out.Reset()
	p.out.WriteString(before + "(?:" + term + ")" + q)
	if p.take("?") {
		p.out.WriteByte('?')
	}
	return nil
}

// braces reads {n}, {n,} or {n,m}; any other brace is a character. The text is
// "" where n is greater than m.
func (p *regexParser) braces() (text string, end int, ok bool) {
	if !p.peek("{") {
		return "", 0, false
	}
	rest := regexParser{src: p.src, at: p.at + 1}
	low, ok := rest.number()
	if !ok {
		return "", 0, false
	}
	high, text := low, fmt.Sprintf("{%d", low)
	if rest.take(",") {
		text += ","
		high = math.MaxInt32
		if n, ok := rest.number(); ok {
			high = n
			text += fmt.Sprint(n)
		}
	}
	if !rest.take("}") {
		return "", 0, false
	}
	if high < low {
		return "", rest.at, true
	}
	return text + "}", rest.at, true
}

func (p *regexParser) number() (n int, ok bool) {
	for ; p.at < len(p.src) && '0' <= p.src[p.at] && p.src[p.at] <= '9'; p.at++ {
		n = min(n*10+int(p.src[p.at]-'0'), math.MaxInt32)
		ok = true
	}
	return n, ok
}
