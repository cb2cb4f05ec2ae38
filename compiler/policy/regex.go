package policy

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// RegexTimeout bounds one evaluation of a regex. Above it a deny and an ask
// count as matched and an allow as unmatched.
const RegexTimeout = 250 * time.Millisecond

// regexLate is how often an expression of a project may take too long: after that
// it counts as late without being tried, so that nobody waits for it again.
const regexLate = 8

// expression is a regex compiled for a project.
type expression struct {
	re   *regexp2.Regexp
	late atomic.Int32
}

// CheckRegex reports why a text is not a regex that every agent reads alike:
// ECMAScript without flags. It refuses what the engine used here
// (regexp2, built after .NET) reads otherwise than ECMAScript does: inline
// flags, atomic and conditional groups, comments, \A \Z \z \G, \p{…}, \u{…},
// class subtraction and duplicate group names.
//
// One difference is left: without the u flag ECMAScript sees the two halves of
// a character above U+FFFF where this engine sees one, so "^.$" matches "😀"
// here and not there.
func CheckRegex(text string) error {
	_, err := compileRegex(text)
	return err
}

func compileRegex(text string) (*regexp2.Regexp, error) {
	if text == "" {
		return nil, errors.New(`got "", want a regex`)
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("got %q, want UTF-8", text)
	}
	if err := checkSyntax(text); err != nil {
		return nil, fmt.Errorf("got %q, %w", text, err)
	}
	re, err := regexp2.Compile(text, regexp2.ECMAScript)
	if err != nil {
		return nil, fmt.Errorf("got %q, want a regex: %s", text, reason(err))
	}
	re.MatchTimeout = RegexTimeout
	return re, nil
}

// reason takes the engine's own prefix off its message.
func reason(err error) string {
	_, r, ok := strings.Cut(err.Error(), "error parsing regexp: ")
	if !ok {
		return err.Error()
	}
	return r
}

// escapes lists the letters and digits that ECMAScript gives a meaning after a
// backslash. Any other would be taken as itself by one engine and as an anchor
// or a class by another.
const escapes = "bBdDsSwWtnvfrxuk0123456789"

// checkSyntax refuses what other engines read otherwise than ECMAScript.
func checkSyntax(text string) error {
	names := map[string]bool{}
	groups, highest, class := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if i++; i == len(text) {
				return errors.New(`want something after the last "\"`)
			}
			if err := checkEscape(text[i:], class); err != nil {
				return err
			}
			if !class && '1' <= text[i] && text[i] <= '9' {
				n := 0
				for ; i < len(text) && isDigit(text[i]) && n < 1000; i++ {
					n = n*10 + int(text[i]-'0')
				}
				i--
				highest = max(highest, n)
			}
		case class && c == ']':
			class = false
		case class && c == '[' && strings.HasPrefix(text[i:], "[:"):
			return errors.New(`want no "[:…:]"`)
		case class && c == '-' && strings.HasPrefix(text[i:], "-["):
			return errors.New(`want "\[" after "-" in a class`)
		case class:
		case c == '[':
			class = true
			if strings.HasPrefix(text[i:], "[]") || strings.HasPrefix(text[i:], "[^]") {
				return errors.New(`want a class that is not empty ("\]" for a "]")`)
			}
		case c == '(':
			name, capture, err := checkGroup(text[i+1:])
			if err != nil {
				return err
			}
			if capture {
				groups++
			}
			if name != "" && names[name] {
				return fmt.Errorf("want the group name %q once", name)
			}
			names[name] = true
		}
	}
	delete(names, "")
	switch {
	case highest > groups:
		return fmt.Errorf(`want a group for "\%d"`, highest)
	case highest > 0 && len(names) > 0:
		return errors.New(`want "\k<name>": engines number named groups differently`)
	case strings.Contains(text, `\k`) && len(names) == 0:
		return errors.New(`want a named group for "\k"`)
	}
	return nil
}

// checkEscape judges what follows a backslash.
func checkEscape(rest string, class bool) error {
	c := rest[0]
	switch {
	case !isLetter(c) && !isDigit(c):
		return nil
	case strings.IndexByte(escapes, c) < 0:
		return fmt.Errorf(`want no "\%c", which ECMAScript does not know`, c)
	case c == 'x' && !allHex(rest[1:], 2), c == 'u' && !allHex(rest[1:], 4):
		return fmt.Errorf(`want "\xHH" or "\uHHHH" after "\%c"`, c)
	case c == '0' && len(rest) > 1 && isDigit(rest[1]), class && '1' <= c && c <= '9':
		return errors.New(`want "\xHH" for a character by its number`)
	case class && (c == 'B' || c == 'k'):
		return fmt.Errorf(`want no "\%c" in a class`, c)
	}
	return nil
}

// checkGroup judges what follows a "(".
func checkGroup(rest string) (name string, capture bool, err error) {
	if !strings.HasPrefix(rest, "?") {
		return "", true, nil
	}
	for _, ok := range []string{"?:", "?=", "?!", "?<=", "?<!"} {
		if strings.HasPrefix(rest, ok) {
			return "", false, nil
		}
	}
	if strings.HasPrefix(rest, "?<") {
		name, _, ok := strings.Cut(rest[2:], ">")
		if ok && isName(name) {
			return name, true, nil
		}
		return "", false, errors.New(`want a name of letters, digits and "_" in "(?<name>…)"`)
	}
	return "", false, errors.New(`want "(?:", "(?=", "(?!", "(?<=", "(?<!" or "(?<name>" after "("`)
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isLetter(s[i]) && s[i] != '_' && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

func isLetter(c byte) bool { return 'a' <= lowerByte(c) && lowerByte(c) <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

func allHex(s string, n int) bool {
	if len(s) < n {
		return false
	}
	for i := 0; i < n; i++ {
		if c := lowerByte(s[i]); !isDigit(c) && (c < 'a' || 'f' < c) {
			return false
		}
	}
	return true
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

var (
	errSeparator = errors.New("the path holds a line separator")
	errLate      = errors.New("the expression took too long before")
)

// match fails when there is no answer in time, and on U+2028 and U+2029, which
// "." matches in this engine and not in ECMAScript.
func (r *pathRegex) match(s string) (bool, error) {
	if strings.Contains(s, "\u2028") || strings.Contains(s, "\u2029") {
		return false, errSeparator
	}
	if r.re.late.Load() >= regexLate {
		return false, errLate
	}
	ok, err := r.re.re.MatchString(s)
	if err != nil {
		r.re.late.Add(1)
	}
	return ok, err
}
