package lastmatch

import (
	"errors"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/policy"
	"modec.dev/modec/targets/opencode/format"
)

// part is what a rule says as patterns: what matches one of them and none of but.
type part struct {
	patterns, but []string
	// exact is not set where the patterns match more than the rule.
	exact bool
}

// token is a sign of a pattern: a character, any character, or any text.
type token struct {
	c rune // '*' and '?' for these
	// deep is set where a sign may take a slash, too.
	deep bool
	// literal is set for a character that stands for itself.
	literal bool
	// loose is set for a sign in the place of one that no pattern has.
	loose bool
	// line is set for a sign in the place of a dot of an expression, which stands for no line break.
	line bool
}

// mostVariants bounds how many patterns a rule becomes.
const mostVariants = 16

var (
	errVariants = errors.New("it has too many forms")
	errSign     = errors.New("no pattern has such a sign")
)

// pathsOf returns what a rule about paths says as patterns.
func (k *known) pathsOf(r ir.Rule) (part, error) {
	of := pathRule{r.Pattern, r.Decision < ir.Allow}
	p, ok := k.paths[of]
	if !ok {
		p.part, p.err = paths(of.Pattern, of.restricts)
		k.paths[of] = p
	}
	return p.part, p.err
}

// paths writes a rule about paths as patterns. What holds back matches below what it names, too.
func paths(pattern ir.Pattern, restricts bool) (part, error) {
	if pattern.Kind == ir.Regex {
		return regexPart(pattern.Text, restricts)
	}
	texts, err := policy.ExpandBraces(pattern.Text)
	if err != nil {
		return part{}, err
	}
	all := part{exact: true}
	for _, text := range texts {
		variants, err := globTokens(text, restricts)
		if err != nil {
			return part{}, err
		}
		for _, v := range variants {
			if err := all.add(v, restricts); err != nil {
				return part{}, err
			}
		}
	}
	return all, nil
}

// add adds a form of a rule.
func (p *part) add(tokens []token, restricts bool) error {
	text := written(tokens)
	if misread(text) {
		if !restricts {
			return errSign
		}
		p.exact, text = false, hidden(text)
	}
	if !slices.Contains(p.patterns, text) {
		p.patterns = append(p.patterns, text)
	}
	for i, t := range tokens {
		switch {
		case t.loose, restricts && !t.literal && (!t.deep || t.line):
			p.exact = false
			continue
		case t.line:
			p.butLines(tokens, i)
			continue
		case t.literal, t.deep:
			continue
		}
		deeper := slices.Clone(tokens[:i])
		if t.c == '*' {
			deeper = append(deeper, token{c: '*'}, token{c: '/', literal: true}, token{c: '*'})
		} else {
			deeper = append(deeper, token{c: '/', literal: true})
		}
		if but := written(append(deeper, tokens[i+1:]...)); !misread(but) && !slices.Contains(p.but, but) {
			p.but = append(p.but, but)
		} else if misread(but) {
			return errSign
		}
	}
	return nil
}

// butLines takes back what has a line break in the place of a dot, which stands for none.
func (p *part) butLines(tokens []token, at int) {
	for _, c := range "\n\r\u2028\u2029" {
		with := append(slices.Clone(tokens[:at]), token{c: c, literal: true})
		if tokens[at].c == '*' {
			with = append(append(slices.Clone(tokens[:at+1]), token{c: c, literal: true}), tokens[at])
		}
		if but := written(append(with, tokens[at+1:]...)); !slices.Contains(p.but, but) {
			p.but = append(p.but, but)
		}
	}
}

// hidden returns a pattern that matches what another one does, and that is taken as it stands.
func hidden(text string) string {
	runes := []rune(text)
	if len(runes) == 0 {
		return "*"
	}
	runes[0] = '?'
	if text = string(runes); strings.HasSuffix(text, " *") {
		text = strings.TrimSuffix(text, " *") + "?*"
	}
	return text
}

func written(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if t.c == '*' && i > 0 && tokens[i-1].c == '*' && !tokens[i-1].literal {
			continue
		}
		b.WriteRune(t.c)
	}
	return b.String()
}

// misread reports whether a pattern is taken for another one.
func misread(text string) bool {
	return text == "" || format.Number(text) || strings.HasPrefix(text, "~") || strings.HasPrefix(text, "$HOME") ||
		strings.HasSuffix(text, " *") || strings.HasPrefix(text, "mcp:")
}

// globTokens returns the forms of a glob without braces.
func globTokens(text string, restricts bool) ([][]token, error) {
	segments, dir, below := segmentsOf(text, restricts)
	forms := [][]token{{}}
	after := false // a "**" stands before
	for i, s := range segments {
		last := i == len(segments)-1
		if s == "**" && !last {
			after = true
			continue
		}
		names, err := segmentTokens(s, restricts)
		if err != nil {
			return nil, err
		}
		var next [][]token
		for _, name := range names {
			next = append(next, joinedTokens(forms, deepened(name, last && below, after), after)...)
		}
		if after = false; len(next) > mostVariants {
			return nil, errVariants
		}
		if forms = next; !last {
			for j := range forms {
				forms[j] = append(forms[j], slash)
			}
		}
	}
	if !below {
		return forms, nil
	}
	var out [][]token
	for _, f := range forms {
		open := ends(f, '*') && f[len(f)-1].deep
		if restricts || !dir || open {
			out = append(out, f)
		}
		if !open {
			out = append(out, append(slices.Clone(f), slash, anyText))
		}
	}
	return out, nil
}

// The signs between names, and of any text.
var (
	slash   = token{c: '/', literal: true}
	anyText = token{c: '*', deep: true}
)

// segmentsOf returns the names of a glob. dir is set for one about what is in a folder alone, below where it is about
// that too.
func segmentsOf(text string, restricts bool) (segments []string, dir, below bool) {
	dir = strings.HasSuffix(text, "/")
	segments = strings.Split(strings.Trim(text, "/"), "/")
	if strings.HasPrefix(text, "./") {
		segments = segments[1:]
	}
	if !strings.Contains(strings.TrimSuffix(text, "/"), "/") {
		segments = append([]string{"**"}, segments...)
	}
	below = dir || restricts
	for n := len(segments); n > 1 && segments[n-1] == "**"; n-- {
		segments, below = segments[:n-1], true
		dir = dir || !restricts
	}
	return segments, dir, below
}

// deepened marks the signs of a name that may take slashes, too, and change nothing: the last one of a name below which
// everything is meant, and the first one behind a "**".
func deepened(name []token, below, after bool) []token {
	name = slices.Clone(name)
	if after && begins(name, '*') {
		name[0].deep = true
	}
	if below && ends(name, '*') {
		name[len(name)-1].deep = true
	}
	return name
}

// joinedTokens puts a name behind each form, and where a "**" stands before it, folders between them too.
func joinedTokens(forms [][]token, name []token, after bool) (next [][]token) {
	for _, f := range forms {
		if after && !begins(name, '*') {
			next = append(next, append(append(slices.Clone(f), anyText, slash), name...))
		}
		next = append(next, append(slices.Clone(f), name...))
	}
	return next
}

func begins(f []token, c rune) bool { return len(f) > 0 && f[0].c == c && !f[0].literal }

func ends(f []token, c rune) bool { return len(f) > 0 && f[len(f)-1].c == c && !f[len(f)-1].literal }

// segmentTokens returns the forms of a name in a glob: a class becomes each of its characters, or any one where the
// glob holds back.
func segmentTokens(s string, restricts bool) ([][]token, error) {
	forms := [][]token{{}}
	add := func(each ...token) error {
		var next [][]token
		for _, f := range forms {
			for _, t := range each {
				next = append(next, append(slices.Clone(f), t))
			}
		}
		if forms = next; len(forms) > mostVariants {
			return errVariants
		}
		return nil
	}
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		var err error
		switch c := runes[i]; {
		case c == '*':
			for i+1 < len(runes) && runes[i+1] == '*' {
				i++
			}
			err = add(token{c: '*'})
		case c == '?':
			err = add(token{c: '?'})
		case c == '[':
			end := slices.Index(runes[i+1:], ']')
			if end < 0 {
				return nil, errSign
			}
			class := runes[i+1 : i+1+end]
			i += 1 + end
			if restricts {
				err = add(token{c: '?', loose: true})
				break
			}
			var each []token
			if each, err = classTokens(class); err == nil {
				err = add(each...)
			}
		case c == '\\' && i+1 < len(runes):
			i++
			err = add(literal(runes[i], restricts))
		default:
			err = add(literal(c, restricts))
		}
		if err != nil {
			return nil, err
		}
	}
	for _, f := range forms {
		if slices.ContainsFunc(f, func(t token) bool { return t.c == 0 }) {
			return nil, errSign
		}
	}
	return forms, nil
}

// literal returns a character that stands for itself, any one for a sign that no pattern has where it holds back.
func literal(c rune, restricts bool) token {
	switch {
	case c != '*' && c != '?' && c != '\\':
		return token{c: c, literal: true}
	case restricts:
		return token{c: '?', loose: true}
	}
	return token{}
}

// classTokens returns the characters of a class.
func classTokens(class []rune) (out []token, err error) {
	if len(class) == 0 || class[0] == '^' || class[0] == '!' {
		return nil, errSign
	}
	for i := 0; i < len(class); i++ {
		from, to := class[i], class[i]
		if from == '\\' {
			return nil, errSign
		}
		if i+2 < len(class) && class[i+1] == '-' {
			to = class[i+2]
			i += 2
		}
		for c := from; c <= to; c++ {
			if len(out) >= mostVariants {
				return nil, errVariants
			}
			out = append(out, literal(c, false))
		}
	}
	return out, nil
}

// The places at which an expression begins and ends, among the signs of a form.
const (
	beginSign rune = -1
	endSign   rune = -2
)

// regexPart writes an expression as patterns.
func regexPart(text string, restricts bool) (part, error) {
	if _, err := ecma.Parse(text); err != nil {
		return part{}, err
	}
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return part{}, errSign
	}
	all := part{exact: true}
	forms, err := regexTokens(re, restricts, &all.exact)
	if err != nil {
		return part{}, err
	}
	for _, f := range forms {
		if len(f) > 0 && f[0].c == beginSign {
			f = f[1:]
		} else {
			f = append([]token{anyText}, f...)
		}
		if len(f) > 0 && f[len(f)-1].c == endSign {
			f = f[:len(f)-1]
		} else {
			f = append(f, anyText)
		}
		if slices.ContainsFunc(f, func(t token) bool { return t.c < 0 }) {
			return part{}, errSign
		}
		if err := all.add(f, restricts); err != nil {
			return part{}, err
		}
	}
	return all, nil
}

// regexTokens returns the forms of an expression. What has no form is any text where the expression holds back.
func regexTokens(re *syntax.Regexp, restricts bool, exact *bool) ([][]token, error) {
	other := func() ([][]token, error) {
		if !restricts {
			return nil, errSign
		}
		*exact = false
		return [][]token{{{c: '*', deep: true}}}, nil
	}
	if re.Flags&syntax.FoldCase != 0 {
		return other()
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return [][]token{{}}, nil
	case syntax.OpBeginText:
		return [][]token{{{c: beginSign}}}, nil
	case syntax.OpEndText:
		return [][]token{{{c: endSign}}}, nil
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return [][]token{{{c: '?', deep: true, line: re.Op == syntax.OpAnyCharNotNL}}}, nil
	case syntax.OpLiteral:
		var f []token
		for _, c := range re.Rune {
			t := literal(c, restricts)
			if t.c == 0 {
				return nil, errSign
			}
			f = append(f, t)
		}
		return [][]token{f}, nil
	case syntax.OpCapture:
		return regexTokens(re.Sub[0], restricts, exact)
	case syntax.OpQuest:
		forms, err := regexTokens(re.Sub[0], restricts, exact)
		return append(forms, []token{}), err
	case syntax.OpStar, syntax.OpPlus:
		if f := repeated(re); f != nil {
			return [][]token{f}, nil
		}
		return other()
	case syntax.OpAlternate:
		var all [][]token
		for _, sub := range re.Sub {
			forms, err := regexTokens(sub, restricts, exact)
			if err != nil {
				return nil, err
			}
			if all = append(all, forms...); len(all) > mostVariants {
				return nil, errVariants
			}
		}
		return all, nil
	case syntax.OpConcat:
		return inTurn(re.Sub, restricts, exact)
	case syntax.OpCharClass:
		if restricts {
			*exact = false
			return [][]token{{{c: '?', deep: true}}}, nil
		}
		if notSlash(re) {
			return [][]token{{{c: '?'}}}, nil
		}
		return eachOf(re, restricts)
	}
	return other()
}

// repeated returns the form of what is any text, or any name; nil for another repetition.
func repeated(re *syntax.Regexp) []token {
	sub := re.Sub[0]
	line := sub.Op == syntax.OpAnyCharNotNL
	of := token{c: '*', deep: line || sub.Op == syntax.OpAnyChar, line: line}
	if !of.deep && !notSlash(sub) {
		return nil
	}
	if re.Op == syntax.OpPlus {
		return []token{{c: '?', deep: of.deep, line: line}, of}
	}
	return []token{of}
}

// inTurn returns the forms of expressions one behind the other.
func inTurn(list []*syntax.Regexp, restricts bool, exact *bool) ([][]token, error) {
	all := [][]token{{}}
	for _, sub := range list {
		forms, err := regexTokens(sub, restricts, exact)
		if err != nil {
			return nil, err
		}
		var next [][]token
		for _, f := range all {
			for _, g := range forms {
				next = append(next, append(slices.Clone(f), g...))
			}
		}
		if all = next; len(all) > mostVariants {
			return nil, errVariants
		}
	}
	return all, nil
}

// eachOf returns a form for each character of a class.
func eachOf(re *syntax.Regexp, restricts bool) (all [][]token, err error) {
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for c := re.Rune[i]; c <= re.Rune[i+1]; c++ {
			t := literal(c, restricts)
			if t.c == 0 || len(all) >= mostVariants {
				return nil, errVariants
			}
			all = append(all, []token{t})
		}
	}
	return all, nil
}

// notSlash reports whether an expression is any character but a slash.
func notSlash(re *syntax.Regexp) bool {
	return re.Op == syntax.OpCharClass &&
		slices.Equal(re.Rune, []rune{0, '/' - 1, '/' + 1, utf8.MaxRune})
}
