package verify

import (
	"regexp/syntax"
	"strings"
)

// regexSamples returns texts that an expression matches, as far as Go's parser reads it. It
// returns none for one with lookaround.
func regexSamples(expr string) []string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil
	}
	re = re.Simplify()
	var out []string
	for choice := range 3 {
		var b strings.Builder
		s := regexSampler{choice: choice, budget: 2000}
		s.write(&b, re)
		out = append(out, b.String())
	}
	return out
}

// regexSampler writes one text. choice picks the branches and the repetitions, budget limits
// the work.
type regexSampler struct{ choice, budget int }

func (s *regexSampler) write(b *strings.Builder, re *syntax.Regexp) {
	if s.budget--; s.budget < 0 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			i := s.choice % (len(re.Rune) / 2) * 2
			b.WriteRune(min(re.Rune[i]+rune(s.choice), re.Rune[i+1]))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune('x')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			s.write(b, sub)
		}
	case syntax.OpAlternate:
		s.write(b, re.Sub[s.choice%len(re.Sub)])
	case syntax.OpStar, syntax.OpQuest:
		for range s.choice % 2 {
			s.write(b, re.Sub[0])
		}
	case syntax.OpPlus:
		for range 1 + s.choice%2 {
			s.write(b, re.Sub[0])
		}
	case syntax.OpRepeat:
		for range max(re.Min, 1) {
			s.write(b, re.Sub[0])
		}
	}
}
