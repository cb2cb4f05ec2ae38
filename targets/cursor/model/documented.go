package model

import (
	"regexp"
	"slices"
	"strings"

	"modec.dev/modec/compiler/regexlang"
)

// documented is a glob as Cursor's documentation means it, which is as picomatch reads it: ?, classes, braces, groups
// as in +(a|b), and ! before what is not matched. Where picomatch knows more (a name that begins with a dot, a number
// in braces, what a group !( ) leaves out) it matches more than picomatch does.
type documented struct {
	expr    string // in the grammar of Go
	re      *regexp.Regexp
	but     bool     // it matches what the expression does not
	samples []string // of what is matched: by the first alternative of each group, and by the last
}

// readDocumented returns nil for a pattern whose only special character is the star.
func readDocumented(pattern string) *documented {
	if !strings.ContainsAny(pattern, `?[]{}()!+@\|`) {
		return nil
	}
	d := &documented{}
	for strings.HasPrefix(pattern, "!") && !strings.HasPrefix(pattern, "!(") {
		d.but, pattern = !d.but, pattern[1:]
	}
	for _, last := range []bool{false, true} {
		r := globReader{rest: []rune(pattern), last: last}
		d.expr = `\A(?s:` + r.all() + `)\z`
		d.samples = append(d.samples, r.sample)
	}
	if d.but {
		d.samples = []string{"modec-other"}
	}
	var err error
	if d.re, err = regexp.Compile(d.expr); err != nil {
		d.expr = `\A(?s:.*)\z`
		d.re = regexp.MustCompile(d.expr)
	}
	d.samples = slices.Compact(d.samples)
	return d
}

func (d *documented) match(text string) bool { return d != nil && d.re.MatchString(text) != d.but }

// language returns the texts that are matched when each of their letters is read as another one. An expression that was
// read is regular.
func (d *documented) language(sp *regexlang.Space, as func(rune) rune) regexlang.Language {
	if d == nil {
		return regexlang.None
	}
	of, err := sp.GoAs(d.expr, as)
	switch {
	case err != nil:
		return regexlang.All
	case d.but:
		return sp.Not(of)
	}
	return of
}

// globReader writes a glob as an expression.
type globReader struct {
	rest   []rune
	sample string
	last   bool // the sample has the last alternative of each group
}

// all reads the whole glob.
func (r *globReader) all() string {
	expr := r.sequence(0)
	for len(r.rest) > 0 { // at a bracket that closes nothing
		r.sample += string(r.rest[0])
		expr += regexp.QuoteMeta(string(r.rest[0]))
		r.rest = r.rest[1:]
		expr += r.sequence(0)
	}
	return expr
}

// ends are the signs at which a sequence ends, by what closes it; 0 for that of the whole glob.
var ends = map[rune]string{0: ")}", ')': ")|", '}': "},"}

// repeated returns a group as often as the sign before it says.
func repeated(group string, sign rune) string {
	switch sign {
	case '@':
		return group
	case '!':
		return ".*"
	}
	return group + string(sign)
}

// sequence reads up to the end, or to a sign that ends an alternative of a group that closes with a bracket.
func (r *globReader) sequence(closing rune) string {
	var b strings.Builder
	for len(r.rest) > 0 {
		c := r.rest[0]
		grouped := len(r.rest) > 1 && r.rest[1] == '('
		switch {
		case strings.ContainsRune(ends[closing], c):
			return b.String()
		case c == '\\' && len(r.rest) > 1:
			b.WriteString(regexp.QuoteMeta(string(r.rest[1])))
			r.sample += string(r.rest[1])
			r.rest = r.rest[2:]
		case grouped && strings.ContainsRune("*?+@!", c):
			r.rest = r.rest[1:]
			b.WriteString(repeated(r.group(')'), c))
		case c == '(':
			b.WriteString(r.group(')'))
		case c == '{':
			b.WriteString(r.group('}'))
		case c == '[':
			b.WriteString(r.class())
		case c == '*':
			b.WriteString(".*")
			r.rest = r.rest[1:]
		case c == '?':
			b.WriteString(".")
			r.sample += "x"
			r.rest = r.rest[1:]
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
			r.sample += string(c)
			r.rest = r.rest[1:]
		}
	}
	return b.String()
}

// group reads alternatives. Without its closing bracket a group is text.
func (r *globReader) group(closing rune) string {
	start, before := r.rest, r.sample
	r.rest = r.rest[1:]
	var all []string
	sample := ""
	for first := true; ; first = false {
		r.sample = ""
		all = append(all, r.sequence(closing))
		if len(r.rest) == 0 { // the bracket is text, and the rest is read again
			r.rest, r.sample = start[1:], before+string(start[0])
			return regexp.QuoteMeta(string(start[0]))
		}
		if first || r.last {
			sample = r.sample
		}
		end := r.rest[0] == closing
		r.rest = r.rest[1:]
		if end {
			break
		}
	}
	r.sample = before + sample
	if closing == '}' && len(all) == 1 {
		return ".*" // a range, or text
	}
	return "(?:" + strings.Join(all, "|") + ")"
}

// class reads a set of characters. Without its closing bracket it is text.
func (r *globReader) class() string {
	for end := 2; end < len(r.rest); end++ {
		if r.rest[end] != ']' || r.rest[end-1] == ':' {
			continue
		}
		inside := string(r.rest[1:end])
		of := "[" + strings.NewReplacer("!", "^").Replace(inside[:1]) + strings.ReplaceAll(inside[1:], "&&", "&") + "]"
		r.rest = r.rest[end+1:]
		re, err := regexp.Compile(of)
		if err != nil {
			r.sample += "x"
			return "."
		}
		for _, sample := range inside + "x0_" {
			if re.MatchString(string(sample)) {
				r.sample += string(sample)
				break
			}
		}
		return of
	}
	r.sample += "["
	r.rest = r.rest[1:]
	return `\[`
}
