package importer

import (
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/lazy"
)

// guardBefore began every fileRegex of earlier versions, and odd were the characters that
// they named before and behind an expression of the source.
const guardBefore = `(?!$|[/~\\]|[A-Za-z]:|[\s\S]*[\\\u0000]|[\s\S]*/(?:/|$)|(?:[\s\S]*/)?\.{1,2}(?:/|$)|[\s\S]{1366})`

var odd = map[string]bool{`[\uD800-\uDFFF\u2028\u2029]`: true, `[^\u0000-\u007F]`: true}

// writtenBefore takes an expression apart that an earlier version wrote, in which each letter
// of a deny was a class of its cases.
func writtenBefore(p *ecma.Pattern, known map[string]bool) (access, bool) {
	var a access
	if len(p.Root) != 1 || len(p.Root[0]) < 3 {
		return a, false
	}
	rest := p.Root[0]
	if rest[:2].String() != "^"+guardBefore {
		return a, false
	}
	rest = rest[2:]
	if strings.HasPrefix(rest[:1].String(), `(?![\s\S]*[\uD800-\uDFFF\u0300-`) {
		rest = rest[1:] // characters that have another form
	}
	if body, ok := looked(rest, ecma.NotAhead); ok {
		if denies, ok := whole(body); ok {
			for _, d := range denies {
				a.deniedBefore(d, known)
			}
			rest = rest[1:]
		}
	}
	if guards, ok := guardedBefore(rest); ok {
		before := len(a.denies)
		for _, g := range guards {
			a.deniedBefore(g, known)
		}
		if len(a.denies) > before {
			return a, false
		}
		rest = rest[1:]
	}
	permits, ok := whole(ecma.Alternation{rest})
	switch {
	case rest.String() == `[\s\S]+$`:
		a.all = true
	case ok:
		for _, s := range permits {
			a.permits = append(a.permits, permittedBefore(s))
		}
	default:
		return a, false // edited since
	}
	return a, true
}

// guardedBefore returns what a sequence denies first but for paths that the mode opens:
// (?=(?:OPEN)$|(?!(?:GUARDED)$)).
func guardedBefore(s ecma.Sequence) (ecma.Alternation, bool) {
	body, ok := looked(s, ecma.Ahead)
	if !ok || len(body) != 2 {
		return nil, false
	}
	_, opens := whole(body[:1])
	inner, ok := looked(body[1], ecma.NotAhead)
	if !ok || !opens || len(body[1]) != 1 {
		return nil, false
	}
	return whole(inner)
}

// whole returns what stands in an expression over the whole path: (?:…)$.
func whole(a ecma.Alternation) (ecma.Alternation, bool) {
	if len(a) != 1 || len(a[0]) != 2 || a[0][1:].String() != "$" {
		return nil, false
	}
	return groupBody(a[0][:1])
}

// permittedBefore undoes what stood around an expression of the source that permits; any other
// becomes one over the whole path.
func permittedBefore(s ecma.Sequence) string {
	if len(s) == 3 && s[2:].String() == `[\s\S]*` {
		body, ok := looked(s, ecma.NotAhead)
		if ok && len(body) == 1 && len(body[0]) == 2 && odd[body[0][1:].String()] && body[0][:1].String() == `[\s\S]*` {
			if inner, ok := anywhere(s[1:]); ok {
				return inner.String()
			}
		}
	}
	return "^(?:" + s.String() + ")$"
}

var (
	// cases is a letter as a class of its cases, of which the first is the folded one.
	cases     = lazy.Regexp(`\[([^\]^\\-])[^\]\\-]+\]`)
	unescaped = strings.NewReplacer(`\-`, `-`, `\/`, `/`, `(?:[^/]+/)*`, `(.*/)?`)
)

// deniedBefore adds what a sequence denies: an expression of the source, or a path with all
// that is below it.
func (a *access) deniedBefore(s ecma.Sequence, known map[string]bool) {
	if len(s) == 2 && s[1:].String() == `[\s\S]*` {
		body, ok := anywhere(s)
		if last := len(body) - 1; ok && last > 0 && odd[body[last].String()] {
			a.denies = append(a.denies, ir.Pattern{Kind: ir.Regex, Text: body[:last].String()})
			return
		}
	}
	text := strings.TrimSuffix(s.String(), `(?:/[\s\S]*)?`)
	name, below := strings.CutPrefix(unescaped.Replace(cases().ReplaceAllString(text, "$1")), "(.*/)?")
	root := "/"
	if below {
		root = ""
	}
	if p, err := ecma.Parse(name); err == nil && len(p.Root) == 1 {
		a.names(p.Root[0], root, known)
		return
	}
	a.denies = append(a.denies, ir.Pattern{Kind: ir.Regex, Text: "^(?:" + s.String() + ")$"})
}

// anywhere returns the expression that a sequence looks for first: (?=[\s\S]*?(?:…)).
func anywhere(s ecma.Sequence) (ecma.Alternation, bool) {
	body, ok := looked(s, ecma.Ahead)
	if !ok || len(body) != 1 || len(body[0]) != 2 || body[0][:1].String() != `[\s\S]*?` {
		return nil, false
	}
	return groupBody(body[0][1:])
}
