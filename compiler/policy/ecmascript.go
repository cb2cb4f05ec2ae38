package policy

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
)

// Expression is a glob without braces as an ECMAScript expression without flags. Its parts
// match a path from its beginning on, or where Anywhere is set from the beginning of any
// name. They match letters as the glob has them, and no line break.
type Expression struct {
	Anywhere bool
	Parts    []string
}

// ECMAScript writes a file glob as expressions: a cleaned path of one line inside the root
// matches the glob where it matches one of them. An allow matches up to the end of the
// path. A deny or an ask matches up to the end of a name, since it decides for all paths
// below that name too.
func ECMAScript(pattern string, d ir.Decision) ([]Expression, error) {
	g, err := parseGlob(pattern)
	if err != nil {
		return nil, err
	}
	var out []Expression
	for _, a := range g {
		x, err := expressionOf(a, d)
		if err != nil {
			return nil, fmt.Errorf("%q cannot be written as a regular expression: %w", pattern, err)
		}
		out = append(out, x)
	}
	return out, nil
}

const (
	anything = ".*"
	anyName  = "[^/]+"
	anyText  = "[^/]*"
)

func expressionOf(a alternative, d ir.Decision) (Expression, error) {
	var x Expression
	below := d != ir.Allow
	if n := len(a) - 1; below && n > 0 && a[n].kind == segAnyDepth {
		a = a[:n]
	}
	if len(a) > 1 && a[0].kind == segAnyDepth {
		x.Anywhere, a = true, a[1:]
	}
	slash := false
	for i, s := range a {
		last := i == len(a)-1
		switch {
		case s.kind == segAnyDepth && i == 0:
			x.Parts = append(x.Parts, anything)
			continue
		case s.kind == segAnyDepth && last:
			x.Parts = append(x.Parts, "(/"+anything+")?")
			continue
		case s.kind == segAnyDepth:
			x.Parts = append(x.Parts, "/", "("+anything+"/)?")
			slash = false
			continue
		case slash:
			x.Parts = append(x.Parts, "/")
		}
		parts, err := segmentParts(s, d)
		if err != nil {
			return x, err
		}
		x.Parts = append(x.Parts, parts...)
		slash = true
	}
	// What any name ends with, what begins anywhere may also do over several names.
	if end := len(x.Parts) - 1; below && x.Parts[end] == anyText {
		x.Parts[end] = anything
	} else if below && x.Parts[end] == anyName {
		x.Parts[end] = ".+"
	}
	if x.Anywhere && x.Parts[0] == anyText {
		x.Parts[0] = anything
	}
	return x, nil
}

func segmentParts(s segment, d ir.Decision) ([]string, error) {
	below := d != ir.Allow
	switch s.kind {
	case segLiteral:
		return literalParts(s.text), nil
	case segAny:
		return []string{anyName}, nil
	case segSuffix:
		return append([]string{anyText}, literalParts(s.text)...), nil
	}
	var parts []string
	for _, e := range s.elems {
		switch e.kind {
		case elemLiteral:
			parts = append(parts, literalParts(e.text)...)
		case elemStar:
			parts = append(parts, anyText)
		case elemOne:
			parts = append(parts, oneBut("", below))
		case elemClass:
			if d == ir.Ask && e.negate {
				e.ranges = alikeRanges(e.ranges)
			}
			part, err := classPart(e, below)
			if err != nil {
				return nil, err
			}
			parts = append(parts, part)
		}
	}
	return parts, nil
}

// oneBut matches one character of a name that is not in a set. One beyond U+FFFF is two
// units of an expression: where less is matched no harm is done, it is left out.
func oneBut(set string, below bool) string {
	if below {
		return `([\uD800-\uDBFF].|[^/` + set + "])"
	}
	return `[^/\uD800-\uDFFF` + set + "]"
}

// alikeRanges returns ranges with every character that an ask takes for one of them: it compares a path whatever its
// case and form, so that what "[!a]" leaves out is "A" and "ª" as well.
func alikeRanges(ranges []rune) []rune {
	all := slices.Clone(ranges)
	in := elem{ranges: ranges}
	for c := 'a'; c <= 'z'; c++ {
		upper := unicode.ToUpper(c)
		if has := in.class(c); has != in.class(upper) {
			if has {
				all = append(all, upper, upper)
			} else {
				all = append(all, c, c)
			}
		}
	}
	for _, form := range otherForms() {
		if !in.class(form.r) && strings.ContainsFunc(form.folded, in.class) {
			if last := len(all) - 1; len(all) > len(ranges) && all[last] == form.r-1 {
				all[last] = form.r
			} else {
				all = append(all, form.r, form.r)
			}
		}
	}
	return all
}

// otherForms are the characters outside of ASCII, up to U+FFFF, that compare as others, in their order.
var otherForms = sync.OnceValue(func() (all []otherForm) {
	for r := rune(utf8.RuneSelf); r <= 0xFFFF; r++ {
		if utf8.ValidRune(r) {
			if folded := Fold(string(r)); folded != string(r) {
				all = append(all, otherForm{r, folded})
			}
		}
	}
	return all
})

type otherForm struct {
	r      rune
	folded string
}

func classPart(e elem, below bool) (string, error) {
	var set strings.Builder
	for i := 0; i+1 < len(e.ranges); i += 2 {
		low, high := e.ranges[i], e.ranges[i+1]
		if high > 0xFFFF {
			return "", fmt.Errorf("a class holds characters beyond U+FFFF")
		}
		set.WriteString(classRune(low))
		if high > low {
			set.WriteString("-" + classRune(high))
		}
	}
	if e.negate {
		return oneBut(set.String(), below), nil
	}
	if e.class('/') {
		return "(?!/)[" + set.String() + "]", nil
	}
	return "[" + set.String() + "]", nil
}

func literalParts(text string) []string {
	var parts []string
	for _, r := range text {
		if odd(r) {
			parts = append(parts, fmt.Sprintf(`\u%04X`, r))
		} else {
			parts = append(parts, ecma.Quote(string(r)))
		}
	}
	return parts
}

// classRune writes a character so that it means itself in a class.
func classRune(r rune) string {
	switch {
	case odd(r):
		return fmt.Sprintf(`\u%04X`, r)
	case strings.ContainsRune(`\^]-`, r):
		return `\` + string(r)
	}
	return string(r)
}

// odd reports whether a character is not seen where it stands, or changed by who reads it.
func odd(r rune) bool {
	return r < 0x20 || r == 0x7f || r == 0xFEFF || unicode.IsSpace(r) && r != ' '
}

// ExpandBraces returns the globs without braces that a glob stands for, at most
// 256; it fails on a glob that CheckGlob refuses. One that begins at the root by a "/" that is
// not in it ("src/" of "src/{,x}") begins with one.
func ExpandBraces(pattern string) ([]string, error) {
	if err := CheckGlob(pattern); err != nil {
		return nil, err
	}
	globs, err := expandBraces(pattern)
	if err != nil || anyDepth(pattern) {
		return globs, err
	}
	for i, g := range globs {
		if anyDepth(g) && g != ".." && !strings.HasPrefix(g, "~") {
			globs[i] = "/" + g
		}
	}
	return globs, nil
}
