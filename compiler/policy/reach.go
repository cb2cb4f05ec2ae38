package policy

import (
	"slices"

	"modec.dev/modec/compiler/ir"
)

// reachedGuards returns the guards that change a decision of the side: those of a path that
// its own rules, its default or its permission mode let it edit. Whatever else the side
// leaves to the agent, no guard restricts.
func (e *Engine) reachedGuards(s *side) ([]ir.Rule, error) {
	t := &s.edit
	var reached []ir.Rule
	for _, guard := range e.project.Guards {
		opens := func(d ir.Decision) bool { return d != ir.Agent && d > guard.Decision }
		if t.protects || opens(t.fallback.Decision) {
			reached = append(reached, guard)
			continue
		}
		for _, r := range s.effective[ir.Edit] {
			if !opens(r.Decision) {
				continue
			}
			met, err := e.meets(guard, r)
			if err != nil {
				return nil, err
			}
			if met {
				reached = append(reached, guard)
				break
			}
		}
	}
	return reached, nil
}

// meets reports whether a path exists that a guard and a rule match. It takes every
// expression for one that matches any path.
func (e *Engine) meets(guard, r ir.Rule) (bool, error) {
	if r.Pattern.Kind != ir.Plain || guard.Pattern.Kind != ir.Plain {
		return true, nil
	}
	a, err := e.patterns.glob(guard.Pattern.Text, folded)
	if err != nil {
		return false, err
	}
	b, err := e.patterns.glob(r.Pattern.Text, letters(r.Decision != ir.Allow))
	if err != nil {
		return false, err
	}
	below := segment{kind: segAnyDepth}
	for _, x := range a {
		x = slices.Clone(x).append(below)
		for _, y := range b {
			if r.Decision != ir.Allow {
				y = slices.Clone(y).append(below)
			}
			if x.meets(y) {
				return true, nil
			}
		}
	}
	return false, nil
}

// meets reports whether a path exists that both match.
func (a alternative) meets(b alternative) bool {
	return meet(len(a), len(b), func(i, j int) (both, first, second bool) {
		anyA, anyB := i < len(a) && a[i].kind == segAnyDepth, j < len(b) && b[j].kind == segAnyDepth
		both = i < len(a) && j < len(b) && !anyA && !anyB && a[i].meets(b[j])
		return both, anyA, anyB
	})
}

// meets reports whether a name exists that both match.
func (s segment) meets(o segment) bool {
	a, b := s.letters(), o.letters()
	return meet(len(a), len(b), func(i, j int) (both, first, second bool) {
		anyA, anyB := i < len(a) && a[i].kind == elemStar, j < len(b) && b[j].kind == elemStar
		both = i < len(a) && j < len(b) && !anyA && !anyB && a[i].meets(b[j])
		return both, anyA, anyB
	})
}

// meet reports whether two sequences of n and m items have a common text. at returns for the
// places i and j whether both items match one thing, and whether the first or the second
// item matches any number of things.
func meet(n, m int, at func(i, j int) (both, first, second bool)) bool {
	ends := make([][]bool, n+1) // by the places: whether the rests have a common text
	for i := n; i >= 0; i-- {
		ends[i] = make([]bool, m+1)
		for j := m; j >= 0; j-- {
			both, first, second := at(i, j)
			switch {
			case i == n && j == m:
				ends[i][j] = true
			case both:
				ends[i][j] = ends[i+1][j+1]
			default:
				ends[i][j] = first && (ends[i+1][j] || j < m && ends[i][j+1]) ||
					second && (ends[i][j+1] || i < n && ends[i+1][j])
			}
		}
	}
	return ends[0][0]
}

// letters returns a segment's elements with a literal for each letter.
func (s segment) letters() []elem {
	elems := s.elems
	switch s.kind {
	case segLiteral:
		elems = []elem{{kind: elemLiteral, text: s.text}}
	case segAny:
		elems = []elem{{kind: elemStar}}
	case segSuffix:
		elems = []elem{{kind: elemStar}, {kind: elemLiteral, text: s.text}}
	}
	var out []elem
	for _, e := range elems {
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

// meets reports whether a letter exists that both match, whatever its case. A class is taken
// for one of all letters.
func (e elem) meets(o elem) bool {
	return e.kind != elemLiteral || o.kind != elemLiteral || Fold(e.text) == Fold(o.text)
}
