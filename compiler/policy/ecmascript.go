package policy

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"modec.dev/modec/compiler/ir"
)

// ECMAScript writes a file glob as an ECMAScript regular expression, without
// flags and without anchors, that matches exactly the cleaned paths inside the
// root that a rule of decision d with this glob matches: an allow the whole
// path, a deny or an ask also everything below, whatever the case.
//
// A deny or an ask compares in Unicode NFC, which no expression can say. Where
// that makes a difference composed is set: the expression then decides only
// for paths that [Decomposed] does not match.
func ECMAScript(pattern string, d ir.Decision) (source string, composed bool, err error) {
	hold := d != ir.Allow
	if hold {
		pattern = Fold(pattern)
	}
	g, err := parseGlob(pattern)
	if err != nil {
		return "", false, err
	}
	w := ecmaWriter{fold: hold}
	var alts []string
	for _, a := range g {
		s, err := w.alternative(a)
		if err != nil {
			return "", false, fmt.Errorf("%q cannot be written as a regular expression: %w", pattern, err)
		}
		alts = append(alts, s)
	}
	switch len(alts) {
	case 0:
		return "(?!)", false, nil
	case 1:
		return alts[0], w.composed, nil
	}
	return "(?:" + strings.Join(alts, "|") + ")", w.composed, nil
}

type ecmaWriter struct {
	fold     bool
	composed bool
}

const (
	anything = `[\s\S]*`
	// one is one character of a name: a surrogate pair is one.
	one = `(?:[\uD800-\uDBFF][\uDC00-\uDFFF]|[^/\uD800-\uDFFF])`
)

func (w *ecmaWriter) alternative(a alternative) (string, error) {
	var b strings.Builder
	slash := false
	for i, s := range a {
		last := i == len(a)-1
		if s.kind == segAnyDepth {
			switch {
			case last && i == 0:
				b.WriteString(anything)
			case last:
				b.WriteString("(?:/" + anything + ")?")
			default:
				if slash {
					b.WriteByte('/')
				}
				b.WriteString("(?:[^/]+/)*")
				slash = false
			}
			continue
		}
		if slash {
			b.WriteByte('/')
		}
		if err := w.segment(&b, s); err != nil {
			return "", err
		}
		slash = true
	}
	if w.fold && a[len(a)-1].kind != segAnyDepth {
		b.WriteString("(?:/" + anything + ")?")
	}
	return b.String(), nil
}

func (w *ecmaWriter) segment(b *strings.Builder, s segment) error {
	switch s.kind {
	case segLiteral:
		w.literal(b, s.text)
	case segAny:
		b.WriteString("[^/]+")
	case segSuffix:
		b.WriteString("[^/]*")
		w.literal(b, s.text)
	default:
		for _, e := range s.elems {
			switch e.kind {
			case elemLiteral:
				w.literal(b, e.text)
			case elemStar:
				b.WriteString("[^/]*")
			case elemOne:
				w.composed = w.composed || w.fold
				b.WriteString(one)
			case elemClass:
				w.composed = w.composed || w.fold
				if err := w.class(b, e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// literal writes text; folded, each character as the class of those that equal
// it but for case.
func (w *ecmaWriter) literal(b *strings.Builder, text string) {
	for _, r := range text {
		if !w.fold {
			b.WriteString(ecmaRune(r))
			continue
		}
		if r >= 0x80 {
			w.composed = true
		}
		same := orbit(r)
		if len(same) == 1 {
			b.WriteString(ecmaRune(r))
			continue
		}
		alts := make([]string, len(same))
		wide := false
		for i, x := range same {
			alts[i] = ecmaRune(x)
			wide = wide || x > 0xFFFF
		}
		if wide {
			b.WriteString("(?:" + strings.Join(alts, "|") + ")")
		} else {
			b.WriteString("[" + strings.Join(alts, "") + "]")
		}
	}
}

// canonical are the characters that NFC turns into an ASCII one that is not a
// letter.
var canonical = map[rune]rune{';': 0x037E, '`': 0x1FEF}

// orbit lists the characters that equal r but for case or normal form.
func orbit(r rune) []rune {
	same := []rune{r}
	for x := unicode.SimpleFold(r); x != r; x = unicode.SimpleFold(x) {
		same = append(same, x)
	}
	if c, ok := canonical[r]; ok {
		same = append(same, c)
	}
	return same
}

// maxClass bounds the characters of a class that is written out by case.
const maxClass = 2048

func (w *ecmaWriter) class(b *strings.Builder, e elem) error {
	var set strings.Builder
	for i := 0; i+1 < len(e.ranges); i += 2 {
		low, high := e.ranges[i], e.ranges[i+1]
		switch {
		case high > 0xFFFF:
			return fmt.Errorf("a class holds characters beyond U+FFFF")
		case !w.fold:
			set.WriteString(ecmaRune(low) + "-" + ecmaRune(high))
			continue
		case high-low > maxClass:
			return fmt.Errorf("a class spans more than %d characters", maxClass)
		}
		for r := low; r <= high; r++ {
			for _, x := range orbit(r) {
				if x > 0xFFFF {
					return fmt.Errorf("a class holds characters beyond U+FFFF")
				}
				set.WriteString(ecmaRune(x))
			}
		}
	}
	if e.negate {
		b.WriteString(`(?:[\uD800-\uDBFF][\uDC00-\uDFFF]|[^/\uD800-\uDFFF` + set.String() + `])`)
	} else {
		b.WriteString(`(?!/)[` + set.String() + `]`)
	}
	return nil
}

// ecmaRune writes a character so that it means itself in an expression and in
// a class.
func ecmaRune(r rune) string {
	switch {
	case strings.ContainsRune(`\^$.|?*+()[]{}/-`, r):
		return `\` + string(r)
	case r < 0x20 || r == 0x7f || r == 0xFEFF || unicode.IsSpace(r) && r != ' ':
		return fmt.Sprintf(`\u%04X`, r)
	}
	return string(r)
}

// Decomposed is an ECMAScript expression, without anchors, for one character
// that NFC may change or join to the one before it: a path with such a
// character does not compare as it is written. Characters beyond U+FFFF count
// as such.
var Decomposed = sync.OnceValue(func() string {
	var b strings.Builder
	b.WriteString(`[\uD800-\uDFFF`)
	var s [4]byte
	start := rune(-1)
	flush := func(end rune) {
		if start >= 0 {
			fmt.Fprintf(&b, `\u%04X-\u%04X`, start, end)
		}
		start = -1
	}
	for r := rune(0x80); r <= 0xFFFF; r++ {
		unstable := false
		if r < 0xD800 || r > 0xDFFF {
			text := string(r)
			n := copy(s[:], text)
			p := norm.NFC.Properties(s[:n])
			unstable = !p.BoundaryBefore() || norm.NFC.String(text) != text
		}
		switch {
		case unstable && start < 0:
			start = r
		case !unstable && start >= 0:
			flush(r - 1)
		}
	}
	flush(0xFFFF)
	b.WriteByte(']')
	return b.String()
})

// ExpandBraces returns the globs without braces that a glob stands for, at most
// 256; it fails on a glob that CheckGlob refuses.
func ExpandBraces(pattern string) ([]string, error) {
	if err := CheckGlob(pattern); err != nil {
		return nil, err
	}
	return expandBraces(pattern)
}
