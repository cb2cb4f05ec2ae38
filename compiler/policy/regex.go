package policy

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"modec.dev/modec/compiler/ecma"
)

// RegexTimeout bounds one evaluation of a regex. Above it a deny and an ask
// count as matched and an allow as unmatched.
const RegexTimeout = 250 * time.Millisecond

// regexLate is how often an expression of a project may take too long: after that
// it counts as late without being tried, so that nobody waits for it again.
const regexLate = 8

// expression is a regex compiled for a project.
type expression struct {
	re   *ecma.Regexp
	late atomic.Int32
}

// CheckRegex reports why a text is not a regex that every agent reads alike: a pattern of
// ECMAScript without flags, as [ecma.Parse] reads it, without what other engines
// read otherwise or not at all ([portable]). The error names the character.
func CheckRegex(text string) error {
	_, err := compileRegex(text)
	return err
}

func compileRegex(text string) (*ecma.Regexp, error) {
	if text == "" {
		return nil, errors.New(`got "", want a regex`)
	}
	p, err := ecma.Parse(text)
	if err == nil {
		err = portable(text, p)
	}
	if err != nil {
		return nil, fmt.Errorf("got %q, %w", text, err)
	}
	re, err := p.Compile(ecma.Options{Timeout: RegexTimeout})
	if err != nil {
		return nil, fmt.Errorf("got %q, want another regex: %w", text, err)
	}
	return re, nil
}

// pathRegex is a regex rule over paths.
type pathRegex struct {
	rank int
	re   *expression
}

// holds reports whether a deny or ask regex matches: the path as it is or in
// NFC, or no answer.
func (r *pathRegex) holds(s string) bool {
	ok, err := r.match(s)
	if err == nil && !ok {
		if c := composed(s); c != s {
			ok, err = r.match(c)
		}
	}
	return ok || err != nil
}

// allows reports whether an allow regex matches.
func (r *pathRegex) allows(s string) bool {
	ok, err := r.match(s)
	return ok && err == nil
}

var errLate = errors.New("the expression took too long before")

// match fails when there is no answer in time.
func (r *pathRegex) match(s string) (bool, error) {
	if r.re.late.Load() >= regexLate {
		return false, errLate
	}
	ok, err := r.re.re.Match(s)
	if err != nil {
		r.re.late.Add(1)
	}
	return ok, err
}
