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
			met, err := e.meet(guard.Pattern, itself, r.Pattern, reach(r.Decision != ir.Allow))
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
		return e.languagesMeet(a, toA, b, toB)
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
