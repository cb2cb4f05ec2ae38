package verify

import (
	"slices"
	"unicode/utf16"

	"modec.dev/modec/compiler/ecma"
)

// mostSamples bounds the texts of one expression, and mostUnits each of them: what would make one longer is left out.
// What its first branches match is among them.
const (
	mostSamples = 512
	mostUnits   = 1024
)

// regexSamples returns texts that an expression matches, as far as its lookaround and its references let them: one at
// least for each of its branches, for each item of its classes, and for each repetition with and without its term. It
// returns none for what is no expression of ECMAScript.
func regexSamples(expr string) []string {
	p, err := ecma.Parse(expr)
	if err != nil {
		return nil
	}
	var out []string
	for _, units := range (&regexSampler{groups: map[int][]uint16{}}).branches(p.Root) {
		out = append(out, string(utf16.Decode(units)))
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(a) - len(b) })
	return slices.Compact(out)
}

// regexSampler writes the texts of an expression.
type regexSampler struct {
	groups map[int][]uint16 // the first text of each capturing group, by its number
}

func (s *regexSampler) branches(a ecma.Alternation) (out [][]uint16) {
	for _, sequence := range a {
		out = append(out, s.sequence(sequence)...)
	}
	return out[:min(len(out), mostSamples)]
}

// sequence returns the first text of each term one behind the other, and then the same with every other text of one of
// the terms.
func (s *regexSampler) sequence(terms ecma.Sequence) [][]uint16 {
	out := [][]uint16{{}}
	for _, t := range terms {
		texts := s.term(t)
		first := out[0]
		for i := range out {
			out[i] = joined(out[i], texts[0], 1)
		}
		for _, text := range texts[1:] {
			if len(out) < mostSamples {
				out = append(out, joined(first, text, 1))
			}
		}
	}
	return out
}

// joined returns a text with another one behind it some times, as often as it may be that long.
func joined(text, more []uint16, times int) []uint16 {
	if len(more) == 0 {
		return text
	}
	times = min(times, (mostUnits-len(text))/len(more))
	return slices.Concat(text, slices.Repeat(more, max(times, 0)))
}

// term returns at least one text.
func (s *regexSampler) term(t ecma.Term) [][]uint16 {
	switch t := t.(type) {
	case *ecma.Class:
		return classSamples(t)
	case ecma.Single:
		return [][]uint16{{plainUnit(t.Units())}}
	case *ecma.Group:
		texts := s.branches(t.Body)
		s.groups[t.Number] = texts[0]
		return texts
	case *ecma.Reference:
		return [][]uint16{s.groups[t.Number]}
	case *ecma.Repetition:
		texts := s.term(t.Term)
		if t.Min == 0 {
			return append([][]uint16{{}}, texts...)
		}
		first := texts[0]
		for i := range texts {
			texts[i] = joined(texts[i], first, t.Min-1)
		}
		return texts
	}
	return [][]uint16{{}}
}

// classSamples returns a unit of each item of a class, and the ends of its ranges.
func classSamples(c *ecma.Class) (out [][]uint16) {
	units := c.Units()
	add := func(unit uint16) {
		if units.Contains(unit) && len(out) < mostSamples {
			out = append(out, []uint16{unit})
		}
	}
	add(plainUnit(units))
	for _, item := range c.Items {
		if item.Shorthand != nil {
			add(plainUnit(item.Shorthand.Units()))
			continue
		}
		add(item.First.Unit)
		if item.Last != nil {
			add(item.Last.Unit)
		}
	}
	if len(out) == 0 {
		return [][]uint16{{}} // the class of nothing
	}
	return out
}

// plainUnit returns the unit that people read best.
func plainUnit(units ecma.Units) uint16 {
	for _, c := range "xa1._-/ " {
		if units.Contains(uint16(c)) {
			return uint16(c)
		}
	}
	if len(units) == 0 {
		return 'x'
	}
	return units[0].First
}
