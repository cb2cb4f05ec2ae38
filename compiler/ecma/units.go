package ecma

import (
	"slices"
	"unicode/utf16"
)

// Units are UTF-16 units, as ranges in ascending order that do not touch.
type Units []Range

// Range is the units from First to Last, both included.
type Range struct{ First, Last uint16 }

// Contains reports whether a unit is one of them.
func (u Units) Contains(unit uint16) bool {
	i, found := slices.BinarySearchFunc(u, unit, func(r Range, unit uint16) int { return int(r.First) - int(unit) })
	return found || i > 0 && unit <= u[i-1].Last
}

// Not returns all other units.
func (u Units) Not() Units {
	var out Units
	next := 0
	for _, r := range u {
		if int(r.First) > next {
			out = append(out, Range{uint16(next), r.First - 1})
		}
		next = int(r.Last) + 1
	}
	if next <= 0xFFFF {
		out = append(out, Range{uint16(next), 0xFFFF})
	}
	return out
}

// united returns ranges in ascending order, those that touch as one.
func united(ranges []Range) Units {
	slices.SortFunc(ranges, func(a, b Range) int { return int(a.First) - int(b.First) })
	var out Units
	for _, r := range ranges {
		if last := len(out) - 1; last >= 0 && int(r.First) <= int(out[last].Last)+1 {
			out[last].Last = max(out[last].Last, r.Last)
		} else {
			out = append(out, r)
		}
	}
	return out
}

var (
	lineTerminators = Units{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}
	digits          = Units{{'0', '9'}}
	wordUnits       = Units{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	whiteSpace      = Units{{'\t', '\r'}, {' ', ' '}, {0xA0, 0xA0}, {0x1680, 0x1680}, {0x2000, 0x200A},
		{0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}}
)

// shorthands are the units of the escapes that stand for several.
var shorthands = map[byte]Units{
	'd': digits, 'D': digits.Not(),
	'w': wordUnits, 'W': wordUnits.Not(),
	's': whiteSpace, 'S': whiteSpace.Not(),
}

// Units returns the one unit.
func (t *Literal) Units() Units { return Units{{t.Unit, t.Unit}} }

// Units returns every unit but the line terminators.
func (t *Any) Units() Units { return lineTerminators.Not() }

// Units returns the units that the letter stands for.
func (t *Shorthand) Units() Units { return shorthands[t.Letter] }

// Units returns the units that the class matches.
func (t *Class) Units() Units {
	u := t.listed()
	if t.Negated {
		return u.Not()
	}
	return u
}

// listed returns the units of the items.
func (t *Class) listed() Units {
	var all []Range
	for _, item := range t.Items {
		switch {
		case item.Shorthand != nil:
			all = append(all, item.Shorthand.Units()...)
		case item.Last != nil:
			all = append(all, Range{item.First.Unit, item.Last.Unit})
		default:
			all = append(all, Range{item.First.Unit, item.First.Unit})
		}
	}
	return united(all)
}

// IsWhiteSpace reports whether \s matches a character.
func IsWhiteSpace(r rune) bool { return r <= 0xFFFF && whiteSpace.Contains(uint16(r)) }

func isHalf(unit uint16) bool { return utf16.IsSurrogate(rune(unit)) }
