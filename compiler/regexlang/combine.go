package regexlang

import (
	"cmp"
	"slices"
)

// What languages are cut into is put together: of a language without those of a list that many others are without, too,
// the list is cut once.

// combined reports whether a language is made of others that are cut for themselves.
func (s *Space) combined(l Language) bool {
	switch n := &s.nodes[l]; n.operation {
	case and:
		return true
	case not:
		return l > Some
	case or:
		return slices.ContainsFunc(s.operandsOf(l), s.combined)
	}
	return false
}

// combine returns the pieces of such a language.
func (s *Space) combine(l Language, most int) *pieces {
	op := s.nodes[l].operation
	if op == not {
		return s.piecesOf(cutName{Language: s.nodes[l].a}, most).complement()
	}
	var parts []*pieces
	var rest []Language // of which the union is cut as it is
	for _, o := range s.inOrder(s.operandsOf(l)) {
		if op == or && !s.combined(o) {
			rest = append(rest, o)
		} else {
			parts = append(parts, s.piecesOf(cutName{Language: o}, most))
		}
	}
	if len(rest) > 0 {
		parts = append(parts, s.piecesOf(cutName{Language: s.Or(rest...)}, most))
	}
	p := parts[0]
	for _, next := range parts[1:] {
		p = s.joinPieces(op, p, next)
	}
	return p
}

// inOrder returns languages in an order that does not depend on what a Space was asked before, as their numbers do: it
// decides how much it takes to put together what they are cut into.
func (s *Space) inOrder(of []Language) []Language {
	return slices.SortedFunc(slices.Values(of), func(a, b Language) int { return cmp.Compare(s.made(a), s.made(b)) })
}

// made returns a hash of how a language is made: the same in every Space.
func (s *Space) made(l Language) uint64 {
	if hash, ok := s.hashes[l]; ok {
		return hash
	}
	n := s.nodes[l]
	hash := hashed(firstHash, uint32(n.operation))
	with := func(of uint64) { hash = hashed(hashed(hash, uint32(of)), uint32(of>>32)) }
	switch n.operation {
	case chars:
		for _, letters := range s.setOf(l) {
			with(letters)
		}
	case cat:
		with(s.made(n.a))
		with(s.made(n.b))
	case star, not, skipping:
		with(s.made(n.a))
	case before:
		with(s.made(n.a))
		for _, c := range []byte(s.texts[n.b]) {
			hash = hashed(hash, uint32(c))
		}
	case or, and:
		var all uint64 // in whatever order they are
		for _, o := range s.operandsOf(l) {
			all += s.made(o)
		}
		with(all)
	}
	s.hashes[l] = hash
	return hash
}

// complement returns the pieces of every other text.
func (p *pieces) complement() *pieces {
	if !p.letters.ok {
		return p
	}
	t := places{kinds: p.kinds}
	everything := int32(p.states) // a place at which the rest is any text
	for i, next := range p.next {
		if next < 0 {
			next = everything
		}
		t.add(next, !p.ends[i])
	}
	if slices.Contains(p.next, -1) {
		for range t.kinds {
			t.next, t.ends = append(t.next, everything), append(t.ends, true)
		}
	}
	return t.least(p.letters, p.work)
}

// joinPieces returns the pieces of the texts that two languages have in common, or that either has.
func (s *Space) joinPieces(op operation, a, b *pieces) *pieces {
	out := &pieces{letters: &machine{}, work: a.work + b.work}
	letters := s.multiply(a.letters, b.letters)
	if !letters.ok {
		return out
	}
	t := places{kinds: len(letters.pairs)}
	var met numberedPairs
	met.number(0, 0)
	for at := 0; at < met.used; at++ {
		if met.used > mostPlaces {
			return out
		}
		m, n := met.at(at)
		for _, kind := range letters.pairs {
			x, y := a.after(Language(m), kind[0]), b.after(Language(n), kind[1])
			endsX, endsY := a.endsAfter(Language(m), kind[0]), b.endsAfter(Language(n), kind[1])
			ends := endsX && endsY
			if op == or {
				ends = endsX || endsY
			}
			next := -1
			if x >= 0 && y >= 0 || op == or && (x >= 0 || y >= 0) {
				next, _ = met.number(int32(x), int32(y))
			}
			t.add(int32(next), ends)
		}
	}
	return t.least(&letters, out.work+len(t.next)/lookups)
}

// places are what may be left of a language where a piece begins, each with what is left behind a piece of each kind.
type places struct {
	states, kinds int     // how many there are; 0 is the language itself
	next          []int32 // of each place, for each kind: the place behind the separator; -1 where nothing is left
	ends          []bool  // likewise whether the text may end with the piece
}

func (t *places) add(next int32, ends bool) {
	t.next, t.ends = append(t.next, next), append(t.ends, ends)
}

// after returns the place after a piece of a kind and the separator.
func (t *places) after(place Language, kind int32) Language {
	if place < 0 {
		return -1
	}
	return Language(t.next[int(place)*t.kinds+int(kind)])
}

// endsAfter reports whether a text may end after a piece of a kind.
func (t *places) endsAfter(place Language, kind int32) bool {
	return place >= 0 && t.ends[int(place)*t.kinds+int(kind)]
}

// least returns pieces of which places are one where the same is left, and kinds that do the same. A place at which
// nothing is left is none.
func (t *places) least(letters *machine, work int) *pieces {
	if t.kinds == 0 {
		return &pieces{places: places{states: 1}, letters: letters, work: work}
	}
	nothing := int32(len(t.next) / t.kinds)
	for range t.kinds {
		t.next, t.ends = append(t.next, -1), append(t.ends, false)
	}
	// All are one until what is behind them differs (Moore's algorithm).
	class := make([]int32, nothing+1)
	row := make([]Language, t.kinds)
	var rows numbered
	for classes := 0; classes != rows.used || classes == 0; {
		classes = rows.used
		rows.reset(t.kinds)
		now := make([]int32, len(class))
		for place := range class {
			for kind := range row {
				at := place*t.kinds + kind
				next := t.next[at]
				if next < 0 {
					next = nothing
				}
				row[kind] = Language(class[next]) << 1
				if t.ends[at] {
					row[kind]++
				}
			}
			n, _ := rows.number(row)
			now[place] = int32(n)
		}
		class = now
	}
	// Nothing is left at most at one of them, which is no place, unless it is where the language begins.
	dead := Language(class[nothing])
	var kept []int
	for place := range rows.used {
		if Language(place) != dead || place == 0 {
			kept = append(kept, place)
		}
	}
	of, firsts := make([]int32, t.kinds), []int{}
	column := make([]Language, len(kept))
	var columns numbered
	columns.reset(len(kept))
	for kind := range t.kinds {
		for i, place := range kept {
			column[i] = rows.at(place)[kind]
		}
		n, known := columns.number(column)
		if of[kind] = int32(n); !known {
			firsts = append(firsts, kind)
		}
	}
	p := &pieces{places: places{states: len(kept), kinds: len(firsts)}, letters: letters, work: work}
	for _, place := range kept {
		row := rows.at(place)
		for _, kind := range firsts {
			next := row[kind] >> 1
			switch {
			case next == dead:
				next = -1
			case next > dead && dead > 0:
				next--
			}
			p.add(int32(next), row[kind]&1 == 1)
		}
	}
	if columns.used < t.kinds {
		m := *letters
		m.pairs, m.labels = nil, slices.Clone(m.labels)
		for i, label := range m.labels {
			if label >= 0 {
				m.labels[i] = of[label]
			}
		}
		p.letters = &m
	}
	return p
}
