package policy

import (
	"strings"

	"modec.dev/modec/compiler/ecma"
	"modec.dev/modec/compiler/ir"
	"modec.dev/modec/compiler/regexlang"
)

// expressionsMeet reports whether a path exists that two patterns match, at least one of them an
// expression. Where it cannot find out, it reports true: for letters outside of ASCII, and for an
// expression that is not regular.
func (p *patterns) expressionsMeet(a ir.Pattern, toA reach, b ir.Pattern, toB reach) (bool, error) {
	p.meeting.Lock()
	defer p.meeting.Unlock()
	if p.space == nil {
		p.space = regexlang.New(regexlang.SetOf(func(rune) bool { return true }))
	}
	x, err := p.language(a, toA)
	if err != nil {
		return false, err
	}
	y, err := p.language(b, toB)
	if err != nil {
		return false, err
	}
	return p.space.Meets(x, y), nil
}

// language returns a language that has at least the paths that a pattern matches, whatever their case.
func (p *patterns) language(x ir.Pattern, to reach) (regexlang.Language, error) {
	type name struct {
		ir.Pattern
		reach
	}
	return p.space.Once(name{x, to}, func() (regexlang.Language, error) {
		if x.Kind == ir.Plain {
			g, err := p.glob(x.Text, folded)
			if err != nil || !isASCII(x.Text) {
				return regexlang.All, err
			}
			return g.language(p.space, folded, to), nil
		}
		e, err := ecma.Parse(x.Text)
		if err != nil {
			return regexlang.None, err
		}
		l, err := p.space.ECMAScript(e, true)
		if err != nil || !isASCII(x.Text) || strings.Contains(x.Text, `\u`) || strings.Contains(x.Text, `\x`) {
			return regexlang.All, nil
		}
		return l, nil
	})
}
