package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxBraces bounds what one pattern may expand to.
const maxBraces = 256

// glob is a compiled file glob: a path matches when one of its alternatives
// does.
type glob []alternative

// alternative is one brace expansion, split at its slashes.
type alternative []segment

type segmentKind uint8

const (
	segLiteral  segmentKind = iota // text
	segAny                         // *
	segSuffix                      // *text
	segPattern                     // anything else
	segAnyDepth                    // **
)

// segment matches one name of a path; segAnyDepth any number of names.
type segment struct {
	kind  segmentKind
	text  string
	elems []elem
}

type elemKind uint8

const (
	elemLiteral elemKind = iota
	elemOne              // ?
	elemStar             // *
	elemClass            // [...]
)

type elem struct {
	kind   elemKind
	text   string
	negate bool
	ranges []rune // pairs: low, high
}

// parseGlob compiles a glob. Its errors are written for the author.
func parseGlob(pattern string) (glob, error) {
	if err := checkGlobText(pattern); err != nil {
		return nil, err
	}
	from := start(strings.Contains(pattern[:len(pattern)-1], "/"))
	expanded, err := expandBraces(pattern)
	if err != nil {
		return nil, err
	}
	var g glob
	for _, x := range expanded {
		a, err := parseAlternative(x, from)
		if err != nil {
			return nil, fmt.Errorf("got %q, %w", pattern, err)
		}
		g = append(g, a)
	}
	return g, nil
}

func checkGlobText(pattern string) error {
	switch {
	case pattern == "":
		return errors.New(`got "", want a file pattern`)
	case !utf8.ValidString(pattern):
		return fmt.Errorf("got %q, want UTF-8", pattern)
	case strings.ContainsFunc(pattern, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		return fmt.Errorf("got %q, want a pattern without control characters", pattern)
	case pattern[0] == '!':
		return fmt.Errorf("got %q, want a pattern without a leading %q: write it under deny instead", pattern, "!")
	case pattern == "/":
		return errors.New(`got "/", want a path below the root, or "**" for everything`)
	}
	return nil
}

// start is where a pattern starts.
type start bool

const (
	anywhere start = false
	atRoot   start = true
)

func parseAlternative(x string, from start) (alternative, error) {
	x = strings.TrimPrefix(x, "/")
	below := strings.HasSuffix(x, "/")
	x = strings.TrimSuffix(x, "/")
	if x == "" {
		return nil, errors.New("want a name in every alternative of the braces")
	}
	names, err := splitNames(x)
	if err != nil {
		return nil, err
	}
	var a alternative
	if from == anywhere {
		a = append(a, segment{kind: segAnyDepth})
	}
	for i, n := range names {
		switch {
		case n == "":
			return nil, errors.New(`want no empty name between two "/"`)
		case n == "." || n == ".." && i > 0 && names[i-1] != "..":
			return nil, fmt.Errorf("want a path without %q", n)
		}
		s, err := parseSegment(n)
		if err != nil {
			return nil, err
		}
		a = a.append(s)
	}
	if below {
		a = a.append(segment{kind: segAnyDepth})
	}
	return a, nil
}

func (a alternative) append(s segment) alternative {
	if s.kind == segAnyDepth && len(a) > 0 && a[len(a)-1].kind == segAnyDepth {
		return a
	}
	return append(a, s)
}

// ofHome reports whether the alternative is about the user's home folder: "~/x".
func (a alternative) ofHome() bool { return a[0].kind == segLiteral && a[0].text == "~" }

// splitNames splits at the slashes outside of classes.
func splitNames(x string) ([]string, error) {
	var names []string
	start := 0
	for i := 0; i < len(x); i++ {
		switch x[i] {
		case '\\':
			i++
		case '[':
			end := classEnd(x, i)
			if end < 0 {
				return nil, errors.New(`want a "]" that ends the "["`)
			}
			if strings.Contains(x[i:end], "/") {
				return nil, errors.New(`want no "/" inside "[…]"`)
			}
			i = end
		case '/':
			names = append(names, x[start:i])
			start = i + 1
		}
	}
	return append(names, x[start:]), nil
}

// classEnd returns the index of the "]" that ends the class opening at i, -1
// when none does.
func classEnd(x string, i int) int {
	i++
	if i < len(x) && (x[i] == '^' || x[i] == '!') {
		i++
	}
	for first := true; i < len(x); i++ {
		switch {
		case x[i] == '\\':
			i++
		case x[i] == ']' && !first:
			return i
		}
		first = false
	}
	return -1
}

func parseSegment(n string) (segment, error) {
	if n == "**" {
		return segment{kind: segAnyDepth}, nil
	}
	var elems []elem
	for i := 0; i < len(n); {
		switch c := n[i]; c {
		case '*':
			if len(elems) > 0 && elems[len(elems)-1].kind == elemStar {
				return segment{}, errors.New(`want "**" as a whole name ("**/*.md")`)
			}
			elems = append(elems, elem{kind: elemStar})
			i++
		case '?':
			elems = append(elems, elem{kind: elemOne})
			i++
		case '[':
			end := classEnd(n, i)
			if end < 0 {
				return segment{}, errors.New(`want a "]" that ends the "["`)
			}
			e, err := parseClass(n[i+1 : end])
			if err != nil {
				return segment{}, err
			}
			elems = append(elems, e)
			i = end + 1
		default:
			text := n[i : i+1]
			if c == '\\' {
				r, size, err := escaped(n, i)
				if err != nil {
					return segment{}, err
				}
				text = string(r)
				i += size - 1
			}
			if k := len(elems) - 1; k >= 0 && elems[k].kind == elemLiteral {
				elems[k].text += text
			} else {
				elems = append(elems, elem{kind: elemLiteral, text: text})
			}
			i++
		}
	}
	return newSegment(elems), nil
}

func newSegment(elems []elem) segment {
	switch {
	case len(elems) == 1 && elems[0].kind == elemLiteral:
		return segment{kind: segLiteral, text: elems[0].text}
	case len(elems) == 1 && elems[0].kind == elemStar:
		return segment{kind: segAny}
	case len(elems) == 2 && elems[0].kind == elemStar && elems[1].kind == elemLiteral:
		return segment{kind: segSuffix, text: elems[1].text}
	}
	return segment{kind: segPattern, elems: elems}
}

// escaped reads the escape at i. A backslash escapes what has a meaning in a
// glob and nothing else, so that a Windows path is an error and not a pattern
// that silently matches something else.
func escaped(n string, i int) (rune, int, error) {
	if i+1 < len(n) && strings.IndexByte(`*?[]{},!^-\`, n[i+1]) >= 0 {
		return rune(n[i+1]), 2, nil
	}
	return 0, 0, fmt.Errorf(`want "/" between names (a backslash escapes only %s)`, "* ? [ ] { } , ! ^ - \\")
}

// parseClass compiles what stands between "[" and "]".
func parseClass(body string) (elem, error) {
	e := elem{kind: elemClass}
	if body != "" && (body[0] == '^' || body[0] == '!') {
		e.negate = true
		body = body[1:]
	}
	next := func() (rune, error) {
		r, n := utf8.DecodeRuneInString(body)
		if r == '\\' {
			var err error
			if r, n, err = escaped(body, 0); err != nil {
				return 0, err
			}
		} else if r == '-' || r == ']' {
			return 0, fmt.Errorf(`want "\%c" for a %q inside "[…]"`, r, string(r))
		}
		body = body[n:]
		return r, nil
	}
	if body == "" {
		return e, errors.New(`want something inside "[]"`)
	}
	for body != "" {
		low, err := next()
		if err != nil {
			return e, err
		}
		high := low
		if strings.HasPrefix(body, "-") {
			body = body[1:]
			if body == "" {
				return e, errors.New(`want a range with two ends inside "[…]"`)
			}
			if high, err = next(); err != nil {
				return e, err
			}
		}
		if high < low {
			return e, fmt.Errorf("want the range %q the other way round", string(low)+"-"+string(high))
		}
		e.ranges = append(e.ranges, low, high)
	}
	return e, nil
}

func (e *elem) class(r rune) bool {
	for i := 0; i < len(e.ranges); i += 2 {
		if e.ranges[i] <= r && r <= e.ranges[i+1] {
			return !e.negate
		}
	}
	return e.negate
}

// expandBraces returns every alternative of a pattern.
func expandBraces(p string) ([]string, error) {
	open := braceOpen(p)
	if open < 0 {
		return []string{p}, nil
	}
	var parts []string
	depth, start, end := 0, open+1, -1
	for i := open; i < len(p) && end < 0; i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			if e := classEnd(p, i); e > 0 {
				i = e
			}
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts = append(parts, p[start:i])
				start = i + 1
			}
		case '}':
			if depth--; depth == 0 {
				parts = append(parts, p[start:i])
				end = i
			}
		}
	}
	if end < 0 {
		return nil, fmt.Errorf(`got %q, want a "}" that ends the "{"`, p)
	}
	var out []string
	for _, part := range parts {
		more, err := expandBraces(p[:open] + part + p[end+1:])
		if err != nil {
			return nil, err
		}
		if out = append(out, more...); len(out) > maxBraces {
			return nil, fmt.Errorf("got %q, want at most %d alternatives in braces", p, maxBraces)
		}
	}
	return out, nil
}

// braceOpen returns the index of the first brace that is neither escaped nor
// in a class, -1 when there is none.
func braceOpen(p string) int {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '[':
			if e := classEnd(p, i); e > 0 {
				i = e
			}
		case '{':
			return i
		}
	}
	return -1
}

// reach is what a match is about: the path itself, or all below it too.
type reach bool

const (
	itself   reach = false
	andBelow reach = true
)

// match reports whether the alternative matches the path from name at on; with
// below also a path below what it matches.
func (a alternative) match(p *names, at int, to reach) bool {
	i, star, back := 0, -1, 0
	for {
		if i == len(a) && (to == andBelow || at == p.len()) {
			return true
		}
		switch {
		case i < len(a) && a[i].kind == segAnyDepth:
			if i == len(a)-2 && to == itself && a[i+1].kind != segAnyDepth {
				return at < p.len() && a[i+1].match(p.at(p.len()-1)) // the last name
			}
			star, back = i, at
			i++
			continue
		case i < len(a) && at < p.len() && a[i].match(p.at(at)):
			i++
			at++
			continue
		}
		if star < 0 || back >= p.len() {
			return false
		}
		back++
		i, at = star+1, back
	}
}

func (s *segment) match(name []byte) bool {
	switch {
	case s.kind == segLiteral:
		return string(name) == s.text
	case s.kind == segAny:
		return true
	case string(name) == "..": // no name that begins or ends in some way
		return false
	case s.kind == segSuffix:
		return len(name) >= len(s.text) && string(name[len(name)-len(s.text):]) == s.text
	}
	return matchElems(s.elems, name)
}

func matchElems(elems []elem, name []byte) bool {
	i, at, star, back := 0, 0, -1, 0
	for {
		if i == len(elems) && at == len(name) {
			return true
		}
		if i < len(elems) {
			e := &elems[i]
			if e.kind == elemStar {
				star, back = i, at
				i++
				continue
			}
			if n := e.width(name[at:]); n >= 0 {
				i++
				at += n
				continue
			}
		}
		if star < 0 || back >= len(name) {
			return false
		}
		_, n := utf8.DecodeRune(name[back:])
		back += n
		i, at = star+1, back
	}
}

// width returns how many bytes of rest the element takes, -1 when it does not
// match there.
func (e *elem) width(rest []byte) int {
	if e.kind == elemLiteral {
		if len(rest) >= len(e.text) && string(rest[:len(e.text)]) == e.text {
			return len(e.text)
		}
		return -1
	}
	if len(rest) == 0 {
		return -1
	}
	r, n := utf8.DecodeRune(rest)
	if e.kind == elemOne || e.class(r) {
		return n
	}
	return -1
}

// globSet finds the lowest rank among the globs that match a path.
type globSet struct {
	reach reach // deny and ask: a match holds for what is below it
	all   []ranked
}

type ranked struct {
	rank int
	alt  alternative
}

// add adds a glob. Ranks are added in order.
func (s *globSet) add(rank int, g glob) {
	for _, a := range g {
		if n := len(a) - 1; s.reach == andBelow && n > 0 && a[n].kind == segAnyDepth {
			a = a[:n] // what is below counts anyway
		}
		s.all = append(s.all, ranked{rank, a})
	}
}

// lowest returns the lowest rank under limit that matches, else limit. No wildcard of an
// anchored allow stands for what leads out of the root: "/", "..", "~" or a drive.
func (s *globSet) lowest(p *names, outside bool, limit int) int {
	for i := range s.all {
		x := &s.all[i]
		if x.rank >= limit {
			return limit
		}
		inside := outside && s.reach == itself && x.alt[0].kind != segAnyDepth && x.alt[0].kind != segLiteral
		if !inside && x.alt.match(p, 0, s.reach) {
			return x.rank
		}
	}
	return limit
}
