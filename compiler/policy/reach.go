package policy

import (
	"slices"

	"modec.dev/modec/compiler/ir"
)

// Meet reports whether a path exists that a deny or an ask and another rule match. It
// compares letters whatever their case, and takes a class for one of all letters and an
// expression that is not regular for one that matches any path.
func (e *Engine) Meet(hold, other ir.Rule) bool {
	met, err := e.meet(hold.Pattern, andBelow, other.Pattern, reach(other.Decision != ir.Allow))
	return met || err != nil
}

func (e *Engine) meet(a ir.Pattern, toA reach, b ir.Pattern, toB reach) (bool, error) {
	if a.Kind == ir.All || b.Kind == ir.All {
		return true, nil
	}
	if a.Kind == ir.Regex || b.Kind == ir.Regex {
		return e.patterns.expressionsMeet(a, toA, b, toB)
	}
	x, err := e.patterns.glob(a.Text, folded)
	if err != nil {
		return false, err
	}
	y, err := e.patterns.glob(b.Text, folded)
	if err != nil {
		return false, err
	}
	for _, a := range x {
		for _, b := range y {
			if a.to(toA).meets(b.to(toB)) {
				return true, nil
			}
		}
	}
	return false, nil
}

// to returns the alternative with what is below it, where that counts.
func (a alternative) to(r reach) alternative {
	if r == andBelow {
		return slices.Clone(a).append(segment{kind: segAnyDepth})
	}
	return a
}

// meets reports whether a path exists that both match.
func (a alternative) meets(b alternative) bool { return a.meetsBy(b, segment.meets) }

// meetsBy is meets where names says which names of both are one.
func (a alternative) meetsBy(b alternative, names func(s, o segment) bool) bool {
	return meet(len(a), len(b), func(i, j int) (both, first, second bool) {
		anyA, anyB := i < len(a) && a[i].kind == segAnyDepth, j < len(b) && b[j].kind == segAnyDepth
		both = i < len(a) && j < len(b) && !anyA && !anyB && names(a[i], b[j])
		return both, anyA, anyB
	})
}

// meets reports whether a name exists that both match. A class is taken for one of all letters.
func (s segment) meets(o segment) bool {
	var ofS, ofO [64]character
	a, b := s.appendCharacters(ofS[:0]), o.appendCharacters(ofO[:0])
	return meet(len(a), len(b), func(i, j int) (both, first, second bool) {
		anyA, anyB := i < len(a) && a[i].kind == elemStar, j < len(b) && b[j].kind == elemStar
		both = i < len(a) && j < len(b) && !anyA && !anyB && a[i].meets(b[j])
		return both, anyA, anyB
	})
}

// meet reports whether two sequences of n and m items have a common text. at returns for the
// places i and j whether both items match one thing, and whether the first or the second
// item matches any number of things. It is asked about the places alone that common beginnings lead
// to: most sequences differ in their first items.
func meet(n, m int, at func(i, j int) (both, first, second bool)) bool {
	var small [2][64]bool
	row, next := small[0][:], small[1][:] // which places of the second lead on from one of the first
	if m >= len(row) {
		row, next = make([]bool, m+1), make([]bool, m+1)
	}
	row, next = row[:m+1], next[:m+1]
	row[0] = true
	for i := 0; ; i++ {
		any := false
		for j := range row {
			if !row[j] {
				continue
			}
			if i == n && j == m {
				return true
			}
			both, first, second := at(i, j)
			if both {
				next[j+1], any = true, true
				continue
			}
			if (first || second) && i < n {
				next[j], any = true, true
			}
			if (first || second) && j < m {
				row[j+1] = true
			}
		}
		if !any {
			return false
		}
		row, next = next, row
		clear(next)
	}
}

// character is an element of a segment that matches one letter, or any number of them.
type character struct {
	kind elemKind
	r    rune // of a literal
}

// appendCharacters appends the characters of a segment.
func (s segment) appendCharacters(to []character) []character {
	var buf [2]elem
	for _, e := range s.elements(&buf) {
		if e.kind != elemLiteral {
			to = append(to, character{kind: e.kind})
			continue
		}
		for _, r := range e.text {
			to = append(to, character{elemLiteral, r})
		}
	}
	return to
}

// meets reports whether a letter exists that both match, whatever its case.
func (c character) meets(o character) bool {
	return c.kind != elemLiteral || o.kind != elemLiteral || c.r == o.r || Fold(string(c.r)) == Fold(string(o.r))
}

// letters returns a segment's elements with a literal for each letter.
func (s segment) letters() (out []elem) {
	var buf [2]elem
	for _, e := range s.elements(&buf) {
		if e.kind != elemLiteral {
			out = append(out, e)
			continue
		}
		for _, r := range e.text {
			out = append(out, elem{kind: elemLiteral, text: string(r)})
		}
	}
	return out
}

// elements returns what a segment consists of, in buf where the segment has it in short.
func (s segment) elements(buf *[2]elem) []elem {
	star := elem{kind: elemStar}
	switch literal := (elem{kind: elemLiteral, text: s.text}); s.kind {
	case segLiteral:
		return append(buf[:0], literal)
	case segAny:
		return append(buf[:0], star)
	case segSuffix:
		return append(buf[:0], star, literal)
	}
	return s.elems
}
